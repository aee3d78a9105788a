import type { KeyPair } from './certificates.ts';

/** The credential of a kubeconfig: a client certificate, or a bearer token. */
export type Credential = KeyPair | { token: string };

/** A kubeconfig (JSON, which is YAML) with one context; certificate data is embedded. */
export function kubeconfig(server: string, caPem: string | undefined, credential: Credential): string {
  const user =
    'token' in credential
      ? { token: credential.token }
      : { 'client-certificate-data': base64(credential.cert), 'client-key-data': base64(credential.key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'gunwale', cluster: { server, ...(caPem ? { 'certificate-authority-data': base64(caPem) } : {}) } },
    ],
    users: [{ name: 'kubernetes-admin', user }],
    contexts: [{ name: 'gunwale', context: { cluster: 'gunwale', user: 'kubernetes-admin' } }],
    'current-context': 'gunwale',
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

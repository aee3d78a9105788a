import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { authorizationOf } from '../../src/local/authorization-flags.ts';
import { parseOptions } from '../../src/local/options.ts';
import { connectionOf } from '../../src/local/webhook-kubeconfig.ts';

const folder = mkdtempSync(join(tmpdir(), 'gunwale-flags-'));
const read = (...args: string[]) => authorizationOf(parseOptions(args).authorization);

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const kubeconfig = (user: string, cluster = '') => `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://peer.example:8443/x", certificate-authority-data: ${base64('CA')}${cluster}}}]
users: [{name: u, user: ${user}}]
contexts: [{name: here, context: {cluster: c, user: u}}]
current-context: here
`;
const peer = file('peer.yaml', kubeconfig('{token: secret}'));
const reads = { server: 'https://peer.example:8443/x', authority: 'CA', authorization: 'Bearer secret' };
const configuration = (rest: string) =>
  `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n${rest}`;
const hook = (connection: string) => `- type: Webhook
  name: one
  webhook: {timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: ${connection}}
`;

describe('the flags of authorization', () => {
  test('leave the usual authorizers', () => {
    expect(read()).toEqual({});
  });

  test('name authorizers in order', () => {
    const policy = file('abac.jsonl', '{"user":"ann"}\n');
    const given = read(
      '--authorization-mode=Node,ABAC,Webhook',
      `--authorization-policy-file=${policy}`,
      `--authorization-webhook-config-file=${peer}`,
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-authorized-ttl=1m',
    );
    expect(given).toMatchObject({
      abacPolicy: '{"user":"ann"}\n',
      authorizers: [
        { type: 'Node' },
        { type: 'ABAC' },
        { type: 'Webhook', webhook: { subjectAccessReviewVersion: 'v1', authorizedTTL: '1m', connection: reads } },
      ],
    });
  });

  test('read a file', () => {
    const path = file(
      'good.yaml',
      configuration(`${hook(`{type: KubeConfigFile, kubeConfigFile: ${peer}}`)}- {type: RBAC, name: rbac}\n`),
    );
    expect(read(`--authorization-config=${path}`).authorizers).toMatchObject([
      { type: 'Webhook', name: 'one', webhook: { timeout: '3s', failurePolicy: 'Deny', connection: reads } },
      { type: 'RBAC', name: 'rbac' },
    ]);
  });

  test.each([
    ['an unknown mode', ['--authorization-mode=Rbac'], 'Rbac is none of'],
    ['a mode twice', ['--authorization-mode=RBAC,RBAC'], 'names one twice'],
    ['ABAC without its policy', ['--authorization-mode=ABAC'], 'must be given together'],
    ['a policy without ABAC', [`--authorization-policy-file=${peer}`], 'must be given together'],
    ['a webhook without its file', ['--authorization-mode=Webhook'], 'needs --authorization-webhook-config-file'],
    [
      'a file without the webhook',
      [`--authorization-webhook-config-file=${peer}`],
      'needs --authorization-mode=Webhook',
    ],
    [
      'a wrong policy',
      ['--authorization-mode=ABAC', `--authorization-policy-file=${file('bad.jsonl', '{}\n{"x":1}')}`],
      'bad.jsonl is wrong: line 2: x',
    ],
    [
      'a wrong time',
      [
        '--authorization-mode=Webhook',
        `--authorization-webhook-config-file=${peer}`,
        '--authorization-webhook-cache-authorized-ttl=long',
      ],
      'must be a duration',
    ],
    ['both ways', ['--authorization-mode=RBAC', `--authorization-config=${peer}`], 'cannot be given together'],
    [
      'an unknown type',
      [`--authorization-config=${file('type.yaml', configuration('- {type: X, name: a}\n'))}`],
      'type.yaml is wrong: authorizers[0].type: Unsupported value: "X"',
    ],
    [
      'an unknown field',
      [`--authorization-config=${file('field.yaml', configuration('- {type: RBAC, name: a, x: 1}\n'))}`],
      'field.yaml is wrong: authorizers.0.x',
    ],
    [
      'no absolute path',
      [
        `--authorization-config=${file('path.yaml', configuration(hook('{type: KubeConfigFile, kubeConfigFile: peer.yaml}')))}`,
      ],
      'must be an absolute path',
    ],
    [
      'the cluster itself',
      [`--authorization-config=${file('self.yaml', configuration(hook('{type: InClusterConfig}')))}`],
      'must be KubeConfigFile',
    ],
    ['a file that is not there', ['--authorization-config=/nowhere'], '/nowhere cannot be read'],
  ])('refuse %s', (_name, args, message) => {
    expect(() => read(...args)).toThrow(message);
  });
});

describe('a kubeconfig file of a webhook', () => {
  const of = (name: string, text: string) => connectionOf('webhook configuration', file(name, text));

  test('gives the way to the peer', () => {
    expect(of('token.yaml', kubeconfig('{token: t}', ', tls-server-name: other'))).toMatchObject({
      serverName: 'other',
      authorization: 'Bearer t',
    });
    expect(of('basic.yaml', kubeconfig('{username: a, password: b}')).authorization).toBe(`Basic ${base64('a:b')}`);
    file('cert.pem', 'CERT');
    const files = of('files.yaml', kubeconfig(`{client-certificate: cert.pem, client-key-data: ${base64('KEY')}}`));
    expect(files.identity).toEqual({ certificate: 'CERT', key: 'KEY' });
    expect(of('open.yaml', kubeconfig('{}', ', insecure-skip-tls-verify: true'))).toMatchObject({
      insecure: true,
      authority: '',
    });
  });

  test.each([
    [
      'no context',
      kubeconfig('{}').replace('current-context: here', 'current-context: there'),
      'there is no context "there"',
    ],
    ['no cluster', kubeconfig('{}').replace('cluster: c,', 'cluster: d,'), 'there is no cluster "d"'],
    ['no user', kubeconfig('{}').replace('user: u}', 'user: v}'), 'there is no user "v"'],
    ['no URL', kubeconfig('{}').replace('https://peer.example:8443/x', 'peer'), 'clusters.0.cluster.server'],
    ['a file that is gone', kubeconfig('{client-certificate: gone.pem}'), 'gone.pem'],
  ])('is refused with %s', (_name, text, message) => {
    expect(() => of('wrong.yaml', text)).toThrow(message);
  });
});

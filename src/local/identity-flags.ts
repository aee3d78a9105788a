import { createPrivateKey } from 'node:crypto';
import { resolve } from 'node:path';
import { durationMilliseconds } from '../authz/configuration.ts';
import type { ClusterKeys, KeyPair } from './certificates.ts';
import { readCertificates, readGiven } from './files.ts';
import { type Flag, UsageError } from './usage.ts';

const texts = {
  'proxy-client-cert-file': ['FILE', 'PEM certificate by which aggregated API servers know this one (its own)'],
  'proxy-client-key-file': ['FILE', 'its key'],
  'cluster-signing-cert-file': [
    'FILE',
    'PEM certificate of who signs requests for certificates (the authority of the cluster)',
  ],
  'cluster-signing-key-file': ['FILE', 'its key'],
  'cluster-signing-duration': ['DURATION', 'how long the certificates live at most (8760h0m0s)'],
} as const satisfies Record<string, readonly [string, string]>;

type IdentityFlag = keyof typeof texts;

/** What these flags were given, by name; those that were not are absent. */
export type IdentityFlags = Partial<Record<IdentityFlag, string>>;

/** Flags of kube-apiserver and kube-controller-manager, with their names. */
export const identityFlags: Flag<{ identity: IdentityFlags }>[] = Object.entries(texts).map(
  ([name, [value, help]]) => ({
    name,
    value,
    help,
    set: (options, text) => {
      options.identity = { ...options.identity, [name]: value === 'FILE' ? resolve(text) : text };
    },
  }),
);

/** The pair of files that two flags name together; undefined without them. Throws UsageError. */
function pairOf(flags: IdentityFlags, prefix: 'proxy-client' | 'cluster-signing'): KeyPair | undefined {
  const [certFile, keyFile] = [flags[`${prefix}-cert-file`], flags[`${prefix}-key-file`]];
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new UsageError(`--${prefix}-cert-file and --${prefix}-key-file must be given together.`);
  const cert = readCertificates(`--${prefix}-cert-file`, certFile);
  const given = readGiven(`--${prefix}-key-file`, keyFile);
  try {
    return { cert, key: createPrivateKey(given).export({ type: 'pkcs8', format: 'pem' }).toString() };
  } catch {
    throw new UsageError(`--${prefix}-key-file ${keyFile} is no private key in PEM.`);
  }
}

/** What the Worker is told of them: the cluster's own keys, where the flags say nothing else. Throws UsageError. */
export function identityOf(flags: IdentityFlags, keys: Pick<ClusterKeys, 'ca' | 'frontProxy' | 'frontProxyCA'>) {
  const signing = pairOf(flags, 'cluster-signing') ?? keys.ca;
  const proxy = pairOf(flags, 'proxy-client') ?? keys.frontProxy;
  const duration = durationMilliseconds(flags['cluster-signing-duration'] ?? '8760h0m0s');
  if (duration === undefined) throw new UsageError('--cluster-signing-duration must be a duration such as 8760h0m0s.');
  return {
    clusterSigning: { certificate: signing.cert, key: signing.key, durationSeconds: Math.floor(duration / 1000) },
    proxyClient: { certificate: proxy.cert, key: proxy.key },
    frontProxyCA: keys.frontProxyCA.cert,
  };
}

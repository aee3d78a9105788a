import { randomUUID, webcrypto, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { writePrivately } from './data-folder.ts';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** Everything that signs or identifies a local cluster. */
export interface ClusterKeys {
  ca: KeyPair;
  /** Who the server is to aggregated API servers, and the authority that they know it by. */
  frontProxyCA: KeyPair;
  frontProxy: KeyPair;
  server: KeyPair;
  admin: KeyPair;
  /** Keys that sign service account tokens, the newest first. */
  serviceAccount: { kid: string; privateJwk: webcrypto.JsonWebKey }[];
}

const DAY_MS = 24 * 3600 * 1000;
const CA_LIFETIME_MS = 10 * 365 * DAY_MS;
const LEAF_LIFETIME_MS = 365 * DAY_MS;
/** Certificates with less life left than this are made anew at start. */
const RENEW_BEFORE_MS = 30 * DAY_MS;
/** Start of validity lies back this far, for clients whose clock is behind. */
const CLOCK_SKEW_MS = 5 * 60 * 1000;
const CURVE = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
const TOKEN_ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };

/** Names under which clients inside and outside the cluster reach the server, as kube-apiserver's own certificate has. */
export function serverNames(firstServiceAddress: string, addresses: string[]): string[] {
  const service = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ];
  return [...new Set(['localhost', ...service, hostname(), '127.0.0.1', '::1', firstServiceAddress, ...addresses])];
}

/**
 * Reads the keys of a cluster from `folder`, making what is missing, near its end, or (server certificate) without
 * one of `names`. A new certificate authority makes new leaves.
 */
export async function clusterKeys(folder: string, names: string[]): Promise<ClusterKeys> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ca = await keep(folder, 'ca', lives, () => makeAuthority());
  const isOf = (issuer: KeyPair) => (pair: KeyPair) =>
    new X509Certificate(pair.cert).verify(new X509Certificate(issuer.cert).publicKey);
  const signed = (pair: KeyPair) => lives(pair) && isOf(ca)(pair);
  const frontProxyCA = await keep(folder, 'front-proxy-ca', lives, () => makeAuthority('gunwale-front-proxy-ca'));
  return {
    ca,
    frontProxyCA,
    frontProxy: await keep(
      folder,
      'front-proxy-client',
      (pair) => lives(pair) && isOf(frontProxyCA)(pair),
      () => makeLeaf(frontProxyCA, [{ CN: ['front-proxy-client'] }], 'clientAuth', []),
    ),
    server: await keep(
      folder,
      'server',
      (pair) => signed(pair) && covers(pair, names),
      () => makeServer(ca, names),
    ),
    admin: await keep(folder, 'admin', signed, () => makeAdmin(ca)),
    serviceAccount: await serviceAccountKeys(join(folder, 'service-account.json')),
  };
}

async function keep(
  folder: string,
  name: string,
  good: (pair: KeyPair) => boolean,
  make: () => Promise<KeyPair>,
): Promise<KeyPair> {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  if (existsSync(certFile) && existsSync(keyFile)) {
    const pair = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
    if (good(pair)) return pair;
  }
  const pair = await make();
  writePrivately(keyFile, pair.key);
  writePrivately(certFile, pair.cert);
  return pair;
}

function lives({ cert }: KeyPair): boolean {
  return Date.parse(new X509Certificate(cert).validTo) - Date.now() > RENEW_BEFORE_MS;
}

function covers({ cert }: KeyPair, names: string[]): boolean {
  const certificate = new X509Certificate(cert);
  return names.every((name) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined);
}

/** Loaded when a certificate is made only: a later start does not need it. */
async function certificateLibrary(): Promise<typeof import('@peculiar/x509')> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

async function makeAuthority(name = 'gunwale-ca'): Promise<KeyPair> {
  const x509 = await certificateLibrary();
  const keys = await webcrypto.subtle.generateKey(CURVE, true, ['sign', 'verify']);
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: SIGNATURE,
    ...validity(CA_LIFETIME_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${cert.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

function makeServer(ca: KeyPair, names: string[]): Promise<KeyPair> {
  return makeLeaf(ca, [{ CN: ['kube-apiserver'] }], 'serverAuth', names);
}

/** A certificate of an administrator. */
export function makeAdmin(ca: KeyPair, name = 'kubernetes-admin'): Promise<KeyPair> {
  return makeLeaf(ca, [{ O: ['system:masters'] }, { CN: [name] }], 'clientAuth', []);
}

async function makeLeaf(
  ca: KeyPair,
  subject: Record<string, string[]>[],
  usage: 'serverAuth' | 'clientAuth',
  names: string[],
): Promise<KeyPair> {
  const x509 = await certificateLibrary();
  const authority = new x509.X509Certificate(ca.cert);
  const pkcs8 = x509.PemConverter.decodeFirst(ca.key);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', pkcs8, CURVE, false, ['sign']);
  const keys = await webcrypto.subtle.generateKey(CURVE, true, ['sign', 'verify']);
  const alternatives = names.map((value) => ({ type: isIP(value) ? ('ip' as const) : ('dns' as const), value }));
  const cert = await x509.X509CertificateGenerator.create({
    subject,
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: SIGNATURE,
    ...validity(LEAF_LIFETIME_MS),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage[usage]]),
      await x509.AuthorityKeyIdentifierExtension.create(authority.publicKey),
      ...(alternatives.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternatives)] : []),
    ],
  });
  return { cert: `${cert.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

function validity(lifetimeMs: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - CLOCK_SKEW_MS), notAfter: new Date(now + lifetimeMs) };
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const base64 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${base64.replace(/.{1,64}/g, '$&\n')}-----END PRIVATE KEY-----\n`;
}

async function serviceAccountKeys(path: string): Promise<ClusterKeys['serviceAccount']> {
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as ClusterKeys['serviceAccount'];
  const parameters = { ...TOKEN_ALGORITHM, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
  const { privateKey } = await webcrypto.subtle.generateKey(parameters, true, ['sign', 'verify']);
  const keys = [{ kid: randomUUID(), privateJwk: await webcrypto.subtle.exportKey('jwk', privateKey) }];
  writePrivately(path, JSON.stringify(keys));
  return keys;
}

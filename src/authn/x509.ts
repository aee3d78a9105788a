// The X.509 library needs the metadata API, and needs it first.
import 'reflect-metadata';
import { ExtendedKeyUsage, type ExtendedKeyUsageExtension, X509Certificate } from '@peculiar/x509';
import type { UserInfo } from '../request/context.ts';
import { unauthorized } from '../status/status.ts';
import { AUTHENTICATED } from './anonymous.ts';
import { ExpiringCache, hex } from './cache.ts';
import { certificatesOfPem } from './certificates.ts';
import type { Authenticated, AuthenticationDeps } from './index.ts';

/** A verified certificate: who it is, and for how long it is good. */
interface Verified {
  user: UserInfo;
  notBefore: number;
  notAfter: number;
}

/**
 * Certificates that this isolate has verified, keyed by the CA bundle and the certificate's bytes: a signature check
 * per request would cost more than most requests. Validity in time is still checked on each request.
 */
const verified = new ExpiringCache<Verified>(1000, 10 * 60 * 1000);

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const BASIC_CONSTRAINTS = '2.5.29.19';
const ANY_EXTENDED_KEY_USAGE = '2.5.29.37.0';
/** Intermediates between a client certificate and a root. */
const MAX_DEPTH = 4;

function validAt(certificate: X509Certificate, now: number): boolean {
  return certificate.notBefore.getTime() <= now && now <= certificate.notAfter.getTime();
}

function mayAuthenticateClients(certificate: X509Certificate): boolean {
  const usage = certificate.getExtension<ExtendedKeyUsageExtension>(EXTENDED_KEY_USAGE);
  if (usage === null || usage === undefined) return true;
  return usage.usages.some((u) => u === ExtendedKeyUsage.clientAuth || u === ANY_EXTENDED_KEY_USAGE);
}

function isAuthority(certificate: X509Certificate): boolean {
  const constraints = certificate.getExtension<import('@peculiar/x509').BasicConstraintsExtension>(BASIC_CONSTRAINTS);
  return constraints?.ca === true;
}

/** Whether a chain of valid signatures leads from the certificate to one of the roots. */
async function chainsTo(
  certificate: X509Certificate,
  roots: readonly X509Certificate[],
  intermediates: readonly X509Certificate[],
  now: number,
  depth = 0,
): Promise<boolean> {
  const isIssuer = async (issuer: X509Certificate) =>
    issuer.subject === certificate.issuer &&
    validAt(issuer, now) &&
    (await certificate.verify({ publicKey: issuer.publicKey, signatureOnly: true }).catch(() => false));
  for (const root of roots) if (root.equal(certificate) || (await isIssuer(root))) return true;
  if (depth >= MAX_DEPTH) return false;
  for (const issuer of intermediates) {
    if (!isAuthority(issuer) || !mayAuthenticateClients(issuer) || !(await isIssuer(issuer))) continue;
    if (await chainsTo(issuer, roots, intermediates, now, depth + 1)) return true;
  }
  return false;
}

async function verify(der: Uint8Array<ArrayBuffer>, chain: Uint8Array<ArrayBuffer>[], roots: string, now: number) {
  const certificate = new X509Certificate(der);
  const intermediates = chain.map((c) => new X509Certificate(c));
  const trusted =
    validAt(certificate, now) &&
    mayAuthenticateClients(certificate) &&
    (await chainsTo(certificate, certificatesOfPem(roots), intermediates, now));
  if (!trusted) throw unauthorized();
  const fingerprint = hex(await crypto.subtle.digest('SHA-256', der));
  const user: UserInfo = {
    name: certificate.subjectName.getField(COMMON_NAME)[0] ?? '',
    groups: [...certificate.subjectName.getField(ORGANIZATION), AUTHENTICATED],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] },
  };
  return { user, notBefore: certificate.notBefore.getTime(), notAfter: certificate.notAfter.getTime() };
}

/** The byte sequences of an RFC 9440 header: `:base64:` or several, with commas between them. */
function byteSequences(header: string): Uint8Array<ArrayBuffer>[] {
  return [...header.matchAll(/:([A-Za-z0-9+/=]+):/g)].map(([, b]) => Uint8Array.from(atob(b!), (c) => c.charCodeAt(0)));
}

/**
 * The subject of the certificate that the edge passes on as `request.cf.tlsClientAuth.certRFC9440`; undefined without
 * one. Throws Unauthorized where it does not chain to the PEM certificates `roots`, is not in its validity or is not
 * meant for client authentication.
 */
export async function certifiedSubject(request: Request, roots: string, now: number): Promise<UserInfo | undefined> {
  const tls = (request.cf as { tlsClientAuth?: { certRFC9440?: string; certChainRFC9440?: string } } | undefined)
    ?.tlsClientAuth;
  const header = tls?.certRFC9440 ?? '';
  if (header === '') return undefined;
  const chain = tls?.certChainRFC9440 ?? '';
  const key = `${roots}\n${header}\n${chain}`;
  const known = verified.get(key, now);
  if (known !== undefined) {
    if (known.notBefore > now || known.notAfter < now) throw unauthorized();
    return known.user;
  }
  const [der] = byteSequences(header);
  if (der === undefined) throw unauthorized();
  const result = await verify(der, byteSequences(chain), roots, now).catch(() => {
    throw unauthorized();
  });
  verified.set(key, result, now);
  return result.user;
}

/** Client certificates (x509) that chain to `config.clientCA`: CN is the user, each O a group. */
export async function clientCertificate(
  request: Request,
  deps: AuthenticationDeps,
): Promise<Authenticated | undefined> {
  const { clientCA } = deps.config;
  const user = clientCA === '' ? undefined : await certifiedSubject(request, clientCA, deps.now().getTime());
  if (user?.name === '') throw unauthorized();
  return user && { user };
}

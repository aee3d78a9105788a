// The X.509 library needs the metadata API, and needs it first.
import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  type Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  type SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { alternativeNames } from './requests.ts';

/** Who signs, and for how long at most. */
export interface SigningAuthority {
  /** PEM. */
  certificate: string;
  /** PEM, PKCS #8. */
  key: string;
  durationSeconds: number;
}

/** What a certificate may be used for, by the names of the API. */
const KEY_USAGES: Readonly<Record<string, KeyUsageFlags>> = {
  signing: KeyUsageFlags.digitalSignature,
  'digital signature': KeyUsageFlags.digitalSignature,
  'content commitment': KeyUsageFlags.nonRepudiation,
  'key encipherment': KeyUsageFlags.keyEncipherment,
  'key agreement': KeyUsageFlags.keyAgreement,
  'data encipherment': KeyUsageFlags.dataEncipherment,
  'cert sign': KeyUsageFlags.keyCertSign,
  'crl sign': KeyUsageFlags.cRLSign,
  'encipher only': KeyUsageFlags.encipherOnly,
  'decipher only': KeyUsageFlags.decipherOnly,
};
/** In the order in which a certificate lists them. */
const EXTENDED_KEY_USAGES: Readonly<Record<string, string>> = {
  any: '2.5.29.37.0',
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
  'email protection': '1.3.6.1.5.5.7.3.4',
  's/mime': '1.3.6.1.5.5.7.3.4',
  'ipsec end system': '1.3.6.1.5.5.7.3.5',
  'ipsec tunnel': '1.3.6.1.5.5.7.3.6',
  'ipsec user': '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  'ocsp signing': '1.3.6.1.5.5.7.3.9',
  'microsoft sgc': '1.3.6.1.4.1.311.10.3.3',
  'netscape sgc': '2.16.840.1.113730.4.1',
};
const SUBJECT_KEY_IDENTIFIER = '2.5.29.14';
const MINUTE = 60;
/** Validity begins so long ago, for clocks that are behind. */
const BACKDATE = 5 * MINUTE;
const SHORTEST = 10 * MINUTE;
/** Certificates that live shorter have their whole time from now on. */
const SHORT = 8 * 60 * MINUTE;
const HASHES: Readonly<Record<string, string>> = { 'P-384': 'SHA-384', 'P-521': 'SHA-512' };

/** The request cannot be signed; the message says why. */
export class SigningError extends Error {}

/**
 * Signs a request: a certificate of its subject, alternative names and key, in PEM. It lives as long as it asks, between
 * ten minutes and the authority's time. Throws SigningError.
 */
export async function signRequest(
  request: Pkcs10CertificateRequest,
  usages: readonly string[],
  expirationSeconds: number | undefined,
  authority: SigningAuthority,
  now: Date,
): Promise<string> {
  const issuer = new X509Certificate(authority.certificate);
  if (!(await request.verify().catch(() => false))) {
    throw new SigningError('unable to verify certificate request signature');
  }
  const lifetime = Math.min(
    Math.max(expirationSeconds ?? Number.POSITIVE_INFINITY, SHORTEST),
    authority.durationSeconds,
  );
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);
  const end = after(lifetime < SHORT ? lifetime : lifetime - BACKDATE).getTime();
  if (issuer.notAfter <= now) throw new SigningError('the signer has expired');
  const { algorithm, key } = await signingKey(issuer, authority.key);
  const certificate = await X509CertificateGenerator.create({
    subject: request.subjectName.toJSON(),
    issuer: issuer.subjectName.toJSON(),
    publicKey: request.publicKey,
    signingKey: key,
    signingAlgorithm: algorithm,
    notBefore: after(-BACKDATE),
    notAfter: new Date(Math.min(end, issuer.notAfter.getTime())),
    extensions: [...usageExtensions(usages), ...identityExtensions(request, issuer)],
  });
  return `${certificate.toString('pem')}\n`;
}

async function signingKey({ publicKey }: X509Certificate, pem: string) {
  const { name, namedCurve = '' } = publicKey.algorithm as { name: string; namedCurve?: string };
  const hash = HASHES[namedCurve] ?? 'SHA-256';
  const kind = { name, hash, ...(namedCurve !== '' && { namedCurve }) };
  const key = await crypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(pem), kind, false, ['sign']);
  return { algorithm: { name, hash }, key };
}

function usageExtensions(usages: readonly string[]): Extension[] {
  const unknown = usages.filter((one) => !(one in KEY_USAGES || one in EXTENDED_KEY_USAGES));
  if (unknown.length > 0) throw new SigningError(`unrecognized usage values: ${JSON.stringify(unknown)}`);
  const flags = usages.reduce((sum, usage) => sum | (KEY_USAGES[usage] ?? 0), 0);
  const extended = Object.entries(EXTENDED_KEY_USAGES).filter(([name]) => usages.includes(name));
  return [
    ...(flags === 0 ? [] : [new KeyUsagesExtension(flags, true)]),
    ...(extended.length === 0 ? [] : [new ExtendedKeyUsageExtension([...new Set(extended.map(([, oid]) => oid))])]),
    new BasicConstraintsExtension(false, undefined, true),
  ];
}

function identityExtensions(request: Pkcs10CertificateRequest, issuer: X509Certificate): Extension[] {
  const own = issuer.getExtension<SubjectKeyIdentifierExtension>(SUBJECT_KEY_IDENTIFIER);
  const names = alternativeNames(request).toJSON();
  return [
    ...(own ? [new AuthorityKeyIdentifierExtension(own.keyId)] : []),
    ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names, request.subject === '')]),
  ];
}

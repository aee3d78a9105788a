import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { now } from './support.ts';

export const day = 24 * 3600 * 1000;
export const algorithms = {
  ECDSA: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  RSA: {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    publicExponent: new Uint8Array([1, 0, 1]),
    modulusLength: 2048,
  },
  Ed25519: { name: 'Ed25519' },
} as const;

/** A certificate authority of a test. */
export interface Authority {
  certificate: x509.X509Certificate;
  keys: CryptoKeyPair;
}

export async function authority(kind: keyof typeof algorithms, name: string): Promise<Authority> {
  const keys = (await crypto.subtle.generateKey(algorithms[kind], true, ['sign', 'verify'])) as CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    notBefore: new Date(now.getTime() - day),
    notAfter: new Date(now.getTime() + 365 * day),
    signingAlgorithm: algorithms[kind],
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return { certificate, keys };
}

/** The header of a certificate that the authority signs. */
export async function issue(
  ca: Authority,
  subject: string,
  more: { notBefore?: Date; notAfter?: Date; usage?: string } = {},
): Promise<string> {
  const keys = (await crypto.subtle.generateKey(algorithms.ECDSA, true, ['sign', 'verify'])) as CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: ca.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: ca.keys.privateKey,
    notBefore: more.notBefore ?? new Date(now.getTime() - day),
    notAfter: more.notAfter ?? new Date(now.getTime() + day),
    extensions: [new x509.ExtendedKeyUsageExtension([more.usage ?? x509.ExtendedKeyUsage.clientAuth])],
  });
  return `:${btoa(String.fromCharCode(...new Uint8Array(certificate.rawData)))}:`;
}

export function requestWith(certRFC9440: string, headers: Record<string, string> = {}, certChainRFC9440 = ''): Request {
  const request = new Request('https://server/api', { headers });
  Object.defineProperty(request, 'cf', { value: { tlsClientAuth: { certRFC9440, certChainRFC9440 } } });
  return request;
}

import 'reflect-metadata';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' };
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

/** A private certificate authority of a test. */
export interface Authority {
  /** Its own certificate, PEM. */
  certificate: string;
  /** A certificate and key (PEM) for DNS names and IP addresses. */
  issue(names: readonly string[], times?: { notBefore: Date; notAfter: Date }): Promise<{ cert: string; key: string }>;
}

const newKeys = () => crypto.subtle.generateKey(CURVE, true, ['sign', 'verify']) as Promise<CryptoKeyPair>;

/** Makes an authority. */
export async function authority(name: string): Promise<Authority> {
  const keys = await newKeys();
  const own = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + HOUR_MS) };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm,
    ...own,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    certificate: certificate.toString('pem'),
    issue: async (names, times = own) => {
      const leaf = await newKeys();
      const alternatives = names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const);
      const issued = await X509CertificateGenerator.create({
        subject: `CN=${names[0] ?? 'nobody'}`,
        issuer: certificate.subject,
        publicKey: leaf.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm,
        ...times,
        extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension([...alternatives])],
      });
      const key = PemConverter.encode(
        (await crypto.subtle.exportKey('pkcs8', leaf.privateKey)) as ArrayBuffer,
        'PRIVATE KEY',
      );
      return { cert: issued.toString('pem'), key };
    },
  };
}

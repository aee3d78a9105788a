// The X.509 library needs the metadata API, and needs it first.
import 'reflect-metadata';
import { PemConverter, X509Certificate } from '@peculiar/x509';

/** The certificates of a PEM bundle. Throws for what is none. */
export function certificatesOfPem(pem: string): X509Certificate[] {
  return PemConverter.decode(pem).map((der) => new X509Certificate(der));
}

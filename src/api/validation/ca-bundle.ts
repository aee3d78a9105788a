// The X.509 library needs the metadata API, and needs it first.
import 'reflect-metadata';
import { PemConverter, X509Certificate } from '@peculiar/x509';
import { text } from '../fields.ts';
import type { JsonValue } from '../object.ts';

const COULD_NOT = 'unable to load root certificates: ';

/**
 * What is wrong with the `caBundle` of a conversion webhook, in the words of client-go; undefined for one that can be
 * used, and for none.
 */
export function bundleFault(caBundle: JsonValue | undefined): string | undefined {
  const encoded = text(caBundle);
  if (encoded === '') return undefined;
  let pem: string;
  try {
    pem = atob(encoded);
  } catch {
    return `${COULD_NOT}unable to parse bytes as PEM block`;
  }
  const blocks = PemConverter.isPem(pem) ? PemConverter.decodeWithHeaders(pem) : [];
  if (blocks.length === 0) return `${COULD_NOT}unable to parse bytes as PEM block`;
  const certificates = blocks.filter(({ type }) => type === 'CERTIFICATE');
  if (certificates.some(({ rawData }) => isCertificate(rawData))) return undefined;
  if (certificates.length === 0) return `${COULD_NOT}no valid certificate authority data seen`;
  return `${COULD_NOT}failed to parse certificate: x509: malformed certificate`;
}

function isCertificate(der: ArrayBuffer): boolean {
  try {
    return new X509Certificate(der).subject !== undefined;
  } catch {
    return false;
  }
}

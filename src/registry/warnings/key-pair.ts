import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';

interface Block {
  type: string;
  text: string;
}

/** The PEM blocks of a text, in order. */
function blocksOf(text: string): Block[] {
  const found = text.matchAll(/^-----BEGIN ([^\n]*?)-----\s*\n[\s\S]*?^-----END \1-----/gm);
  return [...found].map((match) => ({ type: match[1]!, text: match[0] }));
}

function certificateFault(blocks: readonly Block[]): string {
  const skipped = blocks.map(({ type }) => type);
  if (skipped.length === 0) return 'failed to find any PEM data in certificate input';
  if (skipped.length === 1 && skipped[0]!.endsWith('PRIVATE KEY')) {
    return 'failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched';
  }
  return `failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

function keyFault(blocks: readonly Block[]): string {
  const skipped = blocks.map(({ type }) => type);
  if (skipped.length === 0) return 'failed to find any PEM data in key input';
  if (skipped.length === 1 && skipped[0] === 'CERTIFICATE') {
    return 'found a certificate rather than a key in the PEM for the private key';
  }
  return `failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${skipped.join(' ')}]`;
}

const isKey = ({ type }: Block) => type === 'PRIVATE KEY' || type.endsWith(' PRIVATE KEY');
const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

/** Why a certificate and a private key, both PEM, do not belong together, as Go's crypto/tls says it; else nothing. */
export function keyPairFault(certificatePem: string, keyPem: string): string | undefined {
  const [certificates, keys] = [blocksOf(certificatePem), blocksOf(keyPem)];
  const leaf = certificates.find(({ type }) => type === 'CERTIFICATE');
  if (leaf === undefined) return `tls: ${certificateFault(certificates)}`;
  const key = keys.find(isKey);
  if (key === undefined) return `tls: ${keyFault(keys)}`;
  const certificate = attempt(() => new X509Certificate(leaf.text));
  if (certificate === undefined) return 'x509: malformed certificate';
  const privateKey = attempt(() => createPrivateKey(key.text));
  if (privateKey === undefined) return 'tls: failed to parse private key';
  const own = createPublicKey(privateKey);
  if (own.asymmetricKeyType !== certificate.publicKey.asymmetricKeyType) {
    return 'tls: private key type does not match public key type';
  }
  const der = (k: typeof own) => k.export({ type: 'spki', format: 'der' }).toString('base64');
  return der(own) === der(certificate.publicKey) ? undefined : 'tls: private key does not match public key';
}

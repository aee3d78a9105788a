import { crc32 } from 'node:zlib';

/** CRC-32 of bytes, or of a text's UTF-8, continuing an earlier one. */
export function checksum(data: Uint8Array | string, before = 0): number {
  return crc32(data, before);
}

/** Digests are integers below this, so that the sum of two is exact. */
const MODULUS = 2 ** 52;

/** A live record's share in the digest of the state: of its bytes' checksum, its revision and its expiry. */
export function shareOf({
  checksum,
  revision,
  expires,
}: {
  checksum: number;
  revision: number;
  expires: number;
}): number {
  const seed = checksum ^ Math.imul(revision, 0x9e3779b1) ^ Math.imul(revision / 2 ** 32, 0x85ebca77) ^ (expires | 0);
  const low = mix(seed);
  return (mix(low ^ checksum) & 0xfffff) * 2 ** 32 + low;
}

/** A digest with a record's share added. */
export function plus(digest: number, share: number): number {
  return (digest + share) % MODULUS;
}

/** A digest with a record's share taken away. */
export function minus(digest: number, share: number): number {
  return (digest + MODULUS - share) % MODULUS;
}

/** Spreads every bit of an integer over all 32 (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

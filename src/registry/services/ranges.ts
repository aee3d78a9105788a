import { isIPv4, isIPv6 } from '../../api/validation/ip.ts';

export type Family = 'IPv4' | 'IPv6';

/** A range of addresses: `first` is the network's own, which no one gets. */
export interface Range {
  family: Family;
  cidr: string;
  first: bigint;
  size: bigint;
}

export const familyOf = (address: string): Family => (address.includes(':') ? 'IPv6' : 'IPv4');

function groupsOf(text: string): bigint[] {
  return text === '' ? [] : text.split(':').map((group) => BigInt(`0x${group}`));
}

/** An address as a number; undefined for what is none. */
export function parseAddress(text: string): bigint | undefined {
  if (isIPv4(text)) return text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  if (!isIPv6(text) || text.includes('.')) return undefined;
  const [head = '', tail] = text.split('::');
  const front = groupsOf(head);
  const back = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => 0n);
  return [...front, ...(tail === undefined ? [] : zeros), ...back].reduce((sum, part) => (sum << 16n) | part, 0n);
}

/** A number as an address in canonical form (RFC 5952). */
export function formatAddress(value: bigint, family: Family): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  const runs = [...groups.join(':').matchAll(/(?:^|:)0(?::0)+(?=:|$)/g)].sort((a, b) => b[0].length - a[0].length);
  const run = runs[0];
  if (run === undefined) return groups.join(':');
  const text = groups.join(':');
  return `${text.slice(0, run.index)}::${text.slice(run.index + run[0].length).replace(/^:/, '')}`;
}

/** Reads a range in CIDR form. Throws TypeError: it comes from the configuration. */
export function parseRange(cidr: string): Range {
  const [address = '', bits = ''] = cidr.split('/');
  const value = parseAddress(address);
  if (value === undefined || !/^\d+$/.test(bits)) throw new TypeError(`${cidr} is no range of addresses`);
  const family = familyOf(address);
  const size = 1n << BigInt((family === 'IPv4' ? 32 : 128) - Number(bits));
  return { family, cidr, first: value - (value % size), size };
}

/** Whether an address is in a range and may be given out. */
export function isUsable(range: Range, value: bigint): boolean {
  const last = range.family === 'IPv4' ? range.size - 2n : range.size - 1n;
  const offset = value - range.first;
  return offset >= 1n && offset <= last;
}

/**
 * Addresses that may be given out, in the order in which they should be: a random one above the low end, which is left
 * to those that are asked for by name, then the rest upwards, then the low end.
 */
export function* candidates(range: Range): Generator<bigint> {
  const last = range.family === 'IPv4' ? range.size - 2n : range.size - 1n;
  const reserved = [256n, range.size / 16n < 16n ? 16n : range.size / 16n].reduce((a, b) => (a < b ? a : b));
  const low = range.size > 16n ? reserved : 1n;
  const span = last - low + 1n;
  const random = BigInt(crypto.getRandomValues(new Uint32Array(1))[0]!) % span;
  for (let i = 0n; i < span; i++) yield range.first + low + ((random + i) % span);
  for (let i = 1n; i < low; i++) yield range.first + i;
}

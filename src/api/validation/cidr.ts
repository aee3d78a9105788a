import { isIPv6 } from './ip.ts';

/** A range of addresses, and how its text departs from the one that is preferred. */
export interface Cidr {
  family: 4 | 6;
  /** The address as a number, with what is beyond the prefix. */
  address: bigint;
  length: number;
  /** The text has zeros in front of an octet or of the prefix length. */
  padded: boolean;
  /** The address is an IPv4 address in the form of IPv6. */
  mapped: boolean;
}

const RULE = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
const widthOf = (cidr: Cidr) => (cidr.family === 4 ? 32n : 128n);
const MAPPED = 0xffffn;

function readV4(text: string): bigint | undefined {
  const octets = text.split('.');
  if (octets.length !== 4 || !octets.every((octet) => /^\d+$/.test(octet) && Number(octet) < 256)) return undefined;
  return octets.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
}

function readV6(text: string): bigint {
  const tail = text.slice(text.lastIndexOf(':') + 1);
  const v4 = tail.includes('.') ? readV4(tail)! : undefined;
  const hex = (part: bigint) => part.toString(16);
  const whole = v4 === undefined ? text : `${text.slice(0, -tail.length)}${hex(v4 >> 16n)}:${hex(v4 & MAPPED)}`;
  const [head = '', rest] = whole.split('::');
  const groups = (side: string) => (side === '' ? [] : side.split(':'));
  const [front, back] = [groups(head), groups(rest ?? '')];
  const all = [...front, ...Array<string>(8 - front.length - back.length).fill('0'), ...back];
  return all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

/** Reads a range as leniently as upstream once did; nothing where the text is none. */
export function parseCidr(text: string): Cidr | undefined {
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d+)$/.exec(text) ?? [];
  const length = Number(prefix);
  const padded = /^0\d/.test(prefix);
  const v4 = readV4(address);
  if (v4 !== undefined) {
    if (length > 32) return undefined;
    return { family: 4, address: v4, length, padded: padded || /(^|\.)0\d/.test(address), mapped: false };
  }
  if (prefix === '' || length > 128 || !isIPv6(address)) return undefined;
  const v6 = readV6(address);
  return { family: 6, address: v6, length, padded, mapped: v6 >> 32n === MAPPED };
}

/** The address of a range without what is beyond its prefix. */
export const masked = (cidr: Cidr) => {
  const rest = widthOf(cidr) - BigInt(cidr.length);
  return (cidr.address >> rest) << rest;
};

/** Whether a range lies in another one without being all of it. */
export function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  if (inner.family !== outer.family || inner.length <= outer.length) return false;
  const rest = widthOf(outer) - BigInt(outer.length);
  return inner.address >> rest === outer.address >> rest;
}

function v6Text(address: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((address >> BigInt(112 - 16 * i)) & MAPPED).toString(16));
  const text = groups.join(':');
  const runs = [...text.matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)];
  const longest = runs.reduce<RegExpExecArray | undefined>(
    (best, run) => (best === undefined || run[0].length > best[0].length ? run : best),
    undefined,
  );
  if (longest === undefined) return text;
  const before = text.slice(0, longest.index).replace(/:$/, '');
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, '');
  return `${before}::${after}`;
}

/** An address in its canonical form (RFC 5952). */
export function addressText(family: 4 | 6, address: bigint): string {
  if (family === 6) return v6Text(address);
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.');
}

const canonicalText = (cidr: Cidr): string => `${addressText(cidr.family, masked(cidr))}/${cidr.length}`;

/** What is wrong with a range of addresses; its form need not be the canonical one. */
export function cidrErrors(text: string): string[] {
  const cidr = parseCidr(text);
  if (cidr === undefined) return [RULE];
  if (cidr.padded) return ['must not have leading 0s in IP or prefix length'];
  if (cidr.mapped) return ['must not have an IPv4-mapped IPv6 address'];
  return masked(cidr) === cidr.address ? [] : ['must not have bits set beyond the prefix length'];
}

/** What is wrong with a range of addresses that has to have its canonical form (RFC 5952). */
export function canonicalCidrErrors(text: string): string[] {
  const faults = cidrErrors(text);
  const canonical = faults.length === 0 ? canonicalText(parseCidr(text)!) : text;
  return canonical === text ? faults : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

const ADDRESS_RULE = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

/** An address read as leniently as a range; nothing where the text is none. */
export const parseLeniently = (text: string): Cidr | undefined => parseCidr(`${text}/${text.includes(':') ? 128 : 32}`);

/** What is wrong with an address of a field that takes every spelling of one. */
export function addressErrors(text: string): string[] {
  const address = parseLeniently(text);
  if (address === undefined) return [ADDRESS_RULE];
  if (address.padded) return ['must not have leading 0s'];
  return address.mapped ? ['must not be an IPv4-mapped IPv6 address'] : [];
}

/** What is wrong with an address that has to have its canonical form (RFC 5952). */
export function canonicalAddressErrors(text: string): string[] {
  const faults = addressErrors(text);
  if (faults.length > 0) return faults;
  const { family, address } = parseLeniently(text)!;
  const canonical = addressText(family, address);
  return canonical === text ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

import { addressText, type Cidr, masked, parseCidr } from '../../api/validation/cidr.ts';
import { isIPv4, isIPv6 } from '../../api/validation/ip.ts';
import { type Definition, LIBRARY_TYPES } from '../functions.ts';
import { Fault, noOverload, Opaque } from '../values.ts';

/** Kubernetes' ip and cidr libraries. */

type Family = 4 | 6;

class Address extends Opaque {
  readonly type = LIBRARY_TYPES.IP!;
  readonly family: Family;
  readonly value: bigint;

  constructor(family: Family, value: bigint) {
    super();
    this.family = family;
    this.value = value;
  }

  override get size(): number {
    return this.family === 4 ? 4 : 16;
  }

  equals(other: Opaque): boolean {
    return other instanceof Address && other.family === this.family && other.value === this.value;
  }

  override toString(): string {
    return addressText(this.family, this.value);
  }

  /** Whether the first `length` bits are those of `value`. */
  within(value: bigint, length: number): boolean {
    const rest = BigInt((this.family === 4 ? 32 : 128) - length);
    return this.value >> rest === value >> rest;
  }
}

class Network extends Opaque {
  readonly type = LIBRARY_TYPES.CIDR!;
  readonly cidr: Cidr;

  constructor(cidr: Cidr) {
    super();
    this.cidr = cidr;
  }

  override get size(): number {
    return Math.ceil(this.cidr.length / 8);
  }

  equals(other: Opaque): boolean {
    if (!(other instanceof Network)) return false;
    const [a, b] = [this.cidr, other.cidr];
    return a.family === b.family && a.address === b.address && a.length === b.length;
  }

  override toString(): string {
    return `${addressText(this.cidr.family, this.cidr.address)}/${this.cidr.length}`;
  }
}

const isMapped = (family: Family, value: bigint) => family === 6 && value >> 32n === 0xffffn;

/** Go's netip.ParseAddr. */
function readAddress(text: string): Address | undefined {
  const family = isIPv4(text) ? 4 : isIPv6(text) ? 6 : undefined;
  if (family === undefined) return undefined;
  const value = parseCidr(`${text}/${family === 4 ? 32 : 128}`)?.address;
  return value === undefined ? undefined : new Address(family, value);
}

function whyNoAddress(text: string): string {
  const shown = JSON.stringify(text);
  const parsing = `ParseAddr(${shown})`;
  if (!/[.:%]/.test(text)) return `${parsing}: unable to parse IP`;
  if (text.includes(':')) return `${parsing}: each colon-separated field must have at least one digit`;
  const octets = text.split('.');
  if (octets.some((octet) => octet === '')) return `${parsing}: IPv4 field must have at least one digit`;
  if (octets.some((octet) => /^\d+$/.test(octet) && Number(octet) > 255)) {
    return `${parsing}: IPv4 field has value >255`;
  }
  if (octets.some((octet) => /^0\d/.test(octet))) return `${parsing}: IPv4 field has octet with leading zero`;
  if (octets.length < 4) return `${parsing}: IPv4 address too short`;
  return octets.length > 4 ? `${parsing}: IPv4 address too long` : `${parsing}: unexpected character`;
}

function parseAddress(text: string): Address {
  const [bare = '', zone] = text.split('%');
  if (zone !== undefined && zone !== '' && isIPv6(bare)) {
    throw new Fault(`IP address ${JSON.stringify(text)} with zone value is not allowed`);
  }
  const address = readAddress(text);
  if (address === undefined) {
    const why = `parse error during conversion from string: ${whyNoAddress(text)}`;
    throw new Fault(`IP Address ${JSON.stringify(text)} ${why}`);
  }
  if (isMapped(address.family, address.value)) {
    throw new Fault(`IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`);
  }
  return address;
}

function whyNoNetwork(text: string): string {
  const parsing = `netip.ParsePrefix(${JSON.stringify(text)})`;
  const slash = text.lastIndexOf('/');
  if (slash < 0) return `${parsing}: no '/'`;
  const address = readAddress(text.slice(0, slash));
  if (address === undefined) return `${parsing}: ${whyNoAddress(text.slice(0, slash))}`;
  const bits = text.slice(slash + 1);
  if (!/^(0|[1-9]\d*)$/.test(bits)) return `${parsing}: bad bits after slash: ${JSON.stringify(bits)}`;
  return `${parsing}: prefix length out of range`;
}

function parseNetwork(text: string): Network {
  const slash = text.lastIndexOf('/');
  const isWhole = slash >= 0 && readAddress(text.slice(0, slash)) !== undefined;
  const cidr = isWhole ? parseCidr(text) : undefined;
  const what = 'network address parse error during conversion from string: ';
  if (cidr === undefined || cidr.padded) throw new Fault(`${what}${what}${whyNoNetwork(text)}`);
  if (cidr.mapped) throw new Fault(`${what}IPv4-mapped IPv6 address ${JSON.stringify(text)} is not allowed`);
  return new Network(cidr);
}

function parses(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  };
}

const byFamily = (v4: (value: bigint) => boolean, v6: (value: bigint) => boolean) => (a: Address) =>
  a.family === 4 ? v4(a.value) : v6(a.value);
const isUnspecified = byFamily(
  (v) => v === 0n,
  (v) => v === 0n,
);
const isLoopback = byFamily(
  (v) => v >> 24n === 127n,
  (v) => v === 1n,
);
const isLinkLocalMulticast = byFamily(
  (v) => v >> 8n === 0xe00000n,
  (v) => ((v >> 112n) & 0xff0fn) === 0xff02n,
);
const isLinkLocalUnicast = byFamily(
  (v) => v >> 16n === 0xa9fen,
  (v) => v >> 118n === 0x3fan,
);
const isMulticast = byFamily(
  (v) => v >> 28n === 0xen,
  (v) => v >> 120n === 0xffn,
);
const isBroadcast = byFamily(
  (v) => v === 0xffffffffn,
  () => false,
);
const isGlobalUnicast = (a: Address) =>
  ![isUnspecified, isBroadcast, isLoopback, isMulticast, isLinkLocalUnicast].some((test) => test(a));

/** An address as text; one that is none has no overload here, upstream included. */
function containsParsedIP(network: Network, text: string): boolean {
  try {
    return containsIP(network, text);
  } catch (error) {
    throw error instanceof Fault ? noOverload() : error;
  }
}

const containsIP = ({ cidr }: Network, other: Address | string): boolean => {
  const address = typeof other === 'string' ? parseAddress(other) : other;
  return address.family === cidr.family && address.within(cidr.address, cidr.length);
};

const containsCIDR = (network: Network, other: Network | string): boolean => {
  const inner = typeof other === 'string' ? parseNetwork(other) : other;
  const { family, address, length } = inner.cidr;
  return length >= network.cidr.length && containsIP(network, new Address(family, address));
};

const addressOf = ({ cidr }: Network) => new Address(cidr.family, cidr.address);

export const addresses: readonly Definition[] = [
  ['string_to_ip', 'ip(string): IP', parseAddress],
  ['ip_family', 'IP.family(): int', ({ family }: Address) => BigInt(family)],
  ['ip_is_canonical', 'ip.isCanonical(string): bool', (text: string) => parseAddress(text).toString() === text],
  ['ip_is_unspecified', 'IP.isUnspecified(): bool', isUnspecified],
  ['ip_is_loopback', 'IP.isLoopback(): bool', isLoopback],
  ['ip_is_link_local_multicast', 'IP.isLinkLocalMulticast(): bool', isLinkLocalMulticast],
  ['ip_is_link_local_unicast', 'IP.isLinkLocalUnicast(): bool', isLinkLocalUnicast],
  ['ip_is_global_unicast', 'IP.isGlobalUnicast(): bool', isGlobalUnicast],
  ['is_ip', 'isIP(string): bool', parses(parseAddress)],
  ['ip_to_string', 'string(IP): string', String],
  ['string_to_cidr', 'cidr(string): CIDR', parseNetwork],
  ['cidr_contains_ip_string', 'CIDR.containsIP(string): bool', containsParsedIP],
  ['cidr_contains_ip_ip', 'CIDR.containsIP(IP): bool', containsIP],
  ['cidr_contains_cidr_string', 'CIDR.containsCIDR(string): bool', containsCIDR],
  ['cidr_contains_cidr', 'CIDR.containsCIDR(CIDR): bool', containsCIDR],
  ['cidr_ip', 'CIDR.ip(): IP', addressOf],
  ['cidr_prefix_length', 'CIDR.prefixLength(): int', ({ cidr }: Network) => BigInt(cidr.length)],
  ['cidr_masked', 'CIDR.masked(): CIDR', ({ cidr }: Network) => new Network({ ...cidr, address: masked(cidr) })],
  ['is_cidr', 'isCIDR(string): bool', parses(parseNetwork)],
  ['cidr_to_string', 'string(CIDR): string', String],
];

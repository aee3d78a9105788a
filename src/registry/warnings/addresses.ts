import { objectsAt, text, texts } from '../../api/fields.ts';
import type { JsonObject } from '../../api/object.ts';
import { addressText, type Cidr, masked, parseCidr, parseLeniently } from '../../api/validation/cidr.ts';

/** IPv4 addresses in the form of IPv6 show as what they are. */
function shown({ family, address, mapped }: Cidr): string {
  return mapped ? addressText(4, address & 0xffffffffn) : addressText(family, address);
}

/** What is unusual about an address that old fields accept. */
export function addressWarnings(at: string, value: string): string[] {
  const address = parseLeniently(value);
  if (address === undefined) return [];
  const preferred = JSON.stringify(shown(address));
  const quoted = JSON.stringify(value);
  if (address.padded || address.mapped) {
    return [`${at}: non-standard IP address ${quoted} is invalid: use ${preferred}`];
  }
  if (address.family === 4 || preferred === quoted) return [];
  return [`${at}: IPv6 address ${quoted} should be in RFC 5952 canonical format (${preferred})`];
}

/** What is unusual about a range of addresses that old fields accept. */
export function rangeWarnings(at: string, value: string): string[] {
  const range = parseCidr(value);
  if (range === undefined) return [];
  const mappedBits = range.mapped ? 96 : 0;
  const length = Math.max(range.length - mappedBits, 0);
  const network = `${shown({ ...range, address: masked(range) })}/${length}`;
  const quoted = JSON.stringify(value);
  const out: string[] = [];
  if (masked(range) !== range.address) {
    const single = `${shown(range)}/${range.family === 4 || range.mapped ? 32 : 128}`;
    const choice = `should be ${JSON.stringify(network)} or ${JSON.stringify(single)}?`;
    out.push(`${at}: CIDR value ${quoted} is ambiguous in this context (${choice})`);
  }
  if (range.padded || range.mapped) {
    out.push(`${at}: non-standard CIDR value ${quoted} is invalid: use ${JSON.stringify(network)}`);
  }
  if (out.length > 0 || range.family === 4 || network === value) return out;
  return [`${at}: IPv6 CIDR value ${quoted} should be in RFC 5952 canonical format (${JSON.stringify(network)})`];
}

/** Warnings about every address of a list of texts. */
export const eachAddress = (at: string, values: readonly string[]): string[] =>
  values.flatMap((value, i) => addressWarnings(`${at}[${i}]`, value));

/** Warnings about every range of a list of texts. */
export const eachRange = (at: string, values: readonly string[]): string[] =>
  values.flatMap((value, i) => rangeWarnings(`${at}[${i}]`, value));

/** Warnings about the ranges that the rules of a network policy name; `peers` is `from` or `to`. */
export function peerWarnings(rules: readonly JsonObject[], at: string, peers: string): string[] {
  return rules.flatMap((rule, i) =>
    objectsAt(rule, peers).flatMap((peer, j) => {
      const block = (peer.ipBlock ?? {}) as JsonObject;
      const path = `${at}[${i}].${peers}[${j}].ipBlock`;
      return [...rangeWarnings(`${path}.cidr`, text(block.cidr)), ...eachRange(`${path}.except`, texts(block.except))];
    }),
  );
}

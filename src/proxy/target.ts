import { addressText, parseLeniently } from '../api/validation/cidr.ts';

/** What a name in a proxy path asks for: `name`, `name:port` or `scheme:name:port`. */
export interface Target {
  /** Empty where none is asked for. */
  scheme: string;
  name: string;
  /** A number or the name of a port; empty where none is asked for. */
  port: string;
}

/** Reads a name in a proxy path; nothing where it has no such form. */
export function parseTarget(id: string): Target | undefined {
  const parts = id.split(':');
  if (parts.length > 3) return undefined;
  const [scheme, name, port] = parts.length === 3 ? parts : ['', ...parts];
  if (name === undefined || name === '' || !['', 'http', 'https'].includes(scheme!)) return undefined;
  return { scheme: scheme!, name, port: port ?? '' };
}

const within = (address: bigint, bits: bigint, length: number, width: number) =>
  address >> BigInt(width - length) === bits;

/**
 * Whether a text is an address that a proxy may call: not unspecified, of this machine, link-local, multicast or
 * broadcast (Go's IsGlobalUnicast).
 */
export function isGlobalUnicast(text: string): boolean {
  const read = parseLeniently(text);
  if (read === undefined) return false;
  const four = read.family === 4 || read.mapped;
  const address = read.mapped ? read.address & 0xffffffffn : read.address;
  if (address === 0n) return false;
  if (!four) return address !== 1n && !within(address, 0x3fan, 10, 128) && !within(address, 0xffn, 8, 128);
  return (
    address !== 0xffffffffn &&
    !within(address, 127n, 8, 32) &&
    !within(address, 0xa9fen, 16, 32) &&
    !within(address, 0xen, 4, 32)
  );
}

/** Whether a text is an address of any kind. */
export const isAddress = (text: string): boolean => parseLeniently(text) !== undefined;

/** Host and port as a URL has them: IPv6 addresses in brackets, no port where there is none. */
export function authorityOf(host: string, port: string): string {
  const read = host.includes(':') ? parseLeniently(host) : undefined;
  const shown = read === undefined ? host : `[${addressText(6, read.address)}]`;
  return port === '' ? shown : `${shown}:${port}`;
}

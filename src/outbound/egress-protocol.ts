/**
 * How the Worker tells the local egress service (src/local/egress.ts) whom to call: the call itself is the HTTP
 * request, and this header beside it says the rest.
 */
export const TARGET_HEADER = 'x-egress-target';
/** On an answer of the service itself: why there is none of the peer, percent-encoded. */
export const FAILURE_HEADER = 'x-egress-failure';
/** Carries the key, random per start, that the runtime puts on every call of the Worker. */
export const KEY_HEADER = 'x-egress-key';

/** Value of the target header, as base64 of JSON. */
export interface EgressTarget {
  url: string;
  authority?: string;
  insecure?: boolean;
  serverName?: string;
  dial?: { host: string; port: number };
  identity?: { certificate: string; key: string };
}

/** Writes a target as ASCII. */
export function encodeTarget(target: EgressTarget): string {
  const bytes = new TextEncoder().encode(JSON.stringify(target));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

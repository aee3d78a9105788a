/**
 * How the Worker tells the egress service (src/local/egress.ts) whom to call: the call itself is the HTTP
 * request, and this header beside it says the rest.
 */
export const TARGET_HEADER = 'x-egress-target';
/** On an answer of the service itself: why there is none of the peer, percent-encoded. */
export const FAILURE_HEADER = 'x-egress-failure';
/** On the service's refusal of a call without its key. */
export const REFUSED_HEADER = 'x-egress-refused';
/** Carries the key, that shows that a call is the Worker's; `npm start` makes one for each start, which the runtime puts on. */
export const KEY_HEADER = 'x-egress-key';

/** Value of the target header, as base64 of JSON. */
export interface EgressTarget {
  url: string;
  authority?: string;
  insecure?: boolean;
  serverName?: string;
  dial?: { host: string; port: number };
  identity?: { certificate: string; key: string };
  /** Headers with a line for each value: the runtime's `fetch` would join them. */
  repeated?: Readonly<Record<string, readonly string[]>>;
}

/** Writes a target as ASCII. */
export function encodeTarget(target: EgressTarget): string {
  const bytes = new TextEncoder().encode(JSON.stringify(target));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

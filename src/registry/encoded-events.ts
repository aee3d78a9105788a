import type { WatchEvent } from '../keyspace/types.ts';
import type { MediaType } from '../request/negotiate.ts';
import type { Resource } from './resource.ts';

/** An event as the watchers of one row in one media type get it. */
interface Encoded {
  resource: Resource;
  mediaType: MediaType;
  bytes: Uint8Array;
}

const encoded = new WeakMap<WatchEvent, Encoded[]>();

/**
 * The bytes of an event for a row in a media type, made by `encode` once: many watches of an isolate are given the same
 * event.
 */
export function encodedOnce(
  event: WatchEvent,
  resource: Resource,
  mediaType: MediaType,
  encode: () => Uint8Array,
): Uint8Array {
  const known = encoded.get(event) ?? [];
  const found = known.find((other) => other.resource === resource && other.mediaType === mediaType);
  if (found !== undefined) return found.bytes;
  const bytes = encode();
  known.push({ resource, mediaType, bytes });
  encoded.set(event, known);
  return bytes;
}

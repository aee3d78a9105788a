import type { JsonObject } from '../api/object.ts';
import { encodeTree } from '../registry/present.ts';
import type { Negotiated } from '../request/negotiate.ts';

/** A document that stays the same for as long as its catalog, kept with every encoding that was asked for. */
export interface Document {
  object: JsonObject;
  groupVersion: string;
  kind: string;
  bodies: Map<string, Uint8Array>;
  etag?: string;
}

/** A document around a tree; `groupVersion` and `kind` name its protobuf message. */
export const makeDocument = (object: JsonObject, groupVersion: string, kind: string): Document => ({
  object,
  groupVersion,
  kind,
  bodies: new Map(),
});

/** Bytes of a document in a negotiated form. */
export function documentBody(document: Document, form: Negotiated): Uint8Array {
  const key = form.pretty ? `${form.mediaType} pretty` : form.mediaType;
  let body = document.bodies.get(key);
  if (body === undefined) {
    body = encodeTree(document.object, form, document.groupVersion, document.kind);
    document.bodies.set(key, body);
  }
  return body;
}

/** Upper-case hexadecimal SHA-512 of bytes, as upstream makes entity tags and hashes of documents. */
export async function sha512(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-512', bytes as Uint8Array<ArrayBuffer>));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join('');
}

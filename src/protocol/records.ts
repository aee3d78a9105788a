/**
 * The stored form of a record, which is its wire form too, so that replicas copy bytes and never re-encode:
 *
 *     createRevision f64 | modRevision f64 | key string | meta bytes | value (the rest)
 *     meta = storageVersion string, schema, typeMetaEnd, resourceVersionAt varints, terms, labels, fields
 *
 * What follows the two revisions is the *body*, made by the Worker; the revisions are stamped at apply.
 */
import type { RecordMeta, Revision, StoredRecord, ValueTag } from '../keyspace/types.ts';
import { Reader, Writer } from './bytes.ts';

/** Bytes before the body: the two revisions. */
export const HEADER = 16;

/** Encodes key, meta and value of a put. */
export function encodeBody(key: string, meta: RecordMeta, value: Uint8Array): Uint8Array {
  const { tag } = meta;
  const inner = new Writer(256).string(tag.storageVersion).varint(tag.schema).varint(tag.typeMetaEnd);
  inner.varint(tag.resourceVersionAt).strings(meta.terms).stringMap(meta.labels).stringMap(meta.fields);
  return new Writer(key.length + inner.length + value.length + 16)
    .string(key)
    .bytes(inner.finish())
    .raw(value)
    .finish();
}

/** Puts the revisions before a body. The result owns its buffer. */
export function stampRecord(body: Uint8Array, createRevision: Revision, modRevision: Revision): Uint8Array {
  const record = new Uint8Array(HEADER + body.length);
  const view = new DataView(record.buffer);
  view.setFloat64(0, createRevision);
  view.setFloat64(8, modRevision);
  record.set(body, HEADER);
  return record;
}

/** Copies a record under another mod revision: the last state of something deleted at that revision. */
export function restampRecord(record: Uint8Array, modRevision: Revision): Uint8Array {
  const copy = record.slice();
  new DataView(copy.buffer).setFloat64(8, modRevision);
  return copy;
}

/** The create revision of a stored record. */
export function createRevisionOf(record: Uint8Array): Revision {
  return new DataView(record.buffer, record.byteOffset, 8).getFloat64(0);
}

/** Reads the labels and fields of a stored record, without its value. */
export function metaOf(record: Uint8Array): RecordMeta {
  const reader = new Reader(record, HEADER);
  reader.skip();
  return new MetaView(reader.bytes());
}

/** Reads only the index terms of a stored record. */
export function termsOf(record: Uint8Array): string[] {
  return record.length === 0 ? [] : metaOf(record).terms;
}

/** A copy of a stored record with an empty value. */
export function withoutValue(record: Uint8Array): Uint8Array {
  const reader = new Reader(record, HEADER);
  reader.skip();
  reader.skip();
  return record.slice(0, reader.at);
}

/** Decodes a stored record. Value and meta are views of the input; the parts of meta are decoded when first asked for. */
export function decodeRecord(record: Uint8Array): StoredRecord {
  const view = new DataView(record.buffer, record.byteOffset, HEADER);
  const reader = new Reader(record, HEADER);
  return {
    createRevision: view.getFloat64(0),
    modRevision: view.getFloat64(8),
    key: reader.string(),
    meta: new MetaView(reader.bytes()),
    value: reader.rest(),
  };
}

/** Record metadata over its encoded bytes: most readers want only the tag. */
class MetaView implements RecordMeta {
  readonly tag: ValueTag;
  readonly #bytes: Uint8Array;
  readonly #termsAt: number;
  #decoded: { terms: string[]; labels: Record<string, string>; fields: Record<string, string> } | undefined;

  constructor(bytes: Uint8Array) {
    const reader = new Reader(bytes);
    this.tag = {
      storageVersion: reader.string(),
      schema: reader.varint(),
      typeMetaEnd: reader.varint(),
      resourceVersionAt: reader.varint(),
    };
    this.#bytes = bytes;
    this.#termsAt = reader.at;
  }

  #decode() {
    if (this.#decoded === undefined) {
      const reader = new Reader(this.#bytes, this.#termsAt);
      this.#decoded = { terms: reader.strings(), labels: reader.stringMap(), fields: reader.stringMap() };
    }
    return this.#decoded;
  }

  get terms(): string[] {
    return this.#decode().terms;
  }

  get labels(): Record<string, string> {
    return this.#decode().labels;
  }

  get fields(): Record<string, string> {
    return this.#decode().fields;
  }
}

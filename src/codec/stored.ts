/**
 * The stored form of an object: its JSON beginning with kind, apiVersion and metadata, without resourceVersion. The
 * offsets in the tag let answers be made by copying bytes, which is what most reads do.
 */
import { isObject, type JsonObject, type JsonValue, type KubeObject, setKey } from '../api/object.ts';
import type { StoredRecord, ValueTag } from '../keyspace/types.ts';
import { parseTree, stringifyJson } from './json.ts';
import { arrange } from './typed.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const NEWLINE = 0x0a;

/**
 * The bytes to store; equal objects give equal bytes. `schema`: see ValueTag; 0 means a built-in kind. The object must
 * have a kind, an apiVersion and at least one member of metadata besides resourceVersion.
 */
export function encodeStored(object: KubeObject, schema = 0): { value: Uint8Array; tag: ValueTag } {
  const {
    kind = '',
    apiVersion = '',
    metadata,
    ...rest
  } = schema === 0 ? arrange(object) : (sorted(object) as KubeObject);
  const { resourceVersion: _, name, generateName, namespace, selfLink, uid, ...others } = metadata;
  const identity = { name, generateName, namespace, selfLink, uid };
  const typeMeta = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
  // Go writes resourceVersion after uid; where nothing follows that, it goes first.
  const first = `${JSON.stringify(identity).slice(1, -1)},`;
  const before = Object.keys(others).length > 0 && first.length > 1 ? first : '';
  return {
    value: encoder.encode(stringifyJson({ kind, apiVersion, metadata: { ...identity, ...others }, ...rest })),
    tag: {
      storageVersion: apiVersion,
      schema,
      typeMetaEnd: byteLength(typeMeta),
      resourceVersionAt: byteLength(`${typeMeta}"metadata":{${before}`),
    },
  };
}

/** A tree with the keys of all its maps in order: that of a custom resource's fields is not told by any type. */
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) setKey(out, key, sorted(member));
  }
  return out;
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** The object of a record, parsed, with its resourceVersion. */
export function decodeStored(record: StoredRecord): KubeObject {
  const object = parseTree(decoder.decode(record.value)) as KubeObject;
  object.metadata.resourceVersion = String(record.modRevision);
  return object;
}

/** A whole answer with a record's object, newline included; bytes are only copied. */
export function objectJson(record: StoredRecord): Uint8Array {
  const out = new Uint8Array(splicedLength(record) + 1);
  out[writeObject(out, 0, record)] = NEWLINE;
  return out;
}

/** ListMeta of an answer. */
export interface ListMetadata {
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

/**
 * A whole list answer, newline included, by copying bytes. `typeMeta`: items keep kind and apiVersion (custom
 * resources do, built-ins do not).
 */
export function listJson(
  records: readonly StoredRecord[],
  kind: string,
  apiVersion: string,
  metadata: ListMetadata,
  typeMeta = false,
): Uint8Array {
  const head = encoder.encode(
    `${stringifyJson({ kind, apiVersion, metadata: metadata as unknown as JsonValue }).slice(0, -1)},"items":[`,
  );
  let length = head.length + 3 + Math.max(0, records.length - 1);
  for (const record of records) length += splicedLength(record) - (typeMeta ? 0 : record.meta.tag.typeMetaEnd - 1);
  const out = new Uint8Array(length);
  out.set(head);
  let at = head.length;
  let first = true;
  for (const record of records) {
    if (!first) out[at++] = COMMA;
    first = false;
    at = typeMeta ? writeObject(out, at, record) : writeItem(out, at, record);
  }
  out[at++] = 0x5d;
  out[at++] = CLOSE_BRACE;
  out[at] = NEWLINE;
  return out;
}

/** One line of a JSON watch: `{"type":"ADDED","object":{…}}` and a newline. */
export function watchEventJson(type: string, record: StoredRecord): Uint8Array {
  const head = `{"type":"${type}","object":`;
  const out = new Uint8Array(head.length + splicedLength(record) + 2);
  let at = writeAscii(out, 0, head);
  at = writeObject(out, at, record);
  out[at++] = CLOSE_BRACE;
  out[at] = NEWLINE;
  return out;
}

const SPLICE_HEAD = '"resourceVersion":"';
const SPLICE_TAIL = '",';

function splicedLength(record: StoredRecord): number {
  return record.value.length + SPLICE_HEAD.length + SPLICE_TAIL.length + decimalDigits(record.modRevision);
}

function decimalDigits(n: number): number {
  let digits = 1;
  for (let rest = n; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  return digits;
}

function writeObject(out: Uint8Array, at: number, record: StoredRecord): number {
  const { resourceVersionAt } = record.meta.tag;
  out.set(record.value.subarray(0, resourceVersionAt), at);
  return writeRest(out, at + resourceVersionAt, record);
}

function writeItem(out: Uint8Array, at: number, record: StoredRecord): number {
  const { typeMetaEnd, resourceVersionAt } = record.meta.tag;
  out[at] = OPEN_BRACE;
  out.set(record.value.subarray(typeMetaEnd, resourceVersionAt), at + 1);
  return writeRest(out, at + 1 + resourceVersionAt - typeMetaEnd, record);
}

function writeRest(out: Uint8Array, at: number, record: StoredRecord): number {
  const rest = record.value.subarray(record.meta.tag.resourceVersionAt);
  const end = writeAscii(out, at, `${SPLICE_HEAD}${record.modRevision}${SPLICE_TAIL}`);
  out.set(rest, end);
  return end + rest.length;
}

function writeAscii(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i);
  return at + text.length;
}

import type { JsonObject, JsonValue, KubeObject } from '../api/object.ts';
import { canonicalQuantity, canonicalResource, QuantityError } from '../api/quantity.ts';
import { formatTime, microTimeFromUnix } from '../api/time.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { parseTree, stringifyJson } from './json.ts';
import type { Field, Message } from './plan.ts';
import { assemble, message, messageName, sortedMap, zeroElement } from './plan.ts';
import { BYTES, Reader, WireError, Writer } from './wire.ts';

/** A protobuf body taken out of its envelope. `object` is the tree that `decodeTyped` would give for the same object. */
export interface ProtobufObject {
  groupVersion: string;
  kind: string;
  object: KubeObject;
}

/** Bytes that are no protobuf object of a known kind; the message may be shown in a 400. */
export class ProtobufError extends Error {}

const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Whether a kind has a protobuf form (Table and custom resources have none). */
export function hasProtobuf(groupVersion: string, kind: string): boolean {
  return messageName(groupVersion, kind) !== undefined;
}

/** `k8s\0` and a runtime.Unknown around the message of the object. Throws {@link ProtobufError} for kinds without one. */
export function encodeProtobuf(object: KubeObject, groupVersion: string, kind: string): Uint8Array {
  const name = messageName(groupVersion, kind);
  if (name === undefined) throw new ProtobufError(`no protobuf form of ${groupVersion} ${kind}`);
  const writer = new Writer();
  writer.string(4, '');
  writer.string(3, '');
  const raw = writer.mark();
  writeMessage(writer, message(name), object);
  writer.message(2, raw);
  const typeMeta = writer.mark();
  writer.string(2, kind);
  writer.string(1, groupVersion);
  writer.message(1, typeMeta);
  writer.prefix(MAGIC);
  return writer.finish();
}

/** Opens the envelope and decodes the message. Throws {@link ProtobufError}. */
export function decodeProtobuf(bytes: Uint8Array): ProtobufObject {
  if (MAGIC.some((b, i) => bytes[i] !== b)) {
    throw new ProtobufError(
      `provided data does not appear to be a protobuf message, expected prefix [${[...MAGIC].join(' ')}]`,
    );
  }
  try {
    return open(new Reader(bytes, MAGIC.length));
  } catch (error) {
    if (error instanceof WireError || error instanceof QuantityError || error instanceof SyntaxError) {
      throw new ProtobufError(error.message);
    }
    throw error;
  }
}

/**
 * One frame of a protobuf watch: four bytes of length (big-endian), then a bare metav1.WatchEvent around an enveloped
 * object.
 */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const writer = new Writer();
  const mark = writer.mark();
  writer.bytes(1, object);
  writer.message(2, mark);
  writer.string(1, type);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, writer.mark());
  writer.prefix(length);
  return writer.finish();
}

function open(envelope: Reader): ProtobufObject {
  let groupVersion = '';
  let kind = '';
  let raw = new Reader(MAGIC, 0, 0);
  while (!envelope.done) {
    const tag = envelope.varint();
    if (tag === 0x0a) {
      const typeMeta = envelope.message();
      while (!typeMeta.done) {
        const inner = typeMeta.varint();
        if (inner === 0x0a) groupVersion = typeMeta.string();
        else if (inner === 0x12) kind = typeMeta.string();
        else typeMeta.skip(inner % 8);
      }
    } else if (tag === 0x12) raw = envelope.message();
    else envelope.skip(tag % 8);
  }
  const name = messageName(groupVersion, kind);
  if (name === undefined) throw new ProtobufError(`no kind "${kind}" is registered for version "${groupVersion}"`);
  const object = assemble(message(name), readMessage(raw, message(name))) as KubeObject;
  return { groupVersion, kind, object: { kind, apiVersion: groupVersion, ...object } };
}

// Writing. Fields and elements go last to first.

function writeMessage(writer: Writer, plan: Message, value: JsonObject): void {
  for (let i = plan.wire.length - 1; i >= 0; i--) {
    const f = plan.wire[i] as Field;
    if (f.inline) {
      const mark = writer.mark();
      writeMessage(writer, message(f.type), value);
      writer.message(f.number, mark);
    } else writeField(writer, f, value[f.name] ?? undefined);
  }
}

function writeField(writer: Writer, f: Field, value: JsonValue | undefined): void {
  if (f.label === 'list') {
    if (Array.isArray(value)) for (let i = value.length - 1; i >= 0; i--) writeElement(writer, f, f.number, value[i]);
  } else if (f.label === 'map') {
    if (value !== undefined) writeMap(writer, f, value as JsonObject);
  } else if (value !== undefined || !(f.pointer || f.scalar === 'bytes')) writeElement(writer, f, f.number, value);
}

/** Go writes maps in the order of their keys. */
function writeMap(writer: Writer, f: Field, map: JsonObject): void {
  for (const key of Object.keys(map).sort().reverse()) {
    const mark = writer.mark();
    writeElement(writer, f, 2, map[key]);
    writer.string(1, key);
    writer.message(f.number, mark);
  }
}

/** One value; undefined stands for Go's zero. */
function writeElement(writer: Writer, f: Field, number: number, value: JsonValue | undefined): void {
  switch (f.scalar) {
    case 'string':
      writer.string(number, typeof value === 'string' ? value : '');
      return;
    case 'bool':
      writer.bool(number, value === true);
      return;
    case 'int32':
    case 'int64':
      writer.integer(number, typeof value === 'bigint' ? value : Number(value ?? 0));
      return;
    case 'double':
      writer.double(number, Number(value ?? 0));
      return;
    case 'bytes':
      if (typeof value === 'string') writer.bytes(number, fromBase64(value));
      return;
    default: {
      const mark = writer.mark();
      writeContent(writer, message(f.type), value);
      writer.message(number, mark);
    }
  }
}

function writeContent(writer: Writer, plan: Message, value: JsonValue | undefined): void {
  const custom = customs.get(plan.name);
  if (custom !== undefined) custom.write(writer, value ?? null, plan);
  else if (plan.wraps) writeField(writer, plan.wire[0] as Field, value ?? undefined);
  else writeMessage(writer, plan, (value ?? {}) as JsonObject);
}

// Reading.

/** The values of a message by their position in `plan.fields`. */
function readMessage(reader: Reader, plan: Message): (JsonValue | undefined)[] {
  const values: (JsonValue | undefined)[] = new Array(plan.fields.length);
  const maps = new Map<number, [string, JsonValue][]>();
  while (!reader.done) {
    const tag = reader.varint();
    const index = wireIndex(plan, Math.floor(tag / 8));
    if (index < 0) {
      reader.skip(tag % 8);
      continue;
    }
    const f = plan.wire[index] as Field;
    const position = plan.wirePositions[index] as number;
    expectType(f, tag % 8);
    if (f.inline) readInline(reader, f, position, values);
    else if (f.label === 'list') {
      const items = values[position] ?? [];
      values[position] = items;
      (items as JsonValue[]).push(readElement(reader, f));
    } else if (f.label === 'map') {
      const entries = maps.get(position) ?? [];
      maps.set(position, entries);
      entries.push(readEntry(reader, f));
    } else values[position] = present(f, readElement(reader, f));
  }
  for (const [position, entries] of maps) values[position] = sortedMap(entries);
  return values;
}

function readInline(reader: Reader, f: Field, position: number, values: (JsonValue | undefined)[]): void {
  const inner = readMessage(reader.message(), message(f.type));
  for (let i = 0; i < inner.length; i++) if (inner[i] !== undefined) values[position + i] = inner[i];
}

/** Fields come in order, and numbers have few gaps: a short scan beats a map. */
function wireIndex(plan: Message, number: number): number {
  const { wire } = plan;
  for (let i = Math.min(number, wire.length) - 1; i >= 0; i--) if (wire[i]?.number === number) return i;
  return -1;
}

function expectType(f: Field, wireType: number): void {
  const wanted = f.label !== 'one' || f.scalar === undefined ? undefined : WIRE_TYPES[f.scalar];
  const right = wanted ?? (f.label === 'list' && f.scalar !== undefined ? WIRE_TYPES[f.scalar] : BYTES);
  if (wireType !== right) throw new WireError(`proto: wrong wireType = ${wireType} for field ${f.name}`);
}
const WIRE_TYPES = { string: BYTES, bytes: BYTES, bool: 0, int32: 0, int64: 0, double: 1 } as const;

/** What JSON shows of a value: zeroes of what is no pointer are left out, or come back as always written ones. */
function present(f: Field, value: JsonValue): JsonValue | undefined {
  if (value === null) return undefined;
  if (f.pointer || f.scalar === undefined) return value;
  if (value === '') return f.scalar === 'bytes' && f.always ? value : undefined;
  return value === 0 || value === false ? undefined : value;
}

function readEntry(reader: Reader, f: Field): [string, JsonValue] {
  const entry = reader.message();
  let key = '';
  let value: JsonValue | undefined;
  while (!entry.done) {
    const tag = entry.varint();
    if (tag === 0x0a) key = entry.string();
    else if (Math.floor(tag / 8) === 2) value = readElement(entry, f);
    else entry.skip(tag % 8);
  }
  if (f.resources && typeof value === 'string') value = canonicalResource(value);
  return [key, value ?? zeroElement(f)];
}

function readElement(reader: Reader, f: Field): JsonValue {
  switch (f.scalar) {
    case 'string':
      return reader.string();
    case 'bool':
      return reader.varint() !== 0;
    case 'int32':
      return Number(reader.int64()) | 0;
    case 'int64':
      return reader.int64();
    case 'double':
      return reader.double();
    case 'bytes':
      return toBase64(reader.bytes());
    default:
      return readContent(reader.message(), message(f.type));
  }
}

function readContent(reader: Reader, plan: Message): JsonValue {
  const custom = customs.get(plan.name);
  if (custom !== undefined) return custom.read(reader, plan);
  if (!plan.wraps) return assemble(plan, readMessage(reader, plan));
  const items: JsonValue[] = [];
  while (!reader.done) {
    reader.varint();
    items.push(readElement(reader, plan.wire[0] as Field));
  }
  return items.length === 0 ? null : items;
}

// Types with a JSON form of their own.

interface CustomWire {
  write(writer: Writer, value: JsonValue, plan: Message): void;
  read(reader: Reader, plan: Message): JsonValue;
}

/** A message's fields by number, for the small custom ones. Repeated fields keep their last value. */
function fieldsOf(reader: Reader, read: (number: number, reader: Reader) => void): void {
  while (!reader.done) read(Math.floor(reader.varint() / 8), reader);
}

function timeWire(micros: boolean): CustomWire {
  return {
    write(writer, value) {
      if (typeof value !== 'string') return;
      const fraction = micros ? /\.(\d{6})/.exec(value)?.[1] : undefined;
      writer.integer(2, Number(fraction ?? 0) * 1000);
      writer.integer(1, Math.floor(Date.parse(value) / 1000));
    },
    read(reader) {
      let seconds: number | undefined;
      let nanos = 0;
      fieldsOf(reader, (number, r) => {
        if (number === 1) seconds = Number(r.int64());
        else if (number === 2) nanos = Number(r.int64());
        else throw new WireError('proto: unknown field of a time');
      });
      if (seconds === undefined) return null;
      if (!(Math.abs(seconds) < 8.64e12)) throw new WireError('proto: time out of range');
      return micros ? microTimeFromUnix(seconds, Math.trunc(nanos / 1000)) : formatTime(new Date(seconds * 1000));
    },
  };
}

const quantityWire: CustomWire = {
  write: (writer, value) => writer.string(1, typeof value === 'string' ? value : '0'),
  read(reader) {
    let text = '0';
    fieldsOf(reader, (_, r) => {
      text = r.string();
    });
    return text === '' ? '0' : canonicalQuantity(text);
  },
};

const intOrStringWire: CustomWire = {
  write(writer, value) {
    writer.string(3, typeof value === 'string' ? value : '');
    writer.integer(2, typeof value === 'number' ? value : 0);
    writer.integer(1, typeof value === 'string' ? 1 : 0);
  },
  read(reader) {
    let isString = false;
    let int = 0;
    let text = '';
    fieldsOf(reader, (number, r) => {
      if (number === 1) isString = r.varint() !== 0;
      else if (number === 2) int = Number(r.int64()) | 0;
      else text = r.string();
    });
    return isString ? text : int;
  },
};

/** Raw JSON bytes; an object sent as protobuf inside one is kept out of JSON, as nothing. */
const rawJsonWire: CustomWire = {
  write(writer, value) {
    if (value !== null) writer.bytes(1, encoder.encode(stringifyJson(value)));
  },
  read(reader) {
    let value: JsonValue = null;
    fieldsOf(reader, (_, r) => {
      const bytes = r.bytes();
      if (MAGIC.every((b, i) => bytes[i] === b)) value = decodeProtobuf(bytes).object;
      else if (bytes.length > 0) value = parseTree(decoder.decode(bytes));
    });
    return value;
  },
};

/** `schema` in field 1, the alternative in field 2 (`allows` of the boolean form is field 1, its schema field 2). */
function schemaUnionWire(boolean: boolean): CustomWire {
  const [other, schema] = boolean ? [0, 1] : [1, 0];
  return {
    write(writer, value, plan) {
      const object = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
      const parts: [Field, JsonValue | undefined][] = [
        [plan.wire[schema] as Field, object],
        [plan.wire[other] as Field, object === undefined ? (value ?? undefined) : boolean ? true : undefined],
      ];
      parts.sort(([a], [b]) => b.number - a.number);
      for (const [f, part] of parts) writeField(writer, f, part);
    },
    read(reader, plan) {
      let object: JsonValue | undefined;
      let rest: JsonValue = boolean ? false : [];
      fieldsOf(reader, (number, r) => {
        const f = plan.wire[number - 1];
        if (f === undefined) throw new WireError('proto: unknown field of a schema union');
        const value = readElement(r, f);
        if (number - 1 === schema) object = value;
        else if (f.label === 'list') (rest as JsonValue[]).push(value);
        else rest = value;
      });
      return object ?? rest;
    },
  };
}

const META = 'k8s.io.apimachinery.pkg.apis.meta.v1.';
const EXTENSIONS = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.';
const customs: ReadonlyMap<string, CustomWire> = new Map<string, CustomWire>([
  [`${META}Time`, timeWire(false)],
  [`${META}MicroTime`, timeWire(true)],
  [`${META}FieldsV1`, rawJsonWire],
  ['k8s.io.apimachinery.pkg.api.resource.Quantity', quantityWire],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', intOrStringWire],
  ['k8s.io.apimachinery.pkg.runtime.RawExtension', rawJsonWire],
  [`${EXTENSIONS}JSON`, rawJsonWire],
  [`${EXTENSIONS}JSONSchemaPropsOrBool`, schemaUnionWire(true)],
  [`${EXTENSIONS}JSONSchemaPropsOrArray`, schemaUnionWire(false)],
  [`${EXTENSIONS}JSONSchemaPropsOrStringArray`, schemaUnionWire(false)],
]);

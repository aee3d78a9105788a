import type { JsonObject, JsonValue, KubeObject } from '../api/object.ts';
import { setKey } from '../api/object.ts';
import { Refused, readers, readResource, schemaUnions, WrongType } from './custom.ts';
import type { ParsedValue } from './json.ts';
import { plainValue } from './json.ts';
import type { Field, Message, Scalar } from './plan.ts';
import { assemble, goType, message, messageName, sortedMap, zeroElement } from './plan.ts';
import { restoredInteger, restoreFault } from './restore.ts';

/** A decoded object, and what a strict reading finds: `unknown field "spec.x"`, `duplicate field "metadata.name"`, in order. */
export interface Decoded {
  object: KubeObject;
  strict: string[];
}

/** A value of the wrong type; the message is Go's (`json: cannot unmarshal string into Go struct field …`). */
export class DecodeError extends Error {}

const OBJECT_META = 'k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta';
/** Findings that upstream keeps at most. */
const MAX_FINDINGS = 100;

/**
 * Decodes a tree as the built-in kind, as Go's decoder and a round trip through storage would leave it: empty and
 * unknown fields dropped, quantities and times canonical, fields that are always serialised present.
 * Throws {@link DecodeError}, and a TypeError for a kind without a Go type.
 */
export function decodeTyped(parsed: ParsedValue, groupVersion: string, kind: string): Decoded {
  const name = messageName(groupVersion, kind);
  if (name === undefined) throw new TypeError(`no type for ${groupVersion} ${kind}`);
  const decoder = new Decoder(parsed);
  const object = decoder.struct(message(name), parsed.value ?? {}) as KubeObject;
  return { object, strict: [...parsed.strict, ...decoder.findings] };
}

/**
 * The same for what a strategic merge patch gives, which upstream converts field by field from an untyped map: whole
 * numbers lose the bits that do not fit, and errors name kinds instead of fields. The object's `kind` and `apiVersion`
 * are those asked for. Throws {@link DecodeError}.
 */
export function restoreTyped(value: JsonObject, groupVersion: string, kind: string): Decoded {
  const name = messageName(groupVersion, kind);
  if (name === undefined) throw new TypeError(`no type for ${groupVersion} ${kind}`);
  const decoder = new Decoder(plainValue(null), [], true);
  const object = decoder.struct(message(name), value) as KubeObject;
  return { object: { ...object, apiVersion: groupVersion, kind }, strict: decoder.findings.sort() };
}

/** Whether a kind has a Go type. */
export function isTyped(groupVersion: string, kind: string): boolean {
  return messageName(groupVersion, kind) !== undefined;
}

/**
 * Decodes a tree of a custom resource: its metadata as Go's ObjectMeta, the rest as it stands (whole floats within 64
 * bits are integers here anyway). The value must be an object. Throws {@link DecodeError} for bad metadata.
 */
export function decodeUntyped(parsed: ParsedValue): Decoded {
  const value = parsed.value as JsonObject;
  for (const literal of parsed.literals.values()) {
    if (Number.isFinite(Number(literal))) continue;
    throw new DecodeError(`json: cannot unmarshal number ${literal} into Go value of type float64`);
  }
  const decoder = new Decoder({ ...parsed, entries: new Map() }, ['metadata']);
  const metadata = decoder.struct(message(OBJECT_META), value.metadata ?? {});
  const duplicates = parsed.duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  const strict = [...new Set([...parsed.strict, ...duplicates, ...decoder.findings])].slice(0, MAX_FINDINGS);
  return { object: { ...value, metadata } as KubeObject, strict };
}

/**
 * The same object with the fields of a built-in kind in Go's order and maps sorted, so that equal objects have equal
 * bytes. Other kinds are given back as they are. Nothing is copied below raw JSON.
 */
export function arrange(object: KubeObject): KubeObject {
  const name = messageName(object.apiVersion ?? '', object.kind ?? '');
  return name === undefined ? object : (arrangeStruct(message(name), object) as KubeObject);
}

function arrangeStruct(plan: Message, value: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const f of plan.fields) {
    const member = value[f.name];
    if (member !== undefined) out[f.name] = arrangeField(f, member);
  }
  return out;
}

function arrangeField(f: Field, value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (f.label === 'map') {
    const entries = Object.entries(value) as [string, JsonValue][];
    return sortedMap(f.scalar === undefined ? entries.map(([key, item]) => [key, arrangeElement(f, item)]) : entries);
  }
  if (f.scalar !== undefined) return value;
  return Array.isArray(value) ? value.map((item) => arrangeElement(f, item)) : arrangeElement(f, value);
}

function arrangeElement(f: Field, value: JsonValue): JsonValue {
  const plan = message(f.type);
  return plan.custom || plan.wraps || !isMap(value) ? value : arrangeStruct(plan, value);
}

/** `strict decoding error: a, b`. YAML's own findings are one error upstream, a line for each. */
export function strictError(findings: readonly string[]): string {
  const yaml = findings.filter((finding) => finding.startsWith('line '));
  const fields = findings.filter((finding) => !finding.startsWith('line '));
  const first =
    yaml.length === 0 ? [] : [['yaml: unmarshal errors:', ...yaml.map((finding) => `  ${finding}`)].join('\n')];
  return `strict decoding error: ${[...first, ...fields].join(', ')}`;
}

/** Findings of one decoding; paths are kept as pushed pieces and joined only when one is needed. */
class Decoder {
  readonly #parsed: ParsedValue;
  readonly findings: string[] = [];
  readonly #path: string[];
  /** Fields on the way down with the message that holds each, for Go's error texts. */
  readonly #fields: { owner: Message; field: Field }[] = [];

  /** Whether as {@link restoreTyped} does. */
  readonly #restoring: boolean;

  constructor(parsed: ParsedValue, path: string[] = [], restoring = false) {
    this.#parsed = parsed;
    this.#path = path;
    this.#restoring = restoring;
  }

  /** A JSON value as a message that is an object in JSON. Null gives the zero struct. */
  struct(plan: Message, value: JsonValue): JsonObject {
    if (value === null) return assemble(plan, []);
    if (typeof value !== 'object' || Array.isArray(value)) return this.#wrongType(value, plan.goType);
    const values: (JsonValue | undefined)[] = new Array(plan.fields.length);
    const entries = this.#parsed.entries.size === 0 ? undefined : this.#parsed.entries.get(value);
    if (entries !== undefined) this.#repeatedStruct(plan, entries, values);
    else if (this.#restoring) {
      for (const [key, inner] of inGoOrder(plan, value)) this.#member(plan, key, inner, values);
    } else {
      for (const key in value) {
        const inner = value[key];
        if (inner !== undefined) this.#member(plan, key, inner, values);
      }
    }
    return assemble(plan, values);
  }

  #member(plan: Message, key: string, value: JsonValue, values: (JsonValue | undefined)[]): void {
    const position = plan.positions.get(key);
    if (position === undefined) {
      this.#report('unknown', key);
      return;
    }
    const field = plan.fields[position] as Field;
    this.#path.push(key);
    this.#fields.push({ owner: plan, field });
    values[position] = this.#field(field, value, plan);
    this.#fields.pop();
    this.#path.pop();
  }

  /** Go decodes each occurrence of a repeated key into the same place: structs and maps merge, the rest is replaced. */
  #repeatedStruct(
    plan: Message,
    entries: readonly (readonly [string, JsonValue])[],
    values: (JsonValue | undefined)[],
  ): void {
    const merged = new Map<string, JsonValue>();
    for (const [key, value] of entries) {
      const field = plan.fields[plan.positions.get(key) ?? -1];
      const before = merged.get(key);
      if (before !== undefined && field !== undefined) this.#report('duplicate', key);
      this.#member(plan, key, value, values);
      if (field !== undefined) merged.set(key, before === undefined ? value : merge(before, value, field));
    }
    const quiet = new Decoder(plainValue(null));
    for (const [key, value] of merged) quiet.#member(plan, key, value, values);
  }

  #field(f: Field, value: JsonValue, owner: Message): JsonValue | undefined {
    if (value === null) return undefined;
    if (f.label === 'list') return this.#list(f, value, owner);
    if (f.label === 'map') return this.#map(f, value);
    const decoded = this.#element(f, value);
    return isOmitted(f, decoded) ? undefined : (decoded ?? undefined);
  }

  #list(f: Field, value: JsonValue, owner: Message): JsonValue | undefined {
    if (!Array.isArray(value)) return this.#wrongType(value, goType(f));
    if (value.length === 0) return owner.keepsEmpty && f.always ? [] : undefined;
    const depth = this.#path.length;
    const out = value.map((item, i) => {
      this.#path.push(`[${i}]`);
      const decoded = item === null ? zeroElement(f) : this.#element(f, item);
      this.#path.length = depth;
      return decoded;
    });
    return out;
  }

  #map(f: Field, value: JsonValue): JsonValue | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return this.#wrongType(value, goType(f));
    const repeated = this.#parsed.entries.size === 0 ? undefined : this.#parsed.entries.get(value);
    const seen = new Set<string>();
    const out: [string, JsonValue][] = [];
    for (const [key, item] of repeated ?? Object.entries(value)) {
      if (item === undefined) continue;
      if (repeated !== undefined && seen.has(key)) {
        this.#report('duplicate', key);
        out.splice(
          out.findIndex((entry) => entry[0] === key),
          1,
        );
      }
      seen.add(key);
      this.#path.push(key);
      out.push([key, item === null ? zeroElement(f) : this.#element(f, item)]);
      this.#path.pop();
    }
    return out.length === 0 ? undefined : sortedMap(out);
  }

  /** A value that is not null as the field's type, or as its elements' type. */
  #element(f: Field, value: JsonValue): JsonValue {
    if (f.scalar !== undefined) return this.#scalar(f.scalar, value, f);
    const plan = message(f.type);
    if (plan.custom) return this.#custom(f, plan, value);
    if (!plan.wraps) return this.struct(plan, value);
    const [only] = plan.wire;
    return (only === undefined ? undefined : this.#list(only, value, plan)) ?? null;
  }

  #scalar(type: Scalar, value: JsonValue, f: Field): JsonValue {
    switch (type) {
      case 'string':
        return typeof value === 'string' ? value : this.#wrongType(value, goType(f, true));
      case 'bool':
        return typeof value === 'boolean' ? value : this.#wrongType(value, 'bool');
      case 'bytes':
        return typeof value === 'string' ? this.#bytes(value) : this.#wrongType(value, '[]uint8');
      case 'double':
        return typeof value === 'number' || typeof value === 'bigint'
          ? Number(value)
          : this.#wrongType(value, 'float64');
      default:
        return this.#integer(value, type);
    }
  }

  #bytes(value: string): string {
    try {
      return canonicalBase64(value);
    } catch (error) {
      if (!this.#restoring || !(error instanceof DecodeError)) throw error;
      throw new DecodeError(`error decoding from json: ${error.message}`);
    }
  }

  #integer(value: JsonValue, type: 'int32' | 'int64'): JsonValue {
    if (typeof value !== 'number' && typeof value !== 'bigint') return this.#wrongType(value, type);
    if (this.#restoring) return restoredInteger(value, type) ?? this.#wrongType(value, type);
    const literal = this.#literal(value);
    const fits =
      type === 'int32' ? (Number(value) | 0) === value : typeof value === 'bigint' || Number.isSafeInteger(value);
    if (!fits || literal !== String(value)) throw this.#error(`number ${literal}`, type);
    return value;
  }

  #custom(f: Field, plan: Message, value: JsonValue): JsonValue {
    try {
      const read = f.resources ? readResource : readers.get(plan.name);
      if (read !== undefined) return read(value, () => this.#literal(value));
    } catch (error) {
      if (error instanceof Refused) throw new DecodeError(error.message);
      if (error instanceof WrongType) {
        if (this.#restoring) throw new DecodeError(ofValue(jsonType(value), error.goType));
        return this.#wrongType(value, error.goType);
      }
      throw error;
    }
    return this.#schemaUnion(f, value);
  }

  /** Upstream's own decoders of these types are not strict: what is unknown inside is dropped without a word. */
  #schemaUnion(f: Field, value: JsonValue): JsonValue {
    const union = schemaUnions.get(f.type);
    const form = union?.alternative(value);
    if (union === undefined || form === undefined) throw new DecodeError(union?.refusal ?? `no form for ${f.type}`);
    if (form === 'keep') return value;
    const inner = new Decoder(plainValue(null));
    const plan = message(union.schema);
    return form === 'schema'
      ? inner.struct(plan, value)
      : (value as JsonValue[]).map((item) => inner.struct(plan, item));
  }

  #literal(value: JsonValue): string {
    const written = this.#parsed.literals.size === 0 ? undefined : this.#parsed.literals.get(this.#pathText());
    return written ?? String(value);
  }

  #pathText(): string {
    let text = '';
    for (const piece of this.#path) text += text === '' || piece.startsWith('[') ? piece : `.${piece}`;
    return text;
  }

  #report(what: 'unknown' | 'duplicate', key: string): void {
    const path = this.#pathText();
    const finding = `${what} field ${JSON.stringify(path === '' ? key : `${path}.${key}`)}`;
    if (this.findings.length < MAX_FINDINGS && !this.findings.includes(finding)) this.findings.push(finding);
  }

  #wrongType(value: JsonValue, wanted: string): never {
    if (this.#restoring) throw new DecodeError(restoreFault(value, wanted));
    const number = typeof value === 'number' || typeof value === 'bigint';
    const fractional = number && wanted.startsWith('int');
    throw this.#error(fractional ? `number ${this.#literal(value)}` : jsonType(value), wanted);
  }

  #error(what: string, wanted: string): DecodeError {
    const owner = this.#fields.at(-1)?.owner;
    if (owner === undefined) return new DecodeError(ofValue(what, wanted));
    const path = this.#fields.map(({ field }) => `${field.embedded}${field.name}`).join('.');
    return new DecodeError(
      `json: cannot unmarshal ${what} into Go struct field ${owner.goName}.${path} of type ${wanted}`,
    );
  }
}

/** Members in the order of the type's fields, those that it does not know at the end. */
function inGoOrder(plan: Message, value: JsonObject): [string, JsonValue][] {
  const position = ([key]: [string, unknown]) => plan.positions.get(key) ?? plan.fields.length;
  const members = Object.entries(value).filter((member): member is [string, JsonValue] => member[1] !== undefined);
  return members.sort((a, b) => position(a) - position(b));
}

const ofValue = (what: string, wanted: string) => `json: cannot unmarshal ${what} into Go value of type ${wanted}`;

function jsonType(value: JsonValue): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

/** Zeroes of what is no pointer are left out; always written ones come back when the object is put together. */
function isOmitted(f: Field, value: JsonValue): boolean {
  if (f.pointer || f.scalar === undefined) return false;
  return value === '' ? f.scalar !== 'bytes' || !f.always : value === false || value === 0 || value === 0n;
}

/** What Go has after decoding `before` and then `after` into the same field. */
function merge(before: JsonValue, after: JsonValue, f: Field): JsonValue {
  if (after === null) return f.pointer || f.label !== 'one' || f.scalar === undefined ? after : before;
  const plan = f.scalar === undefined ? message(f.type) : undefined;
  if (f.label === 'list' || plan?.custom || plan?.wraps || !isMap(before) || !isMap(after)) return after;
  if (f.label === 'one' && plan === undefined) return after;
  const out: JsonObject = { ...before };
  for (const [key, value] of Object.entries(after)) {
    const inner = f.label === 'one' ? plan?.fields[plan.positions.get(key) ?? -1] : undefined;
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    setKey(
      out,
      key,
      inner === undefined || old === undefined ? (value as JsonValue) : merge(old, value as JsonValue, inner),
    );
  }
  return out;
}

function isMap(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Base64 as Go writes back what it read: line breaks dropped, unused bits cleared. */
function canonicalBase64(text: string): string {
  const packed = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  if (packed.length % 4 !== 0 || !BASE64.test(packed)) {
    throw new DecodeError(`illegal base64 data at input byte ${firstBadByte(packed)}`);
  }
  return packed.endsWith('=') ? packed.slice(0, -4) + btoa(atob(packed.slice(-4))) : packed;
}

function firstBadByte(text: string): number {
  const bad = text.search(/[^A-Za-z0-9+/]/);
  return bad < 0 ? text.length - (text.length % 4) : bad;
}

import { deepEqual, isObject, type JsonObject, type JsonValue, setKey } from '../api/object.ts';
import type { Structural } from '../extensions/structural.ts';
import { unescapeName, withTypeMeta } from './declarations.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from './library/time.ts';
import { ArrayList, CelList, CelMap, Duration, equal, Fault, Timestamp, Uint, type Value } from './values.ts';

/** JSON as values of CEL. Members become values when they are looked at. */

/** A value without a schema: whole numbers are int, as in Go's unstructured objects. */
export function dynValue(json: JsonValue): Value {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (Array.isArray(json)) return new DynList(json);
  return isObject(json) ? new DynMap(json) : json;
}

class DynList extends CelList {
  readonly json: readonly JsonValue[];

  constructor(json: readonly JsonValue[]) {
    super();
    this.json = json;
  }

  get size(): number {
    return this.json.length;
  }

  at(index: number): Value {
    return dynValue(this.json[index]!);
  }
}

const keysOf = (json: JsonObject) => Object.keys(json).filter((key) => json[key] !== undefined);

class DynMap extends CelMap {
  readonly json: JsonObject;

  constructor(json: JsonObject) {
    super();
    this.json = json;
  }

  get size(): number {
    return keysOf(this.json).length;
  }

  get(key: Value): Value | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.json, key)) return undefined;
    const value = this.json[key];
    return value === undefined ? undefined : dynValue(value);
  }

  keys(): string[] {
    return keysOf(this.json);
  }
}

const SET = 'set';
const MAP = 'map';

class SchemaList extends CelList {
  readonly json: readonly JsonValue[];
  readonly schema: Structural;

  constructor(json: readonly JsonValue[], schema: Structural) {
    super();
    this.json = json;
    this.schema = schema;
  }

  get size(): number {
    return this.json.length;
  }

  at(index: number): Value {
    return schemaValue(this.json[index]!, this.schema.items!);
  }

  get #listType(): string | undefined {
    return this.schema['x-kubernetes-list-type'];
  }

  /** Whether two items are the same one: equal in a set, with equal keys in a map list. */
  #isSame(a: Value, b: Value): boolean {
    if (this.#listType === SET) return equal(a, b);
    const keys = this.schema['x-kubernetes-list-map-keys'] ?? [];
    if (!(a instanceof CelMap && b instanceof CelMap)) return false;
    return keys.every((key) => {
      const [x, y] = [a.get(key), b.get(key)];
      return x === undefined || y === undefined ? x === y : equal(x, y);
    });
  }

  override equals(other: CelList): boolean {
    if (this.#listType !== SET && this.#listType !== MAP) return super.equals(other);
    const mine = [...this];
    return [...other].every((item) => {
      const same = mine.find((own) => this.#isSame(own, item));
      return same !== undefined && equal(same, item);
    });
  }

  override concat(other: CelList): CelList {
    if (this.#listType !== SET && this.#listType !== MAP) return super.concat(other);
    const out = [...this];
    for (const item of other) {
      const at = out.findIndex((own) => this.#isSame(own, item));
      if (at < 0) out.push(item);
      else out[at] = item;
    }
    return new ArrayList(out);
  }
}

class SchemaMap extends CelMap {
  readonly json: JsonObject;
  readonly schema: Structural;
  readonly #isStruct: boolean;

  constructor(json: JsonObject, schema: Structural) {
    super();
    this.json = json;
    this.schema = schema;
    this.#isStruct = !isObject(schema.additionalProperties);
  }

  override get typeName(): string | undefined {
    return this.#isStruct ? 'object' : undefined;
  }

  get size(): number {
    return keysOf(this.json).length;
  }

  #schemaOf(key: string): Structural | undefined {
    if (!this.#isStruct) return this.schema.additionalProperties as Structural;
    const { properties } = this.schema;
    return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
  }

  get(name: Value): Value | undefined {
    if (typeof name !== 'string') return undefined;
    const key = this.#isStruct ? unescapeName(name) : name;
    const schema = this.#schemaOf(key);
    const value = Object.hasOwn(this.json, key) ? this.json[key] : undefined;
    return value === undefined || schema === undefined ? undefined : schemaValue(value, schema);
  }

  keys(): string[] {
    return keysOf(this.json);
  }

  /** Fields that no schema names are compared as they are. */
  override equals(other: CelMap): boolean {
    if (!(other instanceof SchemaMap)) return super.equals(other);
    return this.keys().every((key) => {
      const [mine, theirs] = [this.json[key], other.json[key]];
      const schema = this.#schemaOf(key);
      if (theirs === undefined) return false;
      return schema === undefined
        ? deepEqual(mine!, theirs)
        : equal(schemaValue(mine!, schema), schemaValue(theirs, schema));
    });
  }
}

const SECONDS = 1_000_000_000n;

function textValue(text: string, format: string | undefined): Value {
  switch (format) {
    case 'duration': {
      const nanos = parseDuration(text) ?? longDuration(text);
      if (nanos === undefined) throw new Fault(`Invalid duration ${text}`);
      return new Duration(nanos);
    }
    case 'date':
    case 'date-time': {
      const nanos = parseTimestamp(format === 'date' ? `${text}T00:00:00Z` : text.replace(' ', 'T'));
      if (nanos === undefined) throw new Fault(`Invalid ${format} formatted string ${text}`);
      return new Timestamp(nanos);
    }
    case 'byte':
      return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    default:
      return text;
  }
}

const LONG_UNITS: readonly (readonly [RegExp, bigint])[] = [
  [/^w(k|eeks?)?$/, 604_800n],
  [/^d(ays?)?$/, 86_400n],
  [/^h(rs?|ours?)?$/, 3600n],
  [/^m(ins?|inutes?)?$/, 60n],
  [/^s(ecs?|econds?)?$/, 1n],
];

/** `2 days`, as OpenAPI's duration format allows. */
function longDuration(text: string): bigint | undefined {
  let total: bigint | undefined;
  for (const [, count = '0', word = ''] of text.matchAll(/(\d+)\s*([A-Za-z]+)/g)) {
    const unit = LONG_UNITS.find(([pattern]) => pattern.test(word.toLowerCase()));
    if (unit !== undefined) total = (total ?? 0n) + BigInt(count) * unit[1] * SECONDS;
  }
  return total;
}

function numberValue(json: number | bigint, type: string | undefined): Value {
  if (type === 'number') return Number(json);
  return typeof json === 'bigint' ? json : BigInt(Math.trunc(json));
}

/** A value of a structural schema, which it has been validated by. */
export function schemaValue(json: JsonValue, schema: Structural): Value {
  if (json === null) {
    if (schema.nullable === true) return null;
    throw new Fault('invalid data, got null for schema with nullable=false');
  }
  if (schema['x-kubernetes-int-or-string'] === true) return dynValue(json);
  if (schema.type === 'object' && isObject(json)) {
    return new SchemaMap(json, schema['x-kubernetes-embedded-resource'] === true ? withTypeMeta(schema) : schema);
  }
  if (schema.type === 'array' && Array.isArray(json) && schema.items !== undefined) return new SchemaList(json, schema);
  if (schema.type === 'string' && typeof json === 'string') return textValue(json, schema.format);
  if (typeof json === 'number' || typeof json === 'bigint') return numberValue(json, schema.type);
  return dynValue(json);
}

/** A value as JSON. Throws a {@link Fault} for values that have none. */
export function toJson(value: Value): JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number')
    return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Uint) return toJson(value.value);
  if (value instanceof CelList) return [...value].map(toJson);
  if (value instanceof CelMap) {
    const out: JsonObject = {};
    for (const key of value.keys()) setKey(out, String(key), toJson(value.get(key)!));
    return out;
  }
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Uint8Array) return btoa(String.fromCharCode(...value));
  throw new Fault('unsupported conversion to JSON');
}

import { deepEqual, isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import { causes, type StatusCause } from '../status/status.ts';
import type { Structural } from './structural.ts';

/** Indexes at which a value comes for the second time. */
function secondTimes(values: readonly JsonValue[]): number[] {
  const seen = new Map<string, number>();
  const out: number[] = [];
  for (const [i, value] of values.entries()) {
    const key = fingerprint(value);
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    if (times === 2) out.push(i);
  }
  return out;
}

/** A text that two values share only if they are equal. */
function fingerprint(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map(fingerprint).join(',')}]`;
  if (isObject(value)) {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    return `{${keys
      .sort()
      .map((key) => `${JSON.stringify(key)}:${fingerprint(value[key])}`)
      .join(',')}}`;
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function keyOf(item: JsonValue, keys: readonly string[]): JsonObject {
  const out: JsonObject = {};
  if (!isObject(item)) return out;
  for (const key of keys) if (item[key] !== undefined) out[key] = item[key];
  return out;
}

function uniquenessFaults(list: JsonValue[], schema: Structural, path: string): StatusCause[] {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return secondTimes(list).map((i) => causes.duplicate(`${path}[${i}]`, list[i]));
  if (type !== 'map') return [];
  const wrong = list.findIndex((item) => item !== null && !isObject(item));
  if (wrong >= 0) {
    const why = 'must be an object for an array of list-type map';
    return [causes.invalid(`${path}[${wrong}]`, list[wrong], why)];
  }
  const keys = list.map((item) => keyOf(item, schema['x-kubernetes-list-map-keys'] ?? []));
  return secondTimes(keys).map((i) => causes.duplicate(`${path}[${i}]`, keys[i]));
}

function check(value: JsonValue | undefined, schema: Structural | undefined, path: string): StatusCause[] {
  if (schema === undefined) return [];
  if (Array.isArray(value)) {
    const own = uniquenessFaults(value, schema, path);
    if (schema.items === undefined) return own;
    for (const [i, item] of value.entries()) own.push(...check(item, schema.items, `${path}[${i}]`));
    return own;
  }
  if (!isObject(value)) return [];
  const out: StatusCause[] = [];
  const values = isObject(schema.additionalProperties) ? (schema.additionalProperties as Structural) : undefined;
  for (const key of Object.keys(value)) {
    const known = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    const at = known ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;
    const inner = known ? schema.properties![key] : values;
    if (inner !== undefined) out.push(...check(value[key], inner, at));
  }
  return out;
}

/**
 * Causes of lists whose type promises unique items (`set`) or keys (`map`) and that do not keep it. An update of an
 * object that had such faults before is not refused for them.
 */
export function listTypeFaults(object: JsonValue, schema: Structural, old?: JsonValue): StatusCause[] {
  const faults = check(object, schema, '');
  if (faults.length === 0 || old === undefined) return faults;
  return check(old, schema, '').length > 0 || deepEqual(object, old) ? [] : faults;
}

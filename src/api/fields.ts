/** Readers of JSON trees whose shape is not certain: what is not there, or is something else, counts as empty. */
import { isObject, type JsonObject, type JsonValue } from './object.ts';

/** The value at a path of keys, `undefined` where the path ends early. */
export function at(value: JsonValue | undefined, ...path: string[]): JsonValue | undefined {
  let current = value;
  for (const key of path) {
    if (!isObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

/** Whether a field is present at all: neither absent nor null. */
export const present = (value: JsonValue | undefined): boolean => value !== undefined && value !== null;

/** A string, empty for anything else, as Go's zero value shows. */
export const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** A string, or what stands in for an empty one. */
export const textOr = (value: JsonValue | undefined, otherwise: string): string =>
  text(value) === '' ? otherwise : text(value);

/** A number, 0 for anything else. */
export function int(value: JsonValue | undefined): number {
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' ? Number(value) : 0;
}

/** A boolean, or its default. */
export const bool = (value: JsonValue | undefined, otherwise = false): boolean =>
  typeof value === 'boolean' ? value : otherwise;

/** The objects of a list, none for anything else. */
export const objects = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** The strings of a list, none for anything else. */
export const texts = (value: JsonValue | undefined): string[] =>
  Array.isArray(value) ? value.filter((v) => typeof v === 'string') : [];

/** How many entries a list or map has. */
export function size(value: JsonValue | undefined): number {
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 0;
}

/** A quantity as stored, `0` where there is none. */
export function quantity(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  return present(value) ? String(value) : '0';
}

/** The `type: X` entry of a list of conditions. */
export const condition = (value: JsonValue | undefined, type: string): JsonObject | undefined =>
  objects(value).find((c) => c.type === type);

/** A map, empty for anything else. */
export const mapOf = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});

/** The items of a list, none for anything else. */
export const list = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);

/** The map at a key. */
export const objectAt = (object: JsonObject, key: string): JsonObject => mapOf(object[key]);

/** The objects of the list at a key. */
export const objectsAt = (object: JsonObject, key: string): JsonObject[] => objects(object[key]);

/** The group of an apiVersion, empty for the core group. */
export const groupOf = (apiVersion: string): string => apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));

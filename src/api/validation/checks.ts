import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, isObject, type JsonObject, type JsonValue } from '../object.ts';

/** The object at a key; what is none counts as empty. */
export const part = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isObject(value) ? value : {};
};
/** The objects of the list at a key. */
export const parts = (object: JsonObject, key: string): JsonObject[] => {
  const value = object[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
};
export const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** A cause for each of these numbers that is negative, in order. */
export function nonNegative(object: JsonObject, at: string, keys: readonly string[]): StatusCause[] {
  return keys.flatMap((key) => {
    const value = object[key];
    if (typeof value !== 'number' || value >= 0) return [];
    return [causes.invalid(`${at}.${key}`, value, 'must be greater than or equal to 0')];
  });
}

/** A cause where a field is not what it was. */
export function unchanged(value: JsonValue | undefined, old: JsonValue | undefined, at: string): StatusCause[] {
  if (deepEqual(value ?? null, old ?? null)) return [];
  return [causes.invalid(at, value ?? null, 'field is immutable')];
}

/** A cause where a text is none of those that are known; the list is shown in this order. */
export function oneOf(
  value: JsonValue | undefined,
  at: string,
  known: readonly string[],
  sorted = true,
): StatusCause[] {
  if (known.includes(text(value))) return [];
  if (sorted) return [causes.notSupported(at, text(value), [...known])];
  const list = known.map((name) => JSON.stringify(name)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(text(value))}: supported values: ${list}`;
  return [{ reason: 'FieldValueNotSupported', message, field: at }];
}

/** A cause for each name that comes twice. */
export function repeated(names: readonly string[], at: (index: number) => string): StatusCause[] {
  return names.flatMap((name, i) => (name !== '' && names.indexOf(name) < i ? [causes.duplicate(at(i), name)] : []));
}

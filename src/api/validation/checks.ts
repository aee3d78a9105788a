import { causes, type StatusCause } from '../../status/status.ts';
import { objectAt, objectsAt, text } from '../fields.ts';
import { deepEqual, type JsonObject, type JsonValue } from '../object.ts';

export { objectAt as part, objectsAt as parts, text };

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

/** A cause where a text is none of those that are known; the list is shown sorted, or in this order. */
export function oneOf(
  value: JsonValue | undefined,
  at: string,
  known: readonly string[],
  sorted = true,
): StatusCause[] {
  if (known.includes(text(value))) return [];
  return [causes.notSupported(at, text(value), sorted ? [...known].sort() : known)];
}

/** A cause for each name that comes twice. */
export function repeated(names: readonly string[], at: (index: number) => string): StatusCause[] {
  return names.flatMap((name, i) => (name !== '' && names.indexOf(name) < i ? [causes.duplicate(at(i), name)] : []));
}

/** The texts of the list at a key. */
export const texts = (object: JsonObject, key: string): string[] => {
  const value = object[key];
  return Array.isArray(value) ? value.map(text) : [];
};

/** Whether a field is set at all. */
export const has = (object: JsonObject, key: string): boolean => object[key] !== undefined && object[key] !== null;

export const integer = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0);

/** One cause for each thing that is wrong with a value. */
export const each = (at: string, value: JsonValue, faults: readonly string[]): StatusCause[] =>
  faults.map((why) => causes.invalid(at, value, why));

/** A cause where a text is missing; otherwise one for each thing that is wrong with it. */
export const requiredText = (
  value: JsonValue | undefined,
  at: string,
  rule: (name: string) => string[],
): StatusCause[] => (text(value) === '' ? [causes.required(at)] : each(at, text(value), rule(text(value))));

/** A cause for each value of a set that comes again. */
export const duplicates = (values: readonly string[], at: (index: number) => string): StatusCause[] =>
  values.flatMap((value, i) => (values.indexOf(value) < i ? [causes.duplicate(at(i), value)] : []));

/** A cause that does not show the value (field.OmitValueType upstream). */
export const withoutValue = (at: string, why: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${why}`,
  field: at,
});

/** Gives an object those fields of another, absent ones included. */
export function copyFields(from: JsonObject, to: JsonObject, keys: readonly string[]): void {
  for (const key of keys) {
    if (from[key] === undefined) delete to[key];
    else to[key] = from[key];
  }
}

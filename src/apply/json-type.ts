import type { JsonValue } from '../api/object.ts';

/** A value's type in the words of Go's JSON decoder: `object`, `array`, `string`, `number`, `bool`. */
export function jsonTypeName(value: JsonValue): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

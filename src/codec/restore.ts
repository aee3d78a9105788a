import type { JsonValue } from '../api/object.ts';

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** Go's kind of the value that stands for a JSON value (not null) in an untyped map. */
function goKind(value: JsonValue): string {
  if (Array.isArray(value)) return 'slice';
  if (typeof value === 'bigint' || Number.isInteger(value)) return 'int64';
  if (typeof value === 'number') return 'float64';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'string' ? 'string' : 'map';
}

/**
 * What apimachinery's converter from untyped maps says of a value that does not fit Go's type `wanted`: it names the
 * kinds, not the field.
 */
export function restoreFault(value: JsonValue, wanted: string): string {
  const from = goKind(value);
  if (wanted.startsWith('map[')) return `cannot restore map from ${from}`;
  if (wanted.startsWith('[]'))
    return from === 'slice' ? 'unrecognized type: uint8' : `cannot restore slice from ${from}`;
  const numeric = wanted === 'int32' || wanted === 'int64' || wanted === 'float64';
  if (!numeric && wanted !== 'string' && wanted !== 'bool') return `cannot restore struct from: ${from}`;
  const convertible = from === 'int64' ? wanted !== 'bool' : from === 'float64' && numeric;
  return convertible ? `cannot convert ${from} to ${wanted}` : `unrecognized type: ${wanted}`;
}

/** A whole number as Go converts it to an integer type: the bits that fit. Fractions give `undefined`. */
export function restoredInteger(value: number | bigint, type: 'int32' | 'int64'): number | bigint | undefined {
  if (typeof value === 'number' && !Number.isInteger(value)) return undefined;
  const exact = BigInt(value);
  const whole = exact < MIN_INT64 || exact > MAX_INT64 ? MIN_INT64 : exact;
  const kept = BigInt.asIntN(type === 'int32' ? 32 : 64, whole);
  return Number.isSafeInteger(Number(kept)) ? Number(kept) : kept;
}

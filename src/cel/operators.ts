import { checkedDuration, checkedInt, checkedTimestamp, checkedUint } from './library/standard.ts';
import { CelList, CelMap, compare, Duration, equal, Fault, noOverload, Timestamp, Uint, type Value } from './values.ts';

/** Operators of CEL on values whose types are only known at run time. All throw a {@link Fault}. */

function addTimes(a: Timestamp | Duration, b: Value): Value {
  if (a instanceof Duration && b instanceof Duration) return checkedDuration(a.nanos + b.nanos);
  const isSum = a instanceof Timestamp ? b instanceof Duration : b instanceof Timestamp;
  if (!isSum) throw noOverload();
  return checkedTimestamp(a.nanos + (b as Timestamp | Duration).nanos);
}

function joinBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

export function add(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a + b);
  if (typeof a === 'string' && typeof b === 'string') return a + b;
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (a instanceof Uint && b instanceof Uint) return checkedUint(a.value + b.value);
  if (a instanceof CelList && b instanceof CelList) return a.concat(b);
  if (a instanceof Timestamp || a instanceof Duration) return addTimes(a, b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return joinBytes(a, b);
  throw noOverload();
}

function subtract(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a - b);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (a instanceof Uint && b instanceof Uint) return checkedUint(a.value - b.value);
  if (a instanceof Timestamp && b instanceof Timestamp) return checkedDuration(a.nanos - b.nanos);
  if (a instanceof Timestamp && b instanceof Duration) return checkedTimestamp(a.nanos - b.nanos);
  if (a instanceof Duration && b instanceof Duration) return checkedDuration(a.nanos - b.nanos);
  throw noOverload();
}

function multiply(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a * b);
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  if (a instanceof Uint && b instanceof Uint) return checkedUint(a.value * b.value);
  throw noOverload();
}

function nonZero(value: bigint, why: string): bigint {
  if (value === 0n) throw new Fault(why);
  return value;
}

function divide(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a / nonZero(b, 'division by zero'));
  if (typeof a === 'number' && typeof b === 'number') return a / b;
  if (a instanceof Uint && b instanceof Uint) return new Uint(a.value / nonZero(b.value, 'division by zero'));
  throw noOverload();
}

function modulo(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a % nonZero(b, 'modulus by zero');
  if (a instanceof Uint && b instanceof Uint) return new Uint(a.value % nonZero(b.value, 'modulus by zero'));
  throw noOverload();
}

export function negate(value: Value): Value {
  if (typeof value === 'bigint') return checkedInt(-value);
  if (typeof value === 'number') return -value;
  throw noOverload();
}

export function contains(value: Value, container: Value): boolean {
  if (container instanceof CelList) {
    for (const item of container) if (equal(item, value)) return true;
    return false;
  }
  if (container instanceof CelMap && container.typeName === undefined) return container.has(value);
  throw noOverload();
}

/** Binary operators that evaluate both sides. */
export const BINARY: Readonly<Record<string, (a: Value, b: Value) => Value>> = {
  '_+_': add,
  '_-_': subtract,
  '_*_': multiply,
  '_/_': divide,
  '_%_': modulo,
  '_==_': equal,
  '_!=_': (a, b) => !equal(a, b),
  '_<_': (a, b) => compare(a, b) < 0,
  '_<=_': (a, b) => compare(a, b) <= 0,
  '_>_': (a, b) => compare(a, b) > 0,
  '_>=_': (a, b) => compare(a, b) >= 0,
  '@in': contains,
};

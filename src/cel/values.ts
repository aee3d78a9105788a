import type { CelType } from './types.ts';

/**
 * Values of CEL at run time. int is bigint, double is number, string, bool and null are themselves, bytes is
 * Uint8Array; the others are the classes below.
 */
export type Value =
  | boolean
  | bigint
  | number
  | string
  | null
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | CelList
  | CelMap
  | Optional
  | TypeValue
  | Opaque;

/**
 * What evaluation of an expression fails with; thrown, and taken up again by `&&`, `||` and comprehensions. No Error:
 * faults are everyday values, and stacks are dear.
 */
export class Fault {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export const noOverload = () => new Fault('no such overload');

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A moment, in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A length of time in nanoseconds. */
export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class Optional {
  readonly #value: Value | undefined;

  /** `undefined` for none. */
  constructor(value: Value | undefined) {
    this.#value = value;
  }

  get present(): boolean {
    return this.#value !== undefined;
  }

  get value(): Value {
    if (this.#value === undefined) throw new Fault('optional.none() dereference');
    return this.#value;
  }
}
export const NONE = new Optional(undefined);

/** A value of a library: quantities, addresses, the authorizer. */
export abstract class Opaque {
  abstract readonly type: CelType;
  abstract equals(other: Opaque): boolean;
  /** Size as the cost of comparing sees it. */
  get size(): number {
    return 1;
  }
}

export abstract class CelList implements Iterable<Value> {
  abstract readonly size: number;
  /** `index` is within bounds. */
  abstract at(index: number): Value;

  *[Symbol.iterator](): Iterator<Value> {
    for (let i = 0; i < this.size; i++) yield this.at(i);
  }

  /** Equality with a list of the same size. */
  equals(other: CelList): boolean {
    for (let i = 0; i < this.size; i++) if (!equal(this.at(i), other.at(i))) return false;
    return true;
  }

  concat(other: CelList): CelList {
    return new ArrayList([...this, ...other]);
  }
}

export class ArrayList extends CelList {
  readonly items: Value[];

  constructor(items: Value[]) {
    super();
    this.items = items;
  }

  get size(): number {
    return this.items.length;
  }

  at(index: number): Value {
    return this.items[index]!;
  }

  /** Appends in place: only for an accumulator that nothing else refers to. */
  push(value: Value): void {
    this.items.push(value);
  }
}

export abstract class CelMap {
  abstract readonly size: number;
  abstract get(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;
  /** Name of its struct type; `undefined` for maps. */
  get typeName(): string | undefined {
    return undefined;
  }

  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }

  equals(other: CelMap): boolean {
    for (const key of this.keys()) {
      const theirs = other.get(key);
      if (theirs === undefined || !equal(this.get(key)!, theirs)) return false;
    }
    return true;
  }
}

/** A form of a map key that is equal for equal keys, whatever their number types. */
function canonicalKey(key: Value): string {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  if (typeof key === 'bigint') return `n${key}`;
  if (key instanceof Uint) return `n${key.value}`;
  if (typeof key === 'number') return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`;
  throw new Fault(`unsupported key type: ${typeName(key)}`);
}

export class EntryMap extends CelMap {
  readonly #entries = new Map<string, [Value, Value]>();
  readonly #typeName: string | undefined;

  constructor(entries: Iterable<readonly [Value, Value]> = [], typeName?: string) {
    super();
    this.#typeName = typeName;
    for (const [key, value] of entries) this.#entries.set(canonicalKey(key), [key, value]);
  }

  override get typeName(): string | undefined {
    return this.#typeName;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    const isKey = typeof key !== 'object' || key instanceof Uint;
    return isKey ? this.#entries.get(canonicalKey(key))?.[1] : undefined;
  }

  *keys(): Iterable<Value> {
    for (const [key] of this.#entries.values()) yield key;
  }

  copy(): EntryMap {
    return new EntryMap(this.#entries.values(), this.#typeName);
  }

  /** Sets in place: only for a map that nothing else refers to yet. The last value of a key counts. */
  set(key: Value, value: Value): void {
    this.#entries.set(canonicalKey(key), [key, value]);
  }

  /** Inserts in place: only for an accumulator that nothing else refers to. */
  insert(key: Value, value: Value): void {
    if (this.has(key)) throw new Fault(`insert failed: key ${plainText(key)} already exists`);
    this.#entries.set(canonicalKey(key), [key, value]);
  }
}

/** The name of a value's type, as `type()` and messages show it. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    default:
      return objectTypeName(value);
  }
}

function objectTypeName(value: Exclude<Value, boolean | bigint | number | string>): string {
  if (value === null) return 'null_type';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Uint) return 'uint';
  if (value instanceof CelList) return 'list';
  if (value instanceof CelMap) return value.typeName ?? 'map';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Optional) return 'optional_type';
  return value instanceof TypeValue ? 'type' : value.type.name;
}

/** A value as Go's `%v` prints it in messages. */
export function plainText(value: Value): string {
  if (value instanceof Uint) return String(value.value);
  if (value instanceof CelList) return `[${[...value].map(plainText).join(', ')}]`;
  if (value instanceof TypeValue) return value.name;
  return String(value);
}

export const isNumeric = (value: Value): value is bigint | number | Uint =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
const numberOf = (value: bigint | number | Uint): bigint | number => (value instanceof Uint ? value.value : value);

/** Order of two numbers; an integer beside a double counts as the nearest double, as in cel-go. NaN has none. */
function orderNumbers(a: bigint | number, b: bigint | number): number {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : a === b ? 0 : Number.NaN;
  return orderNumbers(Number(a), Number(b));
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Equality of CEL: numbers compare by value across their types; values of other types are different. */
export function equal(a: Value, b: Value): boolean {
  if (typeof a === 'string' || typeof a === 'boolean' || a === null) return a === b;
  if (isNumeric(a)) return isNumeric(b) && orderNumbers(numberOf(a), numberOf(b)) === 0;
  if (a instanceof CelList) return b instanceof CelList && a.size === b.size && a.equals(b);
  if (a instanceof CelMap) return b instanceof CelMap && a.size === b.size && a.equals(b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && equalBytes(a, b);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (a instanceof Optional) {
    if (!(b instanceof Optional) || a.present !== b.present) return false;
    return !a.present || equal(a.value, b.value);
  }
  return b instanceof Opaque && a.type.name === b.type.name && a.equals(b);
}

const order = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return order(a[i]!, b[i]!);
  return order(a.length, b.length);
}

const encoder = new TextEncoder();

/** Strings compare as their UTF-8 does; JavaScript's own order is that of UTF-16. */
function compareStrings(a: string, b: string): number {
  const ascii = /^[\0-\x7f]*$/;
  if (ascii.test(a) && ascii.test(b)) return order(a, b);
  return compareBytes(encoder.encode(a), encoder.encode(b));
}

/** Order of two values of ordered types: below, at or above zero. Throws a {@link Fault} for others. */
export function compare(a: Value, b: Value): number {
  if (isNumeric(a) && isNumeric(b)) {
    const found = orderNumbers(numberOf(a), numberOf(b));
    if (Number.isNaN(found)) throw new Fault('NaN values cannot be ordered');
    return found;
  }
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return order(a, b);
  if (a instanceof Timestamp && b instanceof Timestamp) return order(a.nanos, b.nanos);
  if (a instanceof Duration && b instanceof Duration) return order(a.nanos, b.nanos);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  throw noOverload();
}

/** Code points of a string, or members of an aggregate; 1 for every other value. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return codePoints(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof CelList || value instanceof CelMap || value instanceof Opaque) return value.size;
  if (value instanceof Optional && value.present) return sizeOf(value.value);
  return 1;
}

function codePoints(text: string): number {
  let pairs = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) pairs++;
  }
  return text.length - pairs;
}

/** Whether a value may be an argument of that type, as far as the outermost type tells. */
export function fits(value: Value, type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true;
    case 'list':
      return value instanceof CelList;
    case 'map':
      return value instanceof CelMap && value.typeName === undefined;
    case 'opaque':
    case 'struct':
      return typeName(value) === type.name;
    case 'type':
      return value instanceof TypeValue;
    default:
      return typeName(value) === type.name;
  }
}

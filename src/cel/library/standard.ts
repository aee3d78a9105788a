import type { Definition } from '../functions.ts';
import { Duration, Fault, Timestamp, TypeValue, typeName, Uint, type Value } from '../values.ts';
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from './time.ts';

/** Operators, conversions and functions of every CEL environment (cel-spec, "List of Standard Definitions"). */

const NUMBERS = ['int64', 'uint64', 'double'] as const;
const TYPE_OF = { int64: 'int', uint64: 'uint', double: 'double' } as const;

/** Comparisons of all ordered types, and of numbers across types. */
function comparison(id: string, operator: string): Definition[] {
  const same = [
    ['bool', 'bool'],
    ['int64', 'int'],
    ['uint64', 'uint'],
    ['double', 'double'],
    ['string', 'string'],
    ['bytes', 'bytes'],
    ['timestamp', 'timestamp'],
    ['duration', 'duration'],
  ].map(([name, type]): Definition => [`${id}_${name}`, `${operator}(${type}, ${type}): bool`]);
  const mixed = NUMBERS.flatMap((a) =>
    NUMBERS.filter((b) => b !== a).map(
      (b): Definition => [`${id}_${a}_${b}`, `${operator}(${TYPE_OF[a]}, ${TYPE_OF[b]}): bool`],
    ),
  );
  return [...same, ...mixed];
}

export const operators: readonly Definition[] = [
  ['conditional', '_?_:_(bool, A, A): A'],
  ['logical_and', '_&&_(bool, bool): bool'],
  ['logical_or', '_||_(bool, bool): bool'],
  ['logical_not', '!_(bool): bool'],
  ['not_strictly_false', '@not_strictly_false(bool): bool'],
  ['equals', '_==_(A, A): bool'],
  ['not_equals', '_!=_(A, A): bool'],
  ['add_bytes', '_+_(bytes, bytes): bytes'],
  ['add_double', '_+_(double, double): double'],
  ['add_duration_duration', '_+_(duration, duration): duration'],
  ['add_duration_timestamp', '_+_(duration, timestamp): timestamp'],
  ['add_timestamp_duration', '_+_(timestamp, duration): timestamp'],
  ['add_int64', '_+_(int, int): int'],
  ['add_list', '_+_(list(A), list(A)): list(A)'],
  ['add_string', '_+_(string, string): string'],
  ['add_uint64', '_+_(uint, uint): uint'],
  ['divide_double', '_/_(double, double): double'],
  ['divide_int64', '_/_(int, int): int'],
  ['divide_uint64', '_/_(uint, uint): uint'],
  ['modulo_int64', '_%_(int, int): int'],
  ['modulo_uint64', '_%_(uint, uint): uint'],
  ['multiply_double', '_*_(double, double): double'],
  ['multiply_int64', '_*_(int, int): int'],
  ['multiply_uint64', '_*_(uint, uint): uint'],
  ['negate_double', '-_(double): double'],
  ['negate_int64', '-_(int): int'],
  ['subtract_double', '_-_(double, double): double'],
  ['subtract_duration_duration', '_-_(duration, duration): duration'],
  ['subtract_int64', '_-_(int, int): int'],
  ['subtract_timestamp_duration', '_-_(timestamp, duration): timestamp'],
  ['subtract_timestamp_timestamp', '_-_(timestamp, timestamp): duration'],
  ['subtract_uint64', '_-_(uint, uint): uint'],
  ...comparison('less', '_<_'),
  ...comparison('less_equals', '_<=_'),
  ...comparison('greater', '_>_'),
  ...comparison('greater_equals', '_>=_'),
  ['index_list', '_[_](list(A), int): A'],
  ['index_map', '_[_](map(A, B), A): B'],
  ['in_list', '@in(A, list(A)): bool'],
  ['in_map', '@in(A, map(A, B)): bool'],
  ['size_bytes', 'size(bytes): int'],
  ['bytes_size', 'bytes.size(): int'],
  ['size_list', 'size(list(A)): int'],
  ['list_size', 'list(A).size(): int'],
  ['size_map', 'size(map(A, B)): int'],
  ['map_size', 'map(A, B).size(): int'],
  ['size_string', 'size(string): int'],
  ['string_size', 'string.size(): int'],
];

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;
/** Seconds since 1970 of the years 1 and 9999. */
const MIN_TIME = -62_135_596_800n;
const MAX_TIME = 253_402_300_799n;
const SECOND = 1_000_000_000n;

export function checkedInt(value: bigint): bigint {
  if (value < MIN_INT || value > MAX_INT) throw new Fault('integer overflow');
  return value;
}
export function checkedUint(value: bigint): Uint {
  if (value < 0n || value > MAX_UINT) throw new Fault('unsigned integer overflow');
  return new Uint(value);
}
export function checkedTimestamp(nanos: bigint): Timestamp {
  if (nanos < MIN_TIME * SECOND || nanos >= (MAX_TIME + 1n) * SECOND) throw new Fault('timestamp overflow');
  return new Timestamp(nanos);
}
export function checkedDuration(nanos: bigint): Duration {
  if (nanos < MIN_INT || nanos > MAX_INT) throw new Fault('duration overflow');
  return new Duration(nanos);
}

const conversion = (from: Value, to: string) => new Fault(`type conversion error from '${typeName(from)}' to '${to}'`);

function integerText(text: string): bigint | undefined {
  return /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
}

function stringToInt(text: string): bigint {
  const value = integerText(text);
  if (value === undefined || value < MIN_INT || value > MAX_INT) throw conversion(text, 'int');
  return value;
}

function stringToUint(text: string): Uint {
  const value = /^\d+$/.test(text) ? BigInt(text) : undefined;
  if (value === undefined || value > MAX_UINT) throw conversion(text, 'uint');
  return new Uint(value);
}

function doubleToInt(value: number): bigint {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new Fault('integer overflow');
  return BigInt(Math.trunc(value));
}

function doubleToUint(value: number): Uint {
  if (!(value >= 0 && value < 2 ** 64)) throw new Fault('unsigned integer overflow');
  return new Uint(BigInt(Math.trunc(value)));
}

function stringToDouble(text: string): number {
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special !== null) {
    if (special[2]!.toLowerCase() === 'nan') return Number.NaN;
    return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw conversion(text, 'double');
  return Number(text);
}

const TRUTHS: Readonly<Record<string, boolean>> = Object.fromEntries([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true]),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false]),
]);

function stringToBool(text: string): boolean {
  const value = Object.hasOwn(TRUTHS, text) ? TRUTHS[text] : undefined;
  if (value === undefined) throw conversion(text, 'bool');
  return value;
}

/** A double as Go's `%g` prints it. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 21) {
    const sign = power < 0 ? '-' : '+';
    return `${mantissa}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
  }
  return power >= 0 ? String(value) : decimal(value, power);
}

/** A small number without an exponent. */
function decimal(value: number, power: number): string {
  const digits = String(value.toExponential()).split('e')[0]!.replace('-', '').replace('.', '');
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(-power - 1)}${digits}`;
}

function bytesToString(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Fault('invalid UTF-8 in bytes, cannot convert to string');
  }
}

function stringToTimestamp(text: string): Timestamp {
  const nanos = parseTimestamp(text);
  if (nanos === undefined) throw conversion(text, 'google.protobuf.Timestamp');
  return checkedTimestamp(nanos);
}

function stringToDuration(text: string): Duration {
  const nanos = parseDuration(text);
  if (nanos === undefined) throw conversion(text, 'google.protobuf.Duration');
  return new Duration(nanos);
}

const same = <T extends Value>(value: T): T => value;
const floorSeconds = (nanos: bigint) => (nanos - (((nanos % SECOND) + SECOND) % SECOND)) / SECOND;

export const conversions: readonly Definition[] = [
  ['type', 'type(A): type(A)', (value: Value) => new TypeValue(typeName(value))],
  ['to_dyn', 'dyn(A): dyn', same],
  ['bool_to_bool', 'bool(bool): bool', same],
  ['string_to_bool', 'bool(string): bool', stringToBool],
  ['bytes_to_bytes', 'bytes(bytes): bytes', same],
  ['string_to_bytes', 'bytes(string): bytes', (text: string) => new TextEncoder().encode(text)],
  ['double_to_double', 'double(double): double', same],
  ['int64_to_double', 'double(int): double', (value: bigint) => Number(value)],
  ['string_to_double', 'double(string): double', stringToDouble],
  ['uint64_to_double', 'double(uint): double', ({ value }: Uint) => Number(value)],
  ['duration_to_duration', 'duration(duration): duration', same],
  ['int64_to_duration', 'duration(int): duration', (nanos: bigint) => new Duration(nanos)],
  ['string_to_duration', 'duration(string): duration', stringToDuration],
  ['int64_to_int64', 'int(int): int', same],
  ['double_to_int64', 'int(double): int', doubleToInt],
  ['duration_to_int64', 'int(duration): int', ({ nanos }: Duration) => nanos],
  ['string_to_int64', 'int(string): int', stringToInt],
  ['timestamp_to_int64', 'int(timestamp): int', ({ nanos }: Timestamp) => floorSeconds(nanos)],
  ['uint64_to_int64', 'int(uint): int', ({ value }: Uint) => checkedInt(value)],
  ['string_to_string', 'string(string): string', same],
  ['bool_to_string', 'string(bool): string', String],
  ['bytes_to_string', 'string(bytes): string', bytesToString],
  ['double_to_string', 'string(double): string', formatDouble],
  ['duration_to_string', 'string(duration): string', formatDuration],
  ['int64_to_string', 'string(int): string', String],
  ['timestamp_to_string', 'string(timestamp): string', formatTimestamp],
  ['uint64_to_string', 'string(uint): string', ({ value }: Uint) => String(value)],
  ['timestamp_to_timestamp', 'timestamp(timestamp): timestamp', same],
  ['int64_to_timestamp', 'timestamp(int): timestamp', (s: bigint) => checkedTimestamp(s * SECOND)],
  ['string_to_timestamp', 'timestamp(string): timestamp', stringToTimestamp],
  ['uint64_to_uint64', 'uint(uint): uint', same],
  ['double_to_uint64', 'uint(double): uint', doubleToUint],
  ['int64_to_uint64', 'uint(int): uint', (value: bigint) => checkedUint(value)],
  ['string_to_uint64', 'uint(string): uint', stringToUint],
  ['contains_string', 'string.contains(string): bool', (text: string, part: string) => text.includes(part)],
  ['ends_with_string', 'string.endsWith(string): bool', (text: string, part: string) => text.endsWith(part)],
  ['starts_with_string', 'string.startsWith(string): bool', (text: string, part: string) => text.startsWith(part)],
];

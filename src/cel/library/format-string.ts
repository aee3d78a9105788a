import { CelList, CelMap, Duration, Fault, Timestamp, TypeValue, typeName, Uint, type Value } from '../values.ts';
import { formatDouble } from './standard.ts';
import { formatDuration, formatTimestamp } from './time.ts';

/** `string.format`, as cel-go's strings extension has it at version 2 (en_US). */

const DEFAULT_PRECISION = 6;
const SPECIAL: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

function inCollection(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Uint8Array) return `b${JSON.stringify(decode(value))}`;
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(formatTimestamp(value))})`;
  if (value instanceof Duration) return `duration(${JSON.stringify(formatDuration(value))})`;
  if (typeof value === 'number') {
    return Number.isFinite(value) ? value.toFixed(DEFAULT_PRECISION) : JSON.stringify(formatDouble(value));
  }
  return text(value);
}

function mapText(map: CelMap): string {
  const pairs = [...map.keys()].map((key): [string, string] => [inCollection(key), inCollection(map.get(key)!)]);
  pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${pairs.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}

/** `%s`. */
function text(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return formatDouble(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return decode(value);
  if (value instanceof CelList) return `[${[...value].map(inCollection).join(', ')}]`;
  if (value instanceof CelMap && value.typeName === undefined) return mapText(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof TypeValue) return value.name;
  const kinds = 'strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps';
  throw new Fault(`string clause can only be used on ${kinds}, was given ${typeName(value)}`);
}

function integer(value: Value, why: string): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  throw new Fault(`${why}, was given ${typeName(value)}`);
}

function binary(value: Value): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return integer(value, 'only integers and bools can be formatted as binary').toString(2);
}

function hex(value: Value): string {
  if (typeof value === 'string') return hex(new TextEncoder().encode(value));
  if (value instanceof Uint8Array) return [...value].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return integer(value, 'only integers, byte buffers, and strings can be formatted as hex').toString(16);
}

function double(value: Value, clause: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && SPECIAL.has(value)) return Number(value);
  throw new Fault(`${clause} clause can only be used on doubles, was given ${typeName(value)}`);
}

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? undefined : value > 0 ? '∞' : '-∞';
}

/** Exact halves go to the even neighbour, as in Go. */
function toFixed(value: number, precision: number): string {
  const exact = value.toFixed(100);
  const cut = exact.indexOf('.') + 1 + precision;
  if (!/^50*$/.test(exact.slice(cut)) || precision > 60) return value.toFixed(precision);
  const kept = exact.slice(0, cut).replace(/\.$/, '');
  const isEven = Number(kept.at(-1)) % 2 === 0;
  return isEven ? kept : value.toFixed(precision);
}

function fixed(value: number, precision: number): string {
  const odd = special(value);
  if (odd !== undefined) return odd;
  const [whole = '', fraction] = toFixed(value, precision).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const SUPERSCRIPT = '⁰¹²³⁴⁵⁶⁷⁸⁹';

function scientific(value: number, precision: number): string {
  const odd = special(value);
  if (odd !== undefined) return odd;
  const [mantissa = '', exponent = '0'] = value.toExponential(precision).split('e');
  const digits = String(Math.abs(Number(exponent))).padStart(2, '0');
  const raised = [...digits].map((digit) => SUPERSCRIPT[Number(digit)]).join('');
  return `${mantissa}×10${Number(exponent) < 0 ? '⁻' : ''}${raised}`;
}

function clause(letter: string, precision: number, value: Value): string {
  switch (letter) {
    case 's':
      return text(value);
    case 'd':
      return String(integer(value, 'decimal clause can only be used on integers'));
    case 'f':
      return fixed(double(value, 'fixed-point'), precision);
    case 'e':
      return scientific(double(value, 'scientific'), precision);
    case 'b':
      return binary(value);
    case 'x':
      return hex(value);
    case 'X':
      return hex(value).toUpperCase();
    case 'o':
      return integer(value, 'octal clause can only be used on integers').toString(8);
    default:
      throw new Fault(`could not parse formatting clause: unrecognized formatting clause "${letter}"`);
  }
}

/** `"%d of %s".format([1, "a"])`. Throws a {@link Fault} for clauses and arguments that do not fit. */
export function formatString(format: string, args: CelList): string {
  let next = 0;
  return format.replace(/%(%|(?:\.(\d+))?(.?))/gs, (_all, body: string, digits: string | undefined, letter: string) => {
    if (body === '%') return '%';
    if (next >= args.size) throw new Fault(`index ${next} out of range`);
    if (letter === '') throw new Fault('unexpected end of string');
    return clause(letter, digits === undefined ? DEFAULT_PRECISION : Number(digits), args.at(next++));
  });
}

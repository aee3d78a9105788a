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
  throw unfit('s', typeName(value));
}

const FIT: Readonly<Record<string, string>> = {
  s:
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and ' +
    'timestamps',
  d: 'decimal clause can only be used on integers',
  f: 'fixed-point clause can only be used on doubles',
  e: 'scientific clause can only be used on doubles',
  b: 'only integers and bools can be formatted as binary',
  x: 'only integers, byte buffers, and strings can be formatted as hex',
  o: 'octal clause can only be used on integers',
};

/** An argument of a type that the clause does not take. */
export const unfit = (letter: string, type: string): Fault =>
  new Fault(`error during formatting: ${FIT[letter.toLowerCase()]}, was given ${type}`);

function integer(value: Value, letter: string): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  throw unfit(letter, typeName(value));
}

function binary(value: Value): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return integer(value, 'b').toString(2);
}

function hex(value: Value): string {
  if (typeof value === 'string') return hex(new TextEncoder().encode(value));
  if (value instanceof Uint8Array) return [...value].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return integer(value, 'x').toString(16);
}

function double(value: Value, letter: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'string' && SPECIAL.has(value)) return Number(value);
  throw unfit(letter, typeName(value));
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

const CLAUSES: Readonly<Record<string, (value: Value, precision: number) => string>> = {
  s: text,
  d: (value) => String(integer(value, 'd')),
  f: (value, precision) => fixed(double(value, 'f'), precision),
  e: (value, precision) => scientific(double(value, 'e'), precision),
  b: binary,
  x: hex,
  X: (value) => hex(value).toUpperCase(),
  o: (value) => integer(value, 'o').toString(8),
};

/** A clause of a format string, `%.3f`, or why it is none. */
export type Clause = { letter: string; precision: number } | { fault: string };

/** The fault of a clause of which there is only the `%`. */
export const UNENDED = 'unexpected end of string';

const CLAUSE = /%(?:%|(?:\.(\d*))?(.?))/gs;

function readClause(digits: string | undefined, letter: string): Clause {
  if (letter === '' && digits === undefined) return { fault: UNENDED };
  const wrong = (why: string) => ({ fault: `could not parse formatting clause: ${why}` });
  if (letter === '') return wrong('error while parsing precision: could not find end of precision specifier');
  if (digits === '') {
    const why = 'strconv.Atoi: parsing "": invalid syntax';
    return wrong(`error while parsing precision: error while converting precision to integer: ${why}`);
  }
  if (!Object.hasOwn(CLAUSES, letter)) return wrong(`unrecognized formatting clause "${letter}"`);
  return { letter, precision: digits === undefined ? DEFAULT_PRECISION : Number(digits) };
}

/** A format string with what `write` makes of each clause in its place. */
export const replaceClauses = (format: string, write: (clause: Clause) => string): string =>
  format.replace(CLAUSE, (all: string, digits: string | undefined, letter: string) =>
    all === '%%' ? '%' : write(readClause(digits, letter)),
  );

/** `"%d of %s".format([1, "a"])`. Throws a {@link Fault} for clauses and arguments that do not fit. */
export function formatString(format: string, args: CelList): string {
  let next = 0;
  return replaceClauses(format, (clause) => {
    if (next >= args.size) throw new Fault(`index ${next} out of range`);
    if ('fault' in clause) throw new Fault(clause.fault);
    return CLAUSES[clause.letter]!(args.at(next++), clause.precision);
  });
}

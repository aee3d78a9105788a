import type { JsonObject, JsonValue } from '../api/object.ts';
import { readsAsText } from './yaml-scalars.ts';

const WIDTH = 80;
/** Longer keys are written as complex ones. */
const MAX_SIMPLE_KEY_BYTES = 128;

/** YAML with sorted keys, as sigs.k8s.io/yaml prints it: two spaces, lists not indented, text folded at 80 columns. */
export function stringifyYaml(value: JsonValue): string {
  const lines: string[] = [];
  block(value, 0, '', lines);
  return `${lines.join('\n')}\n`;
}

/** Appends a value whose first line begins with `lead`; what follows it is indented by `indent`. */
function block(value: JsonValue, indent: number, lead: string, lines: string[]): void {
  if (Array.isArray(value) && value.length > 0) {
    for (const [i, item] of value.entries()) block(item, indent + 2, `${i === 0 ? lead : pad(indent)}- `, lines);
  } else if (isMap(value) && Object.keys(value).length > 0) {
    let first = true;
    for (const key of Object.keys(value).sort(compareKeys)) {
      const item = value[key];
      if (item === undefined) continue;
      member(key, item, indent, first ? lead : pad(indent), lines);
      first = false;
    }
  } else lines.push(...`${lead}${scalar(value, indent, width(lead))}`.split('\n'));
}

function member(key: string, value: JsonValue, indent: number, lead: string, lines: string[]): void {
  const name = text(key, 0, 0, true);
  let start = `${lead}${name}:`;
  if (key.includes('\n') || utf8Length(key) > MAX_SIMPLE_KEY_BYTES) {
    lines.push(`${lead}? ${name}`);
    start = `${pad(indent)}:`;
  }
  if (Array.isArray(value) && value.length > 0) {
    lines.push(start);
    block(value, indent, pad(indent), lines);
  } else if (isMap(value) && Object.keys(value).length > 0) {
    lines.push(start);
    block(value, indent + 2, pad(indent + 2), lines);
  } else lines.push(...`${start} ${scalar(value, indent + 2, width(start) + 1)}`.split('\n'));
}

/** A scalar or empty collection that begins at `column`; further lines are indented by `indent`. */
function scalar(value: JsonValue, indent: number, column: number): string {
  if (typeof value === 'string') return text(value, indent, column, false);
  if (typeof value === 'number') return number(value);
  if (Array.isArray(value)) return '[]';
  return isMap(value) ? '{}' : String(value);
}

/** Go's shortest %g: an exponent from a million on, of at least two digits. Integers are printed as such. */
function number(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return String(value);
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** What a double-quoted string must escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const UNPRINTABLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udfff]/;
const LEADING_INDICATOR = /^(?:[#,[\]{}&*!|>'"%@`]|[?:-](?:[ \n]|$)|---|\.\.\.)/;
const INNER_INDICATOR = /:(?:[ \n]|$)|[ \n]#/;

function text(value: string, indent: number, column: number, key: boolean): string {
  if (UNPRINTABLE.test(value) || / \n/.test(value)) return doubleQuoted(value, indent, column, !key);
  if (value.includes('\n')) {
    return key || value.endsWith(' ') ? doubleQuoted(value, indent, column, !key) : literal(value, indent);
  }
  if (!readsAsText(value)) return doubleQuoted(value, indent, column, !key);
  if (/^ | $/.test(value) || LEADING_INDICATOR.test(value) || INNER_INDICATOR.test(value)) {
    return `'${fold(value.replaceAll("'", "''"), indent, column + 1, !key, true)}'`;
  }
  return fold(value, indent, column, !key, false);
}

/** Breaks at single spaces past the width; quoted text never at its first or last character. */
function fold(value: string, indent: number, column: number, allowed: boolean, quoted: boolean): string {
  if (!allowed || column + value.length <= WIDTH) return value;
  let out = '';
  let at = column;
  const characters = [...value];
  for (const [i, c] of characters.entries()) {
    const lone = c === ' ' && characters[i - 1] !== ' ' && characters[i + 1] !== ' ';
    if (lone && at > WIDTH && (!quoted || (i > 0 && i < characters.length - 1))) {
      out += `\n${pad(indent)}`;
      at = indent;
    } else {
      out += c;
      at++;
    }
  }
  return out;
}

function literal(value: string, indent: number): string {
  const hint = /^[ \n]/.test(value) ? '2' : '';
  const chomp = !value.endsWith('\n') ? '-' : value === '\n' || value.endsWith('\n\n') ? '+' : '';
  const body = value.endsWith('\n') ? value.slice(0, -1) : value;
  const lines = body.split('\n').map((line) => (line === '' ? '' : pad(indent) + line));
  return [`|${hint}${chomp}`, ...lines].join('\n');
}

const ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x00, '0'],
  [0x07, 'a'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0b, 'v'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x1b, 'e'],
  [0x22, '"'],
  [0x5c, '\\'],
  [0x85, 'N'],
  [0x2028, 'L'],
  [0x2029, 'P'],
]);

function doubleQuoted(value: string, indent: number, column: number, allowed: boolean): string {
  let out = '"';
  let at = column + 1;
  let spaces = false;
  const characters = [...value];
  for (const [i, c] of characters.entries()) {
    if (allowed && c === ' ' && !spaces && at > WIDTH && i > 0 && i < characters.length - 1) {
      out += `\n${pad(indent)}${characters[i + 1] === ' ' ? '\\' : ''}`;
      at = indent + (characters[i + 1] === ' ' ? 1 : 0);
    } else {
      const shown =
        c === '"' || c === '\\' || c === '\n' || UNPRINTABLE.test(c) ? escaped(c.codePointAt(0) as number) : c;
      out += shown;
      at += shown.length;
    }
    spaces = c === ' ';
  }
  return `${out}"`;
}

function escaped(code: number): string {
  const short = ESCAPES.get(code);
  if (short !== undefined) return `\\${short}`;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

function pad(indent: number): string {
  return ' '.repeat(indent);
}

function width(line: string): number {
  return [...line].length;
}

function utf8Length(value: string): number {
  return new TextEncoder().encode(value).length;
}

function isMap(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const LETTER = /\p{L}/u;
const DIGIT = /\p{Nd}/u;

/** go-yaml's order of keys: letters after everything else, runs of digits by their value. */
function compareKeys(a: string, b: string): number {
  const [x, y] = [[...a], [...b]];
  for (let i = 0; i < x.length && i < y.length; i++) {
    const [p, q] = [x[i] as string, y[i] as string];
    if (p === q) continue;
    const [pLetter, qLetter] = [LETTER.test(p), LETTER.test(q)];
    if (pLetter !== qLetter) return qLetter ? -1 : 1;
    return (pLetter ? 0 : compareNumbers(x, y, i)) || (p.codePointAt(0) as number) - (q.codePointAt(0) as number);
  }
  return x.length - y.length;
}

function compareNumbers(x: string[], y: string[], at: number): number {
  // A zero inside a number counts by its place: 10 and 1 differ there, 01 and 1 do not.
  let inside = false;
  if (x[at] === '0' || y[at] === '0') {
    for (let j = at - 1; j >= 0 && DIGIT.test(x[j] as string); j--) inside ||= x[j] !== '0';
  }
  const [p, q] = [digitsFrom(x, at), digitsFrom(y, at)];
  const lead = inside ? '1' : '0';
  const difference = BigInt(lead + p) - BigInt(lead + q);
  if (difference !== 0n) return difference < 0n ? -1 : 1;
  return p.length - q.length;
}

function digitsFrom(characters: string[], at: number): string {
  let end = at;
  while (end < characters.length && /[0-9]/.test(characters[end] as string)) end++;
  return characters.slice(at, end).join('');
}

import type { Definition } from '../functions.ts';
import { ArrayList, type CelList, Fault, plainText } from '../values.ts';
import { formatString } from './format-string.ts';

/** cel-go's strings extension, version 2. Positions count code points. */

const outOfRange = (index: bigint) => new Fault(`index out of range: ${index}`);

function charAt(text: string, index: bigint): string {
  const chars = [...text];
  if (index < 0n || index > BigInt(chars.length)) throw outOfRange(index);
  return chars[Number(index)] ?? '';
}

function isAt(chars: readonly string[], part: readonly string[], at: number): boolean {
  return part.every((char, i) => chars[at + i] === char);
}

function indexOf(text: string, part: string, from = 0n): bigint {
  if (part === '') return from;
  if (from < 0n) throw outOfRange(from);
  const [chars, wanted] = [[...text], [...part]];
  for (let i = Number(from); i <= chars.length - wanted.length; i++) if (isAt(chars, wanted, i)) return BigInt(i);
  return -1n;
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const [chars, wanted] = [[...text], [...part]];
  if (part === '') return from ?? BigInt(chars.length);
  if (from !== undefined && from < 0n) throw outOfRange(from);
  if (from !== undefined && from >= BigInt(chars.length)) return -1n;
  const last = chars.length - wanted.length;
  for (let i = Math.min(last, from === undefined ? last : Number(from)); i >= 0; i--) {
    if (isAt(chars, wanted, i)) return BigInt(i);
  }
  return -1n;
}

const mapAscii = (text: string, letters: RegExp, to: (char: string) => string) => text.replace(letters, to);
const lower = (text: string) => mapAscii(text, /[A-Z]/g, (c) => c.toLowerCase());
const upper = (text: string) => mapAscii(text, /[a-z]/g, (c) => c.toUpperCase());

/** Replaces the first `limit` occurrences; all where it is negative. An empty `from` is found around every character. */
function replace(text: string, from: string, to: string, limit = -1n): string {
  const parts = from === '' ? ['', ...text] : text.split(from);
  const count = from === '' ? parts.length : parts.length - 1;
  const most = limit < 0n || limit > BigInt(count) ? count : Number(limit);
  if (from === '') {
    const body = [...text].map((char, i) => (i < most ? to : '') + char).join('');
    return body + (most === count ? to : '');
  }
  return parts.map((part, i) => (i === 0 ? part : (i <= most ? to : from) + part)).join('');
}

function split(text: string, separator: string, limit = -1n): ArrayList {
  if (limit === 0n) return new ArrayList([]);
  const parts = separator === '' ? [...text] : text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return new ArrayList(parts);
  const head = parts.slice(0, Number(limit) - 1);
  return new ArrayList([...head, parts.slice(Number(limit) - 1).join(separator)]);
}

function substring(text: string, from: bigint, to?: bigint): string {
  const chars = [...text];
  const size = BigInt(chars.length);
  if (to !== undefined && from > to) throw new Fault(`invalid substring range. start: ${from}, end: ${to}`);
  if (from < 0n || from > size) throw outOfRange(from);
  if (to !== undefined && (to < 0n || to > size)) throw outOfRange(to);
  return chars.slice(Number(from), to === undefined ? undefined : Number(to)).join('');
}

/** White space as Go's unicode package has it. */
const SPACE = '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const EDGES = new RegExp(`^${SPACE}+|${SPACE}+$`, 'g');
const trim = (text: string) => text.replace(EDGES, '');

function join(list: CelList, separator = ''): string {
  const parts: string[] = [];
  for (const part of list) {
    if (typeof part !== 'string') throw new Fault(`join: invalid input: ${plainText(part)}`);
    parts.push(part);
  }
  return parts.join(separator);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};
const quote = (text: string) => `"${[...text.toWellFormed()].map((c) => ESCAPES[c] ?? c).join('')}"`;

export const strings: readonly Definition[] = [
  ['string_char_at_int', 'string.charAt(int): string', charAt],
  ['string_index_of_string', 'string.indexOf(string): int', indexOf],
  ['string_index_of_string_int', 'string.indexOf(string, int): int', indexOf],
  ['string_last_index_of_string', 'string.lastIndexOf(string): int', lastIndexOf],
  ['string_last_index_of_string_int', 'string.lastIndexOf(string, int): int', lastIndexOf],
  ['string_lower_ascii', 'string.lowerAscii(): string', lower],
  ['string_upper_ascii', 'string.upperAscii(): string', upper],
  ['string_replace_string_string', 'string.replace(string, string): string', replace],
  ['string_replace_string_string_int', 'string.replace(string, string, int): string', replace],
  ['string_split_string', 'string.split(string): list(string)', split],
  ['string_split_string_int', 'string.split(string, int): list(string)', split],
  ['string_substring_int', 'string.substring(int): string', substring],
  ['string_substring_int_int', 'string.substring(int, int): string', substring],
  ['string_trim', 'string.trim(): string', trim],
  ['string_format', 'string.format(list(dyn)): string', formatString],
  ['strings_quote', 'strings.quote(string): string', quote],
  ['list_join', 'list(string).join(): string', join],
  ['list_join_string', 'list(string).join(string): string', join],
];

import type { JsonObject, JsonValue } from '../api/object.ts';
import { setKey } from '../api/object.ts';

/** A parsed body with what a plain tree cannot say. */
export interface ParsedValue {
  value: JsonValue;
  /** Paths of repeated keys in document order, for example `metadata.labels.a` or `spec.containers[0].name`. */
  duplicates: readonly string[];
  /** Number literals by path, where the value prints otherwise: `3.0`, `3e0`, `1.50`. Integer fields refuse these. */
  literals: ReadonlyMap<string, string>;
  /** All entries, in document order, of the objects that repeat a key (`value` keeps the last of each). */
  entries: ReadonlyMap<JsonObject, readonly Entry[]>;
  /** Findings of a strict reading of YAML: `line 2: key "a" already set in map`. */
  strict: readonly string[];
}
export type Entry = readonly [key: string, value: JsonValue];

const NO_DUPLICATES: readonly string[] = [];
const NO_LITERALS: ReadonlyMap<string, string> = new Map();
const NO_ENTRIES: ReadonlyMap<JsonObject, readonly Entry[]> = new Map();

/** A tree that did not come from text (the result of a patch), or whose text had nothing special. */
export function plainValue(value: JsonValue): ParsedValue {
  return { value, duplicates: NO_DUPLICATES, literals: NO_LITERALS, entries: NO_ENTRIES, strict: NO_DUPLICATES };
}

/** Malformed JSON; the message is Go's (`unexpected end of JSON input`). */
export class JsonSyntaxError extends Error {}

/** Parses strict JSON. Whole numbers beyond 2^53 become bigint. Throws {@link JsonSyntaxError}. */
export function parseJson(text: string): ParsedValue {
  const keys = plainKeyCount(text);
  if (keys >= 0) {
    const value = tryNative(text);
    if (value !== undefined && countKeys(value) === keys) return plainValue(value);
  }
  return new Parser(text).parse();
}

/** Only the tree of {@link parseJson}, the last of repeated keys; for text that the server wrote itself. */
export function parseTree(text: string): JsonValue {
  if (!LONG_DIGITS.test(text)) {
    const value = tryNative(text);
    if (value !== undefined) return value;
  }
  return parseJson(text).value;
}

const LONG_DIGITS = /\d{16}/;

/** JSON text; `pretty`: two spaces, as curl and browsers get it. Neither ends in a newline. */
export function stringifyJson(value: JsonValue, pretty = false): string {
  try {
    return JSON.stringify(value, undefined, pretty ? 2 : undefined);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, bigintAsRaw, pretty ? 2 : undefined);
  }
}

/** `JSON.rawJSON` of ES2026, which TypeScript does not know yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

function bigintAsRaw(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(String(value)) : value;
}

function tryNative(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const MAX_NATIVE_DEPTH = 1000;

/**
 * How many keys a JSON text writes out, or -1 when the native parser would lose something: a fraction, an exponent,
 * more than 15 digits, or great depth. Says nothing about whether the text is well formed.
 */
function plainKeyCount(text: string): number {
  let keys = 0;
  let digits = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = endOfString(text, i + 1);
      digits = 0;
    } else if (c === COLON) keys++;
    else if (c >= 0x30 && c <= 0x39) {
      if (++digits > 15) return -1;
    } else if (digits > 0 && (c === 0x2e || c === 0x65 || c === 0x45)) return -1;
    else {
      digits = 0;
      if (c === 0x7b || c === 0x5b) {
        if (++depth > MAX_NATIVE_DEPTH) return -1;
      } else if (c === 0x7d || c === 0x5d) depth--;
    }
  }
  return keys;
}

/** Index of the quote that ends a string whose content begins at `start`; the text's length when there is none. */
function endOfString(text: string, start: number): number {
  let from = start;
  for (;;) {
    const end = text.indexOf('"', from);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH && end - 1 - slashes >= start) slashes++;
    if (slashes % 2 === 0) return end;
    from = end + 1;
  }
}

function countKeys(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let total = 0;
  if (Array.isArray(value)) {
    for (const item of value) total += countKeys(item);
    return total;
  }
  for (const key in value) {
    total += 1;
    const inner = value[key] as JsonValue;
    if (typeof inner === 'object' && inner !== null) total += countKeys(inner);
  }
  return total;
}

const MAX_DEPTH = 10_000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const INTEGER = /^-?\d+$/;
const ESCAPES: ReadonlySet<string> = new Set('"\\/bfnrt');

/** The slow way: keeps repeated keys and literals, and words errors as Go does. */
class Parser {
  readonly #text: string;
  #at = 0;
  #depth = 0;
  readonly #path: string[] = [];
  readonly #duplicates: string[] = [];
  readonly #literals = new Map<string, string>();
  readonly #entries = new Map<JsonObject, Entry[]>();

  constructor(text: string) {
    this.#text = text;
  }

  parse(): ParsedValue {
    const value = this.#root();
    this.#space();
    if (this.#at < this.#text.length) this.#fail('after top-level value');
    return {
      value,
      duplicates: this.#duplicates,
      literals: this.#literals,
      entries: this.#entries,
      strict: NO_DUPLICATES,
    };
  }

  #root(): JsonValue {
    try {
      return this.#value();
    } catch (error) {
      if (error instanceof RangeError) throw new JsonSyntaxError('exceeded max depth');
      throw error;
    }
  }

  #value(): JsonValue {
    this.#space();
    const c = this.#text[this.#at];
    if (c === '{') return this.#nested(() => this.#object());
    if (c === '[') return this.#nested(() => this.#array());
    if (c === '"') return this.#string();
    if (c === 't') return this.#literal('true', true);
    if (c === 'f') return this.#literal('false', false);
    if (c === 'n') return this.#literal('null', null);
    if (c !== undefined && (c === '-' || (c >= '0' && c <= '9'))) return this.#number();
    return this.#fail('looking for beginning of value');
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new JsonSyntaxError('exceeded max depth');
    const value = read();
    this.#depth--;
    return value;
  }

  #object(): JsonObject {
    const out: JsonObject = {};
    const entries: Entry[] = [];
    let repeated = false;
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === '}') {
      this.#at++;
      return out;
    }
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string');
      const key = this.#string();
      this.#path.push(this.#path.length === 0 ? key : `.${key}`);
      if (Object.hasOwn(out, key)) {
        repeated = true;
        this.#duplicates.push(this.#path.join(''));
      }
      this.#space();
      if (this.#text[this.#at] !== ':') this.#fail('after object key');
      this.#at++;
      const value = this.#value();
      this.#path.pop();
      setKey(out, key, value);
      entries.push([key, value]);
      this.#space();
      const c = this.#text[this.#at];
      if (c !== ',' && c !== '}') this.#fail('after object key:value pair');
      this.#at++;
      if (c === '}') break;
    }
    if (repeated) this.#entries.set(out, entries);
    return out;
  }

  #array(): JsonValue[] {
    const out: JsonValue[] = [];
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === ']') {
      this.#at++;
      return out;
    }
    for (;;) {
      this.#path.push(`[${out.length}]`);
      out.push(this.#value());
      this.#path.pop();
      this.#space();
      const c = this.#text[this.#at];
      if (c !== ',' && c !== ']') this.#fail('after array element');
      this.#at++;
      if (c === ']') return out;
    }
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at + 1);
    const raw = this.#text.slice(this.#at + 1, end);
    this.#checkString(raw);
    if (end >= this.#text.length) throw new JsonSyntaxError('unexpected end of JSON input');
    this.#at = end + 1;
    return raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
  }

  /** Refuses control characters and unknown escapes. */
  #checkString(raw: string): void {
    for (let i = 0; i < raw.length; i++) {
      const c = raw.charCodeAt(i);
      if (c < 0x20) throw new JsonSyntaxError(`invalid character ${quoteCharacter(raw[i])} in string literal`);
      if (c !== BACKSLASH) continue;
      const code = raw[++i];
      if (code === 'u') {
        const hex = raw.slice(i + 1, i + 5);
        const bad = /[^0-9a-fA-F]/.exec(hex);
        if (bad)
          throw new JsonSyntaxError(`invalid character ${quoteCharacter(bad[0])} in \\u hexadecimal character escape`);
        if (hex.length < 4) {
          const next = this.#at + 1 + raw.length < this.#text.length ? '"' : ' ';
          throw new JsonSyntaxError(`invalid character ${quoteCharacter(next)} in \\u hexadecimal character escape`);
        }
        i += 4;
      } else if (code === undefined || !ESCAPES.has(code)) {
        throw new JsonSyntaxError(`invalid character ${quoteCharacter(code ?? ' ')} in string escape code`);
      }
    }
  }

  #literal<T extends JsonValue>(word: string, value: T): T {
    for (let i = 1; i < word.length; i++) {
      if (this.#text[this.#at + i] !== word[i]) {
        this.#at += i;
        this.#fail(`in literal ${word} (expecting ${quoteCharacter(word[i])})`, ' ');
      }
    }
    this.#at += word.length;
    return value;
  }

  #number(): number | bigint {
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.#text);
    if (found === null) {
      this.#at++;
      return this.#fail('in numeric literal', ' ');
    }
    const literal = found[0];
    this.#at += literal.length;
    const next = this.#text[this.#at];
    if (next === '.') return this.#failAt(1, 'after decimal point in numeric literal');
    if (next === 'e' || next === 'E')
      return this.#failAt(/[-+]/.test(this.#text[this.#at + 1] ?? '') ? 2 : 1, 'in exponent of numeric literal');
    const value = Number(literal);
    if (INTEGER.test(literal)) {
      if (Number.isSafeInteger(value)) return value;
      const exact = BigInt(literal);
      return exact >= -(2n ** 63n) && exact < 2n ** 63n ? exact : this.#keep(literal, value);
    }
    return this.#keep(literal, value);
  }

  #keep(literal: string, value: number): number {
    if (String(value) !== literal) this.#literals.set(this.#path.join(''), literal);
    return value;
  }

  #space(): void {
    for (;;) {
      const c = this.#text.charCodeAt(this.#at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
      this.#at++;
    }
  }

  #failAt(offset: number, context: string): never {
    this.#at += offset;
    return this.#fail(context, ' ');
  }

  /** `atEnd`: what Go takes the end of the text for where more must come at once. */
  #fail(context: string, atEnd?: string): never {
    const found = this.#text.codePointAt(this.#at);
    const character = found === undefined ? atEnd : firstByte(found);
    if (character === undefined) throw new JsonSyntaxError('unexpected end of JSON input');
    throw new JsonSyntaxError(`invalid character ${quoteCharacter(character)} ${context}`);
  }
}

/** Go looks at bytes: outside ASCII it names the first byte of the character. */
function firstByte(code: number): string {
  const character = String.fromCodePoint(code);
  return code < 0x80 ? character : String.fromCharCode(new TextEncoder().encode(character)[0] as number);
}

function quoteCharacter(c: string | undefined): string {
  if (c === "'") return `'\\''`;
  if (c === '"') return `'"'`;
  const quoted = JSON.stringify(c ?? '').slice(1, -1);
  const hex = /^\\u00([0-9a-f]{2})$/.exec(quoted);
  return `'${hex ? `\\x${hex[1]}` : quoted}'`;
}

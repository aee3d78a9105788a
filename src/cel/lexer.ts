import type { Constant } from './ast.ts';
import { SyntaxIssue } from './issues.ts';

/** Words of an expression (cel-spec, "Syntax"). */
export type Token =
  | { kind: 'op'; text: string; at: number }
  | { kind: 'ident'; text: string; at: number; escaped: boolean }
  | { kind: 'literal'; text: string; value: Constant; at: number }
  | { kind: 'end'; text: '<EOF>'; at: number };

const OPERATORS = [
  '==',
  '!=',
  '<=',
  '>=',
  '&&',
  '||',
  ...['<', '>', '+', '-', '*', '/', '%', '!', '?', ':', '.', ',', '(', ')', '[', ']', '{', '}'],
];
const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  '?': '?',
};
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, X: 2, u: 4, U: 8 };
const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;

const isLetter = (char: string | undefined) => char !== undefined && /[A-Za-z_]/.test(char);
const isDigit = (char: string | undefined) => char !== undefined && /[0-9]/.test(char);

class Lexer {
  readonly #chars: readonly string[];
  #i = 0;

  constructor(source: string) {
    this.#chars = [...source];
  }

  *tokens(): Generator<Token> {
    for (;;) {
      this.#skip();
      const at = this.#i;
      if (at >= this.#chars.length) {
        yield { kind: 'end', text: '<EOF>', at };
        return;
      }
      yield this.#next(at);
    }
  }

  #skip(): void {
    for (;;) {
      const char = this.#chars[this.#i];
      if (char === ' ' || char === '\t' || char === '\n' || char === '\r' || char === '\f') this.#i++;
      else if (char === '/' && this.#chars[this.#i + 1] === '/') {
        while (this.#i < this.#chars.length && this.#chars[this.#i] !== '\n') this.#i++;
      } else return;
    }
  }

  #text(from: number): string {
    return this.#chars.slice(from, this.#i).join('');
  }

  #next(at: number): Token {
    const char = this.#chars[at]!;
    const string = this.#stringStart(at);
    if (string !== undefined) return this.#string(at, string);
    if (isDigit(char) || (char === '.' && isDigit(this.#chars[at + 1]))) return this.#number(at);
    if (isLetter(char)) return this.#word(at);
    if (char === '`') return this.#escapedWord(at);
    const text = OPERATORS.find((op) => op === this.#chars.slice(at, at + op.length).join(''));
    if (text === undefined) throw new SyntaxIssue(at, `Syntax error: token recognition error at: '${char}'`);
    this.#i += text.length;
    return { kind: 'op', text, at };
  }

  #word(at: number): Token {
    while (isLetter(this.#chars[this.#i]) || isDigit(this.#chars[this.#i])) this.#i++;
    const text = this.#text(at);
    if (text === 'true' || text === 'false') return { kind: 'literal', text, value: text === 'true', at };
    if (text === 'null') return { kind: 'literal', text, value: null, at };
    if (text === 'in') return { kind: 'op', text, at };
    return { kind: 'ident', text, at, escaped: false };
  }

  #escapedWord(at: number): Token {
    this.#i++;
    while (this.#i < this.#chars.length && /[A-Za-z0-9_.\-/ ]/.test(this.#chars[this.#i]!)) this.#i++;
    if (this.#chars[this.#i] !== '`' || this.#i === at + 1) {
      throw new SyntaxIssue(at, "Syntax error: token recognition error at: '`'");
    }
    this.#i++;
    return { kind: 'ident', text: this.#text(at).slice(1, -1), at, escaped: true };
  }

  #number(at: number): Token {
    const rest = this.#chars.slice(at, at + 400).join('');
    const float = /^(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)/.exec(rest)?.[0];
    const int = /^(?:0x[0-9a-fA-F]+|\d+)/.exec(rest)?.[0] ?? '';
    if (float !== undefined && float.length > int.length) {
      this.#i += float.length;
      if (!Number.isFinite(Number(float))) throw new SyntaxIssue(at, 'invalid double literal');
      return { kind: 'literal', text: float, value: Number(float), at };
    }
    this.#i += int.length;
    const unsigned = this.#chars[this.#i] === 'u' || this.#chars[this.#i] === 'U';
    if (unsigned) this.#i++;
    const value = BigInt(int);
    if (unsigned) {
      if (value > MAX_UINT) throw new SyntaxIssue(at, 'invalid uint literal');
      return { kind: 'literal', text: `${int}u`, value: { uint: value }, at };
    }
    // One more than fits: the parser takes it for a negative number.
    if (value > MAX_INT + 1n) throw new SyntaxIssue(at, 'invalid int literal');
    return { kind: 'literal', text: int, value, at };
  }

  /** Prefixes and quotes of a string literal that begins here. */
  #stringStart(at: number): { raw: boolean; bytes: boolean; quote: string; length: number } | undefined {
    const match = /^([rRbB]{0,2})("""|'''|"|')/.exec(this.#chars.slice(at, at + 5).join(''));
    if (match === null) return undefined;
    const [all, prefix, quote] = match as unknown as [string, string, string];
    const lower = prefix.toLowerCase();
    if (lower === 'rr' || lower === 'bb') return undefined;
    return { raw: lower.includes('r'), bytes: lower.includes('b'), quote, length: all.length };
  }

  #string(at: number, start: { raw: boolean; bytes: boolean; quote: string; length: number }): Token {
    const { raw, bytes, quote } = start;
    this.#i += start.length;
    const out = new TextCollector(bytes);
    for (;;) {
      const char = this.#chars[this.#i];
      const open = char === undefined || (quote.length === 1 && (char === '\n' || char === '\r'));
      if (open) {
        const shown = this.#chars.slice(at, this.#i).join('');
        throw new SyntaxIssue(at, `Syntax error: token recognition error at: '${shown}'`);
      }
      if (this.#chars.slice(this.#i, this.#i + quote.length).join('') === quote) break;
      if (char === '\\' && !raw) this.#escape(at, out);
      else {
        out.text(char);
        this.#i++;
      }
    }
    this.#i += quote.length;
    return { kind: 'literal', text: this.#text(at), value: out.value(), at };
  }

  #escape(at: number, out: TextCollector): void {
    const fail = (why = 'unable to unescape string') => {
      throw new SyntaxIssue(at, why);
    };
    const kind = this.#chars[this.#i + 1] ?? '';
    const simple = SIMPLE_ESCAPES[kind];
    if (simple !== undefined) {
      out.text(simple);
      this.#i += 2;
      return;
    }
    const hex = HEX_ESCAPES[kind];
    const digits = hex ?? 3;
    const from = this.#i + (hex === undefined ? 1 : 2);
    const text = this.#chars.slice(from, from + digits).join('');
    const valid = hex === undefined ? /^[0-3][0-7]{2}$/.test(text) : new RegExp(`^[0-9a-fA-F]{${hex}}$`).test(text);
    if (!valid) fail();
    const code = Number.parseInt(text, hex === undefined ? 8 : 16);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) fail('invalid unicode code point');
    if (hex !== undefined && hex > 2) out.text(String.fromCodePoint(code));
    else out.octet(code);
    this.#i = from + digits;
  }
}

/** Gathers a string literal, or the bytes of one. */
class TextCollector {
  readonly #bytes: number[] | undefined;
  readonly #text: string[] = [];

  constructor(bytes: boolean) {
    this.#bytes = bytes ? [] : undefined;
  }

  text(text: string): void {
    if (this.#bytes === undefined) this.#text.push(text);
    else this.#bytes.push(...new TextEncoder().encode(text));
  }

  /** A byte, or the character of that number. */
  octet(code: number): void {
    if (this.#bytes === undefined) this.#text.push(String.fromCodePoint(code));
    else this.#bytes.push(code);
  }

  value(): Constant {
    return this.#bytes === undefined ? this.#text.join('') : { bytes: new Uint8Array(this.#bytes) };
  }
}

/** Splits a source into words, the last of which is the end. Throws a {@link SyntaxIssue}. */
export const tokenize = (source: string): Token[] => [...new Lexer(source).tokens()];

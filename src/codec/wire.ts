/** Protocol buffers wire format: a writer that fills its buffer from the end, and a reader. */

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });
/** Strings up to this length are read and written by character. */
const SHORT = 48;

export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
const FIXED32 = 5;

/** Bytes that are no message. */
export class WireError extends Error {}

/**
 * Writes fields last to first, so that a message's length is known once its fields are there: take `mark()`, write
 * the fields, then `message(number, mark)`.
 */
export class Writer {
  #buffer = new Uint8Array(1024);
  #at = this.#buffer.length;

  /** Bytes written so far. */
  mark(): number {
    return this.#buffer.length - this.#at;
  }

  /** Ends a message whose fields were written since `mark`. */
  message(number: number, mark: number): void {
    this.#varint(this.mark() - mark);
    this.#tag(number, BYTES);
  }

  string(number: number, text: string): void {
    const mark = this.mark();
    if (!this.#short(text)) this.#raw(encoder.encode(text));
    this.message(number, mark);
  }

  bytes(number: number, bytes: Uint8Array): void {
    this.#raw(bytes);
    this.#varint(bytes.length);
    this.#tag(number, BYTES);
  }

  /** Bytes in front of everything, without a tag. */
  prefix(bytes: Uint8Array): void {
    this.#raw(bytes);
  }

  bool(number: number, value: boolean): void {
    this.#varint(value ? 1 : 0);
    this.#tag(number, VARINT);
  }

  integer(number: number, value: number | bigint): void {
    if (typeof value === 'number' && value >= 0) this.#varint(value);
    else this.#varint64(BigInt.asUintN(64, BigInt(value)));
    this.#tag(number, VARINT);
  }

  double(number: number, value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    new DataView(this.#buffer.buffer).setFloat64(this.#at, value, true);
    this.#tag(number, FIXED64);
  }

  finish(): Uint8Array {
    return this.#buffer.slice(this.#at);
  }

  #tag(number: number, type: number): void {
    this.#varint(number * 8 + type);
  }

  #varint(value: number): void {
    let length = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
    this.#reserve(length);
    this.#at -= length;
    let rest = value;
    let i = this.#at;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#buffer[i++] = (rest % 0x80) | 0x80;
    this.#buffer[i] = rest;
  }

  #varint64(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.#raw(bytes);
  }

  #short(text: string): boolean {
    const { length } = text;
    if (length > SHORT) return false;
    this.#reserve(length);
    const start = this.#at - length;
    for (let i = 0; i < length; i++) {
      const c = text.charCodeAt(i);
      if (c > 0x7f) return false;
      this.#buffer[start + i] = c;
    }
    this.#at = start;
    return true;
  }

  #raw(bytes: ArrayLike<number>): void {
    this.#reserve(bytes.length);
    this.#at -= bytes.length;
    this.#buffer.set(bytes, this.#at);
  }

  #reserve(length: number): void {
    if (this.#at >= length) return;
    const used = this.mark();
    const grown = new Uint8Array(Math.max(this.#buffer.length * 2, used + length + 1024));
    grown.set(this.#buffer.subarray(this.#at), grown.length - used);
    this.#at = grown.length - used;
    this.#buffer = grown;
  }
}

/** Reads tagged fields of a message. Every method throws {@link WireError} past the end. */
export class Reader {
  readonly #bytes: Uint8Array;
  #at: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.end = end;
  }

  get done(): boolean {
    return this.#at >= this.end;
  }

  /** A number below 2^53 (tags, lengths). */
  varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 10; i++) {
      const byte = this.#next();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
    throw new WireError('proto: integer overflow');
  }

  /** A signed 64-bit integer, as a number where that is exact. */
  int64(): number | bigint {
    const start = this.#at;
    const value = this.varint();
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    let exact = 0n;
    for (let i = this.#at - 1; i >= start; i--) exact = (exact << 7n) | BigInt((this.#bytes[i] as number) & 0x7f);
    const signed = BigInt.asIntN(64, exact);
    const narrow = Number(signed);
    return Number.isSafeInteger(narrow) ? narrow : signed;
  }

  double(): number {
    const at = this.#take(8);
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at, 8).getFloat64(0, true);
  }

  /** A length-prefixed part, as a view of the bytes. */
  bytes(): Uint8Array {
    const length = this.varint();
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** A length-prefixed message. */
  message(): Reader {
    const length = this.varint();
    const at = this.#take(length);
    return new Reader(this.#bytes, at, at + length);
  }

  string(): string {
    const length = this.varint();
    const at = this.#take(length);
    if (length <= SHORT) {
      let text = '';
      for (let i = at; i < at + length; i++) {
        const c = this.#bytes[i] as number;
        if (c > 0x7f) return decoder.decode(this.#bytes.subarray(at, at + length));
        text += String.fromCharCode(c);
      }
      return text;
    }
    return decoder.decode(this.#bytes.subarray(at, at + length));
  }

  /** Passes over the value of a field that is not known. */
  skip(wireType: number): void {
    if (wireType === VARINT) this.varint();
    else if (wireType === FIXED64) this.#take(8);
    else if (wireType === BYTES) this.#take(this.varint());
    else if (wireType === FIXED32) this.#take(4);
    else throw new WireError(`proto: illegal wireType ${wireType}`);
  }

  #next(): number {
    if (this.#at >= this.end) throw new WireError('unexpected EOF');
    return this.#bytes[this.#at++] as number;
  }

  #take(length: number): number {
    const at = this.#at;
    if (length > this.end - at) throw new WireError('unexpected EOF');
    this.#at += length;
    return at;
  }
}

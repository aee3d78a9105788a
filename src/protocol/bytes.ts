/**
 * The primitives of the binary codec that Worker and replicas share: unsigned varints, IEEE doubles (every integer
 * below 2^53 is exact), and length-prefixed UTF-8 strings and byte strings.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Above this length the native decoder beats building the string by code units. */
const SHORT_STRING = 96;

/** Appends primitives to a growing buffer. */
export class Writer {
  #buffer: Uint8Array;
  #view: DataView;
  #length = 0;

  /** `capacity` is a guess of the final size in bytes; the buffer doubles when it was too small. */
  constructor(capacity = 256) {
    this.#buffer = new Uint8Array(capacity);
    this.#view = new DataView(this.#buffer.buffer);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  #reserve(bytes: number): number {
    const at = this.#length;
    const needed = at + bytes;
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, at));
      this.#buffer = grown;
      this.#view = new DataView(grown.buffer);
    }
    this.#length = needed;
    return at;
  }

  u8(value: number): this {
    const at = this.#reserve(1);
    this.#buffer[at] = value;
    return this;
  }

  /** A non-negative integer below 2^53. */
  varint(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.u8((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.u8(rest);
  }

  f64(value: number): this {
    const at = this.#reserve(8);
    this.#view.setFloat64(at, value);
    return this;
  }

  string(value: string): this {
    const length = value.length;
    const at = this.#length;
    if (length < SHORT_STRING) {
      this.#reserve(length + 1);
      const buffer = this.#buffer;
      buffer[at] = length;
      let i = 0;
      for (; i < length; i++) {
        const unit = value.charCodeAt(i);
        if (unit >= 0x80) break;
        buffer[at + 1 + i] = unit;
      }
      if (i === length) return this;
      this.#length = at;
    }
    return this.bytes(encoder.encode(value));
  }

  /** Bytes with their length before them. */
  bytes(value: Uint8Array): this {
    return this.varint(value.length).raw(value);
  }

  /** Bytes as they are; the reader must know how many. */
  raw(value: Uint8Array): this {
    const at = this.#reserve(value.length);
    this.#buffer.set(value, at);
    return this;
  }

  strings(values: readonly string[]): this {
    this.varint(values.length);
    for (const value of values) this.string(value);
    return this;
  }

  stringMap(values: Record<string, string>): this {
    const keys = Object.keys(values);
    this.varint(keys.length);
    for (const key of keys) this.string(key).string(values[key] as string);
    return this;
  }

  /** The bytes written: a view of the buffer, valid as long as nothing more is written. */
  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }
}

/** Reads what a {@link Writer} wrote. Every method throws RangeError on truncated input. */
export class Reader {
  readonly #bytes: Uint8Array;
  #view: DataView | undefined;
  at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get done(): boolean {
    return this.at >= this.#bytes.length;
  }

  #take(length: number): number {
    const at = this.at;
    if (length > this.#bytes.length - at) throw new RangeError('message is truncated');
    this.at = at + length;
    return at;
  }

  u8(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  varint(): number {
    let byte = this.u8();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let scale = 0x80;
    do {
      byte = this.u8();
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
    } while (byte >= 0x80);
    if (value > Number.MAX_SAFE_INTEGER) throw new RangeError('integer is too large');
    return value;
  }

  f64(): number {
    const at = this.#take(8);
    this.#view ??= new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
    return this.#view.getFloat64(at);
  }

  string(): string {
    const length = this.varint();
    const at = this.#take(length);
    const bytes = this.#bytes;
    if (length < SHORT_STRING) {
      let text = '';
      for (let i = at; i < at + length; i++) {
        const byte = bytes[i] as number;
        if (byte >= 0x80) return decoder.decode(bytes.subarray(at, at + length));
        text += String.fromCharCode(byte);
      }
      return text;
    }
    return decoder.decode(bytes.subarray(at, at + length));
  }

  /** A view of the input, not a copy. */
  bytes(): Uint8Array {
    return this.raw(this.varint());
  }

  /** A view of the next `length` bytes. */
  raw(length: number): Uint8Array {
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Passes over a length-prefixed string or byte string. */
  skip(): void {
    this.#take(this.varint());
  }

  /** A view of everything left. */
  rest(): Uint8Array {
    return this.raw(this.#bytes.length - this.at);
  }

  strings(): string[] {
    const count = this.varint();
    const values: string[] = [];
    for (let i = 0; i < count; i++) values.push(this.string());
    return values;
  }

  stringMap(): Record<string, string> {
    const count = this.varint();
    const values: Record<string, string> = {};
    for (let i = 0; i < count; i++) {
      const key = this.string();
      const value = this.string();
      if (key === '__proto__')
        Object.defineProperty(values, key, { value, enumerable: true, configurable: true, writable: true });
      else values[key] = value;
    }
    return values;
  }
}

/** Bytes from outside that do not follow the format. */
export class CodecError extends Error {
  override name = 'CodecError';
}

/** Writes into a buffer that grows; unsigned integers as base-128 varints, lowest group first. */
export class ByteWriter {
  #buffer: Uint8Array;
  #length = 0;

  /** `capacity`: expected size in bytes; a good guess saves copying. */
  constructor(capacity: number) {
    this.#buffer = new Uint8Array(Math.max(capacity, 16));
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
  }

  /** Throws RangeError unless 0 ≤ value < 2^53. */
  uint(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not an unsigned 53-bit integer`);
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
  }

  /** Length, then the bytes. */
  bytes(value: Uint8Array): void {
    this.uint(value.length);
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  /** What was written; shares the buffer. */
  finish(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    grown.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = grown;
  }
}

/** Reads what ByteWriter wrote. Every method throws CodecError where the bytes end early or make no sense. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new CodecError('the bytes end early');
    this.#at++;
    return value;
  }

  flag(): boolean {
    const value = this.byte();
    if (value > 1) throw new CodecError(`${value} is not a flag`);
    return value === 1;
  }

  uint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const group = this.byte();
      value += (group & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER || scale > 2 ** 49) throw new CodecError('an integer is too large');
      if (group < 0x80) return value;
    }
  }

  /** Shares the underlying buffer. */
  bytes(): Uint8Array {
    const length = this.uint();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new CodecError('the bytes end early');
    const value = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return value;
  }

  /** A byte that is a position in `values`. */
  oneOf<T>(values: readonly T[]): T {
    const code = this.byte();
    const value = values[code];
    if (value === undefined) throw new CodecError(`code ${code} is not known`);
    return value;
  }
}

import { decodeHuffman, STATIC_TABLE } from './hpack-tables.ts';

/** A header block that breaks RFC 7541: the whole connection must end (COMPRESSION_ERROR). */
export class CompressionError extends Error {
  override name = 'CompressionError';
}

/** The table size that this side allows the peer's encoder: the default of SETTINGS_HEADER_TABLE_SIZE. */
const TABLE_SIZE = 4096;
/** Each entry counts this much beside its name and value (RFC 7541, 4.1). */
const ENTRY_OVERHEAD = 32;

interface Entry<T> {
  name: string;
  size: number;
  field: T;
}

/**
 * The decoder of one connection's header blocks. `make` turns a name and a value into what the caller works with; it
 * is called once for each entry of the dynamic table, so what it derives is derived once.
 */
export class HpackDecoder<T> {
  readonly #make: (name: string, value: string) => T;
  readonly #static: Entry<T>[];
  readonly #dynamic: Entry<T>[] = [];
  #size = 0;
  #limit = TABLE_SIZE;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  constructor(make: (name: string, value: string) => T) {
    this.#make = make;
    this.#static = STATIC_TABLE.map(([name, value]) => ({ name, size: 0, field: make(name, value) }));
  }

  /** Decodes a whole header block in order. Throws CompressionError; the decoder is unusable afterwards. */
  decode(block: Buffer, start: number, end: number, emit: (field: T) => void): void {
    this.#block = block;
    this.#at = start;
    this.#end = end;
    let fields = 0;
    while (this.#at < end) {
      const byte = block[this.#at]!;
      if (byte >= 0x80) {
        emit(this.#entry(this.#integer(7)).field);
        fields++;
      } else if (byte >= 0x20 && byte < 0x40) {
        if (fields > 0) throw new CompressionError('table size update after the first field');
        this.#resize(this.#integer(5));
      } else {
        emit(byte >= 0x40 ? this.#remember(this.#literal(6)) : this.#literal(4).field);
        fields++;
      }
    }
  }

  #literal(prefix: number): Entry<T> {
    const index = this.#integer(prefix);
    const name = index === 0 ? this.#string() : this.#entry(index).name;
    const value = this.#string();
    return { name, size: name.length + value.length + ENTRY_OVERHEAD, field: this.#make(name, value) };
  }

  #remember(entry: Entry<T>): T {
    this.#size += entry.size;
    this.#dynamic.unshift(entry);
    this.#evict();
    return entry.field;
  }

  #resize(limit: number): void {
    if (limit > TABLE_SIZE) throw new CompressionError('table size above the limit');
    this.#limit = limit;
    this.#evict();
  }

  #evict(): void {
    while (this.#size > this.#limit) this.#size -= this.#dynamic.pop()!.size;
  }

  #entry(index: number): Entry<T> {
    const entry =
      index <= STATIC_TABLE.length ? this.#static[index - 1] : this.#dynamic[index - STATIC_TABLE.length - 1];
    if (!entry) throw new CompressionError(`index ${index} is in neither table`);
    return entry;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new CompressionError('header block ends early');
    return this.#block[this.#at++]!;
  }

  /** An integer with a prefix of so many bits (section 5.1), at most 2^28. */
  #integer(prefix: number): number {
    const mask = (1 << prefix) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      if (shift > 21) throw new CompressionError('integer too large');
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  #string(): string {
    const huffman = this.#at < this.#end && this.#block[this.#at]! >= 0x80;
    const length = this.#integer(7);
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#end) throw new CompressionError('string ends early');
    if (!huffman) return this.#block.toString('latin1', start, this.#at);
    const text = decodeHuffman(this.#block, start, this.#at);
    if (text === undefined) throw new CompressionError('malformed Huffman code');
    return text;
  }
}

const staticNames = new Map<string, number>();
for (const [i, [name]] of STATIC_TABLE.entries()) if (!staticNames.has(name)) staticNames.set(name, i + 1);
const staticFields = new Map(STATIC_TABLE.map(([name, value], i) => [`${name}\n${value}`, i + 1]));

/** Encodes a field from the static table, or as a literal that the peer need not remember. `name` is in lower case. */
export function encodeField(name: string, value: string): Buffer {
  const indexed = staticFields.get(`${name}\n${value}`);
  if (indexed !== undefined && value !== '') return Buffer.of(0x80 | indexed);
  const index = staticNames.get(name);
  const head = index === undefined ? [Buffer.of(0), ...encodeString(name)] : [encodeInteger(index, 4)];
  return Buffer.concat([...head, ...encodeString(value)]);
}

function encodeString(text: string): Buffer[] {
  return [encodeInteger(text.length, 7), Buffer.from(text, 'latin1')];
}

function encodeInteger(value: number, prefix: number): Buffer {
  const mask = (1 << prefix) - 1;
  if (value < mask) return Buffer.of(value);
  const bytes = [mask];
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

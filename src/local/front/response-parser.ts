import { encodeField } from './hpack.ts';

/** A header of an answer, with its HTTP/2 form. */
export interface ResponseField {
  /** In lower case. */
  name: string;
  value: string;
  /** HPACK representation. */
  encoded: Buffer;
}

/** Status line and headers; those that concern one connection only are left out. */
export interface ResponseHead {
  status: number;
  reason: string;
  fields: ResponseField[];
  /** The head as it came, with the empty line: for 101, which is passed on as it is. */
  text: string;
}

/** Receives the parts of one answer. Body bytes are overwritten after the call. */
export interface ResponseHandler {
  head(head: ResponseHead): void;
  body(bytes: Buffer, start: number, end: number): void;
}

type Framing = 'head' | 'length' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailer' | 'until-close' | 'done';

const MAX_HEAD_BYTES = 256 * 1024;
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'proxy-connection',
  'te',
  'trailer',
]);
const CR = 13;
const LF = 10;

/** Parses one HTTP/1.1 answer after another from a connection (RFC 9112). */
export class ResponseParser {
  /** False when the peer asked to close the connection after this answer. */
  keepAlive = true;
  /** Bytes came behind the end of the answer. */
  surplus = false;
  readonly #fields = new FieldCache();
  #framing: Framing = 'head';
  #headRequest = false;
  #remaining = 0;
  #digits = 0;
  #partial: Buffer | undefined;

  /** Prepares for the answer to the next request. */
  begin(headRequest: boolean): void {
    this.keepAlive = true;
    this.surplus = false;
    this.#headRequest = headRequest;
    this.#framing = 'head';
  }

  /** True when the end of the connection is the end of the answer. */
  get endsWithConnection(): boolean {
    return this.#framing === 'until-close';
  }

  /** Takes the first `length` bytes of `data`. Chunk framing is removed in place. */
  read(data: Buffer, length: number, handler: ResponseHandler): 'more' | 'done' | 'malformed' {
    let bytes = data;
    let end = length;
    let at = 0;
    if (this.#framing === 'head') {
      if (this.#partial) {
        bytes = Buffer.concat([this.#partial, data.subarray(0, length)]);
        end = bytes.length;
        this.#partial = undefined;
      }
      const bodyStart = this.#readHeads(bytes, end, handler);
      if (bodyStart < 0) return this.#keepPartial(bytes, end);
      at = bodyStart;
    }
    const rest = this.#readBody(bytes, at, end, handler);
    if (rest < 0) return 'malformed';
    this.surplus = rest < end;
    return this.#framing === 'done' ? 'done' : 'more';
  }

  #keepPartial(bytes: Buffer, end: number): 'more' | 'malformed' {
    if (this.#framing !== 'head' || end > MAX_HEAD_BYTES) return 'malformed';
    this.#partial = Buffer.from(bytes.subarray(0, end));
    return 'more';
  }

  /** Reads heads until one that is not interim; returns where the body starts, or -1. */
  #readHeads(bytes: Buffer, end: number, handler: ResponseHandler): number {
    for (let at = 0; ; ) {
      const stop = bytes.indexOf('\r\n\r\n', at, 'latin1');
      if (stop < 0 || stop + 4 > end) return -1;
      const head = this.#parseHead(bytes.toString('latin1', at, stop + 4));
      at = stop + 4;
      if (!head) {
        this.#framing = 'done';
        return -1;
      }
      if (head.status >= 200 || head.status === 101) {
        handler.head(head);
        return at;
      }
    }
  }

  #parseHead(text: string): ResponseHead | undefined {
    const status = Number(text.slice(9, 12));
    if (!text.startsWith('HTTP/1.1 ') || !(status >= 100 && status < 600)) return undefined;
    let at = text.indexOf('\r\n');
    const head: ResponseHead = { status, reason: text.slice(13, at), fields: [], text };
    let contentLength = -1;
    let chunked = false;
    for (at += 2; at < text.length - 2; ) {
      const stop = text.indexOf('\r\n', at);
      const field = this.#fields.get(text.slice(at, stop));
      at = stop + 2;
      if (!HOP_BY_HOP.has(field.name)) head.fields.push(field);
      else if (field.name === 'transfer-encoding') chunked = field.value.toLowerCase() === 'chunked';
      else if (field.name === 'connection') this.keepAlive = field.value.toLowerCase() !== 'close';
      if (field.name === 'content-length') contentLength = Number(field.value);
    }
    this.#frame(status, chunked, contentLength);
    return head;
  }

  #frame(status: number, chunked: boolean, contentLength: number): void {
    this.#remaining = contentLength;
    this.#digits = 0;
    if (status < 200) this.#framing = status === 101 ? 'until-close' : 'head';
    else if (this.#headRequest || status === 204 || status === 304) this.#framing = 'done';
    else if (chunked) {
      this.#framing = 'chunk-size';
      this.#remaining = 0;
    } else if (contentLength === 0) this.#framing = 'done';
    else this.#framing = contentLength > 0 ? 'length' : 'until-close';
  }

  /** Hands the body bytes on in one piece; returns where the answer ends, or -1 when it is malformed. */
  #readBody(bytes: Buffer, start: number, end: number, handler: ResponseHandler): number {
    if (this.#framing === 'done') return start;
    if (this.#framing === 'until-close') {
      if (end > start) handler.body(bytes, start, end);
      return end;
    }
    if (this.#framing !== 'length') return this.#readChunks(bytes, start, end, handler);
    const stop = Math.min(end, start + this.#remaining);
    this.#remaining -= stop - start;
    if (this.#remaining === 0) this.#framing = 'done';
    if (stop > start) handler.body(bytes, start, stop);
    return stop;
  }

  #readChunks(bytes: Buffer, start: number, end: number, handler: ResponseHandler): number {
    let kept = start;
    let at = start;
    while (at < end && this.#framing !== 'done') {
      if (this.#framing === 'chunk-data') {
        const take = Math.min(this.#remaining, end - at);
        if (kept !== at) bytes.copyWithin(kept, at, at + take);
        kept += take;
        at += take;
        this.#remaining -= take;
        if (this.#remaining === 0) this.#framing = 'chunk-end';
      } else if (!this.#framingByte(bytes[at++]!)) return -1;
    }
    if (kept > start) handler.body(bytes, start, kept);
    return at;
  }

  /** One byte of a size line, of the line end behind a chunk, or of the trailer section (which is dropped). */
  #framingByte(byte: number): boolean {
    if (this.#framing === 'chunk-end') {
      if (byte === LF) this.#framing = 'chunk-size';
      return byte === LF || byte === CR;
    }
    if (this.#framing === 'trailer') {
      if (byte === LF && this.#digits === 0) this.#framing = 'done';
      if (byte !== CR) this.#digits = byte === LF ? 0 : 1;
      return true;
    }
    if (byte === LF) {
      this.#framing = this.#remaining === 0 ? 'trailer' : 'chunk-data';
      const sized = this.#digits > 0;
      this.#digits = 0;
      return sized;
    }
    return this.#sizeByte(byte);
  }

  #sizeByte(byte: number): boolean {
    const digit = hexDigit(byte);
    if (digit >= 0 && this.#digits < 8) {
      this.#remaining = this.#remaining * 16 + digit;
      this.#digits++;
      return true;
    }
    return byte === CR && this.#digits > 0;
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** Header lines repeat from answer to answer: remembers what they parse to. */
class FieldCache {
  readonly #known = new Map<string, ResponseField>();

  get(line: string): ResponseField {
    let field = this.#known.get(line);
    if (!field) {
      field = parseField(line);
      if (this.#known.size >= 500) this.#known.clear();
      this.#known.set(line, field);
    }
    return field;
  }
}

function parseField(line: string): ResponseField {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon).toLowerCase();
  const value = line.slice(colon + 1).trim();
  return { name, value, encoded: encodeField(name, value) };
}

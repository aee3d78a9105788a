import type { TLSSocket } from 'node:tls';
import {
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  FrameWriter,
  MAX_FRAME_BYTES,
  MAX_WINDOW,
  PREFACE,
  Setting,
} from './frames.ts';
import { CompressionError, encodeField, HpackDecoder } from './hpack.ts';
import { Http2Stream, type StreamHost } from './http2-stream.ts';
import { localAnswer } from './local-answer.ts';
import { type Refusal, type RequestField, requestField } from './request-head.ts';
import type { ResponseHead } from './response-parser.ts';
import type { ResponseSink, UpstreamPool } from './upstream.ts';
import { UpstreamRequest } from './upstream-request.ts';

/** As many as kube-apiserver allows on a connection. */
const MAX_STREAMS = 250;
const STREAM_WINDOW = 256 * 1024;
const CONNECTION_WINDOW = 16 * 1024 * 1024;
const MAX_HEADER_BLOCK_BYTES = 256 * 1024;
/** Answers wait in the streams' backlogs while so much is on its way to the client. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Frames that cost this side something and the client nothing: so many at once, and so many a second. */
const NUISANCE_BURST = 2000;
const NUISANCE_PER_SECOND = 500;

/** Ends the connection with GOAWAY and this code. */
class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** The server side of one HTTP/2 connection (RFC 9113); every stream becomes one request to the Worker. */
export class Http2Connection implements StreamHost {
  readonly clientLines: string;
  readonly #socket: TLSSocket;
  readonly #pool: UpstreamPool;
  readonly #writer: FrameWriter;
  readonly #decoder = new HpackDecoder<RequestField>(requestField);
  readonly #streams = new Map<number, Http2Stream>();
  readonly #blocked = new Set<Http2Stream>();
  #rest: Buffer | undefined;
  #prefaceSeen = false;
  #lastStream = 0;
  #headerBlock: { stream: number; endStream: boolean; parts: Buffer[]; bytes: number } | undefined;
  #sendWindow = DEFAULT_WINDOW;
  #peerStreamWindow = DEFAULT_WINDOW;
  #peerFrameBytes = MAX_FRAME_BYTES;
  #uncredited = 0;
  #nuisance = NUISANCE_BURST;
  #nuisanceAt = performance.now();
  #dateSecond = 0;
  #dateField: Buffer = Buffer.alloc(0);
  #closed = false;

  constructor(socket: TLSSocket, pool: UpstreamPool, clientLines: string) {
    this.#socket = socket;
    this.#pool = pool;
    this.clientLines = clientLines;
    this.#writer = new FrameWriter((bytes) => socket.write(bytes));
    this.#sendSettings();
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => this.#pumpAll());
    socket.on('end', () => this.destroy());
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.destroy());
  }

  /** Ends the connection and every stream at once. */
  destroy(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const stream of [...this.#streams.values()]) stream.close();
    this.#socket.destroy();
  }

  // ---- what streams ask for

  request(head: string, contentLength: number, sink: ResponseSink): UpstreamRequest {
    return new UpstreamRequest(this.#pool, head, contentLength, sink);
  }

  sendHead(stream: Http2Stream, head: ResponseHead, end: boolean): void {
    const block = [encodeField(':status', String(head.status)), ...head.fields.map((field) => field.encoded)];
    if (!head.fields.some(({ name }) => name === 'date')) block.push(this.#date());
    const bytes = block.reduce((sum, part) => sum + part.length, 0);
    const endFlag = end ? Flag.endStream : 0;
    if (bytes <= MAX_FRAME_BYTES) {
      this.#writer.header(FrameType.headers, Flag.endHeaders | endFlag, stream.id, bytes);
      for (const part of block) this.#writer.payload(part, 0, part.length);
      return;
    }
    const whole = Buffer.concat(block);
    for (let at = 0; at < bytes; at += MAX_FRAME_BYTES) {
      const stop = Math.min(at + MAX_FRAME_BYTES, bytes);
      const flags = (at === 0 ? endFlag : 0) | (stop === bytes ? Flag.endHeaders : 0);
      this.#writer.header(at === 0 ? FrameType.headers : FrameType.continuation, flags, stream.id, stop - at);
      this.#writer.payload(whole, at, stop);
    }
  }

  sendData(stream: Http2Stream, bytes: Buffer, start: number, end: number): number {
    let at = start;
    while (at < end && this.#socket.writableLength < MAX_UNSENT_BYTES) {
      const size = Math.min(end - at, this.#peerFrameBytes, this.#sendWindow, stream.sendWindow);
      if (size <= 0) break;
      this.#writer.header(FrameType.data, 0, stream.id, size);
      this.#writer.payload(bytes, at, at + size);
      this.#sendWindow -= size;
      stream.sendWindow -= size;
      at += size;
    }
    return at - start;
  }

  sendEnd(stream: Http2Stream): void {
    if (!this.#writer.endStreamWithLast(stream.id)) this.#writer.header(FrameType.data, Flag.endStream, stream.id, 0);
  }

  refuse(stream: Http2Stream, refused: Refusal): void {
    const { head, body } = localAnswer(refused);
    this.sendHead(stream, head, false);
    this.sendData(stream, body, 0, body.length);
    this.sendEnd(stream);
    stream.close();
  }

  reset(stream: Http2Stream, code: 'protocol' | 'internal' | 'none'): void {
    this.#sendReset(stream.id, ErrorCode[code]);
    stream.close();
  }

  blocked(stream: Http2Stream): void {
    this.#blocked.add(stream);
  }

  credit(stream: Http2Stream, bytes: number, open: boolean): void {
    if (open) {
      stream.receiveWindow += bytes;
      this.#windowUpdate(stream.id, bytes);
    }
    this.#creditConnection(bytes);
  }

  closed(stream: Http2Stream): void {
    this.#streams.delete(stream.id);
    this.#blocked.delete(stream);
  }

  // ---- what the peer sends

  #receive(chunk: Buffer): void {
    try {
      const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
      const at = this.#frames(bytes, this.#prefaceSeen ? 0 : this.#preface(bytes));
      this.#rest = at < bytes.length ? bytes.subarray(at) : undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const codes =
      error instanceof ConnectionError
        ? error.code
        : error instanceof CompressionError
          ? ErrorCode.compression
          : ErrorCode.internal;
    this.#writer.header(FrameType.goAway, 0, 0, 8);
    this.#writer.integer(this.#lastStream);
    this.#writer.integer(codes);
    this.#writer.flush();
    for (const stream of [...this.#streams.values()]) stream.close();
    this.#closed = true;
    this.#socket.destroySoon();
  }

  #preface(bytes: Buffer): number {
    const seen = Math.min(bytes.length, PREFACE.length);
    if (bytes.compare(PREFACE, 0, seen, 0, seen) !== 0) throw new ConnectionError(ErrorCode.protocol, 'preface');
    if (seen < PREFACE.length) return 0;
    this.#prefaceSeen = true;
    return PREFACE.length;
  }

  #frames(bytes: Buffer, start: number): number {
    let at = start;
    if (!this.#prefaceSeen) return 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES && !this.#closed) {
      const length = bytes.readUIntBE(at, 3);
      if (length > MAX_FRAME_BYTES) throw new ConnectionError(ErrorCode.frameSize, 'frame too large');
      const end = at + FRAME_HEADER_BYTES + length;
      if (end > bytes.length) break;
      this.#frame(
        bytes[at + 3]!,
        bytes[at + 4]!,
        bytes.readUInt32BE(at + 5) & MAX_WINDOW,
        bytes,
        at + FRAME_HEADER_BYTES,
        end,
      );
      at = end;
    }
    return at;
  }

  #frame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (this.#headerBlock && (type !== FrameType.continuation || id !== this.#headerBlock.stream)) {
      throw new ConnectionError(ErrorCode.protocol, 'header block interrupted');
    }
    if (type === FrameType.data) this.#data(flags, id, bytes, start, end);
    else if (type === FrameType.headers) this.#headers(flags, id, bytes, start, end);
    else if (type === FrameType.windowUpdate) this.#windowUpdateByPeer(id, bytes, start, end);
    else if (type === FrameType.reset) this.#resetByPeer(id, end - start);
    else if (type === FrameType.ping) this.#ping(flags, id, bytes, start, end);
    else if (type === FrameType.settings) this.#settings(flags, id, bytes, start, end);
    else if (type === FrameType.continuation) this.#continuation(flags, bytes, start, end);
    else if (type === FrameType.pushPromise) throw new ConnectionError(ErrorCode.protocol, 'clients do not push');
  }

  #data(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const counted = end - start;
    const [from, to] = unpadded(flags, bytes, start, end);
    const stream = this.#streams.get(id);
    if (!stream) {
      if (id === 0 || id > this.#lastStream) throw new ConnectionError(ErrorCode.protocol, 'data on an idle stream');
      this.#creditConnection(counted);
      return;
    }
    if (stream.requestEnded) throw new ConnectionError(ErrorCode.streamClosed, 'data behind the end');
    stream.receiveWindow -= counted;
    if (stream.receiveWindow < 0) throw new ConnectionError(ErrorCode.flowControl, 'window exceeded');
    stream.data(bytes.subarray(from, to), counted, (flags & Flag.endStream) !== 0);
  }

  #headers(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    let [from, to] = unpadded(flags, bytes, start, end);
    if (flags & Flag.priority) from += 5;
    if (id % 2 === 0 || from > to) throw new ConnectionError(ErrorCode.protocol, 'malformed HEADERS');
    const endStream = (flags & Flag.endStream) !== 0;
    if (flags & Flag.endHeaders) this.#headersComplete(id, endStream, bytes, from, to);
    else
      this.#headerBlock = { stream: id, endStream, parts: [Buffer.from(bytes.subarray(from, to))], bytes: to - from };
  }

  #continuation(flags: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#headerBlock;
    if (!block) throw new ConnectionError(ErrorCode.protocol, 'CONTINUATION without HEADERS');
    block.bytes += end - start;
    block.parts.push(Buffer.from(bytes.subarray(start, end)));
    this.#annoyed();
    if (block.bytes > MAX_HEADER_BLOCK_BYTES) throw new ConnectionError(ErrorCode.enhanceYourCalm, 'headers too large');
    if (!(flags & Flag.endHeaders)) return;
    this.#headerBlock = undefined;
    this.#headersComplete(block.stream, block.endStream, Buffer.concat(block.parts), 0, block.bytes);
  }

  #headersComplete(id: number, endStream: boolean, block: Buffer, from: number, to: number): void {
    const known = this.#streams.get(id);
    if (known || id <= this.#lastStream) {
      this.#decoder.decode(block, from, to, () => {});
      if (known && endStream && !known.requestEnded) known.data(Buffer.alloc(0), 0, true);
      else if (known) this.reset(known, 'protocol');
      return;
    }
    this.#lastStream = id;
    const stream = new Http2Stream(id, this, this.#peerStreamWindow, STREAM_WINDOW);
    this.#decoder.decode(block, from, to, (field) => stream.field(field));
    if (this.#streams.size >= MAX_STREAMS) {
      this.#annoyed();
      this.#sendReset(id, ErrorCode.refusedStream);
      return;
    }
    this.#streams.set(id, stream);
    stream.headersEnded(endStream);
  }

  #resetByPeer(id: number, length: number): void {
    if (length !== 4) throw new ConnectionError(ErrorCode.frameSize, 'malformed RST_STREAM');
    if (id === 0 || id > this.#lastStream) throw new ConnectionError(ErrorCode.protocol, 'reset of an idle stream');
    this.#annoyed();
    this.#streams.get(id)?.close();
  }

  #settings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw new ConnectionError(ErrorCode.protocol, 'SETTINGS on a stream');
    if (flags & Flag.ack) return;
    if ((end - start) % 6 !== 0) throw new ConnectionError(ErrorCode.frameSize, 'malformed SETTINGS');
    this.#annoyed();
    for (let at = start; at < end; at += 6) this.#setting(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    this.#writer.header(FrameType.settings, Flag.ack, 0, 0);
    this.#pumpAll();
  }

  #setting(setting: number, value: number): void {
    if (setting === Setting.initialWindowSize) {
      if (value > MAX_WINDOW) throw new ConnectionError(ErrorCode.flowControl, 'window too large');
      for (const stream of this.#streams.values()) stream.sendWindow += value - this.#peerStreamWindow;
      this.#peerStreamWindow = value;
    } else if (setting === Setting.maxFrameSize) {
      if (value < MAX_FRAME_BYTES || value > 0xff_ffff) throw new ConnectionError(ErrorCode.protocol, 'frame size');
      this.#peerFrameBytes = Math.min(value, 4 * MAX_FRAME_BYTES);
    }
  }

  #ping(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw new ConnectionError(ErrorCode.protocol, 'PING on a stream');
    if (end - start !== 8) throw new ConnectionError(ErrorCode.frameSize, 'malformed PING');
    if (flags & Flag.ack) return;
    this.#annoyed();
    this.#writer.header(FrameType.ping, Flag.ack, 0, 8);
    this.#writer.payload(bytes, start, end);
  }

  #windowUpdateByPeer(id: number, bytes: Buffer, start: number, end: number): void {
    if (end - start !== 4) throw new ConnectionError(ErrorCode.frameSize, 'malformed WINDOW_UPDATE');
    const increment = bytes.readUInt32BE(start) & MAX_WINDOW;
    if (id > this.#lastStream || (increment === 0 && id === 0))
      throw new ConnectionError(ErrorCode.protocol, 'malformed WINDOW_UPDATE');
    if (id === 0) {
      this.#sendWindow += increment;
      if (this.#sendWindow > MAX_WINDOW) throw new ConnectionError(ErrorCode.flowControl, 'window too large');
      this.#pumpAll();
      return;
    }
    const stream = this.#streams.get(id);
    if (!stream) return;
    stream.sendWindow += increment;
    if (increment === 0 || stream.sendWindow > MAX_WINDOW) this.reset(stream, 'protocol');
    else if (this.#blocked.has(stream)) this.#pump(stream);
  }

  // ---- flow control

  #pumpAll(): void {
    for (const stream of [...this.#blocked]) {
      if (this.#sendWindow <= 0 || this.#socket.writableLength >= MAX_UNSENT_BYTES) return;
      this.#pump(stream);
    }
  }

  #pump(stream: Http2Stream): void {
    // A stream that still waits goes to the end of the queue, so that all get their turn.
    this.#blocked.delete(stream);
    if (!stream.pump()) this.#blocked.add(stream);
  }

  #creditConnection(bytes: number): void {
    this.#uncredited += bytes;
    if (this.#uncredited < CONNECTION_WINDOW / 4) return;
    this.#windowUpdate(0, this.#uncredited);
    this.#uncredited = 0;
  }

  #windowUpdate(id: number, bytes: number): void {
    this.#writer.header(FrameType.windowUpdate, 0, id, 4);
    this.#writer.integer(bytes);
  }

  #sendReset(id: number, code: number): void {
    this.#writer.header(FrameType.reset, 0, id, 4);
    this.#writer.integer(code);
  }

  #sendSettings(): void {
    const settings = [
      [Setting.maxConcurrentStreams, MAX_STREAMS],
      [Setting.initialWindowSize, STREAM_WINDOW],
      [Setting.maxHeaderListSize, MAX_HEADER_BLOCK_BYTES],
    ] as const;
    this.#writer.header(FrameType.settings, 0, 0, settings.length * 6);
    for (const [setting, value] of settings) this.#writer.setting(setting, value);
    this.#windowUpdate(0, CONNECTION_WINDOW - DEFAULT_WINDOW);
  }

  /** The Date header, made anew every second. */
  #date(): Buffer {
    const second = Math.floor(Date.now() / 1000);
    if (second !== this.#dateSecond) {
      this.#dateSecond = second;
      this.#dateField = encodeField('date', new Date(second * 1000).toUTCString());
    }
    return this.#dateField;
  }

  /** A token bucket against floods of resets, pings, settings and continuations. */
  #annoyed(): void {
    const now = performance.now();
    const refill = ((now - this.#nuisanceAt) / 1000) * NUISANCE_PER_SECOND;
    this.#nuisance = Math.min(NUISANCE_BURST, this.#nuisance + refill) - 1;
    this.#nuisanceAt = now;
    if (this.#nuisance < 0) throw new ConnectionError(ErrorCode.enhanceYourCalm, 'too many frames');
  }
}

function unpadded(flags: number, bytes: Buffer, start: number, end: number): [number, number] {
  if (!(flags & Flag.padded)) return [start, end];
  const padding = start < end ? bytes[start]! : MAX_FRAME_BYTES;
  if (start + 1 + padding > end) throw new ConnectionError(ErrorCode.protocol, 'padding too long');
  return [start + 1, end - padding];
}

/** Frame types of HTTP/2 (RFC 9113, 6). */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Error codes (section 7). */
export const ErrorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

export const Setting = {
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const FRAME_HEADER_BYTES = 9;
export const DEFAULT_WINDOW = 65_535;
export const MAX_WINDOW = 0x7fff_ffff;
/** The largest frame that every peer takes, and the only size that this side takes. */
export const MAX_FRAME_BYTES = 16_384;

const SLAB_BYTES = 128 * 1024;

/**
 * Collects frames and writes what one turn of the event loop produced at once: a TLS record and a system call per
 * frame would cost more than the frames.
 */
export class FrameWriter {
  readonly #write: (bytes: Buffer) => void;
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  #start = 0;
  #end = 0;
  #scheduled = false;
  /** Where the newest frame begins, and its stream. */
  #last = 0;
  #lastStream = 0;

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  /** Appends a frame header; its payload of `length` bytes must follow by `payload` or `integer`. */
  header(type: number, flags: number, stream: number, length: number): void {
    this.#reserve(FRAME_HEADER_BYTES + length);
    const at = this.#end;
    this.#last = at;
    this.#lastStream = stream;
    this.#slab[at] = length >> 16;
    this.#slab[at + 1] = length >> 8;
    this.#slab[at + 2] = length;
    this.#slab[at + 3] = type;
    this.#slab[at + 4] = flags;
    this.#slab.writeUInt32BE(stream, at + 5);
    this.#end += FRAME_HEADER_BYTES;
  }

  payload(bytes: Buffer, start: number, end: number): void {
    bytes.copy(this.#slab, this.#end, start, end);
    this.#end += end - start;
  }

  integer(value: number): void {
    this.#slab.writeUInt32BE(value, this.#end);
    this.#end += 4;
  }

  setting(setting: number, value: number): void {
    this.#slab.writeUInt16BE(setting, this.#end);
    this.#end += 2;
    this.integer(value);
  }

  /** Adds END_STREAM to the newest frame; false when it was written already or belongs to another stream. */
  endStreamWithLast(stream: number): boolean {
    if (this.#lastStream !== stream || this.#end === this.#start) return false;
    this.#slab[this.#last + 4]! |= Flag.endStream;
    return true;
  }

  /** Writes what was collected. */
  flush(): void {
    this.#scheduled = false;
    if (this.#end === this.#start) return;
    const bytes = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#write(bytes);
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes > SLAB_BYTES) {
      this.flush();
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#start = 0;
      this.#end = 0;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.flush());
  }
}

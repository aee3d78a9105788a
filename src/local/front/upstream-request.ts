import type { ResponseSink, UpstreamConnection, UpstreamPool } from './upstream.ts';

/** Bodies up to this size go upstream in one piece with their head; the API's own limit is 3 MiB. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;
/** No bodies are held back while all together take so much. */
const MAX_HELD_BYTES_ALTOGETHER = 128 * 1024 * 1024;
/** A body that is not complete when nothing came of it for so long is passed on as it comes. */
const MAX_HELD_MS = 50;

/**
 * A request on its way to the Worker. It is held until its body is complete (or large, or slow): workerd closes the
 * connection when it answers before the body has arrived, and a write that meets the close would lose the answer.
 */
export class UpstreamRequest {
  readonly #pool: UpstreamPool;
  readonly #head: string;
  readonly #contentLength: number;
  readonly #sink: ResponseSink;
  #connection: UpstreamConnection | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #chunked = false;
  #aborted = false;

  /**
   * `head` is the request line and headers, without those that frame the body; `contentLength` is -1 when unknown.
   * Nothing is sent before `end` or the first limit.
   */
  constructor(pool: UpstreamPool, head: string, contentLength: number, sink: ResponseSink) {
    this.#pool = pool;
    this.#head = head;
    this.#contentLength = contentLength;
    this.#sink = sink;
  }

  /** Takes a piece of the body; false asks to wait for the sink's `drained`. */
  data(bytes: Buffer): boolean {
    if (this.#aborted || bytes.length === 0) return true;
    if (this.#connection) return this.#forward(this.#connection, bytes);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    this.#pool.heldBytes += bytes.length;
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.#launch(false), MAX_HELD_MS);
    const full = this.#heldBytes > MAX_HELD_BYTES || this.#pool.heldBytes > MAX_HELD_BYTES_ALTOGETHER;
    if (full) this.#launch(false);
    return true;
  }

  /** The body is complete. */
  end(): void {
    if (this.#aborted) return;
    if (!this.#connection) {
      this.#launch(true);
      return;
    }
    if (this.#chunked) this.#connection.write('0\r\n\r\n');
    this.#connection.requestEnded();
  }

  /** Asks the Worker to wait with more of the answer. */
  pause(): void {
    this.#connection?.pause();
  }

  resume(): void {
    this.#connection?.resume();
  }

  /** Lets go of the request at once; the sink hears nothing more. */
  abort(): void {
    this.#aborted = true;
    this.#release();
    this.#connection?.abort();
  }

  #launch(complete: boolean): void {
    if (this.#connection || this.#aborted) return;
    const body = this.#held.length > 1 ? Buffer.concat(this.#held) : this.#held[0];
    this.#release();
    const length = complete ? this.#heldBytes : this.#contentLength;
    const bodiless = complete && length === 0 && this.#contentLength < 0;
    this.#chunked = length < 0;
    const framing = this.#chunked ? 'transfer-encoding: chunked\r\n' : bodiless ? '' : `content-length: ${length}\r\n`;
    const [first, rest] = this.#chunked ? [undefined, body] : [body, undefined];
    this.#connection = this.#pool.request(
      `${this.#head}${framing}\r\n`,
      first,
      this.#chunked || length > 0,
      this.#sink,
    );
    if (rest) this.#forward(this.#connection, rest);
    if (complete) this.#connection.requestEnded();
  }

  #release(): void {
    clearTimeout(this.#timer);
    if (!this.#connection) this.#pool.heldBytes -= this.#held.reduce((sum, bytes) => sum + bytes.length, 0);
    this.#held = [];
  }

  #forward(connection: UpstreamConnection, bytes: Buffer): boolean {
    if (!this.#chunked) return connection.write(bytes);
    connection.write(`${bytes.length.toString(16)}\r\n`);
    connection.write(bytes);
    return connection.write('\r\n');
  }
}

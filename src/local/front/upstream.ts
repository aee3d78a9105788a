import { connect, type Socket } from 'node:net';
import type { Refusal } from './request-head.ts';
import { type ResponseHandler, type ResponseHead, ResponseParser } from './response-parser.ts';

/** What happens to one request: exactly one of `end` and `fail` comes last, and nothing after `abort`. */
export interface ResponseSink extends ResponseHandler {
  /** HEAD answers have no body whatever their headers say. */
  readonly headRequest: boolean;
  /** The answer is complete; after 101, the upstream closed its side. */
  end(): void;
  /** The upstream broke off; with `failure`, what the client may be told if it got no answer yet. */
  fail(failure: Refusal | undefined): void;
  /** The upstream can take more of the request's body again. */
  drained(): void;
}

/** workerd closes a connection that was idle for 5 s: use none that was idle for nearly as long. */
const MAX_IDLE_MS = 3000;
/**
 * workerd closes a connection behind an answer when the Worker left part of the request's body unread (a 401, a 404),
 * without saying so in the answer. So a connection that carried a body rests this long before it is used again.
 */
const REST_AFTER_BODY_MS = 50;
const UNREACHABLE: Refusal = { status: 503, reason: 'ServiceUnavailable', message: 'the API server is not reachable' };
const TOO_LARGE: Refusal = {
  status: 413,
  reason: 'RequestEntityTooLarge',
  message: 'Request entity too large: limit is 3145728',
};
const READ_BUFFER_BYTES = 64 * 1024;

/** Where the Worker's runtime listens. */
export type UpstreamAddress = { path: string } | { port: number; host: string };

/** Keeps connections to the Worker's runtime and lends each to one request at a time. */
export class UpstreamPool {
  /** Bytes of bodies that are held back until they are complete. */
  heldBytes = 0;
  readonly #address: UpstreamAddress;
  readonly #idle: UpstreamConnection[] = [];
  /** Reads are synchronous with their callback, so all connections share one buffer. */
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);

  constructor(address: UpstreamAddress) {
    this.#address = address;
  }

  /**
   * Begins a request; `head` is its request line and headers with the empty line, `body` what is there of its body,
   * and `hasBody` tells whether there is or will be any.
   */
  request(head: string, body: Buffer | undefined, hasBody: boolean, sink: ResponseSink): UpstreamConnection {
    const connection = this.#take();
    connection.begin(head, body, hasBody, sink);
    return connection;
  }

  /** Closes the idle connections. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.abort();
  }

  #take(): UpstreamConnection {
    const oldest = performance.now() - MAX_IDLE_MS;
    for (let last = this.#idle.pop(); last; last = this.#idle.pop()) {
      if (last.idleSince > oldest && last.usable) return last;
      last.abort();
    }
    return new UpstreamConnection(this.#address, this.#buffer, (connection) => this.#keep(connection));
  }

  #keep(connection: UpstreamConnection): void {
    this.#idle.push(connection);
    const oldest = connection.idleSince - MAX_IDLE_MS;
    while (this.#idle[0]!.idleSince < oldest) this.#idle.shift()!.abort();
  }
}

/** One connection; between `begin` and the end of the answer it serves one request. */
export class UpstreamConnection implements ResponseHandler {
  /** Time of `performance.now()` at which its last request ended. */
  idleSince = 0;
  readonly #socket: Socket;
  readonly #parser: ResponseParser;
  readonly #release: (connection: UpstreamConnection) => void;
  #sink: ResponseSink | undefined;
  #requestDone = false;
  #hasBody = false;
  #connected = false;
  #closed = false;

  constructor(address: UpstreamAddress, buffer: Buffer, release: (connection: UpstreamConnection) => void) {
    this.#release = release;
    this.#parser = new ResponseParser();
    const onread = { buffer, callback: (bytes: number, data: Uint8Array) => this.#read(data as Buffer, bytes) };
    this.#socket = connect({ ...address, onread });
    this.#socket.on('connect', () => {
      this.#connected = true;
    });
    this.#socket.on('drain', () => this.#sink?.drained());
    this.#socket.on('error', () => {});
    this.#socket.on('end', () => this.#ended());
    this.#socket.on('close', () => this.#ended());
  }

  /** False once the peer has closed it. */
  get usable(): boolean {
    return !this.#closed;
  }

  begin(head: string, body: Buffer | undefined, hasBody: boolean, sink: ResponseSink): void {
    this.#sink = sink;
    this.#requestDone = !hasBody;
    this.#hasBody = hasBody;
    this.#parser.begin(sink.headRequest);
    if (body === undefined) {
      this.#socket.write(head, 'latin1');
      return;
    }
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    this.#socket.write(body);
    this.#socket.uncork();
  }

  /** Sends bytes of the request's body; false asks to wait for `drained`. */
  write(bytes: Buffer | string): boolean {
    return this.#socket.write(bytes as string, 'latin1');
  }

  /** The request is complete: the connection may serve another one after the answer. */
  requestEnded(): void {
    this.#requestDone = true;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends the connection at once; its sink hears nothing more. The Worker's `request.signal` fires. */
  abort(): void {
    this.#sink = undefined;
    this.#closed = true;
    this.#socket.destroy();
  }

  /** From the parser. */
  head(head: ResponseHead): void {
    this.#sink?.head(head);
  }

  /** From the parser. */
  body(bytes: Buffer, start: number, end: number): void {
    this.#sink?.body(bytes, start, end);
  }

  #read(data: Buffer, bytes: number): boolean {
    if (!this.#sink) {
      this.abort();
      return true;
    }
    const outcome = this.#parser.read(data, bytes, this);
    const sink = this.#sink;
    if (outcome === 'more' || !sink) return true;
    this.#sink = undefined;
    if (outcome === 'malformed') this.#fail(sink);
    else this.#finish(sink);
    return true;
  }

  #finish(sink: ResponseSink): void {
    const { keepAlive, surplus } = this.#parser;
    const reusable = keepAlive && !surplus && this.#requestDone && !this.#closed;
    if (!reusable) this.abort();
    else if (this.#hasBody) setTimeout(() => this.#rest(), REST_AFTER_BODY_MS);
    else this.#rest();
    sink.end();
  }

  #rest(): void {
    if (this.#closed) return;
    this.idleSince = performance.now();
    this.#socket.resume();
    this.#release(this);
  }

  #fail(sink: ResponseSink): void {
    const failure = this.#failure();
    this.abort();
    sink.fail(failure);
  }

  /**
   * A request that never left is answered 503. When the Worker refuses a body unread (it is too large), workerd closes
   * behind the answer, and the answer is lost when a write meets the close: the front gives it again. A request whose
   * body did not arrive has changed nothing.
   */
  #failure(): Refusal | undefined {
    if (!this.#connected) return UNREACHABLE;
    const { errored } = this.#socket as { errored: (Error & { syscall?: string }) | null };
    return this.#hasBody && errored?.syscall === 'write' ? TOO_LARGE : undefined;
  }

  #ended(): void {
    this.#closed = true;
    const sink = this.#sink;
    if (!sink) return;
    this.#sink = undefined;
    if (this.#parser.endsWithConnection) {
      this.#socket.destroy();
      sink.end();
    } else this.#fail(sink);
  }
}

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { localAnswer } from './local-answer.ts';
import { contentLength, http1Field, type IncomingHead, passedMethod, type Refusal, refusal } from './request-head.ts';
import type { ResponseHead } from './response-parser.ts';
import type { ResponseSink, UpstreamConnection, UpstreamPool } from './upstream.ts';
import { UpstreamRequest } from './upstream-request.ts';

/** Tells for a client's socket what the front adds to its requests. */
export type ClientLines = (socket: Duplex) => string;

/**
 * The HTTP/1.1 side: Node's parser reads the requests (it refuses ambiguous framing), every request is written anew.
 * The server is given sockets by `emit('connection', socket)`.
 */
export function http1Server(pool: UpstreamPool, clientLines: ClientLines): Server {
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: 60_000,
    keepAliveTimeout: 0,
    maxHeaderSize: 256 * 1024,
  });
  server.on('request', (request, response) => forward(request, response, pool, clientLines(request.socket)));
  server.on('upgrade', (request, socket, head) => upgrade(request, socket, head, pool, clientLines(socket)));
  // All together are bounded by maxHeaderSize; Node leaves out those beyond a number without a word.
  server.maxHeadersCount = 0;
  server.on('clientError', (error, socket) => answerUnread(error, socket));
  return server;
}

/** Answers what Node's parser could not read, as Go's server does; an unknown method gets the API's answer. */
function answerUnread({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === 'ECONNRESET') socket.destroy();
  else if (code === 'HPE_INVALID_METHOD')
    socket.end(unread('405 Method Not Allowed', 'application/json', UNKNOWN_METHOD));
  else {
    const status = code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
    socket.end(unread(status, 'text/plain; charset=utf-8', status));
  }
}

const UNKNOWN_METHOD = localAnswer({
  status: 405,
  reason: 'MethodNotAllowed',
  message: 'the server does not allow this method on the requested resource',
  details: true,
}).body;

const unread = (status: string, type: string, body: string | Uint8Array) =>
  `HTTP/1.1 ${status}\r\ncontent-type: ${type}\r\nconnection: close\r\n\r\n${body}`;

function incoming(request: IncomingMessage): IncomingHead {
  const head: IncomingHead = {
    method: request.method ?? '',
    path: request.url ?? '',
    host: '',
    lines: '',
    contentLength: -1,
  };
  const raw = request.rawHeaders;
  for (let i = 0; i < raw.length; i += 2) {
    const field = http1Field(raw[i]!, raw[i + 1]!);
    if (field.use === 'pass' || field.use === 'cookie') head.lines += field.line;
    else if (field.use === 'length') head.contentLength = contentLength(field.value, head.contentLength);
    else if (field.use === 'host') head.host = field.value;
    else if (field.use === 'invalid') head.contentLength = -2;
  }
  return head;
}

function headText(head: IncomingHead, extra: string): string {
  return `${passedMethod(head.method)} ${head.path} HTTP/1.1\r\nhost: ${head.host || 'localhost'}\r\n${head.lines}${extra}`;
}

function forward(request: IncomingMessage, response: ServerResponse, pool: UpstreamPool, lines: string): void {
  const head = incoming(request);
  const refused = refusal(head);
  if (refused) {
    refuse(response, refused);
    return;
  }
  const exchange = new Http1Exchange(request, response);
  exchange.start(new UpstreamRequest(pool, headText(head, lines), head.contentLength, exchange));
}

function refuse(response: ServerResponse, refused: Refusal): void {
  const headers = { connection: 'close', 'content-type': 'application/json' };
  response.writeHead(refused.status, headers).end(localAnswer(refused).body);
}

/** One request and its answer. */
class Http1Exchange implements ResponseSink {
  readonly headRequest: boolean;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #upstream: UpstreamRequest | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    this.headRequest = request.method === 'HEAD';
  }

  start(upstream: UpstreamRequest): void {
    this.#upstream = upstream;
    const [request, response] = [this.#request, this.#response];
    request.on('data', (bytes: Buffer) => {
      if (this.#upstream && !this.#upstream.data(bytes)) request.pause();
    });
    request.on('end', () => this.#upstream?.end());
    response.on('drain', () => this.#upstream?.resume());
    response.on('close', () => {
      this.#upstream?.abort();
      this.#upstream = undefined;
    });
  }

  drained(): void {
    this.#request.resume();
  }

  head({ status, reason, fields }: ResponseHead): void {
    const headers = fields.flatMap(({ name, value }) => [name, value]);
    this.#response.writeHead(status, reason, headers);
    // An answer without a length streams: its head must not wait for the first event.
    if (!fields.some(({ name }) => name === 'content-length')) this.#response.flushHeaders();
  }

  body(bytes: Buffer, start: number, end: number): void {
    if (!this.#response.write(Buffer.from(bytes.subarray(start, end)))) this.#upstream?.pause();
  }

  end(): void {
    this.#upstream = undefined;
    this.#response.end();
    // What is left of a body that nobody reads would be taken for the next request.
    if (!this.#request.complete) this.#response.once('finish', () => this.#request.socket.destroySoon());
  }

  fail(failure: Refusal | undefined): void {
    this.#upstream = undefined;
    if (failure && !this.#response.headersSent) refuse(this.#response, failure);
    else this.#request.socket.destroy();
  }
}

/** Passes a protocol upgrade on; what follows 101 goes through unread, both ways. */
function upgrade(request: IncomingMessage, socket: Duplex, early: Buffer, pool: UpstreamPool, lines: string): void {
  const head = incoming(request);
  const refused = refusal(head);
  if (refused) {
    socket.end(`HTTP/1.1 ${refused.status} ${refused.reason}\r\nconnection: close\r\n\r\n`);
    return;
  }
  const protocol = (request.headers.upgrade ?? '').replace(/[^A-Za-z0-9/._-]/g, '');
  const framing = head.contentLength >= 0 ? `content-length: ${head.contentLength}\r\n` : '';
  const tunnel = new Tunnel(socket, early);
  const extra = `${lines}${framing}connection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n`;
  tunnel.start(pool.request(headText(head, extra), undefined, true, tunnel));
}

/** An upgraded connection, or the refusal to upgrade it. */
class Tunnel implements ResponseSink {
  readonly headRequest = false;
  readonly #socket: Duplex;
  readonly #early: Buffer;
  #upstream: UpstreamConnection | undefined;

  constructor(socket: Duplex, early: Buffer) {
    this.#socket = socket;
    this.#early = early;
  }

  start(upstream: UpstreamConnection): void {
    this.#upstream = upstream;
    const over = () => {
      this.#upstream?.abort();
      this.#upstream = undefined;
      this.#socket.destroy();
    };
    for (const event of ['end', 'error', 'close']) this.#socket.on(event, over);
    this.#socket.on('drain', () => this.#upstream?.resume());
  }

  head(head: ResponseHead): void {
    if (head.status !== 101) {
      const lines = head.fields.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
      this.#socket.write(`HTTP/1.1 ${head.status} ${head.reason}\r\n${lines}connection: close\r\n\r\n`, 'latin1');
      return;
    }
    this.#socket.write(head.text, 'latin1');
    if (this.#early.length > 0) this.#upstream?.write(this.#early);
    this.#socket.on('data', (bytes: Buffer) => {
      if (this.#upstream && !this.#upstream.write(bytes)) this.#socket.pause();
    });
  }

  drained(): void {
    this.#socket.resume();
  }

  body(bytes: Buffer, start: number, end: number): void {
    if (!this.#socket.write(Buffer.from(bytes.subarray(start, end)))) this.#upstream?.pause();
  }

  end(): void {
    this.#upstream = undefined;
    this.#socket.end();
  }

  fail(failure: Refusal | undefined): void {
    this.#upstream = undefined;
    if (failure) this.#socket.end(`HTTP/1.1 ${failure.status} ${failure.reason}\r\nconnection: close\r\n\r\n`);
    else this.#socket.destroy();
  }
}

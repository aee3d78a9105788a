import type { RequestField } from './request-head.ts';
import { contentLength, type IncomingHead, passedMethod, type Refusal, refusal } from './request-head.ts';
import type { ResponseHead } from './response-parser.ts';
import type { ResponseSink } from './upstream.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** What a stream needs of its connection. */
export interface StreamHost {
  /** Prepares the request upstream; see UpstreamRequest. */
  request(head: string, contentLength: number, sink: ResponseSink): UpstreamRequest;
  /** Headers that say who the client is. */
  readonly clientLines: string;
  sendHead(stream: Http2Stream, head: ResponseHead, end: boolean): void;
  /** Sends as much as the windows allow; returns how many bytes that was. */
  sendData(stream: Http2Stream, bytes: Buffer, start: number, end: number): number;
  sendEnd(stream: Http2Stream): void;
  /** Answers without the Worker. */
  refuse(stream: Http2Stream, refused: Refusal): void;
  reset(stream: Http2Stream, code: 'protocol' | 'internal' | 'none'): void;
  /** The stream has bytes that wait for a window or for a slow client. */
  blocked(stream: Http2Stream): void;
  /** So many bytes of the request are dealt with: the peer may send as many again, on this stream while it is `open`. */
  credit(stream: Http2Stream, bytes: number, open: boolean): void;
  closed(stream: Http2Stream): void;
}

/** Some clients lose the answer when the reset comes along with it: they get this long to read it and stop. */
const UPLOAD_GRACE_MS = 50;

/** One request of an HTTP/2 connection and its answer. */
export class Http2Stream implements ResponseSink {
  readonly id: number;
  /** Bytes of the answer that the peer allows now. */
  sendWindow: number;
  /** Bytes of the request that this side still allows. */
  receiveWindow: number;
  headRequest = false;
  /** The peer has sent everything. */
  requestEnded = false;
  readonly #host: StreamHost;
  #upstream: UpstreamRequest | undefined;
  #head: IncomingHead = { method: '', path: '', host: '', lines: '', contentLength: -1 };
  #cookies = '';
  #pseudoEnded = false;
  #malformed = false;
  #received = 0;
  #uncredited = 0;
  #backlog: Buffer[] = [];
  #answerEnded = false;
  #endSent = false;
  #headSent = false;
  #closed = false;

  constructor(id: number, host: StreamHost, sendWindow: number, receiveWindow: number) {
    this.id = id;
    this.#host = host;
    this.sendWindow = sendWindow;
    this.receiveWindow = receiveWindow;
  }

  /** Takes one header of the request. */
  field(field: RequestField): void {
    if (field.use === 'pass') this.#head.lines += field.line;
    else if (field.use === 'pseudo') this.#pseudo(field);
    else if (field.use === 'length') this.#head.contentLength = contentLength(field.value, this.#head.contentLength);
    else if (field.use === 'cookie') this.#cookies += this.#cookies ? `; ${field.value}` : field.value;
    else if (field.use === 'host') this.#head.host ||= field.value;
    else if (field.use === 'invalid') this.#malformed = true;
    if (field.use !== 'pseudo') this.#pseudoEnded = true;
  }

  #pseudo({ name, value }: RequestField): void {
    const head = this.#head;
    const key = ({ ':method': 'method', ':path': 'path', ':authority': 'host', ':scheme': '' } as const)[name];
    if (key === undefined || this.#pseudoEnded || (key !== '' && head[key] !== '')) this.#malformed = true;
    else if (key !== '') head[key] = value;
  }

  /** All headers are here: the request is passed on, refused, or the stream reset. */
  headersEnded(end: boolean): void {
    const head = this.#head;
    this.requestEnded = end;
    if (this.#malformed || head.method === '' || (head.path === '' && head.method !== 'CONNECT')) {
      this.#host.reset(this, 'protocol');
      return;
    }
    this.headRequest = head.method === 'HEAD';
    const refused = refusal(head);
    if (refused) this.#host.refuse(this, refused);
    else this.#begin(head);
  }

  #begin({ method, path, host, lines, contentLength: length }: IncomingHead): void {
    const cookies = this.#cookies ? `cookie: ${this.#cookies}\r\n` : '';
    const text = `${passedMethod(method)} ${path} HTTP/1.1\r\nhost: ${host || 'localhost'}\r\n${lines}${cookies}${this.#host.clientLines}`;
    this.#upstream = this.#host.request(text, length, this);
    if (this.requestEnded) this.#upstream.end();
  }

  /** Takes a piece of the request's body; `counted` is what it took of the windows. */
  data(bytes: Buffer, counted: number, end: boolean): void {
    this.#received += bytes.length;
    this.#uncredited += counted;
    this.requestEnded = end;
    const announced = this.#head.contentLength;
    if (announced >= 0 && (this.#received > announced || (end && this.#received < announced))) {
      this.#host.reset(this, 'protocol');
      return;
    }
    const room = this.#upstream?.data(bytes) ?? true;
    if (room) this.drained();
    if (end) this.#upstream?.end();
    if (end && this.#endSent) this.close();
  }

  drained(): void {
    const bytes = this.#uncredited;
    this.#uncredited = 0;
    if (bytes > 0) this.#host.credit(this, bytes, !this.requestEnded && !this.#closed);
  }

  head(head: ResponseHead): void {
    if (this.#closed) return;
    this.#headSent = true;
    this.#host.sendHead(this, head, false);
  }

  body(bytes: Buffer, start: number, end: number): void {
    if (this.#closed) return;
    const sent = this.#backlog.length > 0 ? 0 : this.#host.sendData(this, bytes, start, end);
    if (start + sent === end) return;
    this.#backlog.push(Buffer.from(bytes.subarray(start + sent, end)));
    this.#upstream?.pause();
    this.#host.blocked(this);
  }

  end(): void {
    this.#answerEnded = true;
    this.#upstream = undefined;
    this.pump();
  }

  fail(failure: Refusal | undefined): void {
    this.#upstream = undefined;
    if (this.#closed) return;
    const refused = this.#headSent ? undefined : failure;
    if (refused) this.#host.refuse(this, refused);
    else this.#host.reset(this, 'internal');
  }

  /** Sends what waited, as far as the windows allow; true when nothing waits any more. */
  pump(): boolean {
    if (this.#closed) return true;
    while (this.#backlog.length > 0) {
      const next = this.#backlog[0]!;
      const sent = this.#host.sendData(this, next, 0, next.length);
      if (sent < next.length) {
        this.#backlog[0] = next.subarray(sent);
        return false;
      }
      this.#backlog.shift();
    }
    this.#upstream?.resume();
    if (this.#answerEnded && !this.#endSent) this.#finish();
    return true;
  }

  #finish(): void {
    this.#endSent = true;
    this.#host.sendEnd(this);
    if (this.requestEnded) this.close();
    else setTimeout(() => this.#hangUp(), UPLOAD_GRACE_MS);
  }

  /** The answer is out and the client still sends: it is told to stop (RFC 9113, 8.1). */
  #hangUp(): void {
    if (!this.#closed) this.#host.reset(this, 'none');
  }

  /** The stream is over: the upstream is let go of at once, so that the Worker notices. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#backlog = [];
    this.#upstream?.abort();
    this.#upstream = undefined;
    this.drained();
    this.#host.closed(this);
  }
}

/** What a peer outside of the cluster's own processes is sent, and how the peer is known. */
export interface OutboundRequest {
  /** `https://…`, or `http://…` for a peer that is trusted otherwise. Its host is the peer's name, also for TLS. */
  url: string;
  method: string;
  headers?: Readonly<Record<string, string>>;
  /** Headers that have a line for each of several values, which a joined one would not mean; they go before `headers`. */
  repeated?: Readonly<Record<string, readonly string[]>>;
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  /** PEM certificates, one of which the peer's must chain to; left out or empty: the public authorities. */
  authority?: string;
  /** Whether any certificate of the peer is taken. */
  insecure?: boolean;
  /** Name that the peer's certificate must be for, where it is not the host of the URL. */
  serverName?: string;
  /** Where to connect to, where it is not the host and port of the URL (an endpoint of a Service). */
  dial?: { host: string; port: number };
  /** PEM certificate chain and key to show to the peer. */
  identity?: { certificate: string; key: string };
  /** How long the answer's headers may take; the body has as long again. Left out: no limit. */
  timeoutMilliseconds?: number;
  /** Ends the exchange when it fires. */
  signal?: AbortSignal;
}

/**
 * Sends to a peer and resolves with its answer whatever the status. A request with `Upgrade: websocket` that the peer
 * takes resolves with 101 and `webSocket`. Rejects with OutboundError when there is no answer.
 */
export type Outbound = (request: OutboundRequest) => Promise<Response>;

/** Where nothing outside can be reached. */
export const unreachable: Outbound = (request) =>
  Promise.reject(new OutboundError(request, 'nothing outside can be reached from here'));

/** There was no answer of the peer. The message is net/http's: `Post "https://…": dial tcp …: connect: …`. */
export class OutboundError extends Error {
  /** What went wrong, without the request: `context deadline exceeded`. */
  readonly reason: string;
  constructor({ method, url }: Pick<OutboundRequest, 'method' | 'url'>, reason: string) {
    super(`${method.charAt(0)}${method.slice(1).toLowerCase()} "${url}": ${reason}`);
    this.reason = reason;
  }

  get isTimeout(): boolean {
    return this.reason === DEADLINE;
  }
}

/** Go's words for a time limit that has passed, and for a request given up. */
export const DEADLINE = 'context deadline exceeded';
export const CANCELED = 'context canceled';

/** What a peer is told, and how it is known. */
export interface OutboundRequest {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  /** PEM certificates that the peer's must chain to; empty: the public authorities. */
  authority: string;
  /** Name that the peer's certificate must be for, where it is not the host of the URL. */
  serverName?: string;
  /** PEM certificate and key to show to the peer. */
  identity?: { certificate: string; key: string };
  timeoutMilliseconds: number;
}

/** Sends to a peer outside of the cluster and rejects when there is no answer in time. */
export type Outbound = (request: OutboundRequest) => Promise<Response>;

/** Where nothing outside can be reached. */
export const unreachable: Outbound = () => Promise.reject(new Error('nothing outside can be reached from here'));

import { withDeadline } from './deadline.ts';
import { egressOutbound } from './egress.ts';
import { type Outbound, OutboundError } from './types.ts';

export { type Outbound, OutboundError, type OutboundRequest, unreachable } from './types.ts';

/** Which way out a Worker has. */
export interface Ways {
  EGRESS?: Pick<Fetcher, 'fetch'>;
  EGRESS_URL?: string;
  EGRESS_KEY?: string;
}

/**
 * The way out of this Worker: an egress service where there is one, by binding or by URL, which knows private
 * authorities and networks; otherwise the platform's `fetch`, which knows the public ones.
 */
export function outboundOf({ EGRESS, EGRESS_URL, EGRESS_KEY }: Ways): Outbound {
  const key = EGRESS_KEY === undefined ? {} : { key: EGRESS_KEY };
  if (EGRESS !== undefined) return egressOutbound(EGRESS, { url: 'http://egress/', ...key });
  if (EGRESS_URL === undefined) return fetchOutbound;
  return egressOutbound({ fetch: (input, init) => fetch(input, init) }, { url: EGRESS_URL, ...key });
}

const fetchOutbound: Outbound = (request) =>
  withDeadline(request, (signal) => {
    const { url, method, body, authority, serverName, dial, identity, insecure } = request;
    if (authority || serverName || dial || identity || insecure)
      throw new OutboundError(request, 'a private authority, endpoint or identity needs the egress service');
    const headers = new Headers(request.headers);
    for (const [name, values] of Object.entries(request.repeated ?? {}))
      for (const value of values) headers.append(name, value);
    return fetch(url, { method, signal, redirect: 'manual', headers, ...(body && { body }) });
  });

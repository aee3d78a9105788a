import { withDeadline } from './deadline.ts';
import { egressOutbound } from './egress.ts';
import { type Outbound, OutboundError } from './types.ts';

export { type Outbound, OutboundError, type OutboundRequest, unreachable } from './types.ts';

/**
 * The way out of this Worker: the egress service of `npm start` where there is one, which knows private authorities;
 * otherwise the platform's `fetch`, which knows the public ones.
 */
export const outboundOf = (env: { EGRESS?: Pick<Fetcher, 'fetch'> }): Outbound =>
  env.EGRESS === undefined ? fetchOutbound : egressOutbound(env.EGRESS);

const fetchOutbound: Outbound = (request) =>
  withDeadline(request, (signal) => {
    const { url, method, headers, body, authority, serverName, dial, identity, insecure } = request;
    if (authority || serverName || dial || identity || insecure)
      throw new OutboundError(request, 'a private authority, endpoint or identity needs the egress service');
    return fetch(url, { method, signal, redirect: 'manual', ...(headers && { headers }), ...(body && { body }) });
  });

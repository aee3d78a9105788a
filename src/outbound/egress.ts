import { withDeadline } from './deadline.ts';
import { type EgressTarget, encodeTarget, FAILURE_HEADER, TARGET_HEADER } from './egress-protocol.ts';
import { type Outbound, OutboundError, type OutboundRequest } from './types.ts';

/** Sends through the egress service of `npm start`, which does TLS and keeps connections open. */
export const egressOutbound =
  (egress: Pick<Fetcher, 'fetch'>): Outbound =>
  (request) =>
    withDeadline(request, async (signal) => {
      const { method, headers, body } = request;
      const response = await egress.fetch('http://egress/', {
        method,
        headers: { ...headers, [TARGET_HEADER]: encodeTarget(targetOf(request)) },
        signal,
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      });
      const failure = response.headers.get(FAILURE_HEADER);
      if (failure === null) return response;
      await response.body?.cancel();
      throw new OutboundError(request, decodeURIComponent(failure));
    });

function targetOf({ url, authority, insecure, serverName, dial, identity }: OutboundRequest): EgressTarget {
  return {
    url,
    ...(authority && { authority }),
    ...(insecure && { insecure }),
    ...(serverName && { serverName }),
    ...(dial && { dial }),
    ...(identity && { identity }),
  };
}

import { withDeadline } from './deadline.ts';
import {
  type EgressTarget,
  encodeTarget,
  FAILURE_HEADER,
  KEY_HEADER,
  REFUSED_HEADER,
  TARGET_HEADER,
} from './egress-protocol.ts';
import { type Outbound, OutboundError, type OutboundRequest } from './types.ts';

/** Where the egress service is. */
export interface EgressAddress {
  /** Anything but the path is up to `fetch`: a binding leads to one service only. */
  url: string;
  /** Put on every call; left out where the runtime does that. */
  key?: string;
}

/** Sends through the egress service (src/local/egress.ts), which does TLS and keeps connections open. */
export const egressOutbound =
  (egress: Pick<Fetcher, 'fetch'>, { url, key }: EgressAddress = { url: 'http://egress/' }): Outbound =>
  (request) =>
    withDeadline(request, async (signal) => {
      const { method, headers, body } = request;
      const response = await egress.fetch(url, {
        method,
        headers: { ...headers, [TARGET_HEADER]: encodeTarget(targetOf(request)), ...(key && { [KEY_HEADER]: key }) },
        signal,
        redirect: 'manual',
        ...(body === undefined ? {} : { body }),
      });
      const failure = response.headers.get(FAILURE_HEADER);
      if (failure === null && response.status === 403 && response.headers.has(REFUSED_HEADER))
        throw new OutboundError(request, 'the egress service refused the key');
      if (failure === null) return response;
      await response.body?.cancel();
      throw new OutboundError(request, decodeURIComponent(failure));
    });

function targetOf({ url, authority, insecure, serverName, dial, identity, repeated }: OutboundRequest): EgressTarget {
  return {
    url,
    ...(authority && { authority }),
    ...(insecure && { insecure }),
    ...(serverName && { serverName }),
    ...(dial && { dial }),
    ...(identity && { identity }),
    ...(repeated && { repeated }),
  };
}

import { OutboundError, unreachable } from '../outbound/index.ts';
import { ServiceError } from '../outbound/service.ts';
import { isUpgrade, passUpgradeOn } from '../proxy/backend.ts';
import { answeredHeaders, forwardedHeaders } from '../proxy/headers.ts';
import type { RequestContext } from '../request/context.ts';
import { plainText } from '../status/answer.ts';
import { StatusError } from '../status/status.ts';
import type { AggregatedVersion } from './api-service.ts';
import { identityHeaders, isIdentityHeader, type Peer, peerOf } from './peer.ts';

/** Discovery has to be quick: clients wait for all groups. */
const DISCOVERY_MS = 5000;
const UNAVAILABLE = 'service unavailable';
const REDIRECTED = 'the backend attempted to redirect this request, which is not permitted';

const isDiscovery = ({ isResourceRequest, path }: RequestContext['info']) =>
  !isResourceRequest && path.replace(/^\/+|\/+$/g, '').split('/').length === 3;

/**
 * Passes a request for an aggregated group version on to its server, as the user who has sent it, and the answer back.
 * Failures are plain text, as kube-apiserver's proxy answers.
 */
export async function serveAggregated(ctx: RequestContext, version: AggregatedVersion): Promise<Response> {
  if (!version.available || ctx.config === undefined) return plainText(UNAVAILABLE, 503);
  let peer: Peer;
  try {
    peer = await peerOf(version, ctx.keyspace, ctx.config);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return plainText(UNAVAILABLE, 503);
  }
  return isUpgrade(ctx.request) ? upgrade(ctx, peer) : exchange(ctx, peer);
}

/** Parameters in the order of their names, as upstream writes them. */
function addressAt(ctx: RequestContext, origin: string): string {
  const query = new URLSearchParams(ctx.url.searchParams);
  query.sort();
  return `${origin}${ctx.info.path}${query.size === 0 ? '' : `?${query}`}`;
}

const ownHeaders = (ctx: RequestContext, { origin }: Peer): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(forwardedHeaders(ctx.request.headers)).filter(([name]) => !isIdentityHeader(name)),
  ),
  'audit-id': ctx.auditId,
  'x-forwarded-host': new URL(origin).host,
  'x-forwarded-proto': 'https',
  'x-forwarded-uri': ctx.info.path,
});

async function exchange(ctx: RequestContext, peer: Peer): Promise<Response> {
  const { request, user, outbound = unreachable } = ctx;
  try {
    const answer = await outbound({
      ...peer.tls,
      url: addressAt(ctx, peer.origin),
      method: request.method,
      headers: ownHeaders(ctx, peer),
      repeated: identityHeaders(user),
      ...(request.body && { body: request.body }),
      ...(isDiscovery(ctx.info) && { timeoutMilliseconds: DISCOVERY_MS }),
      signal: request.signal,
    });
    const { status, statusText, headers } = answer;
    if (status >= 300 && status <= 399 && headers.get('location')) {
      await answer.body?.cancel();
      return new Response(REDIRECTED, { status: 502 });
    }
    return new Response(answer.body, { status, statusText, headers: answeredHeaders(headers) });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return plainText(`error trying to reach service: ${error.reason}`, 503);
  }
}

async function upgrade(ctx: RequestContext, peer: Peer): Promise<Response> {
  const repeated = identityHeaders(ctx.user);
  try {
    return await passUpgradeOn(ctx, addressAt(ctx, peer.origin), { ...peer.tls, repeated }, ownHeaders(ctx, peer));
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.code !== 500) throw error;
    return plainText(error.message, 503);
  }
}

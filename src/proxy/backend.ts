import { type Outbound, OutboundError, type OutboundRequest, unreachable } from '../outbound/index.ts';
import type { RequestContext } from '../request/context.ts';
import { badRequest, plainError, serviceUnavailable } from '../status/status.ts';
import { answeredHeaders, forwardedHeaders, offeredProtocols } from './headers.ts';
import { rewriteLinks } from './links.ts';

/** Where a proxied request goes. */
export interface Location {
  /** Scheme and authority: `http://10.0.0.7:8080`. */
  origin: string;
  /** Path at the backend, as it is sent; empty where the client named none. */
  path: string;
  /** What of the client's path stands before the backend's. */
  prefix: string;
  /** How the backend is known, for TLS. */
  peer?: Pick<OutboundRequest, 'authority' | 'insecure' | 'serverName' | 'identity' | 'dial' | 'repeated'>;
}

const outboundOf = (ctx: RequestContext): Outbound => ctx.outbound ?? unreachable;
const upgradeOf = ({ headers }: Request) => (headers.get('upgrade') ?? '').toLowerCase();

/** Whether a client wants another protocol than HTTP. */
export const isUpgrade = (request: Request): boolean => upgradeOf(request) !== '';

/**
 * Passes a request on to a backend and its answer back, WebSockets included. Throws 503 where the backend cannot be
 * reached.
 */
export async function passOn(ctx: RequestContext, location: Location): Promise<Response> {
  const { request, url } = ctx;
  if (isUpgrade(request)) return passUpgradeOn(ctx, `${location.origin}${location.path}${url.search}`, location.peer);
  if (location.path === '' && ['GET', 'HEAD'].includes(request.method)) {
    return new Response(null, { status: 301, headers: { Location: `${url.pathname}/${url.search}` } });
  }
  const answer = await reach(outboundOf(ctx), {
    ...location.peer,
    url: `${location.origin}${location.path}${url.search}`,
    method: request.method,
    headers: { ...forwardedHeaders(request.headers), 'x-forwarded-uri': url.pathname },
    ...(request.body && { body: request.body }),
    signal: request.signal,
  });
  return rewriteLinks(answer, answeredHeaders(answer.headers), { origin: location.origin, prefix: location.prefix });
}

async function reach(outbound: Outbound, request: OutboundRequest): Promise<Response> {
  try {
    return await outbound(request);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw serviceUnavailable(`error trying to reach service: ${error.reason}`);
  }
}

/**
 * Joins a client's WebSocket with one of the backend's. What the backend answers instead of agreeing goes to the client.
 * Throws 500 where the backend cannot be reached, 400 for protocols that the platform cannot carry. `passed`: the
 * headers of the client that the backend gets.
 */
export async function passUpgradeOn(
  ctx: RequestContext,
  url: string,
  peer?: Location['peer'],
  passed = forwardedHeaders(ctx.request.headers),
): Promise<Response> {
  const { request } = ctx;
  const upgrade = upgradeOf(request);
  if (upgrade !== 'websocket') throw badRequest(`unable to upgrade to ${upgrade}: only WebSockets can be passed on`);
  const protocols = offeredProtocols(request.headers);
  const headers = {
    ...passed,
    upgrade: 'websocket',
    ...(protocols !== '' && { 'sec-websocket-protocol': protocols }),
  };
  const answer = await outboundOf(ctx)({ ...peer, url, method: request.method, headers, signal: request.signal }).catch(
    (error: unknown) => {
      throw error instanceof OutboundError ? plainError(error.reason) : error;
    },
  );
  if (answer.webSocket === null || answer.webSocket === undefined) {
    if (answer.status < 400) throw plainError(`invalid upgrade response: status code ${answer.status}`);
    return new Response(answer.body, { status: answer.status, headers: answeredHeaders(answer.headers) });
  }
  const chosen = answer.headers.get('sec-websocket-protocol');
  return new Response(null, {
    status: 101,
    webSocket: answer.webSocket,
    headers: chosen === null ? {} : { 'Sec-WebSocket-Protocol': chosen },
  });
}

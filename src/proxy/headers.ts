/** Headers of one hop, and those that no backend may see: credentials of the client, what the edge adds. */
const WITHHELD: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const BEARER_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';
const WEBSOCKET = 'sec-websocket-';

/** The headers of a request that its backend gets. */
export function forwardedHeaders(headers: Headers): Record<string, string> {
  const named = new Set((headers.get('connection') ?? '').toLowerCase().split(/\s*,\s*/));
  const out: Record<string, string> = {};
  for (const [name, value] of headers) {
    const own = WITHHELD.has(name) || named.has(name) || name.startsWith('impersonate-') || name.startsWith(WEBSOCKET);
    if (!own) out[name] = value;
  }
  return out;
}

/** Subprotocols that a WebSocket client offers, without the one that carries its token. */
export const offeredProtocols = (headers: Headers): string =>
  (headers.get('sec-websocket-protocol') ?? '')
    .split(',')
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== '' && !protocol.startsWith(BEARER_PROTOCOL))
    .join(', ');

const DROPPED = ['connection', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade'];
const CORS = ['credentials', 'headers', 'methods', 'origin'].map((part) => `access-control-allow-${part}`);

/** The headers of a backend's answer that its client gets. */
export function answeredHeaders(headers: Headers): Headers {
  const out = new Headers(headers);
  for (const name of [...DROPPED, ...CORS]) out.delete(name);
  return out;
}

/** What the front makes of one request header on its way to the Worker. */
export interface RequestField {
  name: string;
  value: string;
  use: 'pseudo' | 'pass' | 'drop' | 'length' | 'cookie' | 'host' | 'invalid';
  /** For `pass`: the line of HTTP/1.1. */
  line: string;
}

/** An answer of the front itself, to a request that the Worker did not take. */
export interface Refusal {
  status: number;
  /** Of the Status in the body; the status line carries the same in words. */
  reason: string;
  message: string;
  /** The Status has empty details. */
  details?: boolean;
}

/** The parts of a request as they came in. */
export interface IncomingHead {
  method: string;
  path: string;
  host: string;
  /** Header lines to pass on. */
  lines: string;
  /** Value of Content-Length, -1 without one. */
  contentLength: number;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused (RFC 9110, 5.5)
const BAD_VALUE = /[\u0000\r\n]|^[ \t]|[ \t]$/;
const TARGET = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/;
const HOST = /^[A-Za-z0-9\-._~%:[\]]*$/;
const CONNECTION_HEADERS = new Set(['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade']);
const DROPPED = new Set(['te', 'trailer', 'expect', 'http2-settings']);

/**
 * Classifies a header of an HTTP/2 request, whose names are in lower case (RFC 9113, 8.2): headers that concern one
 * connection make it invalid. What Cloudflare's edge would set (`cf-*`) never comes from a client.
 */
export function requestField(name: string, value: string): RequestField {
  return { name, value, use: useOf(name, value), line: `${name}: ${value}\r\n` };
}

function useOf(name: string, value: string): RequestField['use'] {
  if (name.charCodeAt(0) === 58) return 'pseudo';
  if (!TOKEN.test(name) || BAD_VALUE.test(value) || CONNECTION_HEADERS.has(name)) return 'invalid';
  if (DROPPED.has(name) || name.startsWith('cf-')) return 'drop';
  if (name === 'content-length') return 'length';
  return name === 'cookie' || name === 'host' ? name : 'pass';
}

/** The same for HTTP/1.1, where headers that concern the connection are legal and are dropped. */
export function http1Field(name: string, value: string): RequestField {
  const field = requestField(name.toLowerCase(), value.trim());
  return CONNECTION_HEADERS.has(field.name) ? { ...field, use: 'drop' } : field;
}

/** Reads a Content-Length that may be repeated with the same value (RFC 9110, 8.6); -2 when it is malformed. */
export function contentLength(value: string, before: number): number {
  const length = /^\d{1,15}$/.test(value) ? Number(value) : -2;
  return before === -1 || before === length ? length : -2;
}

/** Why a request cannot be passed on, if so. */
export function refusal({ method, path, host, contentLength: length }: IncomingHead): Refusal | undefined {
  if (method === 'CONNECT') return { status: 405, reason: 'MethodNotAllowed', message: 'CONNECT is not supported' };
  const good = METHOD.test(method) && TARGET.test(path) && HOST.test(host) && length > -2;
  return good ? undefined : { status: 400, reason: 'BadRequest', message: 'malformed request line or headers' };
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * The method under which a request goes to the Worker. workerd answers 501 by itself to any that it does not know, so that
 * they go as one that it knows and the API does not: who asks is refused as by the API.
 */
export const passedMethod = (method: string): string => (METHODS.has(method) ? method : 'PROPFIND');

/** Headers that the front adds: who the client is. Constant for a connection. `certificates` (DER): its own and its chain. */
export function clientLines(cfBlobHeader: string, certificates: readonly Buffer[], address: string): string {
  return `${cfBlobHeader}: ${cfBlob(certificates)}\r\ncf-connecting-ip: ${address}\r\n`;
}

/** What the Worker finds as `request.cf`, of a client with these certificates (DER): its own and its chain. */
export const cfBlob = (certificates: readonly Buffer[]): string =>
  JSON.stringify({ tlsClientAuth: tlsClientAuth(certificates) });

/** The longest certificate and the longest chain that Cloudflare's edge hands on, in bytes of their RFC 9440 forms. */
const MAX_CERTIFICATE_BYTES = 10 * 1024;
const MAX_CHAIN_BYTES = 16 * 1024;

const byteSequence = (der: Buffer): string => `:${der.toString('base64')}:`;

function tlsClientAuth([certificate, ...chain]: readonly Buffer[]): Record<string, unknown> {
  if (!certificate) return { certPresented: '0', certRFC9440: '', certRFC9440TooLarge: false };
  const [text, chainText] = [byteSequence(certificate), chain.map(byteSequence).join(', ')];
  const [tooLarge, chainTooLarge] = [text.length > MAX_CERTIFICATE_BYTES, chainText.length > MAX_CHAIN_BYTES];
  return {
    certPresented: '1',
    certRFC9440: tooLarge ? '' : text,
    certRFC9440TooLarge: tooLarge,
    certChainRFC9440: chainTooLarge ? '' : chainText,
    certChainRFC9440TooLarge: chainTooLarge,
  };
}

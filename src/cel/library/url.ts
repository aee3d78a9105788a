import { type Definition, LIBRARY_TYPES } from '../functions.ts';
import { ArrayList, EntryMap, Fault, Opaque, type Value } from '../values.ts';

/** Kubernetes' url library: URLs as Go's net/url reads them, which escapes less than the WHATWG's. */

interface Parts {
  scheme: string;
  host: string;
  path: string;
  query: string;
}

class Url extends Opaque {
  readonly type = LIBRARY_TYPES.URL!;
  readonly parts: Parts;
  readonly text: string;

  constructor(parts: Parts, text: string) {
    super();
    this.parts = parts;
    this.text = text;
  }

  equals(other: Opaque): boolean {
    return other instanceof Url && other.text === this.text;
  }
}

const shown = (text: string) => JSON.stringify(text);

/** Why a text is no absolute URI or path (Go's url.ParseRequestURI); `undefined` for one. */
export function uriError(text: string): string | undefined {
  const fail = (why: string) => `parse ${shown(text)}: ${why}`;
  if (text === '') return fail('empty url');
  if ([...text].some((c) => c < ' ' || c === '\x7f')) return fail('net/url: invalid control character in URL');
  const colon = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text);
  if (text.startsWith(':')) return fail('missing protocol scheme');
  const rest = colon === null ? text : text.slice(colon[0].length);
  if (colon === null && /^[^/?#]*:/.test(text)) return fail('first path segment in URL cannot contain colon');
  if (!rest.startsWith('/') && colon === null) return fail('invalid URI for request');
  const authority = /^\/\/([^/?#]*)/.exec(rest)?.[1] ?? '';
  const faulty = authorityError(authority);
  if (faulty !== undefined) return fail(faulty);
  const broken = /%(?![0-9a-fA-F]{2})(.{0,2})/.exec(rest.split('?')[0]!);
  return broken === null ? undefined : fail(`invalid URL escape ${shown(broken[0])}`);
}

/** Why a text is no URL (Go's url.Parse), which may be relative or empty; `undefined` for one. */
export function urlError(text: string): string | undefined {
  const [beforeFragment = ''] = text.split('#');
  if (beforeFragment === '') return undefined;
  const why = uriError(beforeFragment);
  return why?.endsWith(': invalid URI for request') ? undefined : why;
}

function authorityError(authority: string): string | undefined {
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const bracket = host.lastIndexOf(']');
  if (host.startsWith('[') && bracket < 0) return "missing ']' in host";
  const port = /:(.*)$/.exec(host.slice(bracket + 1));
  if (port !== null && !/^\d*$/.test(port[1]!)) return `invalid port ${shown(port[0])} after host`;
  const odd = /[ "<>^`{|}\\]/.exec(host)?.[0];
  return odd === undefined ? undefined : `invalid character ${shown(odd)} in host name`;
}

function parse(text: string): Url {
  const why = uriError(text);
  if (why !== undefined) throw new Fault(`URL parse error during conversion from string: ${why}`);
  const [, scheme = '', rest = ''] = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?([^#]*)/.exec(text) ?? [];
  const [body = '', ...queries] = rest.split('?');
  const [, authority = '', path = ''] = /^(?:\/\/([^/]*))?(.*)$/s.exec(body) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const isOpaque = scheme !== '' && !body.startsWith('/');
  const parts = { scheme: scheme.toLowerCase(), host, path: isOpaque ? '' : path, query: queries.join('?') };
  return new Url(parts, text);
}

function hostname({ parts: { host } }: Url): string {
  if (host.startsWith('[')) return host.slice(1, host.lastIndexOf(']'));
  return host.replace(/:\d*$/, '');
}

const port = ({ parts: { host } }: Url): string => /:(\d*)$/.exec(host.slice(host.lastIndexOf(']') + 1))?.[1] ?? '';

/** Escapes what Go's EscapedPath does where the path is not a valid encoding already. */
function escapedPath({ parts: { path } }: Url): string {
  const isEncoded = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]]|%[0-9a-fA-F]{2})*$/.test(path);
  if (isEncoded) return path;
  return encodeURI(decodeLeniently(path))
    .replaceAll('[', '%5B')
    .replaceAll(']', '%5D')
    .replaceAll('#', '%23')
    .replaceAll("'", '%27');
}

function decodeLeniently(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function query({ parts }: Url): EntryMap {
  const out = new Map<string, Value[]>();
  for (const pair of parts.query.split('&')) {
    if (pair === '' || pair.includes(';') || /%(?![0-9a-fA-F]{2})/.test(pair)) continue;
    const [key = '', ...value] = pair.split('=').map((part) => decodeLeniently(part.replaceAll('+', ' ')));
    out.set(key, [...(out.get(key) ?? []), value.join('=')]);
  }
  return new EntryMap([...out].map(([key, values]): [Value, Value] => [key, new ArrayList(values)]));
}

export const urls: readonly Definition[] = [
  ['string_to_url', 'url(string): URL', parse],
  ['url_get_scheme', 'URL.getScheme(): string', ({ parts }: Url) => parts.scheme],
  ['url_get_host', 'URL.getHost(): string', ({ parts }: Url) => parts.host],
  ['url_get_hostname', 'URL.getHostname(): string', hostname],
  ['url_get_port', 'URL.getPort(): string', port],
  ['url_get_escaped_path', 'URL.getEscapedPath(): string', escapedPath],
  ['url_get_query', 'URL.getQuery(): map(string, list(string))', query],
  ['is_url_string', 'isURL(string): bool', (text: string) => uriError(text) === undefined],
];

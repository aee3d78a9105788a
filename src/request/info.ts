import { pathSegment } from '../api/validation/names.ts';
import type { RequestInfo } from './context.ts';

/** A path that names a special verb and nothing else; upstream answers 500 in plain text. */
export class UnreadablePathError extends Error {}

const METHOD_VERBS: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);
const PREFIXED_VERBS: ReadonlySet<string> = new Set(['proxy', 'watch']);
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

const decode = (path: string) => {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

/** A query flag that is set: present and neither `0` nor `false`. */
function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** The name that a field selector asks for with `metadata.name=NAME`, when it can be a name. */
function selectedName(query: URLSearchParams): string {
  for (const term of (query.get('fieldSelector') ?? '').split(',')) {
    const match = /^metadata\.name==?([^=!]+)$/.exec(term);
    if (match?.[1] !== undefined && pathSegment(match[1], false).length === 0) return match[1];
  }
  return '';
}

/**
 * What a request asks for, read off its method, path (below the tenant) and query: upstream's RequestInfo, whose verb
 * and names authorization goes by. Throws {@link UnreadablePathError} for `/api/v1/watch` alone.
 */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const info: RequestInfo = {
    isResourceRequest: false,
    path,
    verb: method.toLowerCase(),
    apiPrefix: '',
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    parts: [],
  };
  const segments = decode(path)
    .replace(/^\/+|\/+$/g, '')
    .split('/');
  const grouped = segments[0] === 'apis';
  if ((segments[0] !== 'api' && !grouped) || segments.length < (grouped ? 4 : 3)) return info;
  info.isResourceRequest = true;
  info.apiPrefix = segments.shift()!;
  if (grouped) info.group = segments.shift()!;
  info.version = segments.shift()!;
  const prefixed = PREFIXED_VERBS.has(segments[0]!);
  if (prefixed && segments.length < 2) {
    throw new UnreadablePathError(`unable to determine kind and namespace from url, ${path}`);
  }
  info.verb = prefixed ? segments.shift()! : (METHOD_VERBS.get(method) ?? '');
  if (segments[0] === 'namespaces' && segments.length > 1) {
    info.namespace = segments[1]!;
    if (segments.length > 2 && !NAMESPACE_SUBRESOURCES.has(segments[2]!)) segments.splice(0, 2);
  }
  info.parts = segments;
  info.resource = segments[0]!;
  info.name = segments[1] ?? '';
  if (info.verb !== 'proxy') info.subresource = segments[2] ?? '';
  if (info.name === '') {
    if (info.verb === 'get') {
      info.verb = isSet(query, 'watch') ? 'watch' : 'list';
      info.name = selectedName(query);
    } else if (info.verb === 'delete') info.verb = 'deletecollection';
  }
  return info;
}

import type { Consistency, Requirement, Revision } from '../keyspace/types.ts';
import type { Resource } from '../registry/resource.ts';
import { badRequest, causes, invalid, type StatusCause } from '../status/status.ts';
import { parseFieldSelector, parseLabelSelector } from './selectors.ts';

/** metav1.ListOptions of a list, watch or deletecollection request, parsed and checked. */
export interface ListOptions {
  watch: boolean;
  labels: Requirement[];
  fields: Requirement[];
  limit: number;
  continue: string;
  /** `undefined` when absent; 0 means "any". */
  resourceVersion: Revision | undefined;
  resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
  timeoutSeconds: number | undefined;
  allowWatchBookmarks: boolean;
  sendInitialEvents: boolean | undefined;
}

/** Go's query conversion: present and neither `0` nor `false` is true. */
function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : value !== '0' && value.toLowerCase() !== 'false';
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^[-+]?\d{1,19}$/.test(value))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return Number(value);
}

/** Parses a resourceVersion; `undefined` when empty. Throws 400. */
export function parseResourceVersion(text: string | null): Revision | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d+$/.test(text) || Number(text) > Number.MAX_SAFE_INTEGER)
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return Number(text);
}

/**
 * Reads and checks list options as upstream does: bad numbers and selectors are 400, bad combinations 422 with causes
 * on `ListOptions.meta.k8s.io`. `forceWatch` is set for the deprecated `/watch/` paths.
 */
export function parseListOptions(query: URLSearchParams, resource: Resource, forceWatch = false): ListOptions {
  const watch = forceWatch || (flag(query, 'watch') ?? false);
  const match = query.get('resourceVersionMatch') ?? '';
  const resourceVersion = query.get('resourceVersion') ?? '';
  const sendInitialEvents = flag(query, 'sendInitialEvents');
  const token = query.get('continue') ?? '';
  const limit = integer(query, 'limit') ?? 0;
  const timeoutSeconds = integer(query, 'timeoutSeconds');
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const found = watch
    ? watchFaults(match, resourceVersion, sendInitialEvents, token)
    : listFaults(match, resourceVersion, sendInitialEvents, token);
  if (found.length > 0) throw invalid({ group: 'meta.k8s.io', name: 'ListOptions' }, '', found);
  return {
    watch,
    labels,
    fields: parseFieldSelector(query.get('fieldSelector') ?? '', resource),
    limit: Math.max(0, limit),
    continue: token,
    resourceVersion: parseResourceVersion(resourceVersion),
    resourceVersionMatch: match as ListOptions['resourceVersionMatch'],
    timeoutSeconds,
    allowWatchBookmarks: flag(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents,
  };
}

function listFaults(
  match: string,
  version: string,
  sendInitialEvents: boolean | undefined,
  token: string,
): StatusCause[] {
  const out: StatusCause[] = [];
  const field = 'resourceVersionMatch';
  if (match !== '') {
    if (version === '')
      out.push(causes.forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
    if (token !== '') out.push(causes.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
    if (match !== 'Exact' && match !== 'NotOlderThan') out.push(unsupported(match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && version === '0')
      out.push(causes.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  if (sendInitialEvents !== undefined)
    out.push(causes.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  return out;
}

function watchFaults(
  match: string,
  version: string,
  sendInitialEvents: boolean | undefined,
  token: string,
): StatusCause[] {
  const out: StatusCause[] = [];
  const field = 'resourceVersionMatch';
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
    out.push(causes.forbidden(field, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  if (match !== '') {
    if (sendInitialEvents === undefined)
      out.push(
        causes.forbidden(field, 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'),
      );
    if (match !== 'NotOlderThan') out.push(unsupported(match, ['NotOlderThan']));
    if (token !== '') out.push(causes.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  if (token !== '' && match === '' && sendInitialEvents === undefined && (version === '' || version === '0'))
    out.push(causes.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
  return out;
}

const unsupported = (value: string, supported: string[]): StatusCause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((s) => JSON.stringify(s)).join(', ')}`,
  field: 'resourceVersionMatch',
});

/** Where the next page of a chunked list starts. */
export interface ContinueToken {
  /** Revision of the snapshot; -1: whatever is newest (an inconsistent continuation). */
  revision: number;
  /** Only keys greater than this one follow. */
  after: string;
}

/** Encodes a continue token: base64url JSON with the key relative to the list's prefix. */
export function encodeContinue(prefix: string, token: ContinueToken): string {
  const json = JSON.stringify({
    v: 'meta.k8s.io/v1',
    rv: token.revision,
    start: `${token.after.slice(prefix.length)}\u0000`,
  });
  const bytes = new TextEncoder().encode(json);
  let binary = '';
  for (const b of bytes) binary += String.fromCharCode(b);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Decodes a continue token made for `prefix`. Throws 400. */
export function decodeContinue(prefix: string, token: string): ContinueToken {
  let data: unknown;
  try {
    const binary = atob(token.replaceAll('-', '+').replaceAll('_', '/'));
    data = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0))));
  } catch {
    throw badRequest('invalid continue token: continue key is not valid');
  }
  const { v, rv, start } = (data ?? {}) as { v?: unknown; rv?: unknown; start?: unknown };
  if (
    v !== 'meta.k8s.io/v1' ||
    typeof rv !== 'number' ||
    !Number.isSafeInteger(rv) ||
    rv === 0 ||
    typeof start !== 'string' ||
    start === ''
  )
    throw badRequest('invalid continue token: continue key is not valid');
  if (start.includes('/..') || start.startsWith('..')) throw badRequest(`invalid continue token: invalid continue key`);
  return { revision: rv, after: prefix + (start.endsWith('\u0000') ? start.slice(0, -1) : start) };
}

/** How fresh a list without a continue token must be, as upstream's watch cache reads resourceVersion and its match. */
export function listConsistency(options: ListOptions): Consistency {
  const { resourceVersion, resourceVersionMatch: match, limit } = options;
  if (resourceVersion === undefined) return { type: 'linearizable' };
  if (resourceVersion === 0) return { type: 'any' };
  const exact = match === 'Exact' || (match === '' && limit > 0);
  return { type: exact ? 'exact' : 'notOlderThan', revision: resourceVersion };
}

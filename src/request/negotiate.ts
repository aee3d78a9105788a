import { noAcceptedRepresentation, notAcceptable } from '../status/status.ts';

export type MediaType = 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf';

/** The group, version and kind that a client asks an answer to be turned into (`as`, `g` and `v` of Accept). */
export interface Transform {
  group: string;
  version: string;
  kind: string;
}

/** What one endpoint can answer with. */
export interface Endpoint {
  /**
   * Media types of the routing table, which compares them literally before negotiation begins: there `application/*`
   * matches nothing. Absent for custom resources, which are served behind no routing table. `*` takes everything.
   */
  routed?: readonly string[];
  /** Media types of an answer that is not transformed. */
  plain: readonly MediaType[];
  /** Whether an answer of this media type can be transformed so. */
  transforms(type: MediaType, to: Transform): boolean;
}

/** The form of an answer. */
export interface Negotiated {
  mediaType: MediaType;
  /** Value of the Content-Type header. */
  contentType: string;
  /** What to turn the answer into, if not left as it is. */
  as?: Transform;
  /** Indented JSON, without a newline at the end; compact JSON ends with one. */
  pretty: boolean;
  /** `profile` parameter, which aggregated discovery takes. */
  profile?: string;
}

export const JSON_TYPE: MediaType = 'application/json';
export const YAML_TYPE: MediaType = 'application/yaml';
export const PROTOBUF_TYPE: MediaType = 'application/vnd.kubernetes.protobuf';

/** Everything that the server can write, in the order in which it prefers and lists them. */
export const mediaTypes: readonly MediaType[] = [JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE];
const streamTypes = [`${JSON_TYPE};stream=watch`, `${PROTOBUF_TYPE};stream=watch`];
const withoutProtobuf: readonly MediaType[] = [JSON_TYPE, YAML_TYPE];

function metaTransforms(type: MediaType, to: Transform): boolean {
  if (to.group !== 'meta.k8s.io' || (to.version !== 'v1' && to.version !== 'v1beta1')) return false;
  if (to.kind === 'Table') return type !== PROTOBUF_TYPE;
  return to.kind === 'PartialObjectMetadata' || to.kind === 'PartialObjectMetadataList';
}
const metadataTransforms = (type: MediaType, to: Transform) => to.kind !== 'Table' && metaTransforms(type, to);
const noTransforms = () => false;

/** The kinds of endpoint that kube-apiserver has, as far as negotiation tells them apart. */
export const endpoints = {
  /** One object of a built-in resource, and every write. */
  object: { routed: mediaTypes, plain: mediaTypes, transforms: metaTransforms },
  /** What is only ever posted, such as reviews: it has no columns. */
  call: { routed: mediaTypes, plain: mediaTypes, transforms: metadataTransforms },
  /** Lists and watches of a built-in resource. */
  collection: { routed: [...mediaTypes, ...streamTypes], plain: mediaTypes, transforms: metaTransforms },
  /** Everything of a custom resource: no protobuf but for metadata. */
  custom: { plain: withoutProtobuf, transforms: metaTransforms },
  /** Discovery documents in their own form. */
  discovery: { routed: mediaTypes, plain: mediaTypes, transforms: noTransforms },
  /** Discovery documents that are served behind no routing table: lists of groups, and all of custom groups. */
  groups: { plain: mediaTypes, transforms: noTransforms },
} satisfies Record<string, Endpoint>;

/**
 * An endpoint that has media types of its own in the routing table, before the usual ones: `text/plain` for logs,
 * `*` alone for connections.
 */
export function withRouted(endpoint: Endpoint, ...types: string[]): Endpoint {
  return { ...endpoint, routed: types.includes('*') ? types : [...types, ...(endpoint.routed ?? [])] };
}

interface Clause {
  type: string;
  subtype: string;
  q: number;
  params: Map<string, string>;
}

const trimSpaces = (s: string) => s.replace(/^ +| +$/g, '');

function parseClause(part: string): Clause | undefined {
  const [range = '', ...rest] = part.split(';');
  const [type = '', subtype = '', ...more] = range.split('/');
  if (more.length > 1 || (more.length === 1 && more[0] !== '')) return undefined;
  const clause: Clause = { type: trimSpaces(type), subtype: trimSpaces(subtype), q: 1, params: new Map() };
  if (subtype === '') {
    if (clause.type !== '*') return undefined;
    clause.subtype = '*';
  }
  for (const param of rest) {
    const [name = '', value = '', ...extra] = param.split('=');
    if (value === '' || extra.join('=') !== '') continue;
    if (trimSpaces(name) === 'q') clause.q = Number(value) || 0;
    else clause.params.set(trimSpaces(name), trimSpaces(value));
  }
  return clause;
}

const before = (a: Clause, b: Clause) =>
  a.q > b.q || (a.type !== '*' && b.type === '*') || (a.subtype !== '*' && b.subtype === '*');

/** Clauses by preference. The order is not a total one, so upstream's insertion sort is part of the behaviour. */
function parseAccept(header: string): Clause[] {
  const clauses: Clause[] = [];
  for (const part of header.split(',')) {
    const clause = parseClause(trimSpaces(part));
    if (clause === undefined) continue;
    let at = clauses.length;
    while (at > 0 && before(clause, clauses[at - 1]!)) at--;
    clauses.splice(at, 0, clause);
  }
  return clauses;
}

function routeMatches(header: string, routed: readonly string[]): boolean {
  if (routed.includes('*')) return true;
  return header.split(',').some((part) => {
    const type = trimSpaces(part.split(';', 1)[0] ?? '');
    return type === '*/*' || routed.includes(type);
  });
}

function transformOf(params: Map<string, string>): Transform | undefined {
  const kind = params.get('as');
  const group = params.get('g');
  const version = params.get('v');
  if (kind === undefined && group === undefined && version === undefined) return undefined;
  return { kind: kind ?? '', group: group ?? '', version: version ?? '' };
}

function accepts(clause: Clause, type: MediaType, endpoint: Endpoint): Negotiated | undefined {
  const stream = clause.params.get('stream');
  if (stream !== undefined && (stream !== 'watch' || type === YAML_TYPE)) return undefined;
  const version = clause.params.get('sv');
  if (version !== undefined && version !== 'v1') return undefined;
  const as = transformOf(clause.params);
  if (as === undefined ? !endpoint.plain.includes(type) : !endpoint.transforms(type, as)) return undefined;
  const profile = clause.params.get('profile');
  return {
    mediaType: type,
    contentType: type,
    pretty: clause.params.get('pretty') === '1',
    ...(as === undefined ? {} : { as }),
    ...(profile === undefined ? {} : { profile }),
  };
}

function choose(header: string, endpoint: Endpoint): Negotiated | undefined {
  if (header === '') return { mediaType: JSON_TYPE, contentType: JSON_TYPE, pretty: false };
  for (const clause of parseAccept(header)) {
    for (const type of mediaTypes) {
      const [main, sub] = type.split('/');
      const matches =
        (clause.type === main && (clause.subtype === sub || clause.subtype === '*')) ||
        (clause.type === '*' && clause.subtype === '*');
      const chosen = matches ? accepts(clause, type, endpoint) : undefined;
      if (chosen !== undefined) return chosen;
    }
  }
  return undefined;
}

const common = new Map<string, Negotiated>([
  ['', { mediaType: JSON_TYPE, contentType: JSON_TYPE, pretty: false }],
  [JSON_TYPE, { mediaType: JSON_TYPE, contentType: JSON_TYPE, pretty: false }],
]);

/**
 * Chooses the form of a successful answer from the Accept header (absent: JSON). `pretty` is {@link wantsPretty}.
 * Throws 406 with the list of representations, in the routing table's words or in negotiation's.
 */
export function negotiate(accept: string | null, endpoint: Endpoint, pretty = false): Negotiated {
  const header = accept ?? '';
  const quick = common.get(header);
  if (quick !== undefined) return pretty ? { ...quick, pretty } : quick;
  if (endpoint.routed !== undefined && header !== '' && !routeMatches(header, endpoint.routed)) {
    throw notAcceptable([...endpoint.routed]);
  }
  const chosen = choose(header, endpoint);
  if (chosen === undefined) throw noAcceptedRepresentation(mediaTypes);
  return pretty ? { ...chosen, pretty } : chosen;
}

const aggregatedDiscovery: Endpoint = {
  plain: [],
  transforms: (_, to) =>
    to.group === 'apidiscovery.k8s.io' && to.version === 'v2' && to.kind === 'APIGroupDiscoveryList',
};

/**
 * The form of aggregated discovery if the header accepts it anywhere, `undefined` if not: then the documents are served
 * without aggregation.
 */
export function negotiateAggregated(accept: string | null, pretty = false): Negotiated | undefined {
  const chosen = accept === null || accept === '' ? undefined : choose(accept, aggregatedDiscovery);
  if (chosen?.as === undefined) return undefined;
  const { group, version, kind } = chosen.as;
  const contentType = `${chosen.mediaType};g=${group};v=${version};as=${kind}`;
  return { ...chosen, contentType, ...(pretty ? { pretty } : {}) };
}

/**
 * Chooses the form of a watch: JSON objects one a line, or length-delimited protobuf. YAML has no framing, so a client
 * that prefers it gets 406. Never pretty.
 */
export function negotiateWatch(accept: string | null, endpoint: Endpoint): Negotiated {
  const chosen = negotiate(accept, endpoint);
  if (chosen.mediaType === YAML_TYPE) throw noAcceptedRepresentation(streamTypes);
  if (chosen.mediaType === JSON_TYPE) return chosen.pretty ? { ...chosen, pretty: false } : chosen;
  return { ...chosen, pretty: false, contentType: `${chosen.mediaType};stream=watch` };
}

/**
 * The form of an error's Status: an Accept header that cannot be met does not hide the error, it gets indented JSON.
 * Transformations do not apply to errors, so a header that only asks for such gets that too.
 */
export function negotiateError(accept: string | null, pretty = false): Negotiated {
  const chosen = choose(accept ?? '', endpoints.discovery);
  if (chosen === undefined) return { mediaType: JSON_TYPE, contentType: JSON_TYPE, pretty: true };
  return pretty ? { ...chosen, pretty } : chosen;
}

const truths = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const people = /^(curl|Wget|Mozilla\/5\.0)/;

/** Whether JSON is to be indented: the `pretty` query parameter decides, else whether people read the answers. */
export function wantsPretty(query: URLSearchParams, userAgent: string | null): boolean {
  const asked = query.get('pretty');
  if (asked !== null && asked !== '') return truths.has(asked);
  return userAgent !== null && people.test(userAgent);
}

import type { AggregatedDocuments } from '../aggregation/documents.ts';
import { builtins } from '../registry/resource.ts';
import {
  type Endpoint,
  endpoints,
  JSON_TYPE,
  mediaTypes,
  negotiate,
  negotiateAggregated,
  wantsPretty,
} from '../request/negotiate.ts';
import { plainText } from '../status/answer.ts';
import { methodNotAllowed, noSuchResource } from '../status/status.ts';
import { type Elsewhere, groupDiscoveryList } from './aggregated.ts';
import {
  type AggregatedVersions,
  type Catalog,
  type CustomRows,
  catalogOf,
  derived,
  isBuiltinGroup,
} from './catalog.ts';
import { type Document, documentBody, makeDocument, sha512 } from './document.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './groups.ts';
import {
  answerCheck,
  answerHealth,
  checksOf,
  type HealthEndpoint,
  type HealthProbes,
  healthEndpoints,
  runChecks,
} from './health.ts';
import { type Metrics, renderHealth } from './metrics.ts';
import { answerOpenApi } from './openapi/routes.ts';
import { versionInfo } from './version.ts';

/** What a request for discovery says. */
export interface DiscoveryRequest {
  /** Path below the tenant. */
  path: string;
  method: string;
  headers: Headers;
  query: URLSearchParams;
  /** Address that the client has used, `host:port`. */
  host: string;
}

/** What the answers are made from. */
export interface DiscoveryDeps {
  /** Rows of the tenant's served custom resources; the built-in ones are known. */
  custom: CustomRows;
  /** Group versions of other servers, of the same bundle. */
  aggregated: AggregatedVersions;
  /** What other servers say of themselves; absent where there are none. */
  documents?: AggregatedDocuments;
  health: HealthProbes;
  metrics: Metrics;
  /** Stored objects by `resource.group`, for `/metrics`. */
  objectCounts(): Promise<ReadonlyMap<string, number>>;
  /** The clock of headers such as Expires; that of the runtime when left out. */
  now?(): Date;
}

type Answer = Promise<Response> | undefined;

const metricsHeaders = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores' };

/** The plain 404 of every path that nothing is known of. */
export const pageNotFound = (): Response => plainText('404 page not found', 404);

/**
 * The answer for a path that leads to no served resource: a Status below `/api/`, `/version/` and the built-in groups
 * (thrown), else plain text.
 */
export function unknownPath(path: string): Response {
  const [, root = '', group = '', ...below] = path.split('/');
  if ((root === 'api' || root === 'version') && path.length > root.length + 1) throw noSuchResource();
  if (root === 'apis' && below.length > 0 && group !== '' && isBuiltinGroup(group)) throw noSuchResource();
  return pageNotFound();
}

/**
 * Answers discovery, OpenAPI, version, health, metrics and the list of paths. `undefined` if the path belongs to none
 * of them (then it is a resource's, or {@link unknownPath}). Throws a StatusError for a wrong method or Accept header.
 */
export function answerDiscovery(request: DiscoveryRequest, deps: DiscoveryDeps): Answer {
  const parts = request.path.split('/').slice(1);
  if (parts.length > 1 && parts.at(-1) === '') parts.pop();
  return sections.get(parts[0] ?? '')?.(request, deps, parts);
}

type Section = (request: DiscoveryRequest, deps: DiscoveryDeps, parts: string[]) => Answer;

const health: Section = ({ path, query }, deps, parts) => {
  const endpoint = parts[0] as HealthEndpoint;
  if (path === `/${endpoint}`) return answerHealth(endpoint, query, deps.health);
  const check = checksOf(endpoint).find(({ name }) => path === `/${endpoint}/${name}`);
  return check === undefined ? undefined : answerCheck(check, deps.health);
};

const root: Section = ({ path }, deps) =>
  path === '/' || path === '/index.html'
    ? rawJson({ paths: rootPaths(catalogOf(deps.custom, deps.aggregated)) })
    : undefined;

const version: Section = (request, _, parts) => {
  if (parts.length > 1) return undefined;
  onlyGet(request);
  negotiate(request.headers.get('accept'), { routed: [JSON_TYPE], plain: mediaTypes, transforms: () => true });
  return rawJson(versionInfo);
};

const metrics: Section = ({ path }, deps) => {
  if (path === '/metrics') return renderMetrics(deps);
  return path === '/metrics/slis' ? renderSlis(deps) : undefined;
};

const api: Section = (request, deps, parts) => {
  const catalog = catalogOf(deps.custom, deps.aggregated);
  if (parts.length === 2 && parts[1] === 'v1') return answerVersion(request, catalog, 'v1');
  if (parts.length !== 1) return undefined;
  onlyGet(request);
  const aggregated = answerAggregated(request, catalog, true, undefined);
  if (aggregated !== undefined) return aggregated;
  return respond(request, makeDocument(apiVersions(request.host), 'v1', 'APIVersions'), endpoints.discovery);
};

const apis: Section = (request, deps, parts) => {
  const catalog = catalogOf(deps.custom, deps.aggregated);
  const [, name, versionName] = parts;
  if (name === undefined) {
    const aggregated = answerAggregated(request, catalog, false, deps.documents);
    const list = () => makeDocument(apiGroupList(catalog), 'v1', 'APIGroupList');
    return aggregated ?? respond(request, derived(catalog, 'groups', list), endpoints.groups);
  }
  if (name === '' || parts.length > 3) return undefined;
  if (versionName !== undefined) return answerVersion(request, catalog, `${name}/${versionName}`);
  const group = catalog.groups.find((g) => g.name === name);
  if (group === undefined) return undefined;
  const document = derived(catalog, `group ${name}`, () => makeDocument(apiGroup(group), 'v1', 'APIGroup'));
  return respond(request, document, endpoints.groups);
};

const sections: ReadonlyMap<string, Section> = new Map<string, Section>([
  ['', root],
  ['index.html', root],
  ['api', api],
  ['apis', apis],
  ['healthz', health],
  ['livez', health],
  ['readyz', health],
  ['metrics', metrics],
  [
    'openapi',
    (request, { documents, custom, aggregated, now }) =>
      answerOpenApi({ ...request, now: now?.() ?? new Date() }, catalogOf(custom, aggregated), documents),
  ],
  ['version', version],
]);

function onlyGet({ method }: DiscoveryRequest): void {
  if (method !== 'GET') throw methodNotAllowed();
}

function answerVersion(request: DiscoveryRequest, catalog: Catalog, groupVersion: string): Answer {
  const rows = catalog.byGroupVersion.get(groupVersion);
  if (rows === undefined) return undefined;
  const builtin = builtins.has(groupVersion);
  if (builtin) onlyGet(request);
  const list = () => makeDocument(apiResourceList(rows), 'v1', 'APIResourceList');
  return respond(request, derived(catalog, groupVersion, list), builtin ? endpoints.discovery : endpoints.groups);
}

const prettyOf = ({ query, headers }: DiscoveryRequest) => wantsPretty(query, headers.get('user-agent'));

async function respond(request: DiscoveryRequest, document: Document, endpoint: Endpoint): Promise<Response> {
  const form = negotiate(request.headers.get('accept'), endpoint, prettyOf(request));
  return new Response(documentBody(document, form), { headers: { 'Content-Type': form.contentType } });
}

/** Aggregated discovery, if the client accepts it; the routing table of `/api` is looked at first. */
function answerAggregated(
  request: DiscoveryRequest,
  catalog: Catalog,
  core: boolean,
  documents: AggregatedDocuments | undefined,
): Answer {
  const accept = request.headers.get('accept');
  const form = negotiateAggregated(accept, prettyOf(request));
  if (form === undefined) return undefined;
  if (core) negotiate(accept, { routed: mediaTypes, plain: mediaTypes, transforms: () => true });
  if (documents !== undefined) {
    return documents.discovery().then((elsewhere) => respondTagged(request, mergedList(catalog, elsewhere), form));
  }
  const document = derived(catalog, core ? 'aggregated core' : 'aggregated', () => listDocument(catalog, core));
  return respondTagged(request, document, form);
}

const listDocument = (catalog: Catalog, core: boolean, elsewhere?: Elsewhere): Document =>
  makeDocument(groupDiscoveryList(catalog, core, elsewhere), 'apidiscovery.k8s.io/v2', 'APIGroupDiscoveryList');

/** The list with what other servers said last; made anew when that changes. */
function mergedList(catalog: Catalog, elsewhere: Elsewhere): Document {
  const said = JSON.stringify([...elsewhere]);
  const known = catalog.memo.get('aggregated with others') as { said: string; document: Document } | undefined;
  if (known?.said === said) return known.document;
  const document = listDocument(catalog, false, elsewhere);
  catalog.memo.set('aggregated with others', { said, document });
  return document;
}

async function respondTagged(
  request: DiscoveryRequest,
  document: Document,
  form: NonNullable<ReturnType<typeof negotiateAggregated>>,
): Promise<Response> {
  document.etag ??= `"${await sha512(documentBody(document, { mediaType: JSON_TYPE, contentType: JSON_TYPE, pretty: false }))}"`;
  const headers = new Headers({ ETag: document.etag, Vary: 'Accept', 'Cache-Control': 'public' });
  if (request.headers.get('if-none-match') === document.etag) return new Response(null, { status: 304, headers });
  headers.set('Content-Type', form.contentType);
  return new Response(documentBody(document, form), { headers });
}

/** Documents that upstream writes past negotiation: always indented JSON. */
async function rawJson(value: object): Promise<Response> {
  return new Response(JSON.stringify(value, undefined, 2), { headers: { 'Content-Type': JSON_TYPE } });
}

async function renderMetrics(deps: DiscoveryDeps): Promise<Response> {
  return new Response(deps.metrics.render(await deps.objectCounts()), { headers: metricsHeaders });
}

async function renderSlis(deps: DiscoveryDeps): Promise<Response> {
  const outcomes = await Promise.all(
    healthEndpoints.map(async (endpoint) => [endpoint, await runChecks(checksOf(endpoint), deps.health)] as const),
  );
  return new Response(renderHealth(new Map(outcomes)), { headers: metricsHeaders });
}

const fixedPaths = [
  '/.well-known/openid-configuration',
  '/api',
  '/api/v1',
  '/apis',
  '/apis/',
  ...healthEndpoints.flatMap((endpoint) => [
    `/${endpoint}`,
    ...checksOf(endpoint).map(({ name }) => `/${endpoint}/${name}`),
  ]),
  '/metrics',
  '/metrics/slis',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/',
  '/openid/v1/jwks',
  '/version',
];

function rootPaths(catalog: Catalog): string[] {
  const named = catalog.groups.filter((group) => group.name !== '');
  const ofGroups = named.flatMap(({ name, versions }) => [
    `/apis/${name}`,
    ...versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
  ]);
  return [...fixedPaths, ...ofGroups].sort();
}

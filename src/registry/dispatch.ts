import { serveAggregated } from '../aggregation/serve.ts';
import type { KubeObject } from '../api/object.ts';
import { pathSegment } from '../api/validation/names.ts';
import { issueServiceAccountToken } from '../authn/token-request.ts';
import { isReview, serveReview } from '../authz/reviews.ts';
import type { Config } from '../config.ts';
import { unknownPath } from '../discovery/routes.ts';
import { connectionOf } from '../proxy/connections.ts';
import { serveLog } from '../proxy/log.ts';
import { readObject } from '../request/body.ts';
import type { RequestContext } from '../request/context.ts';
import { writeOptions } from '../request/options.ts';
import { badRequest, methodNotAllowed, noSuchResource, notFound } from '../status/status.ts';
import { convertingKeyspace } from './conversion/keyspace.ts';
import { serveDelete, serveDeleteCollection } from './deletes.ts';
import { expectedOf } from './endpoint.ts';
import { serveCreate, servePatch, serveUpdate } from './handlers.ts';
import { serveList } from './list.ts';
import { formOf, presenterOf, respond, respondObject } from './present.ts';
import { serveGet } from './read.ts';
import { builtins, type Resource, type Verb } from './resource.ts';
import { admitCall } from './subresources/admitted.ts';
import { serveBinding } from './subresources/binding.ts';
import { serveEviction } from './subresources/eviction.ts';
import { serveScale } from './subresources/scale.ts';
import { serveWatch } from './watch.ts';

type Handler = (ctx: RequestContext, resource: Resource, config: Config) => Promise<Response>;

/** What is served at one path: a handler for each verb. */
type Route = Partial<Record<Verb, Handler>>;

const object: Route = {
  get: serveGet,
  update: (ctx, resource) => serveUpdate(ctx, resource, ''),
  patch: (ctx, resource) => servePatch(ctx, resource, ''),
  delete: serveDelete,
};
const collection: Route = {
  create: serveCreate,
  list: serveList,
  watch: (ctx, resource) => serveWatch(ctx, resource),
  deletecollection: serveDeleteCollection,
};
const review: Route = {
  create: async (ctx, resource, config) => {
    formOf(ctx, resource, false);
    const options = writeOptions(ctx.url.searchParams, 'CreateOptions');
    const body = (await readObject(ctx, expectedOf(resource), options.fieldValidation)) as KubeObject;
    return respondObject(ctx, resource, await serveReview(config, ctx, resource.resource, body), 201);
  },
};
/** The row of a service account's tokens: the same names, another kind. */
const tokenRow = (resource: Resource): Resource => ({
  ...resource,
  group: 'authentication.k8s.io',
  version: 'v1',
  groupVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
});
const token: Route = {
  create: async (ctx, resource, config) => {
    const row = tokenRow(resource);
    formOf(ctx, row, false);
    const options = writeOptions(ctx.url.searchParams, 'CreateOptions');
    const body = await readObject(ctx, expectedOf(resource, 'token'), options.fieldValidation);
    const { namespace, name } = ctx.info;
    const request: KubeObject = { ...body, metadata: {} };
    const issued = await admitCall({ ctx, resource, subresource: 'token', namespace, name, options }, request, () =>
      issueServiceAccountToken(config, ctx, body),
    );
    return respondObject(ctx, row, issued, 201);
  },
};
const scale: Route = {
  get: (ctx, resource) => serveScale(ctx, resource, 'get'),
  update: (ctx, resource) => serveScale(ctx, resource, 'update'),
  patch: (ctx, resource) => serveScale(ctx, resource, 'patch'),
};

/** The one component that this server can speak for: its store, which has just answered. */
const componentStatus = (): KubeObject => ({
  kind: 'ComponentStatus',
  apiVersion: 'v1',
  metadata: { name: 'etcd-0' },
  conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }],
});
const component: Route = {
  get: async (ctx, resource) => {
    await ctx.keyspace.policyRevision();
    if (ctx.info.name !== 'etcd-0') throw notFound({ group: '', name: 'componentstatuses' }, ctx.info.name);
    return respondObject(ctx, resource, componentStatus());
  },
};
const components: Route = {
  list: async (ctx, resource) => {
    const form = formOf(ctx, resource, true);
    await ctx.keyspace.policyRevision();
    const body = presenterOf(ctx, resource, form).list([componentStatus()], { resourceVersion: '' });
    return respond(ctx, body, form.contentType);
  },
};

/** Subresources that are not simply a part of their object, by `resource/subresource`. */
const subresources: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['pods/binding', { create: serveBinding }],
  ['pods/eviction', { create: serveEviction }],
  ['serviceaccounts/token', token],
  ['pods/log', { get: serveLog }],
]);

/** A subresource that is a part of its object: read whole, written in part. */
const partOf = (name: string): Route => ({
  get: serveGet,
  update: (ctx, resource) => serveUpdate(ctx, resource, name),
  patch: (ctx, resource) => servePatch(ctx, resource, name),
});

const allowed = (route: Route, verbs: ReadonlySet<Verb>): Route =>
  Object.fromEntries(Object.entries(route).filter(([verb]) => verbs.has(verb as Verb)));

/** The route of a collection path; without a namespace only what looks at all of them is there. */
function collectionRoute(ctx: RequestContext, resource: Resource): Route {
  if (resource.resource === 'bindings' && resource.group === '') return { create: serveBinding };
  if (resource.resource === 'componentstatuses') return components;
  const route = allowed(isReview(resource.resource) ? review : collection, resource.verbs);
  if (!resource.namespaced || ctx.info.namespace !== '') return route;
  const { list, watch } = route;
  return { ...(list === undefined ? {} : { list }), ...(watch === undefined ? {} : { watch }) };
}

function subresourceRoute(resource: Resource, name: string): Route {
  const row = resource.subresources.get(name);
  if (row === undefined) return {};
  const special = subresources.get(`${resource.resource}/${name}`);
  if (special !== undefined) return special;
  if (row.kind === 'Scale') return scale;
  return row.kind === resource.kind ? allowed(partOf(name), row.verbs) : {};
}

function routeOf(ctx: RequestContext, resource: Resource): Route {
  const { parts, namespace } = ctx.info;
  const own = resource.group === '' && resource.resource === 'namespaces';
  if (!resource.namespaced && namespace !== '' && !own) return {};
  if (parts.length < 2) return collectionRoute(ctx, resource);
  if (resource.namespaced && namespace === '') return {};
  if (parts.length === 2 && resource.resource === 'componentstatuses') return component;
  if (parts.length === 2) return isReview(resource.resource) ? {} : allowed(object, resource.verbs);
  return parts.length === 3 ? subresourceRoute(resource, parts[2]!) : {};
}

const watched: Route = { watch: (ctx, resource) => serveWatch(ctx, resource, true) };

const isWatchPath = ({ info }: RequestContext) => /^\/(api|apis\/[^/]+)\/[^/]+\/watch\//.test(info.path);

function requireNames({ info }: RequestContext): void {
  for (const name of [info.namespace, info.parts[1] ?? '']) {
    const faults = name === '' ? [] : pathSegment(name, false);
    if (faults.length > 0) throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${faults.join(';')}`);
  }
}

/** Warnings that every use of a resource gets. */
const deprecations: ReadonlyMap<string, string> = new Map([
  ['v1 endpoints', 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  ['v1 componentstatuses', 'v1 ComponentStatus is deprecated in v1.19+'],
]);

const groupVersionOf = ({ info: { group, version } }: RequestContext) =>
  group === '' ? version : `${group}/${version}`;

/** The row of the resource that a request names: built-in, or of a definition in force. */
async function resolve(ctx: RequestContext): Promise<Resource | undefined> {
  const { info, policy } = ctx;
  const groupVersion = groupVersionOf(ctx);
  if (policy !== undefined) return policy.resource(groupVersion, info.resource);
  return builtins.get(groupVersion)?.get(info.resource);
}

/** The request's context, reading and writing in the version of its resource where a webhook converts. */
const withConversion = (ctx: RequestContext, resource: Resource): RequestContext =>
  resource.custom?.conversion === undefined ? ctx : { ...ctx, keyspace: convertingKeyspace(ctx, resource) };

/** Answers a request for a resource. Throws 404 and 405 for what is not served; an unknown group gets plain text. */
export async function serveResource(ctx: RequestContext, config: Config): Promise<Response> {
  const resource = await resolve(ctx);
  const elsewhere = ctx.policy?.bundle.aggregated.get(groupVersionOf(ctx));
  if (elsewhere !== undefined) return serveAggregated(ctx, elsewhere);
  if (resource === undefined) return unknownPath(ctx.info.path);
  ctx.resource = resource;
  const connect = connectionOf(ctx, resource);
  if (connect !== undefined) return connect(ctx, resource);
  const prefixed = isWatchPath(ctx) && ctx.info.verb === 'watch';
  const whole = routeOf(ctx, resource);
  const watchable = resource.verbs.has('watch') && (whole.watch !== undefined || ctx.info.parts.length === 2);
  const route = prefixed ? (watchable ? watched : {}) : whole;
  if (Object.keys(route).length === 0) throw noSuchResource();
  const served = prefixed ? ctx.request.method === 'GET' : ctx.request.method !== 'HEAD';
  const handler = served ? route[ctx.info.verb as Verb] : undefined;
  if (handler === undefined) throw methodNotAllowed();
  requireNames(ctx);
  const deprecation = resource.custom?.deprecation ?? deprecations.get(`${resource.groupVersion} ${resource.resource}`);
  if (deprecation !== undefined) ctx.warnings.push(deprecation);
  return handler(withConversion(ctx, resource), resource, config);
}

import { type Context, Hono, type MiddlewareHandler } from 'hono';
import type { Plugin } from './admission/chain.ts';
import { enabledPlugins } from './admission/plugins.ts';
import type { DocumentCache } from './aggregation/documents.ts';
import type { Auditor, AuditRecord } from './audit/index.ts';
import { constraintOf, impersonate } from './authn/impersonation.ts';
import { authenticate } from './authn/index.ts';
import { authorizerChain } from './authz/chain.ts';
import { AuthorizerError, authorizeRequest, isSuperuser } from './authz/index.ts';
import type { Config } from './config.ts';
import type { Metrics } from './discovery/metrics.ts';
import { isLasting, isLongRunning, tooManyFlows } from './flowcontrol/answer.ts';
import type { FlowControl } from './flowcontrol/index.ts';
import type { ShardMembers } from './keyspace/members.ts';
import type { Keyspace } from './keyspace/types.ts';
import { type Outbound, unreachable } from './outbound/index.ts';
import { RequestPolicy } from './policy/guard.ts';
import { serveResource } from './registry/dispatch.ts';
import type { RequestContext, RequestInfo, TenantUid, UserInfo } from './request/context.ts';
import { requestInfo, UnreadablePathError } from './request/info.ts';
import { serveNonResource } from './request/non-resource.ts';
import { tenantOf } from './request/tenant.ts';
import { warningHeaders } from './request/warnings.ts';
import { answerError, plainInternalError } from './status/answer.ts';

/** What the pipeline is made of; functions and values, so that tests give their own. */
export interface AppDeps {
  config: Config;
  keyspace: (tenant: TenantUid) => Keyspace;
  /** The replicas of a tenant's shard, for its operator; absent where there are none. */
  members?: (tenant: TenantUid, shard: string) => ShardMembers | undefined;
  metrics: Metrics;
  flowControl: FlowControl;
  /** Absent where nothing is audited. */
  auditor?: Auditor;
  now: () => Date;
  /** Reaches peers outside of the cluster; absent where there is no way out. */
  outbound?: Outbound;
  /** Discovery and OpenAPI of aggregated API servers, as they were answered last; absent: they are left out. */
  documents?: DocumentCache;
  /** Waits so many milliseconds; absent: by the clock. */
  sleep?: (milliseconds: number) => Promise<void>;
  /** Identity of calls that the process makes to itself. */
  loopback?: UserInfo;
}

/** What the stages of one request hand to each other. */
interface Variables {
  url: URL;
  auditId: string;
  warnings: string[];
  tenant: TenantUid;
  /** Path below the tenant. */
  path: string;
  info: RequestInfo;
  keyspace: Keyspace;
  user: UserInfo;
  audit: AuditRecord | undefined;
  policy: RequestPolicy;
}
export type Env = { Variables: Variables };
type Stage = (deps: AppDeps) => MiddlewareHandler<Env>;

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

const auditId: Stage = () => async (c, next) => {
  c.set('url', new URL(c.req.raw.url));
  c.set('warnings', []);
  c.set('auditId', c.req.raw.headers.get('audit-id') || crypto.randomUUID());
  await next();
  c.res.headers.set('Audit-Id', c.get('auditId'));
};

const responseHeaders: Stage = () => async (c, next) => {
  await next();
  const { headers } = c.res;
  if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-cache, private');
  for (const value of warningHeaders(c.get('warnings'))) headers.append('Warning', value);
};

const tenant: Stage = (deps) => async (c, next) => {
  const found = tenantOf(c.get('url').pathname, deps.config);
  c.set('tenant', found.tenant);
  c.set('path', found.path);
  c.set('keyspace', deps.keyspace(found.tenant));
  await next();
};

const info: Stage = () => async (c, next) => {
  c.set('info', requestInfo(c.req.raw.method, c.get('path'), c.get('url').searchParams));
  await next();
};

const observation: Stage = (deps) => async (c, next) => {
  const started = Date.now();
  const { method } = c.req.raw;
  const landed = deps.metrics.inFlight(!['GET', 'HEAD'].includes(method));
  await next();
  landed();
  deps.metrics.observe({ info: c.get('info'), method, code: c.res.status, seconds: (Date.now() - started) / 1000 });
};

const authentication: Stage = (deps) => async (c, next) => {
  const { config, now, loopback, outbound = unreachable, sleep = pause } = deps;
  const own = loopback === undefined ? {} : { loopback };
  const { tenant, keyspace, path } = c.var;
  const asked = { config, now, tenant, keyspace, outbound, sleep, path, ...own };
  const known = await authenticate(c.req.raw, asked).catch((error: unknown) => {
    deps.auditor?.refused({ ...c.var, request: c.req.raw }, now());
    throw error;
  });
  deps.metrics.authenticated(known.user.name);
  c.get('warnings').push(...(known.warnings ?? []));
  c.set('user', known.user);
  await next();
};

const policy: Stage = ({ config, now, outbound = unreachable, sleep = pause }) => {
  const chain = authorizerChain(config.authorization, { outbound, sleep }, now);
  return async (c, next) => {
    c.set('policy', await RequestPolicy.open(c.get('tenant'), c.get('keyspace'), chain));
    await next();
  };
};

/** Records the request where the audit policy says so: when it came, when a stream began, when it was answered. */
const audit: Stage = (deps) => async (c, next) => {
  const record = deps.auditor?.begin({ ...c.var, request: c.req.raw }, deps.now());
  c.set('audit', record);
  await next();
  if (record !== undefined) c.res = record.answer(c.res, c.error, isLasting(c.get('info')), deps.now);
};

const impersonation: Stage = () => async (c, next) => {
  const { user, info, policy, audit: record } = c.var;
  const effective = await impersonate(c.req.raw.headers, user, info, policy);
  if (effective !== user) record?.impersonated(effective, isSuperuser(user) ? constraintOf(effective) : '');
  c.set('user', effective);
  await next();
};

/** Priority and fairness: every request that ends soon, and every watch until it is open, takes seats. */
const fairness: Stage = (deps) => async (c, next) => {
  const { info, user, policy, tenant, url } = c.var;
  const { flows } = policy.bundle;
  const classification = isLongRunning(info) ? undefined : flows.classify(user, info);
  if (classification === undefined) return next();
  const limit = Number(url.searchParams.get('limit')) || 0;
  const estimate = { user, info, limit };
  const pass = await deps.flowControl.enter(tenant, flows, classification, estimate, c.req.raw.signal);
  if (pass === undefined) c.res = tooManyFlows();
  else {
    deps.metrics.dispatched(classification.schema.name, classification.level.name);
    await next().finally(() => pass.done());
  }
  c.res.headers.set('X-Kubernetes-Pf-Flowschema-Uid', classification.schema.uid);
  c.res.headers.set('X-Kubernetes-Pf-Prioritylevel-Uid', classification.level.uid);
};

const authorization: Stage = () => async (c, next) => {
  const { user, info, url, policy, audit: record } = c.var;
  await authorizeRequest(user, info, url.searchParams, policy, (verdict) => record?.authorized(verdict));
  await next();
};

const dispatch: Stage = (deps) => {
  const plugins = enabledPlugins(deps.config);
  return async (c) => {
    const ctx = contextOf(c, deps, plugins);
    return ctx.info.isResourceRequest ? serveResource(ctx, deps.config) : serveNonResource(ctx, deps);
  };
};

/** Every stage of a request, in execution order. Errors of any of them are answered by the one handler of the app. */
export const stages = Object.entries({
  auditId,
  responseHeaders,
  tenant,
  info,
  observation,
  authentication,
  audit,
  policy,
  impersonation,
  fairness,
  authorization,
  dispatch,
});

function contextOf(c: Context<Env>, deps: AppDeps, plugins: readonly Plugin[]): RequestContext {
  const { url, auditId, warnings, tenant, info, user, policy, audit: record } = c.var;
  const request = c.req.raw;
  const { now, metrics, config, outbound = unreachable, sleep = pause } = deps;
  const longRunning = () => metrics.longRunning(info, request.method);
  const listed = (objects: number) => deps.flowControl.listed(tenant, info, objects);
  const { keyspace } = policy;
  return {
    request,
    url,
    tenant,
    auditId,
    info,
    user,
    keyspace,
    policy,
    config,
    plugins,
    warnings,
    now,
    outbound,
    webhookMetrics: metrics.webhooks,
    sleep,
    longRunning,
    listed,
    ...(record && { audit: record, annotate: (key: string, value: string) => record.annotate(key, value) }),
  };
}

/** The API server of one isolate. */
export function createApp(deps: AppDeps): Hono<Env> {
  const app = new Hono<Env>();
  for (const [, stage] of stages) app.use('*', stage(deps));
  app.onError((error, c) => {
    if (error instanceof UnreadablePathError)
      return plainInternalError(c.get('path'), `failed to create RequestInfo: ${error.message}`);
    const { url } = c.var;
    if (error instanceof AuthorizerError) return plainInternalError(`${c.get('path')}${url.search}`, error.message);
    return answerError(error, c.req.raw, url.searchParams);
  });
  return app;
}

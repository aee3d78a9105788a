import { AggregatedDocuments } from '../aggregation/documents.ts';
import { serveAggregated } from '../aggregation/serve.ts';
import type { AppDeps } from '../app.ts';
import { serveIssuer } from '../authn/issuer.ts';
import { answerDiscovery, unknownPath } from '../discovery/routes.ts';
import { dumpOf } from '../flowcontrol/dump.ts';
import { unreachable } from '../outbound/index.ts';
import { builtins } from '../registry/resource.ts';
import type { RequestContext } from './context.ts';
import { serveReplicas } from './replicas.ts';

/** Paths whose answers tell which resources there are, so that the policy must be current. */
const RESOURCES = /^\/(apis?|openapi)(\/|$)/;
const OPENAPI_3 = /^\/openapi\/v3\/(.+)$/;
const GROUP_VERSION = /^\/apis\/([^/]+\/[^/]+)\/*$/;
const NAMESPACES = '/registry/namespaces/';

/** Stored objects by `resource.group`, counted without reading their values. */
async function objectCounts(ctx: RequestContext): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const rows = [...builtins.values()].flatMap((group) => [...group.values()]);
  for (const { resource, group, storage } of rows) {
    if (storage === undefined) continue;
    const prefix = `${storage.prefix}/`;
    const page = await ctx.keyspace.list({ prefix, limit: 0, consistency: { type: 'any' }, keysOnly: true });
    counts.set(group === '' ? resource : `${resource}.${group}`, page.records.length);
  }
  return counts;
}

/** What other servers say of themselves; undefined where there are none. */
function documentsOf(ctx: RequestContext, { documents: cache }: AppDeps): AggregatedDocuments | undefined {
  const { policy, config, keyspace, tenant, outbound = unreachable, now } = ctx;
  const versions = policy?.bundle.aggregated;
  if (versions === undefined || versions.size === 0 || config === undefined || cache === undefined) return undefined;
  return new AggregatedDocuments(versions.values(), { tenant, keyspace, config, outbound, now, cache });
}

/** Whose document of OpenAPI 3 a path asks for, where it is not one of this server's. */
async function describerOf({ info, policy }: RequestContext, documents: AggregatedDocuments | undefined) {
  const name = OPENAPI_3.exec(info.path)?.[1];
  if (name === undefined || documents === undefined) return undefined;
  const groupVersion = name.replace(/^apis?\//, '');
  if (builtins.has(groupVersion) || policy?.bundle.resources.has(groupVersion)) return undefined;
  return (await documents.openApi()).get(name)?.version;
}

/** Answers a request that is for no resource: discovery, OpenAPI, health, version, metrics. */
export async function serveNonResource(ctx: RequestContext, deps: AppDeps): Promise<Response> {
  const { request, url, info, policy } = ctx;
  if (policy === undefined) throw new TypeError('a request without a policy cannot be answered');
  const issued = await serveIssuer(deps.config, request, info.path);
  if (issued !== undefined) return issued;
  const replicas = await serveReplicas(ctx, deps);
  if (replicas !== undefined) return replicas;
  if (RESOURCES.test(info.path)) await policy.confirm();
  const elsewhere = policy.bundle.aggregated.get(GROUP_VERSION.exec(info.path)?.[1] ?? '');
  if (elsewhere !== undefined) return serveAggregated(ctx, elsewhere);
  const documents = documentsOf(ctx, deps);
  const describer = await describerOf(ctx, documents);
  if (describer !== undefined) return serveAggregated(ctx, describer);
  const dump = dumpOf(info.path, url.searchParams, deps.flowControl.levels(ctx.tenant, policy.bundle.flows).all);
  if (dump !== undefined) return dump;
  const answer = answerDiscovery(
    { path: info.path, method: request.method, headers: request.headers, query: url.searchParams, host: url.host },
    {
      custom: policy.bundle.resources,
      aggregated: policy.bundle.aggregated,
      ...(documents && { documents }),
      metrics: deps.metrics,
      objectCounts: () => objectCounts(ctx),
      health: {
        storage: async () => void (await ctx.keyspace.policyRevision()),
        policy: async () => void policy.bundle,
        bootstrap: async () => {
          const { records } = await ctx.keyspace.get([`${NAMESPACES}default`], { type: 'linearizable' });
          if (records[0] === undefined) throw new Error('the bootstrap objects are not there yet');
        },
      },
    },
  );
  return (await answer) ?? unknownPath(info.path);
}

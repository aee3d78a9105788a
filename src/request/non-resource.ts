import { serveAggregated } from '../aggregation/serve.ts';
import type { AppDeps } from '../app.ts';
import { serveIssuer } from '../authn/issuer.ts';
import { answerDiscovery, unknownPath } from '../discovery/routes.ts';
import { dumpOf } from '../flowcontrol/dump.ts';
import { builtins } from '../registry/resource.ts';
import type { RequestContext } from './context.ts';
import { serveReplicas } from './replicas.ts';

/** Paths whose answers tell which resources there are, so that the policy must be current. */
const RESOURCES = /^\/(apis?|openapi)(\/|$)/;
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
  const dump = dumpOf(info.path, url.searchParams, deps.flowControl.levels(ctx.tenant, policy.bundle.flows).all);
  if (dump !== undefined) return dump;
  const answer = answerDiscovery(
    { path: info.path, method: request.method, headers: request.headers, query: url.searchParams, host: url.host },
    {
      custom: policy.bundle.resources,
      aggregated: policy.bundle.aggregated,
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

import * as v from 'valibot';
import type { AppDeps } from '../app.ts';
import { MembershipError } from '../keyspace/members.ts';
import { badRequest, methodNotAllowed, serviceUnavailable } from '../status/status.ts';
import type { RequestContext } from './context.ts';

/**
 * The members of one of the tenant's shards, for its operator: a path of our own beside Kubernetes'. Like every path that is no
 * resource's it is closed to all who have no rule for it, which leaves `system:masters` and cluster administrators.
 */
const PATH = /^\/gunwale\/shards\/([a-z0-9-]+)\/replicas$/;

/** How long one request works on a change; a client that finds it not done asks again. */
const WORK_MS = 10_000;

const id = v.pipe(v.number(), v.integer(), v.minValue(1));
const schema = v.union([v.strictObject({ replace: id }), v.strictObject({ transfer: id })]);

/**
 * GET: the members by the leader's word. POST `{"replace": ID}` puts a new replica in a member's place, POST
 * `{"transfer": ID}` hands leadership over; both may be repeated. Undefined for any other path.
 */
export async function serveReplicas(ctx: RequestContext, deps: AppDeps): Promise<Response | undefined> {
  const shard = PATH.exec(ctx.info.path)?.[1];
  if (shard === undefined) return undefined;
  if (deps.members === undefined) throw serviceUnavailable('this process does not lead to the replicas');
  const members = deps.members(ctx.tenant, shard);
  if (members === undefined) return undefined;
  const deadline = Date.now() + WORK_MS;
  const { method } = ctx.request;
  if (method === 'GET') return Response.json({ members: await members.show(deadline) });
  if (method !== 'POST') throw methodNotAllowed();
  const wanted = v.safeParse(schema, await ctx.request.json().catch(() => undefined));
  if (!wanted.success) throw badRequest('expected {"replace": ID} or {"transfer": ID}');
  try {
    if ('replace' in wanted.output) return Response.json(await members.replace(wanted.output.replace, deadline));
    return Response.json({ done: true, members: await members.transfer(wanted.output.transfer, deadline) });
  } catch (error) {
    if (error instanceof MembershipError) throw badRequest(error.message);
    throw error;
  }
}

import { objectJson } from '../codec/stored.ts';
import type { Consistency } from '../keyspace/types.ts';
import type { RequestContext } from '../request/context.ts';
import { parseResourceVersion } from '../request/list-options.ts';
import { notFound } from '../status/status.ts';
import { keyOf } from './keys.ts';
import { canSplice, formOf, presenterOf, respond, toObject } from './present.ts';
import type { Resource } from './resource.ts';

/** GET of one object. Without resourceVersion linearizable, with 0 from any replica, else not older than it. */
export async function serveGet(ctx: RequestContext, resource: Resource): Promise<Response> {
  const form = formOf(ctx, resource, false);
  const { name, namespace } = ctx.info;
  const { records } = await ctx.keyspace.get([keyOf(resource, namespace, name)], consistencyOf(ctx));
  const record = records[0];
  if (record === undefined) throw notFound({ group: resource.group, name: resource.resource }, name);
  const plain = form.mediaType === 'application/json' && form.as === undefined && !form.pretty;
  const body =
    plain && canSplice(resource, record)
      ? objectJson(record)
      : presenterOf(ctx, resource, form).object(toObject(resource, record));
  return respond(ctx, body, form.contentType);
}

function consistencyOf(ctx: RequestContext): Consistency {
  const revision = parseResourceVersion(ctx.url.searchParams.get('resourceVersion'));
  if (revision === undefined) return { type: 'linearizable' };
  return revision === 0 ? { type: 'any' } : { type: 'notOlderThan', revision };
}

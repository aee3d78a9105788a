import type { KubeObject } from '../api/object.ts';
import { decodeStored } from '../codec/stored.ts';
import { keyOf } from '../registry/keys.ts';
import { builtins, type Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';

/** The row of a built-in resource that a plugin looks at. */
export function builtinRow(groupVersion: string, resource: string): Resource {
  const row = builtins.get(groupVersion)?.get(resource);
  if (row === undefined) throw new TypeError(`no such resource: ${groupVersion} ${resource}`);
  return row;
}

/**
 * An object that a plugin's decision rests on: what the leader has, as upstream's plugins go by what their informers
 * have; that something is missing is only believed once a quorum has confirmed it.
 */
export async function lookUp(
  ctx: RequestContext,
  resource: Resource,
  namespace: string,
  name: string,
): Promise<KubeObject | undefined> {
  if (name === '' || name.includes('/') || name === '.' || name === '..') return undefined;
  const key = keyOf(resource, namespace, name);
  for (const type of ['leader', 'linearizable'] as const) {
    const record = (await ctx.keyspace.get([key], { type })).records[0];
    if (record !== undefined) return decodeStored(record);
  }
  return undefined;
}

/** Every object of a resource that a plugin's decision rests on, in one namespace or at the cluster scope. */
export async function lookUpAll(ctx: RequestContext, resource: Resource, namespace = ''): Promise<KubeObject[]> {
  const prefix = `${resource.storage!.prefix}/${namespace === '' ? '' : `${namespace}/`}`;
  const { records } = await ctx.keyspace.list({ prefix, limit: 0, consistency: { type: 'leader' } });
  return records.map((record) => decodeStored(record));
}

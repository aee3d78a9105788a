import type { KubeObject } from '../api/object.ts';
import { builtinKind } from '../apply/kind-type.ts';
import { managerOf, updateManagedFields } from '../apply/managed-fields.ts';
import type { RequestContext } from '../request/context.ts';

/**
 * The object of a request that is answered but not stored, with the managed fields that a create would record: the
 * sender owns what it sent.
 */
export function withSender(
  ctx: RequestContext,
  object: KubeObject,
  groupVersion: string,
  kindName: string,
  subresource = '',
): KubeObject {
  const kind = builtinKind(groupVersion, kindName);
  if (kind === undefined) return object;
  const manager = ctx.url.searchParams.get('fieldManager') || managerOf(ctx.request.headers.get('user-agent') ?? '');
  return updateManagedFields(undefined, object, { manager, subresource, now: ctx.now(), groupVersion, kind });
}

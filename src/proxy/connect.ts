import { admit, validate } from '../admission/chain.ts';
import { pluginsOf } from '../admission/plugins.ts';
import type { KubeObject } from '../api/object.ts';
import type { Resource } from '../registry/resource.ts';
import { attributesOf } from '../registry/scope.ts';
import type { RequestContext } from '../request/context.ts';

/** Admits a connection to an object; `options` is what the client asks of it. */
export async function admitConnect(ctx: RequestContext, resource: Resource, options: KubeObject): Promise<void> {
  const { namespace, name, subresource } = ctx.info;
  const scope = { ctx, resource, subresource, namespace, name, options: { dryRun: false } };
  const attributes = attributesOf(scope, 'CONNECT', options, undefined);
  await admit(pluginsOf(ctx), attributes);
  await validate(pluginsOf(ctx), attributes);
}

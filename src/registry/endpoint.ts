import { applyDefaults } from '../api/defaults.ts';
import type { KubeObject } from '../api/object.ts';
import { attributesOf as authorizationOf, forbiddenError } from '../authz/attributes.ts';
import { authorize } from '../authz/index.ts';
import type { Expected } from '../codec/body.ts';
import type { RequestContext } from '../request/context.ts';
import type { WriteOptions } from '../request/options.ts';
import { badRequest } from '../status/status.ts';
import { defaultCustom } from './custom.ts';
import type { Resource } from './resource.ts';
import type { Scope } from './scope.ts';
import { applyStrategyDefaults } from './strategy.ts';

/** The kind that an endpoint takes and gives. */
export function expectedOf(resource: Resource, subresource = ''): Expected {
  const part = subresource === '' ? undefined : resource.subresources.get(subresource);
  const { group, version, kind } = part ?? resource;
  return { group, version, kind, custom: resource.custom !== undefined && part?.kind !== 'Scale' };
}

/** Fills in the defaults of a decoded object, in place. */
export function defaulted(resource: Resource, subresource: string, object: KubeObject): KubeObject {
  if (resource.custom === undefined) applyDefaults(object, resource.groupVersion, resource.kind);
  else defaultCustom(resource, object);
  applyStrategyDefaults(resource, subresource, object);
  return object;
}

/** The endpoint and object that the URL of a request names. */
export function scopeOf(ctx: RequestContext, resource: Resource, subresource: string, options: WriteOptions): Scope {
  const { namespace, name } = ctx.info;
  const inNamespace = resource.namespaced ? namespace : '';
  return { ctx, resource, subresource, namespace: inNamespace, name, options };
}

/** Throws 400 where an object is called otherwise than the URL says. */
export function checkName(scope: Scope, object: KubeObject): void {
  const { name = '' } = object.metadata;
  if (name === '') {
    throw badRequest(`the name of the object (${scope.name} based on URL) was undeterminable: name must be provided`);
  }
  if (name !== scope.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${scope.name})`);
  }
}

/** Asks whether the user may create what an update or apply finds missing. Throws 403. */
export function createAuthorizer({ ctx }: Scope): () => Promise<void> {
  return async () => {
    const attributes = authorizationOf(ctx.user, { ...ctx.info, verb: 'create' });
    const { policy } = ctx;
    await policy?.decide(async (bundle) => {
      const verdict = await authorize(attributes, policy.data(bundle));
      if (verdict.decision !== 'allow') throw forbiddenError(attributes, verdict.reason);
    });
  };
}

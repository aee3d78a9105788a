import { admit, validate } from '../../admission/chain.ts';
import { pluginsOf } from '../../admission/plugins.ts';
import type { KubeObject } from '../../api/object.ts';
import { byPolicy } from '../../policy/guard.ts';
import { attributesOf, type Scope } from '../scope.ts';

/**
 * Admits what is posted to a subresource that is a call rather than a part of its object, and does it; plugins may change
 * it. Where the policy that admitted it changes before `act` is done, both are done anew.
 */
export function admitCall<T>(scope: Scope, object: KubeObject, act: () => Promise<T>): Promise<T> {
  return byPolicy(scope.ctx, async () => {
    const plugins = pluginsOf(scope.ctx);
    const attributes = attributesOf(scope, 'CREATE', object, undefined);
    await admit(plugins, attributes);
    await validate(plugins, attributes);
    return act();
  });
}

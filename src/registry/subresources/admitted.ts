import { admit, validate } from '../../admission/chain.ts';
import { pluginsOf } from '../../admission/plugins.ts';
import type { KubeObject } from '../../api/object.ts';
import { attributesOf, type Scope } from '../scope.ts';

/** Admits what is posted to a subresource that is a call rather than a part of its object; plugins may change it. */
export async function admitCall(scope: Scope, object: KubeObject): Promise<void> {
  const plugins = pluginsOf(scope.ctx);
  const attributes = attributesOf(scope, 'CREATE', object, undefined);
  await admit(plugins, attributes);
  await validate(plugins, attributes);
}

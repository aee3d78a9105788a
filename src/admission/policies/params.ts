import { convert } from '../../api/conversion.ts';
import { mapOf, text } from '../../api/fields.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import { builtins, type Resource } from '../../registry/resource.ts';
import type { RequestContext } from '../../request/context.ts';
import type { Attributes } from '../chain.ts';
import { lookUp, lookUpAll } from '../lookup.ts';
import { labelTest } from '../matching/selectors.ts';

/** Params of policies (k8s.io/apiserver, pkg/admission/plugin/policy/generic). */

/** A policy or binding that cannot be applied as it is; its failurePolicy decides. */
export class ConfigurationError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

const rowOfKind = (rows: ReadonlyMap<string, Resource> | undefined, kind: string) =>
  [...(rows?.values() ?? [])].find((row) => row.kind === kind);

/** The row of a paramKind; a kind that is not served is a fault of the policy. */
export function paramRow(ctx: RequestContext, paramKind: JsonObject): Resource {
  const [groupVersion, kind] = [text(paramKind.apiVersion), text(paramKind.kind)];
  const row =
    rowOfKind(builtins.get(groupVersion), kind) ?? rowOfKind(ctx.policy?.bundle.resources.get(groupVersion), kind);
  if (row !== undefined) return row;
  const [group, version] = groupVersion.includes('/') ? groupVersion.split('/') : ['', groupVersion];
  const shown = `${group}/${version}, Kind=${kind}`;
  throw new ConfigurationError(`failed to find resource referenced by paramKind: '${shown}'`);
}

function namespaceFor(row: Resource, ref: JsonObject, { namespace }: Attributes): string {
  const own = text(ref.namespace);
  if (!row.namespaced) {
    if (own === '') return '';
    throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  }
  if (own !== '' || namespace !== '') return own || namespace;
  const why = 'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources';
  throw new ConfigurationError(why);
}

/**
 * The params of a binding; one that is `undefined` where the policy takes none, or the binding gives none. None at all
 * where there are none and that is allowed. Throws a {@link ConfigurationError}.
 */
export async function paramsOf(
  attributes: Attributes,
  row: Resource | undefined,
  paramRef: JsonValue | undefined,
): Promise<(KubeObject | undefined)[]> {
  if (row === undefined || !isObject(paramRef)) return [undefined];
  const { ctx } = attributes;
  const namespace = namespaceFor(row, paramRef, attributes);
  const name = text(paramRef.name);
  let found: (KubeObject | undefined)[];
  if (name === '') {
    const isSelected = labelTest(paramRef.selector);
    const all = await lookUpAll(ctx, row, namespace);
    found = all.filter(({ metadata }) => isSelected?.(mapOf(metadata.labels as JsonValue)) ?? true);
  } else found = [await lookUp(ctx, row, namespace, name)].filter((object) => object !== undefined);
  if (found.length === 0 && paramRef.parameterNotFoundAction === 'Deny') {
    throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return found.map((object) => ({ ...convert(object!, row), apiVersion: row.groupVersion, kind: row.kind }));
}

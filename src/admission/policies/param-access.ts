import { mapOf, text } from '../../api/fields.ts';
import { deepEqual, type JsonObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import { authorize, isSuperuser } from '../../authz/index.ts';
import type { Resource } from '../../registry/resource.ts';
import type { RequestContext, UserInfo } from '../../request/context.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { builtinRow, lookUp } from '../lookup.ts';
import { ConfigurationError, paramRow } from './params.ts';

/**
 * Keeps users from reading objects through the params of policies (pkg/registry/admissionregistration, authz.go of each
 * resource).
 */

const GROUP = 'admissionregistration.k8s.io';

/** A user as Go prints it. */
function shownUser({ name, uid, groups, extra }: UserInfo): string {
  const more = Object.entries(extra).map(([key, values]) => `${key}:[${values.join(' ')}]`);
  return `&{${name} ${uid ?? ''} [${groups.join(' ')}] map[${more.sort().join(' ')}]}`;
}

interface Params {
  group: string;
  version: string;
  resource: string;
}

/** What a paramKind stands for; everything of which nothing is known. */
function paramsOfKind(ctx: RequestContext, paramKind: JsonObject): Params {
  const segments = text(paramKind.apiVersion).split('/');
  const [version = '*', group = ''] = segments.reverse();
  try {
    return { group, version, resource: paramRow(ctx, paramKind).resource };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { group, version, resource: '*' };
  }
}

async function mayRead(
  ctx: RequestContext,
  verb: string,
  params: Params,
  { namespace, name }: { namespace: string; name: string },
): Promise<boolean> {
  const { policy } = ctx;
  if (policy === undefined) return false;
  const attributes = { ...params, user: ctx.user, verb, isResourceRequest: true, path: '', subresource: '' };
  const verdict = await authorize({ ...attributes, namespace, name }, policy.data());
  return verdict.decision === 'allow';
}

async function policyFault(ctx: RequestContext, spec: JsonObject, old: JsonObject | undefined): Promise<string> {
  const { paramKind } = spec;
  if (paramKind === undefined || deepEqual(paramKind, old?.paramKind ?? null)) return '';
  const kind = mapOf(paramKind);
  if (await mayRead(ctx, 'get', paramsOfKind(ctx, kind), { namespace: '*', name: '*' })) return '';
  const shown = `kind=${text(kind.kind)}, apiVersion=${text(kind.apiVersion)}`;
  return `user ${shownUser(ctx.user)} must have "get" permission on all objects of the referenced paramKind (${shown})`;
}

async function bindingFault(ctx: RequestContext, spec: JsonObject, policies: string): Promise<string> {
  if (spec.paramRef === undefined) return '';
  const [ref, policyName] = [mapOf(spec.paramRef), text(spec.policyName)];
  const policy = await lookUp(ctx, builtinRow(`${GROUP}/v1`, policies), '', policyName);
  const { paramKind } = mapOf(policy?.spec as JsonValue | undefined);
  const unknown = { group: '*', version: '*', resource: '*' };
  const params = paramKind === undefined ? unknown : paramsOfKind(ctx, mapOf(paramKind));
  const verb = text(ref.name) === '' ? 'list' : 'get';
  if (await mayRead(ctx, verb, params, { namespace: text(ref.namespace), name: text(ref.name) })) return '';
  const who = `user ${shownUser(ctx.user)} does not have "${verb}" permission`;
  if (policy !== undefined) return `${who} on the object referenced by paramRef`;
  const why = `unable to get policy ${policyName} to determine minimum required permissions`;
  return `${why} and ${who} for all groups, versions and resources`;
}

/**
 * The cause in a valid policy or binding whose params its writer may not read; none for other resources. `old`:
 * undefined for a create.
 */
export async function paramAccessFaults(
  ctx: RequestContext,
  resource: Resource,
  object: KubeObject,
  old: KubeObject | undefined,
): Promise<StatusCause[]> {
  if (resource.group !== GROUP || isSuperuser(ctx.user)) return [];
  const spec = mapOf(object.spec);
  const why = resource.resource.endsWith('policybindings')
    ? await bindingFault(ctx, spec, resource.resource.replace('bindings', '').replace(/policy$/, 'policies'))
    : await policyFault(ctx, spec, old && mapOf(old.spec));
  if (why === '') return [];
  const field = resource.resource.endsWith('policybindings') ? 'spec.paramRef' : 'spec.paramKind';
  return [causes.forbidden(field, why)];
}

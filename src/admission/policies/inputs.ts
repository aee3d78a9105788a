import { at } from '../../api/fields.ts';
import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';
import { type Attributes as AccessAttributes, fieldRequirements } from '../../authz/attributes.ts';
import { authorize } from '../../authz/index.ts';
import type { Bindings, Decide } from '../../cel/expressions.ts';
import { dynValue } from '../../cel/json-values.ts';
import { authorizerValue, type Decisions, requestResourceValue } from '../../cel/library/authorizer.ts';
import type { Resource } from '../../registry/resource.ts';
import type { RequestContext, UserInfo } from '../../request/context.ts';
import type { Attributes } from '../chain.ts';
import { operationOptions } from '../operation-options.ts';
import type { Versioned } from '../versions.ts';

/** Variables of admission expressions (k8s.io/apiserver, pkg/admission/plugin/cel/activation.go). */

/** Without fields that are empty. */
function filled(object: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(entries) as JsonObject;
}

function userOf({ name, uid, groups, extra }: UserInfo): JsonObject {
  return filled({
    username: name,
    uid,
    groups: groups.length > 0 ? groups : undefined,
    extra: Object.keys(extra).length > 0 ? extra : undefined,
  });
}

/** The kind of what a request brings: the resource's, or that of a subresource that has its own. */
function kindOf(row: Resource, subresource: string): JsonObject {
  const { group, version, kind } = row.subresources.get(subresource) ?? row;
  return { group, version, kind };
}
const resourceOf = ({ group, version, resource }: Resource): JsonObject => ({ group, version, resource });

/** The AdmissionRequest that expressions see; `row` is what the request was matched as. */
export function requestOf(attributes: Attributes, row: Resource): JsonObject {
  const { ctx, resource, subresource, name, namespace, operation, dryRun, object } = attributes;
  return filled({
    kind: kindOf(row, subresource),
    resource: resourceOf(row),
    subResource: subresource,
    requestKind: kindOf(resource, subresource),
    requestResource: resourceOf(resource),
    requestSubResource: subresource,
    name: name || (object?.metadata.name ?? ''),
    namespace,
    operation,
    userInfo: userOf(ctx.user),
    dryRun,
    options: operationOptions(attributes),
  });
}

const NAMESPACE_METADATA = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'finalizers',
];

/** The parts of a namespace that expressions see. */
function namespaceOf(namespace: KubeObject | undefined): JsonValue {
  if (namespace === undefined) return null;
  const metadata = Object.fromEntries(
    NAMESPACE_METADATA.map((key) => [key, at(namespace, 'metadata', key)] as const).filter(([, v]) => v !== undefined),
  ) as JsonObject;
  return { metadata, spec: namespace.spec ?? {}, status: namespace.status ?? {} };
}

const shown = (object: KubeObject | undefined) => (object === undefined ? null : dynValue(object));

/** What the variables of one invocation are. */
export interface Input {
  attributes: Attributes;
  row: Resource;
  /** In the version of `row`. */
  objects: Versioned;
  params: KubeObject | undefined;
  namespace: KubeObject | undefined;
  decisions: Decisions;
}

/** All variables of an invocation but `variables`. */
export function bindingsOf({ attributes, row, objects, params, namespace, decisions }: Input): Bindings {
  const { resource, subresource, name } = attributes;
  const own = {
    group: resource.group,
    resource: resource.resource,
    subresource,
    namespace: attributes.namespace,
    name,
  };
  return {
    object: shown(objects.object),
    oldObject: shown(objects.old),
    params: params === undefined ? null : dynValue(params),
    request: dynValue(requestOf(attributes, row)),
    namespaceObject: dynValue(namespaceOf(namespace)),
    authorizer: authorizerValue(decisions),
    'authorizer.requestResource': requestResourceValue(decisions, own),
  };
}

const serviceAccount = (namespace: string, name: string): UserInfo => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  extra: {},
});

/** Answers the checks of expressions from the authorizers. */
export const deciderOf =
  (ctx: RequestContext): Decide =>
  async ({ serviceAccount: account, path, fieldSelector, labelSelector: _, ...query }) => {
    const user = account === undefined ? ctx.user : serviceAccount(account.namespace, account.name);
    const attributes: AccessAttributes = {
      ...query,
      user,
      path: path ?? '',
      isResourceRequest: path === undefined,
      version: path === undefined ? '*' : '',
      ...(fieldSelector === '' ? {} : { fieldSelector: fieldRequirements(fieldSelector) }),
    };
    const { policy } = ctx;
    if (policy === undefined) return { allowed: false, reason: '', error: '' };
    const verdict = await authorize(attributes, policy.data());
    return { allowed: verdict.decision === 'allow', reason: verdict.reason, error: verdict.error ?? '' };
  };

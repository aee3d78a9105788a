import { deepEqual, isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import type { PolicyBundle } from '../policy/bundle.ts';
import { type PolicyRule, policyRules } from '../policy/rbac-index.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext, UserInfo } from '../request/context.ts';
import { forbidden, notFound } from '../status/status.ts';
import { authorize, isSuperuser } from './index.ts';
import { aggregate, grantsFor } from './rbac.ts';

const GROUP = 'rbac.authorization.k8s.io';
const everything: PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
];

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A rule as single combinations of group, resource, verb and name, or of URL and verb. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const out: PolicyRule[] = [];
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((n) => [n]);
  for (const group of rule.apiGroups) {
    for (const resource of rule.resources) {
      for (const verb of rule.verbs) {
        for (const resourceNames of names) {
          out.push({ apiGroups: [group], resources: [resource], verbs: [verb], resourceNames, nonResourceURLs: [] });
        }
      }
    }
  }
  for (const url of rule.nonResourceURLs) {
    for (const verb of rule.verbs) {
      out.push({ apiGroups: [], resources: [], verbs: [verb], resourceNames: [], nonResourceURLs: [url] });
    }
  }
  return out;
}

const hasAll = (set: readonly string[], wanted: readonly string[]) => wanted.every((w) => set.includes(w));

function coversResources(owned: readonly string[], wanted: readonly string[]): boolean {
  if (owned.includes('*')) return true;
  return wanted.every((path) => {
    if (owned.includes(path)) return true;
    const slash = path.indexOf('/');
    return slash >= 0 && owned.includes(`*/${path.slice(slash + 1)}`);
  });
}

function coversUrls(owned: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((path) =>
    owned.some((o) => o === path || (o.endsWith('*') && path.startsWith(o.replace(/\*+$/, '')))),
  );
}

/** Whether an owned rule covers a broken-down one. */
function covers(owned: PolicyRule, wanted: PolicyRule): boolean {
  return (
    (owned.verbs.includes('*') || hasAll(owned.verbs, wanted.verbs)) &&
    (owned.apiGroups.includes('*') || hasAll(owned.apiGroups, wanted.apiGroups)) &&
    coversResources(owned.resources, wanted.resources) &&
    coversUrls(owned.nonResourceURLs, wanted.nonResourceURLs) &&
    (owned.resourceNames.length === 0 ||
      (wanted.resourceNames.length > 0 && hasAll(owned.resourceNames, wanted.resourceNames)))
  );
}

/** Joins the verbs of broken-down rules that differ in nothing else. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const bySubject = new Map<string, PolicyRule>();
  const out: PolicyRule[] = [];
  for (const rule of rules) {
    if (rule.nonResourceURLs.length > 0) {
      out.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const known = bySubject.get(key);
    if (known !== undefined) known.verbs.push(...rule.verbs);
    else {
      const copy = { ...rule, verbs: [...rule.verbs] };
      bySubject.set(key, copy);
      out.push(copy);
    }
  }
  return out;
}

const list = (values: readonly string[]) => `[${values.map((v) => JSON.stringify(v)).join(' ')}]`;

function describeRule(rule: PolicyRule): string {
  const parts: [string, string[]][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const shown = parts.filter(([, values]) => values.length > 0).map(([name, values]) => `${name}:${list(values)}`);
  return `{${shown.join(', ')}}`;
}

/** Why the user may not grant these rules in the namespace, or undefined where it holds them all. */
function missingRights(
  user: UserInfo,
  namespace: string,
  wanted: readonly PolicyRule[],
  bundle: PolicyBundle,
  resource: string,
): string | undefined {
  const owned: PolicyRule[] = [];
  const faults: string[] = [];
  for (const { binding, rules } of grantsFor(bundle.rbac, user, namespace)) {
    if (rules === undefined) faults.push(`${resource}.${GROUP} ${JSON.stringify(binding.roleRef.name)} not found`);
    else owned.push(...rules);
  }
  const missing = wanted.flatMap(breakDown).filter((w) => !owned.some((o) => covers(o, w)));
  if (missing.length === 0) return undefined;
  const lines = [...new Set(compact(missing).map(describeRule))].sort();
  const who = `user ${JSON.stringify(user.name)} (groups=${list(user.groups)})`;
  const resolution = faults.length === 0 ? '' : `; resolution errors: [${aggregate(faults)}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${resolution}`;
}

/** Whether an update changes nothing but what garbage collection needs: owner references and finalizers. */
function onlyCollectionFields(object: KubeObject, old: KubeObject): boolean {
  const strip = ({ metadata, ...rest }: KubeObject): JsonObject => {
    const { ownerReferences: _o, finalizers: _f, managedFields: _m, resourceVersion: _r, ...kept } = metadata;
    return { ...rest, metadata: kept };
  };
  return deepEqual(strip(object), strip(old));
}

function hasAggregation(object: KubeObject | undefined): boolean {
  const rule = object?.aggregationRule;
  return isObject(rule) && Array.isArray(rule.clusterRoleSelectors) && rule.clusterRoleSelectors.length > 0;
}

interface Check {
  ctx: RequestContext;
  object: KubeObject;
  old: KubeObject | undefined;
}

async function may(check: Check, bundle: PolicyBundle, verb: string, resource: string, name: string): Promise<boolean> {
  const { ctx } = check;
  if (ctx.policy === undefined) return false;
  const attributes = {
    user: ctx.user,
    verb,
    isResourceRequest: true,
    path: '',
    group: GROUP,
    version: '*',
    resource,
    subresource: '',
    namespace: ctx.info.namespace,
    name,
  };
  return (await authorize(attributes, ctx.policy.data(bundle))).decision === 'allow';
}

async function checkRole(check: Check, bundle: PolicyBundle): Promise<void> {
  const { ctx, object, old } = check;
  const { resource, namespace } = ctx.info;
  if (await may(check, bundle, 'escalate', resource, ctx.info.name)) return;
  const refuse = (why: string) => forbidden({ group: GROUP, name: resource }, object.metadata.name ?? '', why);
  const why = missingRights(ctx.user, namespace, policyRules(object.rules), bundle, resource);
  if (why !== undefined) throw refuse(why);
  const aggregates = resource === 'clusterroles' && (hasAggregation(object) || hasAggregation(old));
  if (aggregates && missingRights(ctx.user, namespace, everything, bundle, resource) !== undefined) {
    throw refuse('must have cluster-admin privileges to use the aggregationRule');
  }
}

async function checkBinding(check: Check, bundle: PolicyBundle): Promise<void> {
  const { ctx, object } = check;
  const { resource, namespace } = ctx.info;
  const roleRef = isObject(object.roleRef) ? object.roleRef : {};
  const [kind, name] = [text(roleRef.kind), text(roleRef.name)];
  const roleResource = kind === 'Role' ? 'roles' : 'clusterroles';
  if (await may(check, bundle, 'bind', roleResource, name)) return;
  const rules = bundle.rbac.rules(kind === 'Role' ? namespace : '', name);
  if (rules === undefined) throw notFound({ group: GROUP, name: resource }, name);
  const why = missingRights(ctx.user, namespace, rules, bundle, resource);
  if (why !== undefined) throw forbidden({ group: GROUP, name: resource }, object.metadata.name ?? '', why);
}

const checks: Record<string, (check: Check, bundle: PolicyBundle) => Promise<void>> = {
  roles: checkRole,
  clusterroles: checkRole,
  rolebindings: checkBinding,
  clusterrolebindings: checkBinding,
};

/**
 * Keeps users from granting what they do not hold. To be called before each create (`old` undefined) and update of an
 * RBAC object is validated and stored; it does nothing for other resources. Throws 403 listing the missing rules, or
 * 404 for a binding to a role that is missing; the verbs `escalate` and `bind` and system:masters lift it.
 */
export async function checkEscalation(
  ctx: RequestContext,
  resource: Resource,
  object: KubeObject,
  old: KubeObject | undefined,
): Promise<void> {
  const check =
    resource.group === GROUP && Object.hasOwn(checks, resource.resource) ? checks[resource.resource] : undefined;
  if (check === undefined || isSuperuser(ctx.user)) return;
  if (old !== undefined && onlyCollectionFields(object, old)) return;
  if (ctx.policy === undefined) throw new TypeError('a request without a policy may not write RBAC objects');
  await ctx.policy.decide((bundle) => check({ ctx, object, old }, bundle));
}

import { type Binding, matchingSubject, type PolicyRule, type RbacIndex, type Subject } from '../policy/rbac-index.ts';
import type { UserInfo } from '../request/context.ts';
import type { Attributes, Verdict } from './attributes.ts';

const includes = (list: readonly string[], value: string) => list.includes('*') || list.includes(value);

function resourceMatches(rule: PolicyRule, resource: string, subresource: string): boolean {
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  if (includes(rule.resources, combined)) return true;
  return subresource !== '' && rule.resources.includes(`*/${subresource}`);
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, ''));
}

/** Whether one rule allows what the attributes describe. */
export function ruleAllows(rule: PolicyRule, a: Attributes): boolean {
  if (!includes(rule.verbs, a.verb)) return false;
  if (!a.isResourceRequest) return rule.nonResourceURLs.some((p) => pathMatches(p, a.path));
  return (
    includes(rule.apiGroups, a.group) &&
    resourceMatches(rule, a.resource, a.subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(a.name))
  );
}

/** A binding that applies to a user, with the rules of its role; `rules` is undefined where the role is missing. */
export interface Grant {
  binding: Binding;
  rules: PolicyRule[] | undefined;
}

/** The grants that count for a user in a namespace: cluster-wide ones first; an empty namespace has only those. */
export function* grantsFor(index: RbacIndex, user: UserInfo, namespace: string): Generator<Grant> {
  const scopes = namespace === '' ? [''] : ['', namespace];
  for (const scope of scopes) {
    for (const binding of index.bindings(user, scope)) {
      const roleNamespace = binding.roleRef.kind === 'Role' ? binding.namespace : '';
      yield { binding, rules: index.rules(roleNamespace, binding.roleRef.name) };
    }
  }
}

/** What a grant without a role says of itself. */
export function missingRole(binding: Binding): string {
  return `${binding.roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(binding.roleRef.name)} not found`;
}

/** Several faults in one text, as an aggregate error shows them: no duplicates, in brackets when several. */
export function aggregate(faults: readonly string[]): string {
  const distinct = [...new Set(faults)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
}

function describeSubject(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${JSON.stringify(subject.name)}`;
  return `${subject.kind} ${JSON.stringify(`${subject.name}/${subject.namespace || bindingNamespace}`)}`;
}

function describeGrant({ binding }: Grant, user: UserInfo): string {
  const name = binding.namespace === '' ? binding.name : `${binding.name}/${binding.namespace}`;
  const subject = matchingSubject(binding, user);
  const to = subject === undefined ? '' : describeSubject(subject, binding.namespace);
  return `${binding.kind} ${JSON.stringify(name)} of ${binding.roleRef.kind} ${JSON.stringify(binding.roleRef.name)} to ${to}`;
}

/** The RBAC authorizer: allows what some bound rule allows, and has no opinion else. */
export function authorizeByRbac(index: RbacIndex, a: Attributes): Verdict {
  const faults: string[] = [];
  for (const grant of grantsFor(index, a.user, a.namespace)) {
    if (grant.rules === undefined) faults.push(missingRole(grant.binding));
    else if (grant.rules.some((rule) => ruleAllows(rule, a))) {
      return { decision: 'allow', reason: `RBAC: allowed by ${describeGrant(grant, a.user)}` };
    }
  }
  return { decision: 'noOpinion', reason: faults.length === 0 ? '' : `RBAC: ${aggregate(faults)}` };
}

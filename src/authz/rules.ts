import type { JsonObject } from '../api/object.ts';
import type { UserInfo } from '../request/context.ts';
import { isAbout } from './abac.ts';
import type { AuthorizationData } from './index.ts';
import { aggregate, grantsFor, missingRole } from './rbac.ts';

/** Rules and what is wrong with them. */
interface Rules {
  resourceRules: JsonObject[];
  nonResourceRules: JsonObject[];
  faults: string[];
}

function addAbac(rules: Rules, user: UserInfo, namespace: string, { chain }: AuthorizationData): void {
  for (const policy of chain.abac ?? []) {
    const { namespace: wanted, readonly, apiGroup, resource, nonResourcePath } = policy;
    if (!isAbout(policy, user) || (wanted !== '*' && wanted !== namespace)) continue;
    const verbs = readonly ? ['get', 'list', 'watch'] : ['*'];
    if (resource !== '') rules.resourceRules.push({ verbs, apiGroups: [apiGroup], resources: [resource] });
    if (nonResourcePath !== '') rules.nonResourceRules.push({ verbs, nonResourceURLs: [nonResourcePath] });
  }
}

function addRbac(rules: Rules, user: UserInfo, namespace: string, { bundle }: AuthorizationData): void {
  for (const grant of grantsFor(bundle.rbac, user, namespace)) {
    if (grant.rules === undefined) rules.faults.push(missingRole(grant.binding));
    for (const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } of grant.rules ?? []) {
      const names = resourceNames.length === 0 ? {} : { resourceNames };
      if (resources.length > 0) rules.resourceRules.push({ verbs, apiGroups, resources, ...names });
      if (nonResourceURLs.length > 0) rules.nonResourceRules.push({ verbs, nonResourceURLs });
    }
  }
}

/** Status of a SelfSubjectRulesReview: what the authorizers that can tell would allow a user in a namespace. */
export function rulesOf(user: UserInfo, namespace: string, data: AuthorizationData): JsonObject {
  const rules: Rules = { resourceRules: [], nonResourceRules: [], faults: [] };
  if (data.chain.hasRbac) addRbac(rules, user, namespace, data);
  addAbac(rules, user, namespace, data);
  if (data.chain.hasWebhook) rules.faults.push('webhook authorizer does not support user rule resolution');
  const { resourceRules, nonResourceRules, faults } = rules;
  return {
    resourceRules,
    nonResourceRules,
    incomplete: data.chain.hasWebhook,
    ...(faults.length === 0 ? {} : { evaluationError: aggregate(faults) }),
  };
}

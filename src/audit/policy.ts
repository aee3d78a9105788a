import * as v from 'valibot';
import { parse } from 'yaml';
import type { RequestInfo, UserInfo } from '../request/context.ts';

/** How much of a request is recorded, least first. */
export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof LEVELS)[number];

export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof STAGES)[number];

const strings = v.optional(v.array(v.string()), []);
const stages = v.optional(v.array(v.picklist(STAGES)), []);

const rule = v.strictObject({
  level: v.picklist(LEVELS),
  users: strings,
  userGroups: strings,
  verbs: strings,
  resources: v.optional(
    v.array(
      v.strictObject({
        group: v.optional(v.string(), ''),
        resources: strings,
        resourceNames: strings,
      }),
    ),
    [],
  ),
  namespaces: strings,
  nonResourceURLs: strings,
  omitStages: stages,
  omitManagedFields: v.optional(v.boolean()),
});

/** audit.k8s.io/v1 Policy. */
const schema = v.strictObject({
  apiVersion: v.literal('audit.k8s.io/v1'),
  kind: v.literal('Policy'),
  metadata: v.optional(v.record(v.string(), v.unknown())),
  rules: v.pipe(v.array(rule), v.minLength(1)),
  omitStages: stages,
  omitManagedFields: v.optional(v.boolean(), false),
});

export type AuditPolicy = v.InferOutput<typeof schema>;
type Rule = AuditPolicy['rules'][number];

/** What is recorded of one request. */
export interface AuditConfig {
  level: AuditLevel;
  omitStages: ReadonlySet<AuditStage>;
  omitManagedFields: boolean;
}

/** Reads a policy file. Throws Error with the path of the first fault and its reason. */
export function parseAuditPolicy(text: string): AuditPolicy {
  const result = v.safeParse(schema, parse(text));
  if (result.success) return result.output;
  const issue = result.issues[0];
  throw new Error(`${v.getDotPath(issue) ?? '(root)'}: ${issue.message}`);
}

/** The first rule that matches decides; without one nothing is recorded. */
export function auditConfig(policy: AuditPolicy, user: UserInfo | undefined, info: RequestInfo): AuditConfig {
  const found = policy.rules.find((candidate) => matches(candidate, user, info));
  return {
    level: found?.level ?? 'None',
    omitStages: new Set([...policy.omitStages, ...(found?.omitStages ?? [])]),
    omitManagedFields: found?.omitManagedFields ?? policy.omitManagedFields,
  };
}

function matches(r: Rule, user: UserInfo | undefined, info: RequestInfo): boolean {
  if (r.users.length > 0 && (user === undefined || !r.users.includes(user.name))) return false;
  if (r.userGroups.length > 0 && user?.groups.some((group) => r.userGroups.includes(group)) !== true) return false;
  if (r.verbs.length > 0 && !r.verbs.includes(info.verb)) return false;
  if (r.namespaces.length > 0 || r.resources.length > 0) return matchesResource(r, info);
  return r.nonResourceURLs.length === 0 || matchesPath(r, info);
}

function matchesPath(r: Rule, { isResourceRequest, path }: RequestInfo): boolean {
  if (isResourceRequest) return false;
  return r.nonResourceURLs.some(
    (pattern) => pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))),
  );
}

function matchesResource(r: Rule, info: RequestInfo): boolean {
  if (!info.isResourceRequest) return false;
  if (r.namespaces.length > 0 && !r.namespaces.includes(info.namespace)) return false;
  if (r.resources.length === 0) return true;
  const full = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  const forms = [full, '*', `*/${info.subresource}`, `${info.resource}/*`];
  return r.resources.some(({ group, resources, resourceNames }) => {
    if (group !== info.group && group !== '*') return false;
    if (resources.length === 0) return true;
    if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false;
    return resources.some((resource) => isForm(forms, resource, info.subresource));
  });
}

/** `*` stands for everything, `*\/scale` for that subresource of all, `pods/*` for pods' subresources. */
function isForm(forms: readonly string[], resource: string, subresource: string): boolean {
  const [full, all, ofAll, subresources] = forms;
  if (resource === full || resource === all) return true;
  return subresource !== '' && (resource === ofAll || resource === subresources);
}

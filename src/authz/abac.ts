import * as v from 'valibot';
import { AUTHENTICATED } from '../authn/anonymous.ts';
import type { UserInfo } from '../request/context.ts';
import type { Attributes, Verdict } from './attributes.ts';

const text = v.optional(v.string(), '');

/** abac.authorization.kubernetes.io/v1beta1 PolicySpec. */
const spec = v.strictObject({
  user: text,
  group: text,
  readonly: v.optional(v.boolean(), false),
  apiGroup: text,
  resource: text,
  namespace: text,
  nonResourcePath: text,
});
const versioned = v.strictObject({
  apiVersion: v.literal('abac.authorization.kubernetes.io/v1beta1'),
  kind: v.literal('Policy'),
  metadata: v.optional(v.unknown()),
  spec,
});
const unversioned = v.strictObject({
  user: text,
  group: text,
  readonly: v.optional(v.boolean(), false),
  resource: text,
  namespace: text,
});

/** One line of an ABAC policy. */
export type AbacPolicy = v.InferOutput<typeof spec>;

/** What a line of the old form, without a version, means in the new one: what it leaves out is everything. */
function upgraded(old: v.InferOutput<typeof unversioned>): AbacPolicy {
  const anybody = (old.user === '' && old.group === '') || old.user === '*' || old.group === '*';
  return {
    user: old.user === '*' || old.group === '*' ? '' : old.user,
    group: anybody ? AUTHENTICATED : old.group,
    readonly: old.readonly,
    apiGroup: '*',
    resource: old.resource || '*',
    namespace: old.namespace || '*',
    nonResourcePath: old.namespace === '' && old.resource === '' ? '*' : '',
  };
}

function readLine(line: string): AbacPolicy {
  const value: unknown = JSON.parse(line);
  const isVersioned = typeof value === 'object' && value !== null && ('apiVersion' in value || 'kind' in value);
  const result = isVersioned ? v.safeParse(versioned, value) : v.safeParse(unversioned, value);
  if (result.success) return 'spec' in result.output ? result.output.spec : upgraded(result.output);
  const issue = result.issues[0];
  throw new Error(`${v.getDotPath(issue) ?? '(root)'}: ${issue.message}`);
}

/** Reads an ABAC policy file: a JSON object a line, `#` begins a comment. Throws Error with the line and the reason. */
export function parseAbacPolicy(file: string): AbacPolicy[] {
  const policies: AbacPolicy[] = [];
  for (const [i, line] of file.split('\n').entries()) {
    if (line.trim() === '' || line.trim().startsWith('#')) continue;
    try {
      policies.push(readLine(line));
    } catch (error) {
      throw new Error(`line ${i + 1}: ${(error as Error).message}`);
    }
  }
  return policies;
}

/** Whether a policy is about a user: both its user and its group are, as far as it names them. */
export function isAbout(policy: AbacPolicy, user: UserInfo): boolean {
  const { user: name, group } = policy;
  if (name === '' && group === '') return false;
  if (name !== '' && name !== '*' && name !== user.name) return false;
  return group === '' || group === '*' || user.groups.includes(group);
}

const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, ''));
}

const matches = (pattern: string, value: string) => pattern === '*' || pattern === value;

function allows(policy: AbacPolicy, a: Attributes): boolean {
  if (!isAbout(policy, a.user) || (policy.readonly && !READING.has(a.verb))) return false;
  if (!a.isResourceRequest) return pathMatches(policy.nonResourcePath, a.path);
  return (
    matches(policy.namespace, a.namespace) && matches(policy.resource, a.resource) && matches(policy.apiGroup, a.group)
  );
}

/** The ABAC authorizer: allows what some line allows, and has no opinion else. */
export function authorizeByAbac(policies: readonly AbacPolicy[], attributes: Attributes): Verdict {
  const allowed = policies.some((policy) => allows(policy, attributes));
  return allowed ? { decision: 'allow', reason: '' } : { decision: 'noOpinion', reason: 'No policy matched.' };
}

/**
 * Marks of the quotas that there are, a record each, written and removed in the batch that creates or ends the quota.
 * Being policy, they tell every isolate which namespaces have quotas, without a read, as freshly as any policy; the
 * quotas themselves are none, or every change of what is used would move the policy.
 */
const PREFIX = '/registry/quotas-in-force/';

/** Key of the mark of a quota. */
export const quotaMark = (namespace: string, name: string): string => `${PREFIX}${namespace}/${name}`;

/** The quota that a key marks, if it is a mark. */
export function quotaOfMark(key: string): { namespace: string; name: string } | undefined {
  if (!key.startsWith(PREFIX)) return undefined;
  const slash = key.indexOf('/', PREFIX.length);
  return { namespace: key.slice(PREFIX.length, slash), name: key.slice(slash + 1) };
}

import { mapOf, objects, text, texts } from '../../api/fields.ts';
import type { KubeObject } from '../../api/object.ts';
import { compareQuantities } from '../../api/quantity.ts';
import { add, growth, listOf, only, type ResourceList, sameList, showList, withoutZeros } from '../resource-lists.ts';
import type { Evaluator, ScopeRequirement, Write } from './evaluator.ts';

/** The requirements that a quota's scopes are. */
export function scopesOf({ spec }: KubeObject): ScopeRequirement[] {
  const { scopes, scopeSelector } = mapOf(spec);
  return [
    ...texts(scopes).map((scopeName) => ({ scopeName, operator: 'Exists', values: [] })),
    ...objects(mapOf(scopeSelector).matchExpressions).map(({ scopeName, operator, values }) => ({
      scopeName: text(scopeName),
      operator: text(operator),
      values: texts(values),
    })),
  ];
}

/** Whether an object is in every scope of a quota. */
export const isInScopes = (evaluator: Evaluator, quota: KubeObject, object: KubeObject): boolean =>
  scopesOf(quota).every((requirement) => evaluator.inScope(requirement, object));

/** The limits of a quota that are in force. */
const hardOf = (quota: KubeObject): ResourceList => listOf(mapOf(quota.status).hard);
const usedOf = (quota: KubeObject): ResourceList => listOf(mapOf(quota.status).used);

const countedBy = (evaluator: Evaluator, quota: KubeObject): string[] =>
  Object.keys(hardOf(quota)).filter(evaluator.counts).sort();

const matches = (evaluator: Evaluator, quota: KubeObject, object: KubeObject): boolean =>
  countedBy(evaluator, quota).length > 0 && isInScopes(evaluator, quota, object);

/** What quotas say to a write: who would be charged what, or why not. */
export type Assessment = { refusal: string } | { charges: { quota: KubeObject; used: ResourceList }[] };

/** Why a quota cannot count an object, if it cannot. */
function fault(evaluator: Evaluator, quota: KubeObject, object: KubeObject): string | undefined {
  const name = quota.metadata.name ?? '';
  const counted = countedBy(evaluator, quota);
  const lacking = evaluator.lacks?.(counted, object);
  if (lacking !== undefined) return `failed quota: ${name}: ${lacking}`;
  const used = usedOf(quota);
  if (counted.every((entry) => Object.hasOwn(used, entry))) return undefined;
  return `status unknown for quota: ${name}, resources: ${counted.join(',')}`;
}

/** What a write counts for more than before, for one quota. */
function more(evaluator: Evaluator, quota: KubeObject, { object, old }: Write, now: Date): ResourceList {
  const usage = evaluator.usage(object, now);
  if (old === undefined || !matches(evaluator, quota, old)) return withoutZeros(usage);
  return growth(usage, evaluator.usage(old, now));
}

function exceeded(quota: KubeObject, asked: ResourceList, next: ResourceList): string | undefined {
  const hard = hardOf(quota);
  const names = Object.keys(asked).filter((name) => compareQuantities(next[name]!, hard[name]!) > 0);
  if (names.length === 0) return undefined;
  const parts = { requested: asked, used: usedOf(quota), limited: hard };
  const told = Object.entries(parts).map(([word, list]) => `${word}: ${showList(only(list, names))}`);
  return `exceeded quota: ${quota.metadata.name}, ${told.join(', ')}`;
}

/** Decides a write by the quotas of its namespace as they are. */
export function assess(evaluator: Evaluator, quotas: readonly KubeObject[], write: Write, now: Date): Assessment {
  const concerned = quotas.filter((quota) => matches(evaluator, quota, write.object));
  for (const quota of concerned) {
    const refusal = fault(evaluator, quota, write.object);
    if (refusal !== undefined) return { refusal };
  }
  const negative = Object.entries(evaluator.usage(write.object, now)).filter(([, v]) => compareQuantities(v, '0') < 0);
  if (concerned.length > 0 && negative.length > 0) {
    return {
      refusal: `quota usage is negative for resource(s): ${negative
        .map(([name]) => name)
        .sort()
        .join(',')}`,
    };
  }
  const charges: { quota: KubeObject; used: ResourceList }[] = [];
  for (const quota of concerned) {
    const asked = only(more(evaluator, quota, write, now), Object.keys(hardOf(quota)));
    const used = add(usedOf(quota), asked);
    const refusal = write.subresource === 'status' ? undefined : exceeded(quota, asked, used);
    if (refusal !== undefined) return { refusal };
    if (!sameList(used, usedOf(quota))) charges.push({ quota, used });
  }
  return { charges };
}

import { mapOf } from '../../api/fields.ts';
import type { KubeObject } from '../../api/object.ts';
import type { Resource } from '../../registry/resource.ts';
import { add, listOf, only, type ResourceList } from '../resource-lists.ts';
import { isInScopes } from './charge.ts';
import { evaluatorOf } from './evaluators.ts';

/** Whether any of a quota's entries counts objects of a resource. */
export function countable(row: Resource, names: readonly string[]): boolean {
  const evaluator = row.namespaced && row.storage !== undefined ? evaluatorOf(row) : undefined;
  return evaluator !== undefined && names.some(evaluator.counts);
}

/** What a quota's entries count to, given the objects of the resources that they count. */
export function usageOf(
  quota: KubeObject,
  counted: readonly { row: Resource; objects: readonly KubeObject[] }[],
  now: Date,
): ResourceList {
  const names = Object.keys(listOf(mapOf(quota.spec).hard));
  let used: ResourceList = {};
  for (const { row, objects } of counted) {
    const evaluator = evaluatorOf(row);
    if (evaluator === undefined) continue;
    const own = names.filter(evaluator.counts);
    used = add(used, Object.fromEntries(own.map((name) => [name, '0'])));
    for (const object of objects) {
      if (isInScopes(evaluator, quota, object)) used = add(used, only(evaluator.usage(object, now), own));
    }
  }
  return only(used, names);
}

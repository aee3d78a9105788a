import { objectAt, objectsAt, texts } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';

/** Adds requirements that a selector's owner asks for by keys of the pod's own labels. */
function extend(owner: JsonObject, field: string, operator: string, labels: Record<string, string>): void {
  const keys = texts(owner[field]).filter((key) => Object.hasOwn(labels, key));
  if (keys.length === 0 || owner.labelSelector === undefined) return;
  const selector = objectAt(owner, 'labelSelector');
  const added = keys.map((key) => ({ key, operator, values: [labels[key]!] }));
  owner.labelSelector = { ...selector, matchExpressions: [...objectsAt(selector, 'matchExpressions'), ...added] };
}

/**
 * Fills the selectors of a new pod's affinities and spread constraints in with the values of its labels that they name
 * by key.
 */
export function fillInFromLabels(pod: KubeObject): void {
  const labels = pod.metadata.labels ?? {};
  const spec = objectAt(pod, 'spec');
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const affinity = objectAt(objectAt(spec, 'affinity'), kind);
    const preferred = objectsAt(affinity, 'preferredDuringSchedulingIgnoredDuringExecution');
    const required = objectsAt(affinity, 'requiredDuringSchedulingIgnoredDuringExecution');
    for (const term of [...preferred.map((weighted) => objectAt(weighted, 'podAffinityTerm')), ...required]) {
      extend(term, 'matchLabelKeys', 'In', labels);
      extend(term, 'mismatchLabelKeys', 'NotIn', labels);
    }
  }
  for (const constraint of objectsAt(spec, 'topologySpreadConstraints')) {
    extend(constraint, 'matchLabelKeys', 'In', labels);
  }
}

import { mapOf, objectAt, objectsAt, text, texts } from '../../api/fields.ts';
import type { JsonObject, JsonValue } from '../../api/object.ts';
import { labelValueErrors } from '../../api/validation/labels.ts';

/** Labels of nodes that have a successor, and what upstream says of each. */
const deprecated: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  ['scheduler.alpha.kubernetes.io/preferAvoidPods', 'deprecated since v1.22; use Taints and Tolerations instead'],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

/** What there is to say of a label of nodes that has a successor. */
export const labelAdvice = (label: string): string | undefined => deprecated.get(label);

/** `AT: advice` for each deprecated key of a map of labels; `at` gives the path of one. */
export function selectedLabelWarnings(selector: JsonValue | undefined, at: (label: string) => string): string[] {
  return Object.keys(mapOf(selector)).flatMap((label) => {
    const advice = labelAdvice(label);
    return advice === undefined ? [] : [`${at(label)}: ${advice}`];
  });
}

/** Warnings about the expressions of a selector of nodes; `values` looks at the values too. */
export function expressionWarnings(term: JsonObject, at: string, values: boolean): string[] {
  return objectsAt(term, 'matchExpressions').flatMap((expression, i) => {
    const path = `${at}.matchExpressions[${i}]`;
    const key = text(expression.key);
    const advice = labelAdvice(key);
    const odd = values ? texts(expression.values) : [];
    return [
      ...(advice === undefined ? [] : [`${path}.key: ${key} is ${advice}`]),
      ...odd.flatMap((value, j) =>
        labelValueErrors(value).map((why) => `${path}.values[${j}]: ${value} is invalid, ${why}`),
      ),
    ];
  });
}

/** Warnings about the required terms of an affinity to nodes. */
export function termWarnings(required: JsonObject, at: string): string[] {
  return objectsAt(required, 'nodeSelectorTerms').flatMap((term, i) =>
    expressionWarnings(term, `${at}.nodeSelectorTerms[${i}]`, false),
  );
}

/** Warnings about where the nodes of a pod are looked for. */
export function placementWarnings(spec: JsonObject, at: string): string[] {
  const affinity = objectAt(objectAt(spec, 'affinity'), 'nodeAffinity');
  const path = `${at}.affinity.nodeAffinity`;
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  return [
    ...selectedLabelWarnings(spec.nodeSelector, (label) => `${at}.nodeSelector[${label}]`),
    ...termWarnings(objectAt(affinity, required), `${path}.${required}`),
    ...objectsAt(affinity, preferred).flatMap((term, i) =>
      expressionWarnings(objectAt(term, 'preference'), `${path}.${preferred}[${i}].preference`, true),
    ),
    ...objectsAt(spec, 'topologySpreadConstraints').flatMap((constraint, i) => {
      const place = `${at}.topologySpreadConstraints[${i}]`;
      const key = text(constraint.topologyKey);
      const advice = labelAdvice(key);
      return [
        ...(advice === undefined ? [] : [`${place}.topologyKey: ${key} is ${advice}`]),
        ...noSelector(constraint, `${place}.labelSelector`),
      ];
    }),
  ];
}

/** A selector that is not there selects nothing, unlike one that is empty. */
const noSelector = (owner: JsonObject, at: string) =>
  owner.labelSelector === undefined ? [`${at}: a null labelSelector results in matching no pod`] : [];

/** Warnings about affinities to other pods. */
export function podAffinityWarnings(spec: JsonObject, at: string): string[] {
  return ['podAffinity', 'podAntiAffinity'].flatMap((kind) => {
    const affinity = objectAt(objectAt(spec, 'affinity'), kind);
    const path = `${at}.affinity.${kind}`;
    const [required, preferred] = ['required', 'preferred'].map((s) => `${s}DuringSchedulingIgnoredDuringExecution`);
    return [
      ...objectsAt(affinity, required!).flatMap((term, i) =>
        noSelector(term, `${path}.${required}[${i}].labelSelector`),
      ),
      ...objectsAt(affinity, preferred!).flatMap((term, i) =>
        noSelector(objectAt(term, 'podAffinityTerm'), `${path}.${preferred}[${i}].podAffinityTerm.labelSelector`),
      ),
    ];
  });
}

import { mapOf } from '../../api/fields.ts';
import { deepEqual, type JsonValue } from '../../api/object.ts';
import { forbidden } from '../../status/status.ts';
import { type Attributes, subjectOf } from '../chain.ts';

/** Labels of Kubernetes that a kubelet may set. */
const KUBELET_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
]);

const isWithin = (domain: string, ...parents: readonly string[]): boolean =>
  parents.some((parent) => domain === parent || domain.endsWith(`.${parent}`));

/** Whether a label steers pods, and so is not for a node to set on itself. */
function isForbidden(label: string): boolean {
  const slash = label.indexOf('/');
  const domain = slash < 0 ? '' : label.slice(0, slash);
  if (isWithin(domain, 'node-restriction.kubernetes.io')) return true;
  if (!isWithin(domain, 'kubernetes.io', 'k8s.io')) return false;
  return !KUBELET_LABELS.has(label) && !isWithin(domain, 'kubelet.kubernetes.io', 'node.kubernetes.io');
}

type Labels = Readonly<Record<string, string>>;

function forbiddenChanges(labels: Labels, before: Labels): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(before)]);
  const differs = (key: string) =>
    Object.hasOwn(labels, key) !== Object.hasOwn(before, key) || labels[key] !== before[key];
  return [...keys].filter((key) => differs(key) && isForbidden(key)).sort();
}

const isEmpty = (value: JsonValue | undefined) => value === undefined || (Array.isArray(value) && value.length === 0);
const same = (a: JsonValue | undefined, b: JsonValue | undefined) =>
  (isEmpty(a) && isEmpty(b)) || deepEqual(a ?? null, b ?? null);

/** A node writes its own Node only, and neither taints nor labels itself to attract pods. */
export function restrictNode(attributes: Attributes, node: string): void {
  const { name, object, old } = attributes;
  const own = JSON.stringify(node);
  const refuse = (why: string) => forbidden(subjectOf(attributes), name, why);
  const asked = name === '' ? (object?.metadata.name ?? '') : name;
  if (asked !== node) throw refuse(`node ${own} is not allowed to modify node ${JSON.stringify(asked)}`);
  if (object === undefined) return;
  const { configSource, taints } = mapOf(object.spec);
  const bad = forbiddenChanges(object.metadata.labels ?? {}, old?.metadata.labels ?? {});
  if (old === undefined) {
    if (configSource !== undefined) {
      throw refuse(`node ${own} is not allowed to create pods with a non-nil configSource`);
    }
    if (bad.length > 0) throw refuse(`node ${own} is not allowed to set the following labels: ${bad.join(', ')}`);
    return;
  }
  const before = mapOf(old.spec);
  if (configSource !== undefined && !same(configSource, before.configSource)) {
    throw refuse(`node ${own} is not allowed to update configSource to a new non-nil configSource`);
  }
  if (!same(taints, before.taints)) throw refuse(`node ${own} is not allowed to modify taints`);
  if (!same(object.metadata.ownerReferences, old.metadata.ownerReferences)) {
    throw refuse(`node ${own} is not allowed to modify ownerReferences`);
  }
  if (bad.length > 0) throw refuse(`is not allowed to modify labels: ${bad.join(', ')}`);
}

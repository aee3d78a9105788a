import { mapOf, text } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';

/** An admission policy with the bindings that put it in force. */
export interface BoundPolicy {
  policy: KubeObject;
  bindings: readonly KubeObject[];
}

/** The admission policies that are bound and the configurations of webhooks, by kind, in the order of their names. */
export interface AdmissionPolicies {
  webhooks: { validating: readonly KubeObject[]; mutating: readonly KubeObject[] };
  validating: readonly BoundPolicy[];
  mutating: readonly BoundPolicy[];
}

const KINDS: ReadonlySet<unknown> = new Set([
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
  'MutatingWebhookConfiguration',
]);

/** Whether a policy record is an admission policy, the binding of one, or a configuration of webhooks. */
export const isAdmissionPolicy = (kind: unknown): boolean => KINDS.has(kind);

function bound(objects: readonly KubeObject[], kind: string): BoundPolicy[] {
  const bindings = Map.groupBy(
    objects.filter((o) => o.kind === `${kind}Binding`),
    ({ spec }) => text(mapOf(spec).policyName),
  );
  const policies = objects.filter((o) => o.kind === kind && bindings.has(o.metadata.name ?? ''));
  return policies.map((policy) => ({ policy, bindings: bindings.get(policy.metadata.name!)! }));
}

/** Puts policies and their bindings together. `objects` are in the order of their keys. */
export const admissionPolicies = (objects: readonly KubeObject[]): AdmissionPolicies => ({
  validating: bound(objects, 'ValidatingAdmissionPolicy'),
  mutating: bound(objects, 'MutatingAdmissionPolicy'),
  webhooks: {
    validating: objects.filter(({ kind }) => kind === 'ValidatingWebhookConfiguration'),
    mutating: objects.filter(({ kind }) => kind === 'MutatingWebhookConfiguration'),
  },
});

/** Whether two lists have the same revisions of the same configurations. */
export const sameConfigurations = (a: readonly KubeObject[], b: readonly KubeObject[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i]);

/** Whether two lists have the same revisions of the same policies and bindings. */
export const samePolicies = (a: readonly BoundPolicy[], b: readonly BoundPolicy[]): boolean =>
  a.length === b.length &&
  a.every(({ policy, bindings }, i) => {
    const other = b[i]!;
    return (
      policy === other.policy &&
      bindings.length === other.bindings.length &&
      bindings.every((binding, j) => binding === other.bindings[j])
    );
  });

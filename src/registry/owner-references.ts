import { deepEqual, type KubeObject, type OwnerReference } from '../api/object.ts';

const ADVICE =
  'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ';

/** Drops repeated owner references, in place, and warns of them. `afterAdmission`: a mutating plugin may have made them. */
export function dedupOwnerReferences(object: KubeObject, warnings: string[], afterAdmission: boolean): void {
  const references = object.metadata.ownerReferences;
  if (references === undefined || references.length < 2) return;
  const kept: OwnerReference[] = [];
  const repeated: string[] = [];
  for (const reference of references) {
    if (kept.some((other) => deepEqual(other, reference))) repeated.push(reference.uid);
    else kept.push(reference);
  }
  if (repeated.length === 0) return;
  object.metadata.ownerReferences = kept;
  const where = afterAdmission ? ' after mutating admission happens' : '';
  warnings.push(`.metadata.ownerReferences contains duplicate entries${where}; ${ADVICE}${repeated.join(', ')}`);
}

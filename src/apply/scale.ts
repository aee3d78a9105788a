import type { ManagedFieldsEntry } from '../api/object.ts';
import { difference, fieldElement, hasPath, isEmptySet, setOf } from './field-set.ts';
import type { Owners } from './managers.ts';
import { readOwners, writeOwners } from './managers.ts';

/** Where the parent keeps its replicas, for example `spec.replicas`, by the parent's apiVersion; versions without scale have none. */
export type ReplicasPaths = Readonly<Record<string, string | undefined>>;

const SCALE_VERSION = 'autoscaling/v1';
const REPLICAS_OF_SCALE = ['f:spec', 'f:replicas'];

const elements = (path: string): string[] => path.replace(/^\./, '').split('.').map(fieldElement);

/** Managed fields that the scale subresource of a parent shows: those who own its replicas. */
export function managedFieldsOfScale(
  parent: readonly ManagedFieldsEntry[],
  replicasPaths: ReplicasPaths,
): ManagedFieldsEntry[] {
  const out: Owners = new Map();
  for (const [id, owner] of readOwners(parent, true)) {
    const path = replicasPaths[owner.apiVersion];
    if (path === undefined || !hasPath(owner.set, elements(path))) continue;
    out.set(id, { ...owner, apiVersion: SCALE_VERSION, set: setOf([REPLICAS_OF_SCALE]) });
  }
  return writeOwners(out);
}

/**
 * Managed fields of the parent after its scale subresource was written. Whoever took the replicas there has them here, without a
 * time unless the parent knew the manager already.
 * @param scale managed fields of the Scale as written
 * @param groupVersion version of the parent that the request went through
 */
export function managedFieldsFromScale(
  parent: readonly ManagedFieldsEntry[],
  scale: readonly ManagedFieldsEntry[],
  groupVersion: string,
  replicasPaths: ReplicasPaths,
): ManagedFieldsEntry[] {
  const out: Owners = new Map();
  const parentOwners = readOwners(parent, true);
  const scaleOwners = readOwners(scale, true);
  for (const [id, owner] of parentOwners) {
    if (!Object.hasOwn(replicasPaths, owner.apiVersion)) continue;
    const path = replicasPaths[owner.apiVersion];
    const untouched = path === undefined || !hasPath(owner.set, elements(path)) || scaleOwners.delete(id);
    const set = untouched ? owner.set : difference(owner.set, setOf([elements(path)]));
    if (!isEmptySet(set)) out.set(id, { ...owner, set });
  }
  const replicas = replicasPaths[groupVersion];
  if (replicas === undefined) return writeOwners(out);
  for (const [id, owner] of scaleOwners) {
    if (!hasPath(owner.set, REPLICAS_OF_SCALE)) continue;
    out.set(id, {
      ...owner,
      apiVersion: groupVersion,
      time: parentOwners.get(id)?.time,
      set: setOf([elements(replicas)]),
    });
  }
  return writeOwners(out);
}

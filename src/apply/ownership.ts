import type { KubeObject } from '../api/object.ts';
import type { FieldSet } from './field-set.ts';
import { difference, fieldElement, intersection, isEmptySet, recursiveDifference, setOf, union } from './field-set.ts';
import type { KindType } from './kind-type.ts';
import type { Owner, Owners } from './managers.ts';
import type { Comparison } from './typed.ts';
import { compare, reconcile } from './typed.ts';

/** Another version in which owners of an object have written. */
export interface OtherVersion {
  kind: KindType;
  /** From the version of the request. */
  convert: (object: KubeObject) => KubeObject;
  /** Back to the version of the request. */
  back: (object: KubeObject) => KubeObject;
}

/** The versions that matter to a write. */
export interface Versions {
  /** apiVersion of the request; the objects are in this version. */
  groupVersion: string;
  kind: KindType;
  /** Paths (`spec`, `metadata.labels`) that the endpoint drops, by apiVersion. */
  resetFields?: Readonly<Record<string, readonly string[]>>;
  /** Served versions of the same kind other than `groupVersion`; undefined for those no longer known. Default: none is known. */
  otherVersion?: (groupVersion: string) => OtherVersion | undefined;
}

/** Fields of which ownership is never recorded. */
const NEVER_OWNED = setOf([
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...'name namespace creationTimestamp selfLink uid clusterName generation managedFields resourceVersion'
    .split(' ')
    .map((name) => ['f:metadata', `f:${name}`]),
]);

/** The set without what is never recorded. */
export const recordable = (set: FieldSet): FieldSet => difference(set, NEVER_OWNED);

/** Isolate cache, constant once filled: sets of reset fields, by the list that names them. */
const resetSets = new WeakMap<readonly string[], FieldSet>();

function resetSet(paths: readonly string[]): FieldSet {
  const known = resetSets.get(paths);
  if (known !== undefined) return known;
  const made = setOf(paths.map((path) => path.split('.').map(fieldElement)));
  resetSets.set(paths, made);
  return made;
}

/** The set without the fields that the endpoint drops in a version, and all below them. */
export function withoutResetFields(set: FieldSet, versions: Versions, groupVersion: string): FieldSet {
  const paths = versions.resetFields?.[groupVersion];
  if (paths === undefined || paths.length === 0 || isEmptySet(set)) return set;
  return recursiveDifference(set, resetSet(paths));
}

/** Conflicts of a forced change: the fields that each owner loses, by owner id. */
export type Conflicts = Map<string, FieldSet>;

/**
 * Takes from owners what a change from `before` to `after` modifies, adds or removes. Changes `owners`: those left with nothing
 * and those of versions that are no longer known are dropped. The owner `except` keeps what it has.
 * @returns what changed in the request's version, and what others would lose; with `force` false nothing is taken from anyone
 *   when there are such conflicts
 */
export function takeChanged(
  owners: Owners,
  before: KubeObject,
  after: KubeObject,
  versions: Versions,
  options: { except?: string; force: boolean },
): { changed: Comparison; conflicts: Conflicts } {
  const comparisons = new Map<string, Comparison | undefined>();
  const comparisonIn = (groupVersion: string): Comparison | undefined => {
    if (!comparisons.has(groupVersion))
      comparisons.set(groupVersion, comparisonOf(before, after, versions, groupVersion));
    return comparisons.get(groupVersion);
  };
  const changed = comparisonIn(versions.groupVersion) as Comparison;
  const conflicts: Conflicts = new Map();
  for (const [id, owner] of owners) {
    if (id === options.except) continue;
    const comparison = comparisonIn(owner.apiVersion);
    if (comparison === undefined) owners.delete(id);
    else {
      const lost = intersection(owner.set, union(comparison.modified, comparison.added));
      if (!isEmptySet(lost)) conflicts.set(id, lost);
    }
  }
  if (conflicts.size > 0 && !options.force) return { changed, conflicts };
  for (const [id, owner] of owners) {
    if (id === options.except) {
      if (isEmptySet(owner.set)) owners.delete(id);
      continue;
    }
    const kept = difference(owner.set, union(conflicts.get(id) ?? {}, comparisonIn(owner.apiVersion)?.removed ?? {}));
    if (isEmptySet(kept)) owners.delete(id);
    else if (kept !== owner.set) owners.set(id, { ...owner, set: kept });
  }
  return { changed, conflicts };
}

function comparisonOf(
  before: KubeObject,
  after: KubeObject,
  versions: Versions,
  groupVersion: string,
): Comparison | undefined {
  let comparison: Comparison;
  if (groupVersion === versions.groupVersion) comparison = compare(versions.kind.type, before, after);
  else {
    const other = versions.otherVersion?.(groupVersion);
    if (other === undefined) return undefined;
    comparison = compare(other.kind.type, other.convert(before), other.convert(after));
  }
  return {
    added: withoutResetFields(comparison.added, versions, groupVersion),
    modified: withoutResetFields(comparison.modified, versions, groupVersion),
    removed: withoutResetFields(comparison.removed, versions, groupVersion),
  };
}

/** The owners as today's types would record them. Owners of versions that are no longer known are left out. */
export function reconcileOwners(owners: Owners, versions: Versions): Owners {
  const out: Owners = new Map();
  for (const [id, owner] of owners) {
    const kind =
      owner.apiVersion === versions.groupVersion ? versions.kind : versions.otherVersion?.(owner.apiVersion)?.kind;
    if (kind === undefined) continue;
    const set = reconcile(kind.type, owner.set);
    out.set(id, set === owner.set ? owner : { ...owner, set });
  }
  return out;
}

/**
 * Owners after an update: whoever did it takes what changed.
 * @param self who updates, without time and set
 */
export function ownersAfterUpdate(
  owners: Owners,
  before: KubeObject,
  after: KubeObject,
  versions: Versions,
  self: { id: string; owner: Omit<Owner, 'time' | 'set'>; time: string },
): Owners {
  const out = reconcileOwners(owners, versions);
  const { changed } = takeChanged(out, before, after, versions, { force: true });
  const mine = recordable(withoutResetFields(union(changed.modified, changed.added), versions, versions.groupVersion));
  if (isEmptySet(mine)) return out;
  const previous = out.get(self.id);
  out.set(self.id, { ...self.owner, time: self.time, set: previous === undefined ? mine : union(mine, previous.set) });
  return out;
}

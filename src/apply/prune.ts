import { isObject, type KubeObject } from '../api/object.ts';
import type { FieldSet } from './field-set.ts';
import { difference, EMPTY_SET, intersection, isEmptySet, union } from './field-set.ts';
import type { Owner, Owners } from './managers.ts';
import type { OtherVersion, Versions } from './ownership.ts';
import { fieldSetOf, removeItems, withNamedFields } from './typed.ts';

/**
 * Removes from a merged object what its applier applied last time and gave up, unless others own it. Items that nobody owns but
 * that the applier did not apply either stay.
 * @param owners owners with the applier's new entry
 * @param last the applier's entry before this apply
 */
export function prune(
  merged: KubeObject,
  owners: Owners,
  last: Owner | undefined,
  now: Owner,
  versions: Versions,
): KubeObject {
  if (last === undefined || isEmptySet(last.set)) return merged;
  if (last.apiVersion === now.apiVersion && isEmptySet(difference(last.set, now.set))) return merged;
  const home = versionOf(last.apiVersion, versions);
  if (home === undefined) return merged;
  const type = home.kind.type;
  const full = home.convert(merged);
  const lastSet = withNamedFields(type, last.set);
  let pruned = (removeItems(type, full, lastSet) ?? {}) as KubeObject;
  pruned = keepOwned(full, pruned, owners, last.apiVersion, versions);
  const prunedSet = withNamedFields(type, fieldSetOf(type, pruned));
  const mergedSet = withNamedFields(type, fieldSetOf(type, full));
  const dropped = intersection(difference(mergedSet, prunedSet), lastSet);
  const result = (removeItems(type, full, dropped) ?? {}) as KubeObject;
  return home.back(withMetadata(result));
}

const same = (object: KubeObject): KubeObject => object;

function versionOf(groupVersion: string, versions: Versions): OtherVersion | undefined {
  if (groupVersion === versions.groupVersion) return { kind: versions.kind, convert: same, back: same };
  return versions.otherVersion?.(groupVersion);
}

/** Conversions count on metadata, which pruning may have taken whole. */
const withMetadata = (object: KubeObject): KubeObject =>
  isObject(object.metadata) ? object : { ...object, metadata: {} };

/** Puts back what owners claim in any version, those of the version pruned in first. The result is in that version. */
function keepOwned(
  full: KubeObject,
  pruned: KubeObject,
  owners: Owners,
  prunedIn: string,
  versions: Versions,
): KubeObject {
  const owned = new Map<string, FieldSet>();
  for (const owner of owners.values())
    owned.set(owner.apiVersion, union(owned.get(owner.apiVersion) ?? EMPTY_SET, owner.set));
  const home = versionOf(prunedIn, versions) as OtherVersion;
  let kept = pruned;
  for (const groupVersion of [prunedIn, ...[...owned.keys()].filter((v) => v !== prunedIn)]) {
    const claimed = owned.get(groupVersion);
    const version = versionOf(groupVersion, versions);
    if (claimed === undefined || version === undefined) continue;
    const to = (object: KubeObject) =>
      groupVersion === prunedIn ? object : version.convert(home.back(withMetadata(object)));
    const from = (object: KubeObject) =>
      groupVersion === prunedIn ? object : home.convert(version.back(withMetadata(object)));
    const type = version.kind.type;
    const all = to(full);
    const gone = difference(
      withNamedFields(type, fieldSetOf(type, all)),
      union(withNamedFields(type, fieldSetOf(type, to(kept))), withNamedFields(type, claimed)),
    );
    kept = from((removeItems(type, all, gone) ?? {}) as KubeObject);
  }
  return kept;
}

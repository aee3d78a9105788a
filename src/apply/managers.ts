import type { JsonObject, ManagedFieldsEntry } from '../api/object.ts';
import type { FieldSet } from './field-set.ts';
import { canonical, EMPTY_SET, parseFieldSet, union } from './field-set.ts';

/** One entry of `metadata.managedFields`. */
export interface Owner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly set: FieldSet;
  /** The entry that it was read from, if this server wrote it: written again as it is unless the owner has changed. */
  readonly entry?: ManagedFieldsEntry;
}

/** Owners by {@link ownerId}. */
export type Owners = Map<string, Owner>;

/** Update managers that an object keeps apart; the oldest beyond that become {@link ANCIENT_CHANGES}. */
const MAX_UPDATE_MANAGERS = 10;
const ANCIENT_CHANGES = 'ancient-changes';

/** What tells owners apart. Appliers are the same in every version. Conflicts are listed in the order of these. */
export function ownerId(owner: Pick<Owner, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  return JSON.stringify({
    ...(owner.manager === '' ? {} : { manager: owner.manager }),
    operation: owner.operation,
    ...(owner.operation === 'Apply' ? {} : { apiVersion: owner.apiVersion }),
    ...(owner.subresource === '' ? {} : { subresource: owner.subresource }),
  });
}

/**
 * Reads managed fields.
 * @param trusted whether this server wrote them, so that their sets are in canonical form
 * @throws Error that says what is wrong with them
 */
export function readOwners(entries: readonly ManagedFieldsEntry[], trusted: boolean): Owners {
  const owners: Owners = new Map();
  for (const [index, entry] of entries.entries()) {
    const { operation, apiVersion, fieldsType } = entry;
    if (operation !== 'Apply' && operation !== 'Update') throw new Error('operation must be `Apply` or `Update`');
    if (typeof apiVersion !== 'string' || apiVersion === '') throw new Error('apiVersion must not be empty');
    if (fieldsType === undefined || fieldsType === '')
      throw new Error(`missing fieldsType in managed fields entry ${index}`);
    if (fieldsType !== 'FieldsV1')
      throw new Error(`invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`);
    const owner: Owner = {
      manager: entry.manager ?? '',
      operation,
      apiVersion,
      subresource: entry.subresource ?? '',
      time: entry.time ?? undefined,
      set: trusted ? ((entry.fieldsV1 ?? EMPTY_SET) as unknown as FieldSet) : parseFieldSet(entry.fieldsV1),
      ...(trusted ? { entry } : {}),
    };
    owners.set(ownerId(owner), owner);
  }
  return owners;
}

/** Writes managed fields in upstream's order: by operation, time, manager, version and subresource. */
export function writeOwners(owners: Owners): ManagedFieldsEntry[] {
  return [...owners.values()].sort(compareOwners).map(entryOf);
}

function entryOf(owner: Owner): ManagedFieldsEntry {
  const { entry, apiVersion, time } = owner;
  const same = (entry?.fieldsV1 as unknown) === owner.set && entry?.time === time && entry?.apiVersion === apiVersion;
  if (entry !== undefined && same) return entry;
  return {
    ...(owner.manager === '' ? {} : { manager: owner.manager }),
    operation: owner.operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: canonical(owner.set) as unknown as JsonObject,
    ...(owner.subresource === '' ? {} : { subresource: owner.subresource }),
  };
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const compareOwners = (a: Owner, b: Owner): number =>
  compareText(a.operation, b.operation) ||
  compareText(a.time ?? '', b.time ?? '') ||
  compareText(a.manager, b.manager) ||
  compareText(a.apiVersion, b.apiVersion) ||
  compareText(a.subresource, b.subresource);

/** Joins the oldest update managers of a version into one until there are no more than the maximum. Changes `owners`. */
export function capUpdateManagers(owners: Owners): void {
  const updaters = [...owners].filter(([, owner]) => owner.operation === 'Update');
  let count = updaters.length;
  if (count <= MAX_UPDATE_MANAGERS) return;
  updaters.sort(([idA, a], [idB, b]) => compareText(a.time ?? '', b.time ?? '') || compareText(idA, idB));
  const firstOf = new Map<string, string>();
  for (const [id, owner] of updaters) {
    if (count <= MAX_UPDATE_MANAGERS) return;
    const first = firstOf.get(owner.apiVersion);
    if (first === undefined) {
      firstOf.set(owner.apiVersion, id);
      continue;
    }
    const { entry: _, ...rest } = owner;
    const bucket: Owner = { ...rest, manager: ANCIENT_CHANGES, subresource: '' };
    const bucketId = ownerId(bucket);
    const gathered = owners.get(bucketId) ?? owners.get(first);
    if (!owners.has(bucketId)) owners.delete(first);
    owners.set(bucketId, { ...bucket, set: gathered === undefined ? owner.set : union(owner.set, gathered.set) });
    owners.delete(id);
    count--;
  }
}

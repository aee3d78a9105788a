import type { JsonObject, KubeObject, ManagedFieldsEntry, ObjectMeta } from '../api/object.ts';
import { deepEqual } from '../api/object.ts';
import type { Owners } from './managers.ts';
import { capUpdateManagers, ownerId, readOwners, writeOwners } from './managers.ts';
import type { Versions } from './ownership.ts';
import { ownersAfterUpdate } from './ownership.ts';

export type { OtherVersion, Versions } from './ownership.ts';

export interface FieldManagerOptions extends Versions {
  /** `fieldManager` of the request, or {@link managerOf} its user agent. */
  manager: string;
  /** Name of the subresource, `''` for the object itself. */
  subresource: string;
  now: Date;
}

/**
 * Gives the object the `metadata.managedFields` that a create, update or (non-apply) patch leaves behind: the manager takes the
 * fields that changed, others lose them. Never throws on what clients send: unreadable managedFields are dropped, as upstream does.
 *
 * Call it where upstream does: after decoding and defaulting, before admission and before the strategy prepares the object.
 * On creates `live` is undefined. Neither object is changed; the result shares parts with `object`.
 */
export function updateManagedFields(
  live: KubeObject | undefined,
  object: KubeObject,
  options: FieldManagerOptions,
): KubeObject {
  const bare = withManagedFields(object, undefined);
  const owners = ownersToStartFrom(live, object, options.subresource !== '');
  if (owners.size === 0 && live !== undefined) return bare;
  const before = live === undefined ? (options.kind.empty as KubeObject) : withManagedFields(live, undefined);
  return withOwners(bare, ownersAfter(owners, before, bare, options));
}

/** Owners after the update, no more than upstream keeps apart. */
export function ownersAfter(
  owners: Owners,
  before: KubeObject,
  after: KubeObject,
  options: FieldManagerOptions,
): Owners {
  const manager = options.manager === '' ? 'unknown' : options.manager;
  const owner = {
    manager,
    operation: 'Update' as const,
    apiVersion: options.groupVersion,
    subresource: options.subresource,
  };
  const out = ownersAfterUpdate(owners, before, after, options, {
    id: ownerId(owner),
    owner,
    time: timeOf(options.now),
  });
  capUpdateManagers(out);
  return out;
}

/** RFC 3339 in whole seconds, as managedFields record time. */
export const timeOf = (now: Date): string => `${now.toISOString().slice(0, 19)}Z`;

/**
 * A client may write managedFields on the object itself: an empty list, or a list of one empty entry, resets them; entries that
 * can be read are taken; else, and for subresources, the live ones stand.
 */
function ownersToStartFrom(live: KubeObject | undefined, object: KubeObject, subresource: boolean): Owners {
  const given = object.metadata?.managedFields;
  const known = live?.metadata.managedFields;
  if (!subresource && Array.isArray(given)) {
    if (given.length === 0 || (given.length === 1 && Object.keys(given[0] ?? {}).length === 0)) return new Map();
    if (given !== known && !deepEqual(given, known)) {
      const read = readOrNone(given, false);
      if (read.size > 0) return read;
    }
  }
  return readOrNone(known ?? [], true);
}

function readOrNone(entries: readonly ManagedFieldsEntry[], trusted: boolean): Owners {
  try {
    return readOwners(entries, trusted);
  } catch {
    return new Map();
  }
}

/** A copy of the object whose managedFields are those of the owners. */
export function withOwners(object: KubeObject, owners: Owners): KubeObject {
  return owners.size === 0 ? withManagedFields(object, undefined) : withManagedFields(object, writeOwners(owners));
}

/** A copy of the object with other managedFields, or none. Returns the object itself when it has none already. */
export function withManagedFields(object: KubeObject, entries: ManagedFieldsEntry[] | undefined): KubeObject {
  if (entries === undefined && object.metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...metadata }: ObjectMeta = object.metadata ?? {};
  if (entries !== undefined) (metadata as ObjectMeta).managedFields = entries;
  return { ...object, metadata };
}

/**
 * Takes times of `object`'s managed fields back to those of `live` when nothing else differs, so that a no-op writes nothing.
 * Call it after admission and the strategy, before comparing with the stored bytes. Neither object is changed.
 */
export function keepTimesOfNoop(live: KubeObject, object: KubeObject): KubeObject {
  const before = live.metadata.managedFields;
  const after = object.metadata.managedFields;
  if (before === undefined || after === undefined || after.length === 0 || before.length !== after.length)
    return object;
  if (after.every((entry, i) => entry.time === before[i]?.time)) return object;
  if (!after.every((entry, i) => deepEqual(untimed(entry), untimed(before[i])))) return object;
  if (!deepEqual(withManagedFields(object, undefined), withManagedFields(live, undefined))) return object;
  return withManagedFields(object, before);
}

function untimed(entry: ManagedFieldsEntry | undefined): JsonObject {
  const { time: _, ...rest } = entry ?? {};
  return rest;
}

/** Says what is wrong with managed fields that admission left behind; undefined when they can be read. */
export function managedFieldsProblem(entries: readonly ManagedFieldsEntry[]): string | undefined {
  try {
    readOwners(entries, false);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const MAX_MANAGER_BYTES = 128;
const UNPRINTABLE = /[\p{C}\p{Z}]/u;

/** The manager of a request that names none: its user agent up to the first slash, printable characters, at most 128 bytes. */
export function managerOf(userAgent: string): string {
  let out = '';
  let bytes = 0;
  for (const character of userAgent.split('/')[0] ?? '') {
    if (character !== ' ' && UNPRINTABLE.test(character)) continue;
    bytes += new TextEncoder().encode(character).length;
    if (bytes > MAX_MANAGER_BYTES) break;
    out += character;
  }
  return out;
}

import { text } from '../api/fields.ts';
import type { JsonObject, JsonValue, KubeObject } from '../api/object.ts';
import { deepEqual, isObject } from '../api/object.ts';
import { badRequest, plainError } from '../status/status.ts';
import { conflictError } from './conflicts.ts';
import type { FieldSet } from './field-set.ts';
import { difference, isEmptySet } from './field-set.ts';
import { KUBECTL, standingLastApplied, withLastApplied } from './last-applied.ts';
import type { FieldManagerOptions } from './managed-fields.ts';
import { ownersAfter, timeOf, withManagedFields, withOwners } from './managed-fields.ts';
import type { Owner, Owners } from './managers.ts';
import { ownerId, readOwners } from './managers.ts';
import { mergeValues } from './merge-values.ts';
import type { Conflicts } from './ownership.ts';
import { reconcileOwners, recordable, takeChanged, withoutResetFields } from './ownership.ts';
import { prune } from './prune.ts';
import { typeErrors } from './type-errors.ts';
import { fieldSetOf } from './typed.ts';

export interface ApplyOptions extends FieldManagerOptions {
  /** Kind of the request's resource (or subresource), which the configuration must be of. */
  kindName: string;
  force: boolean;
  /** What decoding does to the merged tree of a changed object: normal form (`null`s dropped, …) and defaults. */
  finish: (object: KubeObject) => KubeObject;
}

/** The manager that owns what an object without managed fields had when it was first applied. */
const BEFORE_FIRST_APPLY = 'before-first-apply';

/**
 * Server-side apply (KEP-555): merges a configuration into `live` (undefined when the object is to be created), removes what the
 * manager gave up, and returns the object with its new managedFields. Ownership is that of the merged object before `finish`.
 * Admission, strategy and validation are the caller's, then `keepTimesOfNoop`. Neither argument is changed.
 *
 * Throws 409 with a cause per field and manager on conflicts, 400 for a body that is no object, is of another kind or version
 * or has managedFields, and 500 for one that the type does not allow.
 */
export function serverSideApply(live: KubeObject | undefined, config: JsonValue, options: ApplyOptions): KubeObject {
  const applied = checkConfig(config, options);
  const before = live === undefined ? (options.kind.empty as KubeObject) : withManagedFields(live, undefined);
  const owners = ownersBefore(live, before, options);
  checkTypes(applied, options);
  const outcome = applyOnce(before, applied, owners, options, options.force);
  if (outcome.conflicts.size > 0) {
    const allowed = options.manager === KUBECTL && live !== undefined ? standingLastApplied(live, options) : undefined;
    const left = allowed === undefined ? outcome.conflicts : withoutAllowed(outcome.conflicts, allowed);
    if (left.size > 0) throw conflictError(left, owners);
    return finished(before, applied, applyOnce(before, applied, owners, options, true), options);
  }
  return finished(before, applied, outcome, options);
}

function checkConfig(config: JsonValue, options: ApplyOptions): JsonObject {
  if (!isObject(config) && config !== null) {
    const type = Array.isArray(config) ? 'array' : typeof config === 'boolean' ? 'bool' : typeof config;
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
    );
  }
  const applied = config ?? {};
  if (applied.apiVersion !== options.groupVersion || applied.kind !== options.kindName) {
    throw badRequest(`invalid object type: ${kindText(applied)}`);
  }
  if (isObject(applied.metadata) && Array.isArray(applied.metadata.managedFields)) {
    throw badRequest('metadata.managedFields must be nil');
  }
  return applied;
}

/** Group, version and kind as Go prints them: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`. */
function kindText(object: JsonObject): string {
  const groupVersion = text(object.apiVersion);
  return `${groupVersion.includes('/') ? groupVersion : `/${groupVersion}`}, Kind=${text(object.kind)}`;
}

function checkTypes(config: JsonObject, options: ApplyOptions): void {
  const errors = typeErrors(options.kind.type, config);
  if (errors === undefined) return;
  const metadata = isObject(config.metadata) ? config.metadata : {};
  const name = `${text(metadata.namespace)}/${text(metadata.name)}`;
  throw plainError(`failed to create typed patch object (${name}; ${kindText(config)}): ${errors}`);
}

/** The owners of the live object. Of one that has none, everything is owned by {@link BEFORE_FIRST_APPLY}. */
function ownersBefore(live: KubeObject | undefined, before: KubeObject, options: ApplyOptions): Owners {
  const owners = readLive(live);
  if (owners.size > 0 || live === undefined) return owners;
  return ownersAfter(owners, options.kind.empty as KubeObject, before, { ...options, manager: BEFORE_FIRST_APPLY });
}

function readLive(live: KubeObject | undefined): Owners {
  try {
    return readOwners(live?.metadata.managedFields ?? [], true);
  } catch (error) {
    throw plainError(`failed to decode managed fields: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface Outcome {
  object: KubeObject;
  owners: Owners;
  conflicts: Conflicts;
  id: string;
}

function applyOnce(
  before: KubeObject,
  config: JsonObject,
  known: Owners,
  options: ApplyOptions,
  force: boolean,
): Outcome {
  const { type } = options.kind;
  const owners = reconcileOwners(known, options);
  const merged = (mergeValues(type, before, config) ?? {}) as KubeObject;
  const manager = options.manager === '' ? 'unknown' : options.manager;
  const identity = {
    manager,
    operation: 'Apply' as const,
    apiVersion: options.groupVersion,
    subresource: options.subresource,
  };
  const id = ownerId(identity);
  const last = owners.get(id);
  const set = withoutResetFields(fieldSetOf(type, config), options, options.groupVersion);
  const mine: Owner = { ...identity, time: last?.time, set };
  owners.set(id, mine);
  const object = prune(merged, owners, last, mine, options);
  const { conflicts } = takeChanged(owners, before, object, options, { except: id, force });
  return { object, owners, conflicts: force ? new Map() : conflicts, id };
}

/** Pruning leaves `null` of what it emptied; in metadata that is the same as nothing. */
function withoutEmptiedMeta(object: KubeObject): KubeObject {
  const { metadata } = object;
  if (!isObject(metadata) || !Object.values(metadata).includes(null)) return object;
  return { ...object, metadata: Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null)) };
}

function withoutAllowed(conflicts: Conflicts, allowed: FieldSet): Conflicts {
  const left: Conflicts = new Map();
  for (const [id, set] of conflicts) {
    const rest = difference(set, allowed);
    if (!isEmptySet(rest)) left.set(id, rest);
  }
  return left;
}

/** The object with what ownership and last-applied bookkeeping add. A no-op keeps the live object and the times. */
function finished(before: KubeObject, config: JsonObject, outcome: Outcome, options: ApplyOptions): KubeObject {
  const { owners, id } = outcome;
  const noop = deepEqual(before, outcome.object);
  const mine = owners.get(id);
  if (mine !== undefined) keepMine(owners, id, { ...mine, time: noop ? mine.time : timeOf(options.now) });
  const object = noop ? before : options.finish(withoutEmptiedMeta(outcome.object));
  const told = options.manager === KUBECTL ? withLastApplied(object, config) : object;
  return withOwners(told, owners);
}

function keepMine(owners: Owners, id: string, owner: Owner): void {
  const set = recordable(owner.set);
  if (isEmptySet(set)) owners.delete(id);
  else owners.set(id, { ...owner, set });
}

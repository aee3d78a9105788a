import { type Attributes, admit, validate } from '../admission/chain.ts';
import { deviceAccessFaults } from '../admission/device-access.ts';
import { pluginsOf } from '../admission/plugins.ts';
import { paramAccessFaults } from '../admission/policies/param-access.ts';
import type { KubeObject } from '../api/object.ts';
import { validateUpdate } from '../api/validation/index.ts';
import { keepTimesOfNoop } from '../apply/managed-fields.ts';
import { checkEscalation } from '../authz/escalation.ts';
import type { Operation, StoredRecord } from '../keyspace/types.ts';
import { byPolicy } from '../policy/guard.ts';
import { causes, conflict, invalid, notFound, plainError, StatusError } from '../status/status.ts';
import { releasesOf } from './allocation.ts';
import { assessCharge, proposeCharged } from './charged.ts';
import { AllocationLost, commitNew, prepareNew } from './create.ts';

import { keyOf } from './keys.ts';
import { workOfDelete } from './meta.ts';
import { dedupOwnerReferences } from './owner-references.ts';
import { toObject } from './present.ts';
import type { Resource } from './resource.ts';
import {
  type Allocate,
  attributesOf,
  type Companions,
  ensureNamespace,
  kindSubject,
  OPTIMISTIC_LOCK,
  putOf,
  readConfirmed,
  recordOf,
  type Scope,
  sameBytes,
  subject,
  type Written,
} from './scope.ts';
import { prepareForUpdate, strategyOf } from './strategy.ts';
import { warningsAbout } from './warnings/index.ts';

/** Milliseconds for which a write that names no version goes on trying against concurrent ones, as upstream's requests. */
const RETRY_MS = 34_000;

/** How an update makes the new object. */
export interface Update {
  /**
   * The object to store in place of `existing` (undefined: to be created). Called again for each version that is
   * met; must not change `existing`.
   */
  transform: (existing: KubeObject | undefined) => Promise<KubeObject> | KubeObject;
  /** The client names no version: wait for a turn rather than race concurrent writers. */
  queues?: boolean;
  /** uid that the existing object must have. */
  uid?: string;
  /** Creates the object when it is missing, whatever the resource says (apply). */
  createsMissing?: boolean;
  /** Asked before an update creates. */
  authorizeCreate?: () => Promise<void>;
  /** Skips mutating and validating admission and escalation checks: changes that the server makes itself. */
  internal?: boolean;
  /**
   * What admission sees in place of an object: the Scale that it shows. `transform` asks the mutating half itself then.
   */
  shows?: (object: KubeObject) => KubeObject;
  /** Stores what `transform` gives as it is: no strategy, no validation, no admission. */
  raw?: boolean;
  /** Allocates what the object needs beside itself. */
  allocate?: Allocate | undefined;
}

type Decision =
  | { type: 'create'; object: KubeObject; companions: Companions | undefined }
  | { type: 'put'; object: KubeObject; old: KubeObject; companions: Companions | undefined }
  | { type: 'delete'; object: KubeObject; old: KubeObject; companions: Companions | undefined };

/**
 * Changes an object with optimistic concurrency: decides on the leader's unconfirmed record, and commits on condition
 * that it is still that one. A write that names no version is decided again on the record that was in its way; one that
 * does gets the 409. Refusals and answers that write nothing are only given on a confirmed record.
 */
export async function updateObject(scope: Scope, update: Update): Promise<Written & { created: boolean }> {
  const { ctx, resource } = scope;
  const key = keyOf(resource, scope.namespace, scope.name);
  const deadline = Date.now() + RETRY_MS;
  const read = async () => (await ctx.keyspace.get([key], { type: update.queues ? 'turn' : 'leader' })).records[0];
  let record = await read();
  let confirmed = false;
  for (;;) {
    const warned = ctx.warnings.length;
    const outcome: Outcome = await byPolicy(ctx, () => attempt(scope, update, key, record, confirmed)).catch(
      async (error: unknown): Promise<Outcome> => {
        if (confirmed || !(error instanceof StatusError)) throw error;
        const current = await readConfirmed(ctx, key);
        if (current?.modRevision === record?.modRevision) throw error;
        return { retry: current };
      },
    );
    if ('object' in outcome) return outcome;
    if (Date.now() > deadline) throw conflict(subject(scope), scope.name, OPTIMISTIC_LOCK);
    ctx.warnings.length = warned;
    confirmed = 'retry' in outcome;
    record = 'retry' in outcome ? outcome.retry : await read();
  }
}

/** `lost`: another change came first, and it takes another turn to decide again; `retry`: on that confirmed record. */
type Outcome = (Written & { created: boolean }) | { retry: StoredRecord | undefined } | { lost: true };

async function attempt(
  scope: Scope,
  update: Update,
  key: string,
  record: StoredRecord | undefined,
  confirmed: boolean,
): Promise<Outcome> {
  const { ctx, resource, options } = scope;
  const decision = await decide(scope, update, record);
  const { object, companions } = decision;
  if (decision.type === 'create') return createMissing(scope, key, object, companions);
  const { old } = decision;
  if (decision.type === 'delete') {
    if (options.dryRun) return { object, created: false };
    const outcome = await commit(
      scope,
      key,
      record!,
      [{ type: 'delete', key, work: workOfDelete(old) }, ...releasesOf(scope, old)],
      undefined,
    );
    return outcome.ok ? { object, created: false } : again(update, outcome.current);
  }
  const put = putOf(scope, key, object, old);
  const own = update.internal || update.raw;
  const attributes = own ? undefined : attributesOf(scope, 'UPDATE', object, old);
  const same = sameBytes(put.value, record!.value) && record!.meta.tag.storageVersion === put.meta.tag.storageVersion;
  if (same || options.dryRun) {
    if (!same && attributes !== undefined) await assessCharge(attributes);
    if (!confirmed) {
      const current = await readConfirmed(ctx, key);
      if (current?.modRevision !== record!.modRevision) return { retry: current };
    }
    object.metadata.resourceVersion = String(record!.modRevision);
    return same ? { object: toObject(resource, record!), record: record!, created: false } : { object, created: false };
  }
  const outcome = await commit(scope, key, record!, [put], companions, attributes);
  if (!outcome.ok) return again(update, outcome.current);
  const stored = recordOf(put, record!.createRevision, outcome.revision);
  object.metadata.resourceVersion = String(outcome.revision);
  return { object, record: stored, created: false };
}

const again = (update: Update, current: StoredRecord | undefined): Outcome =>
  update.queues ? { lost: true } : { retry: current };

async function createMissing(
  scope: Scope,
  key: string,
  object: KubeObject,
  companions: Companions | undefined,
): Promise<Outcome> {
  try {
    return { ...(await commitNew(scope, key, object, companions)), created: true };
  } catch (error) {
    const taken = error instanceof StatusError && error.status.reason === 'AlreadyExists';
    if (!taken && !(error instanceof AllocationLost)) throw error;
    return { retry: await readConfirmed(scope.ctx, key) };
  }
}

async function commit(
  scope: Scope,
  key: string,
  record: StoredRecord,
  operations: Operation[],
  companions: Companions | undefined,
  attributes?: Attributes,
): Promise<{ ok: true; revision: number } | { ok: false; current: StoredRecord | undefined }> {
  const result = await proposeCharged(attributes, scope.ctx.keyspace, {
    conditions: [{ type: 'revision', key, revision: record.modRevision }, ...(companions?.conditions ?? [])],
    operations: [...operations, ...(companions?.operations ?? [])],
  });
  if (result.ok) return { ok: true, revision: result.revisions[0]! };
  if ('policyMoved' in result) throw new TypeError('a guarded proposal was refused for its policy');
  if (result.failed === 0) return { ok: false, current: result.current };
  const refusal = companions?.refused(result.failed - 1);
  if (refusal !== undefined) throw refusal;
  return { ok: false, current: await readConfirmed(scope.ctx, key) };
}

async function decide(scope: Scope, update: Update, record: StoredRecord | undefined): Promise<Decision> {
  const { ctx, resource, subresource } = scope;
  const strategy = strategyOf(resource, subresource);
  const old = record === undefined ? undefined : toObject(resource, record);
  if (old === undefined && !strategy.allowCreateOnUpdate && !update.createsMissing)
    throw notFound(subject(scope), scope.name);
  requireUid(scope, update.uid, old);
  const object = await update.transform(old);
  if (update.raw && old !== undefined) return { type: 'put', object, old, companions: undefined };
  if (!update.internal) {
    dedupOwnerReferences(object, ctx.warnings, false);
    if (update.shows === undefined)
      await admit(pluginsOf(ctx), attributesOf(scope, old === undefined ? 'CREATE' : 'UPDATE', object, old));
    dedupOwnerReferences(object, ctx.warnings, true);
    if (subresource === '') await checkEscalation(ctx, resource, object, old);
  }
  if (old === undefined) {
    await update.authorizeCreate?.();
    delete object.metadata.resourceVersion;
    const companions = await update.allocate?.(object, undefined);
    await prepareNew(scope, object);
    return { type: 'create', object, companions };
  }
  pinVersion(scope, object, old, strategy.allowUnconditionalUpdate);
  const companions = await update.allocate?.(object, old);
  const next = await prepareChange(scope, update, object, old);
  if (leavesNothing(resource, next, old)) return { type: 'delete', object: next, old, companions: undefined };
  return { type: 'put', object: next, old, companions };
}

function requireUid(scope: Scope, uid: string | undefined, old: KubeObject | undefined): void {
  if (uid === undefined || uid === '' || old === undefined || old.metadata.uid === uid) return;
  const key = keyOf(scope.resource, scope.namespace, scope.name);
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
  const error = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
  throw conflict(subject(scope), scope.name, error);
}

/** Compares versions, or takes the present one where the client names none and may do so. */
function pinVersion(scope: Scope, object: KubeObject, old: KubeObject, unconditional: boolean): void {
  const { resourceVersion: version = '' } = object.metadata;
  if (version === '' || version === '0') {
    if (!unconditional) {
      const fault = causes.invalid('metadata.resourceVersion', 0, 'must be specified for an update');
      throw invalid(subject(scope), scope.name, [fault]);
    }
    object.metadata.resourceVersion = old.metadata.resourceVersion!;
    return;
  }
  if (!/^\d+$/.test(version)) {
    const why = `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`;
    throw plainError(`resourceVersion: Invalid value: ${JSON.stringify(version)}: ${why}`);
  }
  if (version !== old.metadata.resourceVersion) throw conflict(subject(scope), scope.name, OPTIMISTIC_LOCK);
}

async function prepareChange(scope: Scope, update: Update, object: KubeObject, old: KubeObject): Promise<KubeObject> {
  const { ctx, resource, subresource } = scope;
  ensureNamespace(scope, object);
  const { metadata } = object;
  if (old.metadata.generation === undefined) delete metadata.generation;
  else metadata.generation = old.metadata.generation;
  prepareForUpdate(resource, subresource, object, old, { now: ctx.now(), user: ctx.user, warnings: ctx.warnings });
  keepSystemMetadata(object, old);
  const own = [
    ...(update.internal ? [] : await deviceAccessFaults(ctx, resource, subresource, object, old)),
    ...validateUpdate(resource, subresource, object, old, ctx.warnings),
  ];
  const isChecked = own.length === 0 && subresource === '' && !update.internal;
  const faults = isChecked ? await paramAccessFaults(ctx, resource, object, old) : own;
  if (faults.length > 0) throw invalid(kindSubject(scope, object), object.metadata.name ?? '', faults);
  const next = keepTimesOfNoop(old, object);
  ctx.warnings.push(...warningsAbout(resource, subresource, next, old));
  const { shows = (shown: KubeObject) => shown } = update;
  if (!update.internal) await validate(pluginsOf(ctx), attributesOf(scope, 'UPDATE', shows(next), shows(old)));
  return next;
}

/** What no update can change: identity, creation and deletion. */
function keepSystemMetadata({ metadata }: KubeObject, old: KubeObject): void {
  metadata.uid ||= old.metadata.uid!;
  if (old.metadata.creationTimestamp) metadata.creationTimestamp = old.metadata.creationTimestamp;
  const { deletionTimestamp, deletionGracePeriodSeconds } = old.metadata;
  if (deletionTimestamp !== undefined) metadata.deletionTimestamp = deletionTimestamp;
  if (deletionGracePeriodSeconds !== undefined) metadata.deletionGracePeriodSeconds ??= deletionGracePeriodSeconds;
}

/** Whether an update takes the last finalizer of an object that is being deleted, which ends it. */
function leavesNothing(resource: Resource, object: KubeObject, old: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds: grace } = old.metadata;
  if (object.metadata.finalizers?.length || deletionTimestamp === undefined) return false;
  if (grace !== undefined && grace !== 0) return false;
  if (resource.group !== '' || resource.resource !== 'namespaces') return true;
  const { finalizers } = (object.spec ?? {}) as { finalizers?: unknown[] };
  return !finalizers?.length;
}

import { admit, validate } from '../admission/chain.ts';
import { pluginsOf } from '../admission/plugins.ts';
import { isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import type { Operation, StoredRecord } from '../keyspace/types.ts';
import { byPolicy } from '../policy/guard.ts';
import type { DeleteOptions } from '../request/options.ts';
import { conflict, notFound, StatusError } from '../status/status.ts';
import { releasesOf } from './allocation.ts';
import {
  deletionFinalizers,
  gracefulDeletion,
  isDefinition,
  markAsDeleting,
  markDefinition,
  type Period,
} from './deletion.ts';
import { keyOf } from './keys.ts';
import { workOfDelete } from './meta.ts';
import { toObject } from './present.ts';
import {
  attributesOf,
  kindSubject,
  OPTIMISTIC_LOCK,
  putOf,
  readConfirmed,
  type Scope,
  sameBytes,
  subject,
} from './scope.ts';

/** What a delete did. */
export interface Deleted {
  /** The object as it is now, or as it was when it went. */
  object: KubeObject;
  /** Whether it is gone; else it waits for finalizers or for its grace period. */
  gone: boolean;
  /** Whether the answer is the object in any case: it was only marked. */
  marked: boolean;
}

type Step =
  /** Nothing is left to do: it is being deleted already. */
  { type: 'none' } | { type: 'mark' } | { type: 'markAndDelete' } | { type: 'delete' };

function requirePreconditions(scope: Scope, options: DeleteOptions, object: KubeObject): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = object;
  const own = isNamespace(scope);
  const refuse = (why: string) => conflict(own ? subject(scope) : kindSubject(scope), scope.name, why);
  if (uid !== undefined && uid !== metadata.uid) {
    throw refuse(
      own
        ? `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
        : `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse(
      own
        ? `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`
        : `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

const isNamespace = ({ resource }: Scope) => resource.group === '' && resource.resource === 'namespaces';

/** The first request to delete a namespace ends its life; it goes when its own finalizers are done. In place. */
function decideNamespace(object: KubeObject, options: DeleteOptions, now: Date): Step | undefined {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = formatTime(now);
    object.status = { ...(isObject(object.status) ? object.status : {}), phase: 'Terminating' };
    const wants = (name: 'orphan' | 'foregroundDeletion', policy: string, orphan: boolean): boolean => {
      if (options.orphanDependents !== undefined) return options.orphanDependents === orphan;
      if (options.propagationPolicy !== undefined) return options.propagationPolicy === policy;
      return metadata.finalizers?.includes(name) ?? false;
    };
    const rest = (metadata.finalizers ?? []).filter((name) => name !== 'orphan' && name !== 'foregroundDeletion');
    if (wants('orphan', 'Orphan', true)) rest.push('orphan');
    if (wants('foregroundDeletion', 'Foreground', false)) rest.push('foregroundDeletion');
    if (rest.length === 0) delete metadata.finalizers;
    else metadata.finalizers = rest;
    return { type: 'mark' };
  }
  const { finalizers } = (isObject(object.spec) ? object.spec : {}) as JsonObject;
  return Array.isArray(finalizers) && finalizers.length > 0 ? { type: 'none' } : undefined;
}

/** Decides what a delete does to the object, and marks it, in place (upstream's BeforeDelete and finalizers). */
function decide(scope: Scope, options: DeleteOptions, object: KubeObject): Step {
  const now = scope.ctx.now();
  if (isNamespace(scope)) {
    const step = decideNamespace(object, options, now);
    if (step !== undefined) return step;
  }
  if (isDefinition(scope.resource) && object.metadata.deletionTimestamp === undefined) {
    markDefinition(object, now);
    return { type: 'mark' };
  }
  const period: Period = gracefulDeletion(scope.resource, object, options.gracePeriodSeconds, now);
  if (period === 'pending') return { type: 'none' };
  const finalizers = deletionFinalizers(scope.resource, object, options);
  if (finalizers.length === 0) delete object.metadata.finalizers;
  else object.metadata.finalizers = finalizers;
  const waits = finalizers.length > 0;
  if (period === 'none') {
    if (!waits) return { type: 'delete' };
    markAsDeleting(object, now);
    return { type: 'mark' };
  }
  return waits || period > 0 ? { type: 'mark' } : { type: 'markAndDelete' };
}

/**
 * Deletes an object, or marks it and leaves it to its finalizers and grace period. `known`: a record of it that was
 * read before, to begin with. Throws 404, and 409 for preconditions that do not hold.
 */
export async function deleteObject(scope: Scope, options: DeleteOptions, known?: StoredRecord): Promise<Deleted> {
  const { ctx, resource } = scope;
  const key = keyOf(resource, scope.namespace, scope.name);
  let record = known ?? (await ctx.keyspace.get([key], { type: 'leader' })).records[0];
  let confirmed = false;
  for (;;) {
    const act = () => attempt(scope, options, key, record, confirmed);
    const outcome = await byPolicy(ctx, act).catch(async (error: unknown) => {
      if (confirmed || !(error instanceof StatusError)) throw error;
      const current = await readConfirmed(ctx, key);
      if (current?.modRevision === record?.modRevision) throw error;
      return { retry: current };
    });
    if (!('retry' in outcome)) return outcome;
    record = outcome.retry;
    confirmed = true;
  }
}

async function attempt(
  scope: Scope,
  options: DeleteOptions,
  key: string,
  record: StoredRecord | undefined,
  confirmed: boolean,
): Promise<Deleted | { retry: StoredRecord | undefined }> {
  const { ctx, resource } = scope;
  if (record === undefined) throw notFound(subject(scope), scope.name);
  const old = toObject(resource, record);
  const object = toObject(resource, record);
  requirePreconditions(scope, options, object);
  const step = decide(scope, options, object);
  const attributes = { ...attributesOf(scope, 'DELETE', undefined, old), deleteOptions: options };
  if (step.type !== 'none') {
    await admit(pluginsOf(ctx), attributes);
    await validate(pluginsOf(ctx), attributes);
  }
  const put = step.type === 'mark' || step.type === 'markAndDelete' ? putOf(scope, key, object, old) : undefined;
  const same = put !== undefined && step.type === 'mark' && sameBytes(put.value, record.value);
  if (step.type === 'none' || same || options.dryRun) {
    if (!confirmed) {
      const current = await readConfirmed(ctx, key);
      if (current?.modRevision !== record.modRevision) return { retry: current };
    }
    const gone = step.type === 'delete' || step.type === 'markAndDelete';
    return { object, gone, marked: step.type === 'mark' || (step.type === 'none' && isNamespace(scope)) };
  }
  const remove: Operation = { type: 'delete', key, work: workOfDelete(old) };
  const operations: Operation[] = [
    ...(put === undefined ? [] : [put]),
    ...(step.type === 'mark' ? [] : [remove, ...releasesOf(scope, old)]),
  ];
  const result = await ctx.keyspace.propose({
    conditions: [{ type: 'revision', key, revision: record.modRevision }],
    operations,
  });
  if (!result.ok) {
    if ('policyMoved' in result) throw conflict(subject(scope), scope.name, OPTIMISTIC_LOCK);
    return { retry: result.current };
  }
  object.metadata.resourceVersion = String(result.revisions[operations.indexOf(step.type === 'mark' ? put! : remove)]);
  return { object, gone: step.type !== 'mark', marked: step.type === 'mark' };
}

/** The answer of a delete that does not give the object: a Status that names it. */
export function deletedStatus(scope: Scope, object: KubeObject): JsonObject {
  const { name = '', uid } = object.metadata;
  const { group, resource } = scope.resource;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(group === '' ? {} : { group }), kind: resource, ...(uid === undefined ? {} : { uid }) },
  };
}

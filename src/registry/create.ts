import { admit, validate } from '../admission/chain.ts';
import { deviceAccessFaults } from '../admission/device-access.ts';
import { namespaceRefusal } from '../admission/namespace-lifecycle.ts';
import { pluginsOf } from '../admission/plugins.ts';
import { paramAccessFaults } from '../admission/policies/param-access.ts';
import type { KubeObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import { validateCreate } from '../api/validation/index.ts';
import { checkEscalation } from '../authz/escalation.ts';
import type { Condition, StoredRecord } from '../keyspace/types.ts';
import { byPolicy } from '../policy/guard.ts';
import { alreadyExists, forbidden, invalid, plainError, StatusError } from '../status/status.ts';
import { assessCharge, proposeCharged } from './charged.ts';

import { keyOf } from './keys.ts';
import { generatedName } from './names.ts';
import { dedupOwnerReferences } from './owner-references.ts';
import { toObject } from './present.ts';
import {
  type Allocate,
  attributesOf,
  type Companions,
  ensureNamespace,
  kindSubject,
  namespaceConditions,
  putOf,
  readConfirmed,
  recordOf,
  requireLiveNamespace,
  type Scope,
  subject,
  type Written,
} from './scope.ts';
import { prepareForCreate } from './strategy.ts';
import { warningsAbout } from './warnings/index.ts';

/** Names that are tried before the client is told that none was free. */
const NAME_ATTEMPTS = 8;
/** Allocations that are tried while others take what was chosen. */
const ALLOCATIONS = 50;

/** What was chosen for an object has been taken meanwhile: choose again. */
export class AllocationLost extends Error {}

/** Turns the decoded body of a create into what it stores, before the parts that depend on the name. */
export interface CreateSteps {
  /** Records the field manager; gives the object to go on with. */
  manage: (object: KubeObject) => KubeObject;
  /** Allocates what the object needs beside itself. */
  allocate?: Allocate | undefined;
}

/**
 * Creates an object. `object` is decoded and defaulted, and becomes the stored one. Throws 404 or 403 for its
 * namespace, 409 when the name is taken, 422 when it is invalid, and what admission says.
 */
export async function createObject(scope: Scope, object: KubeObject, steps: CreateSteps): Promise<Written> {
  const { ctx } = scope;
  const { metadata } = object;
  for (const key of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink']) delete metadata[key];
  delete metadata.creationTimestamp;
  ensureNamespace(scope, object);
  if (metadata.resourceVersion === '0' || metadata.resourceVersion === '') delete metadata.resourceVersion;
  dedupOwnerReferences(object, ctx.warnings, false);
  try {
    const managed = steps.manage(object);
    return await byPolicy(ctx, async () => {
      await admit(pluginsOf(ctx), attributesOf(scope, 'CREATE', managed, undefined));
      dedupOwnerReferences(managed, ctx.warnings, true);
      await checkEscalation(ctx, scope.resource, managed, undefined);
      return createNamed(scope, managed, steps);
    });
  } catch (error) {
    if (error instanceof StatusError && !namespaceErrors.has(error)) await requireLiveNamespace(scope);
    throw error;
  }
}

/** Refusals that have already been decided about the namespace, so that it need not be asked again. */
const namespaceErrors = new WeakSet<StatusError>();

async function createNamed(scope: Scope, object: KubeObject, steps: CreateSteps): Promise<Written> {
  const base = object.metadata.generateName ?? '';
  const generates = base !== '' && (object.metadata.name ?? '') === '';
  const repeats = generates || steps.allocate !== undefined;
  let names = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      const candidate = repeats ? structuredClone(object) : object;
      if (generates) candidate.metadata.name = generatedName(base);
      return await createOnce({ ...scope, name: candidate.metadata.name ?? '' }, candidate, steps);
    } catch (error) {
      if (error instanceof AllocationLost && attempt < ALLOCATIONS) continue;
      const taken = error instanceof StatusError && error.status.reason === 'AlreadyExists';
      if (!generates || !taken || ++names === NAME_ATTEMPTS) throw error;
    }
  }
}

/** Fills in, prepares, checks and admits a new object, in place: all of a create but its commit. */
export async function prepareNew(scope: Scope, object: KubeObject): Promise<void> {
  const { ctx, resource } = scope;
  if (resource.custom?.terminating) {
    const why = 'create not allowed while custom resource definition is terminating';
    throw forbidden(subject(scope), object.metadata.name ?? '', why);
  }
  const now = ctx.now();
  object.metadata.uid = crypto.randomUUID();
  object.metadata.creationTimestamp = formatTime(now);
  ensureNamespace(scope, object);
  prepareForCreate(resource, object, { now, user: ctx.user, warnings: ctx.warnings });
  const own = [...(await deviceAccessFaults(ctx, resource, '', object)), ...validateCreate(resource, object)];
  const faults = own.length > 0 ? own : await paramAccessFaults(ctx, resource, object, undefined);
  if (faults.length > 0) throw invalid(kindSubject(scope, object), object.metadata.name ?? '', faults);
  await validate(
    pluginsOf(ctx),
    attributesOf({ ...scope, name: object.metadata.name ?? '' }, 'CREATE', object, undefined),
  );
  ctx.warnings.push(...warningsAbout(resource, '', object));
}

async function createOnce(scope: Scope, object: KubeObject, steps: CreateSteps): Promise<Written> {
  const companions = await steps.allocate?.(object, undefined);
  await prepareNew(scope, object);
  if (object.metadata.resourceVersion !== undefined) {
    throw plainError('resourceVersion should not be set on objects to be created');
  }
  return commitNew(scope, keyOf(scope.resource, scope.namespace, scope.name), object, companions);
}

/** Commits a prepared object where nothing is. Throws {@link AllocationLost} to have it allocated anew. */
export async function commitNew(
  scope: Scope,
  key: string,
  object: KubeObject,
  companions: Companions | undefined,
): Promise<Written> {
  const { ctx, options } = scope;
  const own: Condition[] = [...namespaceConditions(scope), { type: 'absent', key }];
  const attributes = attributesOf(scope, 'CREATE', object, undefined);
  if (options.dryRun) {
    await assessCharge(attributes);
    await dryRunNew(scope, key, object);
    return { object };
  }
  const put = putOf(scope, key, object, undefined);
  const result = await proposeCharged(attributes, ctx.keyspace, {
    conditions: [...own, ...(companions?.conditions ?? [])],
    operations: [put, ...(companions?.operations ?? [])],
  });
  if (result.ok) return { object, record: recordOf(put, result.revisions[0]!, result.revisions[0]!) };
  if ('policyMoved' in result) throw new TypeError('a guarded proposal was refused for its policy');
  if (result.failed < own.length - 1)
    throw remember(namespaceRefusal(result.current, scope.namespace, subject(scope), scope.name));
  if (result.failed === own.length - 1) throw remember(nameTaken(scope, object, result.current));
  throw companions?.refused(result.failed - own.length) ?? new AllocationLost();
}

const remember = (error: StatusError): StatusError => {
  namespaceErrors.add(error);
  return error;
};

async function dryRunNew(scope: Scope, key: string, object: KubeObject): Promise<void> {
  await requireLiveNamespace(scope);
  const current = await readConfirmed(scope.ctx, key);
  if (current !== undefined) throw remember(nameTaken(scope, object, current));
}

function nameTaken(scope: Scope, object: KubeObject, current: StoredRecord | undefined): StatusError {
  const error = alreadyExists(subject(scope), scope.name);
  if (object.metadata.generateName) {
    error.status.message += ', the server was not able to generate a unique name for the object';
    error.status.details = { ...error.status.details, retryAfterSeconds: 1 };
  }
  if (current !== undefined && toObject(scope.resource, current).metadata.deletionTimestamp !== undefined) {
    error.status.message = `object is being deleted: ${error.status.message}`;
  }
  return error;
}

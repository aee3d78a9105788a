import { objectAt, objectsAt } from '../../api/fields.ts';
import { deepCopy, type KubeObject } from '../../api/object.ts';
import { formatTime } from '../../api/time.ts';
import type { StoredRecord } from '../../keyspace/types.ts';
import { readObject } from '../../request/body.ts';
import type { RequestContext } from '../../request/context.ts';
import { type DeleteOptions, type RawDeleteOptions, validDeleteOptions, writeOptions } from '../../request/options.ts';
import {
  badRequest,
  conflict,
  forbidden,
  notFound,
  plainError,
  StatusError,
  tooManyRequests,
} from '../../status/status.ts';
import { deleteObject } from '../delete.ts';
import { expectedOf } from '../endpoint.ts';
import { keyOf } from '../keys.ts';
import { formOf, respondObject, toObject } from '../present.ts';
import { builtins, type Resource } from '../resource.ts';
import { readConfirmed, type Scope, subject } from '../scope.ts';
import { updateObject } from '../update.ts';
import { admitCall } from './admitted.ts';
import { setPodCondition } from './binding.ts';
import { matchesLabelSelector } from './label-selector.ts';
import { success } from './success.ts';

/** Pods that a budget lets go before the disruption controller has seen them go; more are too many to keep account of. */
const MAX_DISRUPTED = 2000;
const ATTEMPTS = 20;

const refusal = (budget: string, why: string, retryAfterSeconds = 0) =>
  tooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfterSeconds, [
    { reason: 'DisruptionBudget', message: `The disruption budget ${budget} ${why}` },
  ]);

/** Whether a pod counts in no budget: it never ran, has ended, or is going already. */
function isUncounted(pod: KubeObject): boolean {
  const { phase } = objectAt(pod, 'status');
  return (
    phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || pod.metadata.deletionTimestamp !== undefined
  );
}

const isReady = (pod: KubeObject) =>
  objectsAt(objectAt(pod, 'status'), 'conditions').some((c) => c.type === 'Ready' && c.status === 'True');

async function budgetsOf(ctx: RequestContext, pdbs: Resource, pod: KubeObject): Promise<KubeObject[]> {
  const labels = pod.metadata.labels ?? {};
  if (Object.keys(labels).length === 0) return [];
  const prefix = `${pdbs.storage!.prefix}/${ctx.info.namespace}/`;
  const { records } = await ctx.keyspace.list({ prefix, limit: 0, consistency: { type: 'linearizable' } });
  return records
    .map((record) => toObject(pdbs, record))
    .filter((pdb) => matchesLabelSelector(objectAt(pdb, 'spec').selector, labels));
}

/** The budget with one disruption less. Throws 429 when it has none, 403 when it keeps account of too many. */
function decremented(pdb: KubeObject, pod: string, now: Date): KubeObject {
  const name = pdb.metadata.name ?? '';
  const out = deepCopy(pdb);
  const status = objectAt(out, 'status');
  const allowed = Number(status.disruptionsAllowed ?? 0);
  const disrupted = objectAt(status, 'disruptedPods');
  if (Number(status.observedGeneration ?? 0) < (pdb.metadata.generation ?? 0)) {
    throw refusal(name, 'is still being processed by the server.', 10);
  }
  const about = { group: 'policy', name: 'poddisruptionbudget' };
  if (allowed < 0) throw forbidden(about, name, 'pdb disruptions allowed is negative');
  if (Object.keys(disrupted).length > MAX_DISRUPTED) {
    throw forbidden(about, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  }
  if (allowed === 0) {
    const [desired, healthy] = [Number(status.desiredHealthy ?? 0), Number(status.currentHealthy ?? 0)];
    const why =
      healthy < desired
        ? `needs ${desired} healthy pods and has ${healthy} currently`
        : 'does not allow evicting pods currently';
    throw refusal(name, why);
  }
  out.status = { ...status, disruptionsAllowed: allowed - 1, disruptedPods: { ...disrupted, [pod]: formatTime(now) } };
  return out;
}

/**
 * Whether a budget lets a ready pod go; spends one of its disruptions. Answers the version that the pod must still have
 * where it is let go for not being ready.
 */
async function spend(scope: Scope, pdbs: Resource, pod: KubeObject): Promise<string | undefined> {
  const { ctx } = scope;
  const budgets = await budgetsOf(ctx, pdbs, pod);
  if (budgets.length > 1) {
    throw plainError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  const budget = budgets[0];
  if (budget === undefined) return undefined;
  const status = objectAt(budget, 'status');
  const desired = Number(status.desiredHealthy ?? 0);
  if (!isReady(pod)) {
    const always = objectAt(budget, 'spec').unhealthyPodEvictionPolicy === 'AlwaysAllow';
    if (always || (desired > 0 && Number(status.currentHealthy ?? 0) >= desired)) return pod.metadata.resourceVersion;
  }
  const own: Scope = { ...scope, resource: pdbs, subresource: 'status', name: budget.metadata.name ?? '' };
  await updateObject(own, { internal: true, transform: (pdb) => decremented(pdb!, scope.name, ctx.now()) });
  return undefined;
}

async function markDisrupted(scope: Scope, { preconditions }: DeleteOptions): Promise<void> {
  const { ctx, name } = scope;
  await updateObject(
    { ...scope, subresource: 'status' },
    {
      internal: true,
      transform: (existing) => {
        const pod = deepCopy(existing!);
        const { uid, resourceVersion } = preconditions ?? {};
        const fail = (part: string, asked: string, has: string | undefined, happened: string) =>
          conflict(
            { group: '', name: 'Pod' },
            name,
            `the ${part} in the precondition (${asked}) does not match the ${part} in record (${has}). The object might have been ${happened}`,
          );
        if (uid !== undefined && uid !== pod.metadata.uid) {
          throw fail('UID', uid, pod.metadata.uid, 'deleted and then recreated');
        }
        if (resourceVersion !== undefined && resourceVersion !== pod.metadata.resourceVersion) {
          throw fail('ResourceVersion', resourceVersion, pod.metadata.resourceVersion, 'modified');
        }
        const condition = {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'EvictionByEvictionAPI',
          message: 'Eviction API: evicting',
        };
        setPodCondition(pod, condition, ctx.now());
        return pod;
      },
    },
  );
}

/** Marks and deletes the pod on the conditions of the options, which count for the mark first. */
async function evict(scope: Scope, options: DeleteOptions, record: StoredRecord | undefined): Promise<void> {
  if (record === undefined) throw notFound(subject(scope), scope.name);
  if (options.dryRun) {
    await deleteObject(scope, options);
    return;
  }
  await markDisrupted(scope, options);
  const { resourceVersion: _, ...preconditions } = options.preconditions ?? {};
  await deleteObject(scope, { ...options, preconditions });
}

async function attempt(scope: Scope, options: DeleteOptions, pdbs: Resource): Promise<void> {
  const record = await readConfirmed(scope.ctx, keyOf(scope.resource, scope.namespace, scope.name));
  if (record === undefined) throw notFound(subject(scope), scope.name);
  const pod = toObject(scope.resource, record);
  if (isUncounted(pod)) {
    await evict(scope, options, record);
    return;
  }
  const pinned = options.dryRun ? undefined : await spend(scope, pdbs, pod);
  const preconditions =
    pinned === undefined ? options.preconditions : { ...options.preconditions, resourceVersion: pinned };
  await evict(scope, preconditions === undefined ? options : { ...options, preconditions }, record);
}

/** POST of an Eviction: deletes a pod unless a disruption budget forbids it (429). */
export async function serveEviction(ctx: RequestContext, resource: Resource): Promise<Response> {
  formOf(ctx, resource, false);
  const options = writeOptions(ctx.url.searchParams, 'CreateOptions');
  const eviction = (await readObject(ctx, expectedOf(resource, 'eviction'), options.fieldValidation)) as KubeObject;
  const { name, namespace } = ctx.info;
  if ((eviction.metadata?.name ?? '') !== name) throw badRequest('name in URL does not match name in Eviction object');
  const asked = validDeleteOptions(objectAt(eviction, 'deleteOptions') as RawDeleteOptions);
  const deleteOptions: DeleteOptions = { ...asked, dryRun: asked.dryRun || options.dryRun };
  const scope: Scope = { ctx, resource, subresource: '', namespace, name, options: deleteOptions };
  await admitCall({ ...scope, subresource: 'eviction' }, eviction, async () => ctx.policy?.confirm());
  const pdbs = builtins.get('policy/v1')!.get('poddisruptionbudgets')!;
  for (let tries = 1; ; tries++) {
    try {
      await attempt(scope, deleteOptions, pdbs);
      break;
    } catch (error) {
      const lost = error instanceof StatusError && error.status.reason === 'Conflict';
      if (!lost || deleteOptions.preconditions !== undefined || tries === ATTEMPTS) throw error;
    }
  }
  return respondObject(ctx, resource, success(201), 201);
}

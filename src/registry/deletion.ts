import { isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import { CLEANUP_FINALIZER, withConditions } from '../extensions/establish.ts';
import type { DeleteOptions } from '../request/options.ts';
import type { Resource } from './resource.ts';

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

const part = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isObject(value) ? value : {};
};

/**
 * How a delete treats an object in time: `none`: resources that know no grace; `pending`: it is being deleted already,
 * and not later than asked; else seconds that it was given, and marked with, in place.
 */
export type Period = 'none' | 'pending' | number;

/** Whole seconds that a pod is given: as asked, else as its spec says; none while it runs nowhere or has ended. */
function podPeriod(pod: KubeObject, asked: number | undefined): number {
  const spec = part(pod, 'spec');
  const { phase } = part(pod, 'status');
  if (!spec.nodeName || phase === 'Failed' || phase === 'Succeeded') return 0;
  const period = asked ?? Number(spec.terminationGracePeriodSeconds ?? 0);
  return period < 0 ? 1 : period;
}

/** Gives an object its grace period (upstream's BeforeDelete), in place. */
export function gracefulDeletion(resource: Resource, object: KubeObject, asked: number | undefined, now: Date): Period {
  if (!resource.strategy.gracefulDelete) return 'none';
  const wanted = asked !== undefined && asked < 0 ? 1 : asked;
  const { metadata } = object;
  const running = metadata.deletionGracePeriodSeconds;
  if (metadata.deletionTimestamp === undefined) {
    const period = podPeriod(object, wanted);
    metadata.deletionTimestamp = formatTime(new Date(now.getTime() + period * 1000));
    metadata.deletionGracePeriodSeconds = period;
    if ((metadata.generation ?? 0) > 0) metadata.generation = metadata.generation! + 1;
    return period;
  }
  if (running === undefined || running === 0) return 'none';
  if (wanted === undefined || wanted >= running) return 'pending';
  return shorten(object, wanted, running, now);
}

/** Brings the deadline forward: it counts from when the deletion was asked for first, but is never in the past. */
function shorten(object: KubeObject, wanted: number, running: number, now: Date): number {
  const { metadata } = object;
  const deadline = Date.parse(metadata.deletionTimestamp!) + (wanted - running) * 1000;
  const past = deadline < now.getTime();
  const period = past && wanted !== 0 ? 1 : wanted;
  metadata.deletionTimestamp = formatTime(new Date(past ? now.getTime() : deadline));
  metadata.deletionGracePeriodSeconds = period;
  return period;
}

/** Marks an object whose finalizers are left to do, in place. */
export function markAsDeleting(object: KubeObject, now: Date): void {
  const { metadata } = object;
  const existing = metadata.deletionTimestamp;
  if (existing === undefined && (metadata.generation ?? 0) > 0) metadata.generation = metadata.generation! + 1;
  if (existing === undefined || Date.parse(existing) > now.getTime()) metadata.deletionTimestamp = formatTime(now);
  metadata.deletionGracePeriodSeconds = 0;
}

/** Which of the two garbage collector's finalizers options, object and resource ask for, by that precedence. */
function dependentsFinalizer(resource: Resource, object: KubeObject, options: DeleteOptions): string | undefined {
  const policy = resource.strategy.defaultGarbageCollectionPolicy;
  if (policy === 'Unsupported') return undefined;
  if (options.orphanDependents !== undefined) return options.orphanDependents ? ORPHAN : undefined;
  if (options.propagationPolicy === 'Orphan') return ORPHAN;
  if (options.propagationPolicy === 'Foreground') return FOREGROUND;
  if (options.propagationPolicy === 'Background') return undefined;
  const existing = object.metadata.finalizers?.find((name) => name === ORPHAN || name === FOREGROUND);
  if (existing !== undefined) return existing;
  return policy === 'OrphanDependents' ? ORPHAN : undefined;
}

/** The finalizers that an object has once its deletion is asked for with these options. */
export function deletionFinalizers(resource: Resource, object: KubeObject, options: DeleteOptions): string[] {
  const existing = object.metadata.finalizers ?? [];
  const wanted = dependentsFinalizer(resource, object, options);
  const out = existing.filter((name) => name !== ORPHAN && name !== FOREGROUND);
  if (wanted !== undefined) out.push(wanted);
  const same = out.length === existing.length && out.every((name) => existing.includes(name));
  return same ? existing : out;
}

/** Whether a resource is that of custom resource definitions. */
export const isDefinition = (resource: Resource): boolean =>
  resource.group === 'apiextensions.k8s.io' && resource.resource === 'customresourcedefinitions';

/** Marks a definition for deletion, in place: its objects go first. */
export function markDefinition(definition: KubeObject, now: Date): void {
  const { metadata } = definition;
  metadata.deletionTimestamp = formatTime(now);
  if (!metadata.finalizers?.includes(CLEANUP_FINALIZER)) {
    metadata.finalizers = [...(metadata.finalizers ?? []), CLEANUP_FINALIZER];
  }
  const condition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  } as const;
  const status: JsonObject = isObject(definition.status) ? definition.status : {};
  definition.status = withConditions(status, [condition], formatTime(now));
}

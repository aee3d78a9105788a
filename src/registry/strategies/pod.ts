import { objectAt, objectsAt } from '../../api/fields.ts';
import { isObject, type JsonObject, type KubeObject } from '../../api/object.ts';
import { addQuantities, compareQuantities } from '../../api/quantity.ts';
import { formatTime } from '../../api/time.ts';
import { takeAppArmorAnnotations } from './app-armor.ts';
import { assign, resetMetadata, type StrategyHooks } from './hooks.ts';
import { fillInFromLabels } from './match-label-keys.ts';

const QOS_RESOURCES = ['cpu', 'memory'] as const;

/** Adds the positive amounts of CPU and memory to `totals`; answers how many of the two were there. */
function add(totals: Map<string, string>, amounts: JsonObject): number {
  let found = 0;
  for (const name of QOS_RESOURCES) {
    const amount = amounts[name];
    if (typeof amount !== 'string' || compareQuantities(amount, '0') <= 0) continue;
    found++;
    const total = addQuantities(totals.get(name) ?? '0', amount);
    totals.set(name, `${total.unscaled}e${total.exponent}`);
  }
  return found;
}

/** The quality-of-service class of a pod: of its own resources when it has some, else of all its containers'. */
export function qosClass(pod: KubeObject): 'BestEffort' | 'Burstable' | 'Guaranteed' {
  const spec = objectAt(pod, 'spec');
  const holders = isObject(spec.resources)
    ? [spec.resources]
    : [...objectsAt(spec, 'containers'), ...objectsAt(spec, 'initContainers')].map((c) => objectAt(c, 'resources'));
  const requests = new Map<string, string>();
  const limits = new Map<string, string>();
  let guaranteed = true;
  for (const resources of holders) {
    add(requests, objectAt(resources, 'requests'));
    if (add(limits, objectAt(resources, 'limits')) < QOS_RESOURCES.length) guaranteed = false;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  if (!guaranteed || requests.size !== limits.size) return 'Burstable';
  for (const [name, amount] of requests) {
    const limit = limits.get(name);
    if (limit === undefined || compareQuantities(amount, limit) !== 0) return 'Burstable';
  }
  return 'Guaranteed';
}

function gatedCondition(now: Date): JsonObject {
  return {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: formatTime(now),
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  };
}

/** Pods: begin as Pending; a gate is shown as a condition; the spec says which quality of service they get. */
export const podHooks: StrategyHooks = {
  ownsOnCreate: ['status'],
  prepareForCreate: (pod, { now, warnings }) => {
    pod.status = { phase: 'Pending', qosClass: qosClass(pod) };
    if (objectsAt(objectAt(pod, 'spec'), 'schedulingGates').length > 0) pod.status.conditions = [gatedCondition(now)];
    fillInFromLabels(pod);
    takeAppArmorAnnotations(pod, warnings);
  },
};

function keepObservedGenerations(pod: KubeObject, old: KubeObject): void {
  const status = objectAt(pod, 'status');
  const before = objectAt(old, 'status');
  if (!status.observedGeneration) assign(status, 'observedGeneration', before.observedGeneration);
  const known = new Map<unknown, JsonObject[]>();
  for (const condition of objectsAt(before, 'conditions')) {
    known.set(condition.type, [...(known.get(condition.type) ?? []), condition]);
  }
  for (const condition of objectsAt(status, 'conditions')) {
    const earlier = known.get(condition.type)?.shift();
    if (!condition.observedGeneration) assign(condition, 'observedGeneration', earlier?.observedGeneration);
  }
}

/** A pod's status: the class stays, and a generation once observed is not forgotten. */
export const podStatusHooks: StrategyHooks = {
  prepareForUpdate: (pod, old) => {
    const status = objectAt(pod, 'status');
    if (!status.qosClass) assign(status, 'qosClass', objectAt(old, 'status').qosClass);
    if (isObject(pod.status)) keepObservedGenerations(pod, old);
  },
};

/** `pods/ephemeralcontainers`: everything else stays as it was. */
export const ephemeralContainersHooks: StrategyHooks = {
  prepareForUpdate: (pod, old) => {
    const { ephemeralContainers } = objectAt(pod, 'spec');
    pod.spec = { ...objectAt(old, 'spec') };
    assign(pod.spec, 'ephemeralContainers', ephemeralContainers);
    assign(pod, 'status', old.status);
    resetMetadata(pod, old);
  },
};

/** Containers as they were, but for their resources; undefined where one was added, removed or renamed. */
function resized(containers: JsonObject[], old: JsonObject[]): JsonObject[] | undefined {
  if (containers.length !== old.length || containers.some((c, i) => c.name !== old[i]!.name)) return undefined;
  return containers.map((container, i) => {
    const out = { ...old[i]! };
    assign(out, 'resources', container.resources);
    assign(out, 'resizePolicy', container.resizePolicy);
    return out;
  });
}

/** `pods/resize`: only resources and resize policies change; validation refuses what cannot be told apart from them. */
export const resizeHooks: StrategyHooks = {
  prepareForUpdate: (pod, old) => {
    const spec = objectAt(pod, 'spec');
    const before = objectAt(old, 'spec');
    const containers = objectsAt(spec, 'containers');
    const initContainers = objectsAt(spec, 'initContainers');
    if (containers.length !== objectsAt(before, 'containers').length) return;
    if (initContainers.length !== objectsAt(before, 'initContainers').length) return;
    pod.spec = { ...before, containers: resized(containers, objectsAt(before, 'containers')) ?? containers };
    assign(pod.spec, 'resources', spec.resources);
    if (initContainers.length > 0) {
      pod.spec.initContainers = resized(initContainers, objectsAt(before, 'initContainers')) ?? initContainers;
    }
    assign(pod, 'status', old.status);
    resetMetadata(pod, old);
  },
};

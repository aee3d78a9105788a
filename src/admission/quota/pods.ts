import { at, int, mapOf, objects, text } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';
import { qosClass } from '../../registry/strategies/pod.ts';
import { hasPodLevelResources, podResources } from '../pod-resources.ts';
import { lastingContainersOf } from '../pods.ts';
import { listOf, type ResourceList } from '../resource-lists.ts';
import { type Evaluator, requirementHolds, type ScopeRequirement } from './evaluator.ts';

const COUNT = 'count/pods';
/** Entries of a quota that make it a duty of every container to say how much it needs. */
const NEEDED: readonly string[] = ['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory'];
const NAMES: readonly string[] = [
  COUNT,
  'pods',
  ...NEEDED,
  'ephemeral-storage',
  'requests.ephemeral-storage',
  'limits.ephemeral-storage',
];
const DEVICE_CLASS = 'deviceclass.resource.kubernetes.io/';

const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');
const isExtended = (name: string): boolean =>
  (!isNative(name) && !name.startsWith('requests.')) || name.startsWith(DEVICE_CLASS);
/** Requests of extended resources, as quotas name them. */
const isExtendedRequest = (name: string): boolean =>
  name.startsWith('requests.') && (!isNative(name) || name.startsWith(`requests.${DEVICE_CLASS}`));

/** What requests and limits count for, by the names that quotas have for them. */
function quotaNames(requests: ResourceList, limits: ResourceList): ResourceList {
  const out: ResourceList = { pods: '1' };
  for (const [name, amount] of Object.entries(requests)) {
    if (name === 'cpu' || name === 'memory' || name === 'ephemeral-storage' || name.startsWith('hugepages-')) {
      out[name] = amount;
      out[`requests.${name}`] = amount;
    } else if (isExtended(name)) out[`requests.${name}`] = amount;
  }
  for (const [name, amount] of Object.entries(limits)) {
    if (name === 'cpu' || name === 'memory' || name === 'ephemeral-storage') out[`limits.${name}`] = amount;
  }
  return out;
}

const isTerminating = ({ spec }: KubeObject): boolean => {
  const { activeDeadlineSeconds } = mapOf(spec);
  return activeDeadlineSeconds !== undefined && int(activeDeadlineSeconds) >= 0;
};

const isBestEffort = (pod: KubeObject): boolean => (text(mapOf(pod.status).qosClass) || qosClass(pod)) === 'BestEffort';

const reachesOut = (term: JsonObject): boolean => {
  const names = term.namespaces;
  return (Array.isArray(names) && names.length > 0) || at(term, 'namespaceSelector') !== undefined;
};

function hasCrossNamespaceAffinity({ spec }: KubeObject): boolean {
  return ['podAffinity', 'podAntiAffinity'].some((kind) => {
    const affinity = mapOf(at(spec, 'affinity', kind));
    return (
      objects(affinity.requiredDuringSchedulingIgnoredDuringExecution).some(reachesOut) ||
      objects(affinity.preferredDuringSchedulingIgnoredDuringExecution).some((weighted) =>
        reachesOut(mapOf(weighted.podAffinityTerm)),
      )
    );
  });
}

const scopes: Readonly<Record<string, (pod: KubeObject, requirement: ScopeRequirement) => boolean>> = {
  Terminating: isTerminating,
  NotTerminating: (pod) => !isTerminating(pod),
  BestEffort: isBestEffort,
  NotBestEffort: (pod) => !isBestEffort(pod),
  PriorityClass: (pod, requirement) => requirementHolds(requirement, text(mapOf(pod.spec).priorityClassName)),
  CrossNamespacePodAffinity: hasCrossNamespaceAffinity,
};

/** Whether a pod has ended, or should have by now: then only the object counts. */
function isOver({ metadata, status }: KubeObject, now: Date): boolean {
  const { phase } = mapOf(status);
  if (phase === 'Failed' || phase === 'Succeeded') return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false;
  return now.getTime() > Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

/** Which containers say nothing of what a quota makes them say. */
function lacks(names: readonly string[], { spec }: KubeObject): string | undefined {
  const pod = mapOf(spec);
  if (hasPodLevelResources(pod)) return undefined;
  const missing = names
    .filter((name) => NEEDED.includes(name))
    .sort()
    .flatMap((name) => {
      const silent = lastingContainersOf(pod)
        .filter(({ resources }) => {
          const { requests, limits } = mapOf(resources);
          return !Object.hasOwn(quotaNames(listOf(requests), listOf(limits)), name);
        })
        .map((container) => text(container.name));
      return silent.length === 0 ? [] : [`${name} for: ${[...new Set(silent)].sort().join(',')}`];
    });
  return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`;
}

/** Pods count by themselves while they are not over, and by all that they ask for. */
export const pods: Evaluator = {
  handles: ({ operation, subresource, object, old }) => {
    if (subresource === 'resize') return operation === 'UPDATE';
    if (subresource !== '') return false;
    if (operation === 'UPDATE') return old !== undefined && isTerminating(old) !== isTerminating(object);
    return operation === 'CREATE';
  },
  counts: (name) =>
    NAMES.includes(name) ||
    name.startsWith('hugepages-') ||
    name.startsWith('requests.hugepages-') ||
    isExtendedRequest(name),
  inScope: (requirement, pod) => {
    const { scopeName } = requirement;
    return Object.hasOwn(scopes, scopeName) && scopes[scopeName]!(pod, requirement);
  },
  lacks,
  usage: (pod, now) => {
    if (isOver(pod, now)) return { [COUNT]: '1' };
    const { requests, limits } = podResources(mapOf(pod.spec), { whole: true, status: mapOf(pod.status) });
    return { [COUNT]: '1', ...quotaNames(requests, limits) };
  },
};

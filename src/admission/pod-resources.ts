import { mapOf, objects, text } from '../api/fields.ts';
import type { JsonObject, JsonValue } from '../api/object.ts';
import { compareQuantities } from '../api/quantity.ts';
import { add, listOf, max, type ResourceList } from './resource-lists.ts';

type Part = 'requests' | 'limits';

/** How a pod's resources are counted. */
export interface Counting {
  /** The pod's overhead counts too, and huge pages set for the pod as a whole. */
  whole?: boolean;
  /** The pod's status: what its containers really have counts where it is more. */
  status?: JsonObject;
}

/** Resources that a pod may ask for as a whole. */
const isPodLevel = (name: string, counting: Counting): boolean =>
  name === 'cpu' || name === 'memory' || (counting.whole === true && name.startsWith('hugepages-'));

const isInfeasible = (status: JsonObject): boolean =>
  objects(status.conditions).some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible');

/** What a container counts for: what it asks for, or what it was given where that is more. */
function effective(part: Part, asked: ResourceList, given: JsonObject | undefined, status: JsonObject): ResourceList {
  if (given === undefined || given.resources === undefined) return asked;
  const actual = listOf(mapOf(given.resources)[part]);
  const allocated = part === 'requests' ? listOf(given.allocatedResources) : {};
  const held = max(actual, allocated);
  return isInfeasible(status) ? held : max(asked, held);
}

function statusesOf(status: JsonObject): Map<string, JsonObject> {
  const all = [...objects(status.containerStatuses), ...objects(status.initContainerStatuses)];
  return new Map(all.map((entry) => [text(entry.name), entry]));
}

/** All containers together; init containers count while they run, those that go on running from then on. */
function ofContainers(spec: JsonObject, part: Part, { status = {} }: Counting): ResourceList {
  const statuses = statusesOf(status);
  const ofOne = (container: JsonObject, counts: boolean) => {
    const asked = listOf(mapOf(container.resources)[part]);
    return effective(part, asked, counts ? statuses.get(text(container.name)) : undefined, status);
  };
  let total: ResourceList = {};
  for (const container of objects(spec.containers)) total = add(total, ofOne(container, true));
  let sidecars: ResourceList = {};
  let peak: ResourceList = {};
  for (const container of objects(spec.initContainers)) {
    const stays = container.restartPolicy === 'Always';
    const own = ofOne(container, stays);
    if (stays) {
      total = add(total, own);
      sidecars = add(sidecars, own);
    }
    peak = max(peak, stays ? sidecars : add(own, sidecars));
  }
  return max(total, peak);
}

const podLevel = (value: JsonValue | undefined, counting: Counting): ResourceList =>
  Object.fromEntries(Object.entries(listOf(value)).filter(([name]) => isPodLevel(name, counting)));

/** What a pod asks for and is limited to, all in all. */
export function podResources(spec: JsonObject, counting: Counting = {}): Record<Part, ResourceList> {
  const own = mapOf(spec.resources);
  const requests = { ...ofContainers(spec, 'requests', counting), ...podLevel(own.requests, counting) };
  const limits = { ...ofContainers(spec, 'limits', counting), ...podLevel(own.limits, counting) };
  if (counting.whole !== true) return { requests, limits };
  const overhead = listOf(spec.overhead);
  const bounded = Object.fromEntries(
    Object.entries(overhead).filter(
      ([name]) => Object.hasOwn(limits, name) && compareQuantities(limits[name]!, '0') !== 0,
    ),
  );
  return { requests: add(requests, overhead), limits: add(limits, bounded) };
}

/** Whether a pod asks for anything as a whole. */
export function hasPodLevelResources(spec: JsonObject): boolean {
  const own = mapOf(spec.resources);
  const names = [...Object.keys(mapOf(own.requests)), ...Object.keys(mapOf(own.limits))];
  return names.some((name) => isPodLevel(name, { whole: true }));
}

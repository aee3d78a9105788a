/** Defaults of pods and pod templates that depend on more than one field. */
import { objects } from './fields.ts';
import type { JsonObject, JsonValue } from './object.ts';
import { isObject } from './object.ts';
import { addQuantities, compareQuantities, formatQuantity } from './quantity.ts';

type Resources = Record<string, string>;

/** Sets a field that is absent or null. */
export function fill(target: JsonObject, field: string, value: JsonValue): void {
  target[field] ??= value;
}

/**
 * Volumes without a source are empty directories; images without a tag, or tagged latest, are always pulled; the old
 * name of the service account follows the new one.
 */
export function defaultPodSpec(spec: JsonObject): void {
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  if (account !== undefined) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  for (const volume of objects(spec.volumes)) {
    if (!Object.keys(volume).some((key) => key !== 'name')) volume.emptyDir = {};
    if (isObject(volume.image)) fill(volume.image, 'pullPolicy', pullPolicy(volume.image.reference));
  }
  for (const container of containersOf(spec)) fill(container, 'imagePullPolicy', pullPolicy(container.image));
}

/** What only a pod gets, not a template: requests from limits, host ports, service links. */
export function defaultPod(spec: JsonObject): void {
  const containers = [...objects(spec.containers), ...objects(spec.initContainers)];
  for (const container of containers) defaultRequests(container);
  if (isObject(spec.resources)) defaultPodResources(spec, spec.resources);
  fill(spec, 'enableServiceLinks', true);
  if (Number(spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  if (spec.hostNetwork !== true) return;
  for (const container of containers) {
    for (const port of objects(container.ports))
      if (port.containerPort !== undefined) fill(port, 'hostPort', port.containerPort);
  }
}

/** The list of addresses follows the single one, and the other way round. */
export function defaultPodStatus(status: JsonObject): void {
  const [first] = objects(status.podIPs);
  if (status.podIP !== undefined && status.podIP !== first?.ip) status.podIPs = [{ ip: status.podIP }];
  else if (first?.ip !== undefined) status.podIP = first.ip;
}

const DOMAIN =
  '(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?';
const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const TAG = '[\\w][\\w.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const REFERENCE = new RegExp(`^(?:${DOMAIN}/)?${COMPONENT}(?:/${COMPONENT})*(?::(${TAG}))?(?:@(${DIGEST}))?$`);

/** A reference that does not parse counts as tagged: it is validation's business. */
function pullPolicy(image: JsonValue | undefined): string {
  const found = REFERENCE.exec(typeof image === 'string' ? image : '');
  if (found === null) return 'IfNotPresent';
  const [, tag, digest] = found;
  return tag === 'latest' || (tag === undefined && digest === undefined) ? 'Always' : 'IfNotPresent';
}

function containersOf(spec: JsonObject): JsonObject[] {
  return [...objects(spec.containers), ...objects(spec.initContainers), ...objects(spec.ephemeralContainers)];
}

function defaultRequests(container: JsonObject): void {
  const resources = container.resources;
  if (!isObject(resources) || !isObject(resources.limits)) return;
  resources.requests = { ...resources.limits, ...(isObject(resources.requests) ? resources.requests : {}) };
}

/** KEP-2837: limits and requests of the whole pod, where it sets some. */
function defaultPodResources(spec: JsonObject, resources: JsonObject): void {
  const limits: Resources = { ...(resources.limits as Resources | undefined) };
  const requests: Resources = { ...(resources.requests as Resources | undefined) };
  if (Object.keys(limits).length + Object.keys(requests).length === 0) return;
  for (const [name, amount] of Object.entries(aggregate(spec, 'limits'))) {
    if (name.startsWith('hugepages-') && requests[name] === undefined) limits[name] ??= amount;
  }
  if (Object.keys(limits).length === 0) return;
  resources.limits = limits;
  for (const [name, amount] of Object.entries(aggregate(spec, 'requests'))) {
    if (name === 'cpu' || name === 'memory') requests[name] ??= amount;
  }
  for (const [name, amount] of Object.entries(limits)) if (isPodLevel(name)) requests[name] ??= amount;
  if (Object.keys(requests).length > 0) resources.requests = requests;
}

function isPodLevel(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** What all containers need at once: the sum of the running ones, or the most that start-up takes (KEP-753). */
function aggregate(spec: JsonObject, which: 'limits' | 'requests'): Resources {
  const total: Resources = {};
  for (const container of objects(spec.containers)) add(total, amounts(container, which));
  const sidecars: Resources = {};
  const startup: Resources = {};
  for (const container of objects(spec.initContainers)) {
    const own = amounts(container, which);
    if (container.restartPolicy === 'Always') {
      add(total, own);
      add(sidecars, own);
      raise(startup, sidecars);
    } else {
      const needed = { ...own };
      add(needed, sidecars);
      raise(startup, needed);
    }
  }
  raise(total, startup);
  return total;
}

function amounts(container: JsonObject, which: 'limits' | 'requests'): Resources {
  const resources = isObject(container.resources) ? container.resources[which] : undefined;
  return isObject(resources) ? (resources as Resources) : {};
}

function add(total: Resources, more: Resources): void {
  for (const [name, amount] of Object.entries(more)) {
    const before = total[name];
    total[name] = before === undefined ? amount : formatQuantity(addQuantities(before, amount));
  }
}

function raise(total: Resources, least: Resources): void {
  for (const [name, amount] of Object.entries(least)) {
    const before = total[name];
    if (before === undefined || compareQuantities(amount, before) > 0) total[name] = amount;
  }
}

import { mapOf, objects, text } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { compareQuantities } from '../api/quantity.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { limitFaults } from './limits.ts';
import { builtinRow, lookUpAll } from './lookup.ts';
import { podResources } from './pod-resources.ts';

const limitRanges = builtinRow('v1', 'limitranges');
const ANNOTATION = 'kubernetes.io/limit-ranger';

const sameItems = (a: readonly KubeObject[], b: readonly KubeObject[]): boolean =>
  a.length === b.length && a.every((item, i) => item.metadata.uid === b[i]?.metadata.uid && sameSpec(item, b[i]!));
const sameSpec = (a: KubeObject, b: KubeObject): boolean => JSON.stringify(a.spec) === JSON.stringify(b.spec);

/** The limits of a namespace, of all its ranges. Namespaces without any cost no read. */
async function limitsOf({ ctx, namespace }: Attributes): Promise<JsonObject[][]> {
  const ranges =
    ctx.policy === undefined
      ? await lookUpAll(ctx, limitRanges, namespace)
      : await ctx.policy.follow(
          `limit ranges of ${namespace}`,
          (bundle) => bundle.limitRanges.get(namespace) ?? [],
          sameItems,
        );
  return ranges.map(({ spec }) => objects(mapOf(spec).limits));
}

/** Amounts that containers get where they say nothing, of one range. */
function defaultsOf(limits: readonly JsonObject[]): { requests: JsonObject; limits: JsonObject } {
  const own = limits.filter(({ type }) => type === 'Container');
  return {
    requests: Object.assign({}, ...own.map(({ defaultRequest }) => mapOf(defaultRequest))) as JsonObject,
    limits: Object.assign({}, ...own.map((limit) => mapOf(limit.default))) as JsonObject,
  };
}

/** Gives a container what it lacks, in place; the names of what it got. */
function fill(resources: JsonObject, part: 'requests' | 'limits', defaults: JsonObject): string[] {
  const given = mapOf(resources[part]);
  const missing = Object.keys(defaults).filter((name) => !Object.hasOwn(given, name));
  if (missing.length === 0) return [];
  resources[part] = { ...given, ...Object.fromEntries(missing.map((name) => [name, defaults[name]!])) };
  return missing.sort();
}

function setDefaults(pod: KubeObject, limits: readonly JsonObject[]): void {
  const defaults = defaultsOf(limits);
  const told: string[] = [];
  const spec = mapOf(pod.spec);
  for (const [list, kind] of [
    ['containers', 'container'],
    ['initContainers', 'init container'],
  ] as const) {
    for (const container of objects(spec[list])) {
      const resources = { ...mapOf(container.resources) };
      const lackedLimits = fill(resources, 'limits', defaults.limits);
      const lackedRequests = fill(resources, 'requests', defaults.requests);
      if (lackedLimits.length + lackedRequests.length > 0) container.resources = resources;
      const name = text(container.name);
      if (lackedRequests.length > 0) told.push(`${lackedRequests.join(', ')} request for ${kind} ${name}`);
      if (lackedLimits.length > 0) told.push(`${lackedLimits.join(', ')} limit for ${kind} ${name}`);
    }
  }
  if (told.length === 0) return;
  const { metadata } = pod;
  metadata.annotations = { ...metadata.annotations, [ANNOTATION]: `LimitRanger plugin set: ${told.join('; ')}` };
}

function podFaults(pod: KubeObject, limits: readonly JsonObject[]): string[] {
  const spec = mapOf(pod.spec);
  const containers = [...objects(spec.containers), ...objects(spec.initContainers)];
  return limits.flatMap((limit) => {
    if (limit.type === 'Container') {
      return containers.flatMap(({ resources }) =>
        limitFaults(limit, 'Container', {
          requests: mapOf(mapOf(resources).requests),
          limits: mapOf(mapOf(resources).limits),
        }),
      );
    }
    return limit.type === 'Pod' ? limitFaults(limit, 'Pod', podResources(spec)) : [];
  });
}

/** Claims have requests only: a maximum counts for those. */
function claimFaults(claim: KubeObject, limits: readonly JsonObject[]): string[] {
  const requests = mapOf(mapOf(mapOf(claim.spec).resources).requests);
  return limits
    .filter(({ type }) => type === 'PersistentVolumeClaim')
    .flatMap(({ min, max }) => [
      ...limitFaults({ min: mapOf(min) }, 'PersistentVolumeClaim', { requests, limits: {} }),
      ...Object.entries(mapOf(max)).flatMap(([name, most]) => {
        const usage = `maximum ${name} usage per PersistentVolumeClaim is ${text(most)}`;
        const asked = requests[name];
        if (asked === undefined) return [`${usage}.  No request is specified`];
        if (compareQuantities(text(asked), text(most)) <= 0) return [];
        return [`${usage}, but request is ${text(asked)}`];
      }),
    ]);
}

/** Several faults of one range as one sentence. */
const aggregate = (faults: readonly string[]): string => {
  const all = [...new Set(faults)];
  return all.length === 1 ? all[0]! : `[${all.join(', ')}]`;
};

/** Gives containers the amounts that a namespace's limit ranges say, and keeps pods and claims within them. */
export const limitRanger: Plugin = {
  name: 'LimitRanger',
  resources: ['/pods', '/pods/resize', '/persistentvolumeclaims'],
  operations: ['CREATE', 'UPDATE'],
  admit: async (attributes) => {
    if (!applies(attributes) || attributes.resource.resource !== 'pods') return;
    for (const limits of await limitsOf(attributes)) setDefaults(attributes.object!, limits);
  },
  validate: async (attributes) => {
    if (!applies(attributes)) return;
    const faultsOf = attributes.resource.resource === 'pods' ? podFaults : claimFaults;
    for (const limits of await limitsOf(attributes)) {
      const faults = faultsOf(attributes.object!, limits);
      if (faults.length > 0) throw forbidden(subjectOf(attributes), attributes.name, aggregate(faults));
    }
  },
};

/** Updates of pods change no resources, and what is going is left alone. */
function applies({ resource, subresource, operation, old }: Attributes): boolean {
  if (old?.metadata.deletionTimestamp !== undefined) return false;
  return resource.resource !== 'pods' || operation === 'CREATE' || subresource === 'resize';
}

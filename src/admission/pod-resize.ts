import { mapOf, objects, text, texts } from '../api/fields.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../api/object.ts';
import { compareQuantities, unitsOf } from '../api/quantity.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { builtinRow, lookUp } from './lookup.ts';
import { podResources } from './pod-resources.ts';
import { listOf } from './resource-lists.ts';

const nodes = builtinRow('v1', 'nodes');

const refuse = (attributes: Attributes, why: string, reason?: string) =>
  forbidden(subjectOf(attributes), attributes.name, why, reason === undefined ? undefined : [{ reason }]);

/** The node of a pod whose spec this update changes; none for pods that are bound to no node. */
async function nodeOfChanged(attributes: Attributes): Promise<KubeObject | undefined> {
  const { ctx, object, old } = attributes;
  const name = text(mapOf(object?.spec).nodeName);
  if (name === '' || object?.metadata.generation === old?.metadata.generation) return undefined;
  const node = await lookUp(ctx, nodes, '', name);
  if (node === undefined) throw refuse(attributes, `node ${JSON.stringify(name)} not found`);
  return node;
}

/** What is compared: the resource, and the power of ten that it is shown in. */
const compared = [
  ['cpu', -3],
  ['memory', 0],
] as const;

/** Keeps pods from being resized beyond their node, or where the node cannot resize them. */
export const podResizeValidator: Plugin = {
  name: 'PodResizeValidator',
  resources: ['/pods/resize'],
  operations: ['UPDATE'],
  validate: async (attributes) => {
    const node = await nodeOfChanged(attributes);
    if (node === undefined) return;
    const system = node.metadata.labels?.['kubernetes.io/os'] ?? 'linux';
    if (system !== 'linux') {
      const own = `node ${JSON.stringify(node.metadata.name)} is ${JSON.stringify(system)}`;
      throw refuse(attributes, `pod resize is only supported on linux nodes, ${own}`, 'UnsupportedPlatform');
    }
    const { requests } = podResources(mapOf(attributes.object!.spec), { whole: true });
    const has = listOf(mapOf(node.status).allocatable);
    const faults = compared.flatMap(([name, exponent]) => {
      const [asked, allocatable] = [requests[name] ?? '0', has[name] ?? '0'];
      if (compareQuantities(asked, allocatable) <= 0) return [];
      return [`${name}, requested: ${unitsOf(asked, exponent)}, allocatable: ${unitsOf(allocatable, exponent)}`];
    });
    if (faults.length === 0) return;
    throw refuse(attributes, `node didn't have enough allocatable resources: ${faults.join('; ')}`, 'NodeCapacity');
  },
};

const resourcesOf = (part: JsonObject | undefined): JsonObject => mapOf(part?.resources);

/** Features of a node that changes of a pod's spec rest on, by what changes. */
const features: readonly { name: string; needed: (spec: JsonObject, old: JsonObject) => boolean }[] = [
  {
    name: 'InPlacePodLevelResourcesVerticalScaling',
    needed: (spec, old) => !deepEqual(resourcesOf(spec), resourcesOf(old)),
  },
  {
    name: 'InPlacePodVerticalScalingInitContainers',
    needed: (spec, old) => {
      const now = objects(spec.initContainers);
      return objects(old.initContainers).some(
        (before, i) => before.restartPolicy !== 'Always' && !deepEqual(resourcesOf(before), resourcesOf(now[i])),
      );
    },
  },
];

/** Keeps updates of pods to what their node declares that it can do. */
export const nodeDeclaredFeatureValidator: Plugin = {
  name: 'NodeDeclaredFeatureValidator',
  resources: ['/pods', '/pods/resize'],
  operations: ['UPDATE'],
  validate: async (attributes) => {
    const [spec, old] = [mapOf(attributes.object?.spec), mapOf(attributes.old?.spec)];
    const needed = features.filter((feature) => feature.needed(spec, old)).map(({ name }) => name);
    if (needed.length === 0) return;
    const node = await nodeOfChanged(attributes);
    if (node === undefined) return;
    const declared = texts(mapOf(node.status).declaredFeatures);
    const missing = needed.filter((name) => !declared.includes(name));
    if (missing.length === 0) return;
    const where = `which are not available on node ${JSON.stringify(node.metadata.name)}`;
    throw refuse(attributes, `pod update requires features ${missing.join(', ')} ${where}`);
  },
};

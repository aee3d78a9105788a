import { objectAt, objectsAt } from '../api/fields.ts';
import { deepCopy, deepEqual, isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { builtinRow, lookUp } from './lookup.ts';
import { mergeTolerations } from './tolerations.ts';

const classes = builtinRow('node.k8s.io/v1', 'runtimeclasses');

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);

async function classOf(attributes: Attributes): Promise<KubeObject | undefined> {
  const name = objectAt(attributes.object!, 'spec').runtimeClassName;
  if (typeof name !== 'string') return undefined;
  const found = await lookUp(attributes.ctx, classes, '', name);
  if (found === undefined) throw refuse(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
  return found;
}

const overheadOf = (found: KubeObject | undefined): JsonObject | undefined =>
  found !== undefined && isObject(found.overhead) ? objectAt(found.overhead, 'podFixed') : undefined;

function schedule(attributes: Attributes, spec: JsonObject, scheduling: JsonObject): void {
  const selector = { ...objectAt(spec, 'nodeSelector') };
  for (const [key, value] of Object.entries(objectAt(scheduling, 'nodeSelector'))) {
    if (selector[key] !== undefined && selector[key] !== value) {
      const parts = `runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${selector[key]}`;
      throw refuse(attributes, `conflict: ${parts}`);
    }
    selector[key] = value;
  }
  if (Object.keys(selector).length > 0) spec.nodeSelector = selector;
  const tolerations = mergeTolerations([...objectsAt(spec, 'tolerations'), ...objectsAt(scheduling, 'tolerations')]);
  if (tolerations.length > 0) spec.tolerations = tolerations;
}

/** Gives pods what their runtime class asks for: overhead, node selector and tolerations. */
export const runtimeClass: Plugin = {
  name: 'RuntimeClass',
  resources: ['/pods'],
  operations: ['CREATE'],
  admit: async (attributes) => {
    const found = await classOf(attributes);
    const spec = objectAt(attributes.object!, 'spec');
    const overhead = overheadOf(found);
    if (overhead !== undefined) {
      if (Object.keys(objectAt(spec, 'overhead')).length > 0 && !deepEqual(spec.overhead, overhead)) {
        throw refuse(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
      }
      spec.overhead = deepCopy(overhead);
    }
    if (found !== undefined && isObject(found.scheduling)) schedule(attributes, spec, found.scheduling);
  },
  validate: async (attributes) => {
    const { overhead } = objectAt(attributes.object!, 'spec');
    if (overhead === undefined) return;
    if (overheadOf(await classOf(attributes)) === undefined) {
      throw refuse(attributes, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
    }
  },
};

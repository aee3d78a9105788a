import { objectAt } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { builtinRow, lookUp, lookUpAll } from './lookup.ts';

const classes = builtinRow('scheduling.k8s.io/v1', 'priorityclasses');

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);

/** The class of pods that name none; the lowest where several say so. */
async function defaultClass({ ctx }: Attributes): Promise<KubeObject | undefined> {
  const marked = (await lookUpAll(ctx, classes)).filter((c) => c.globalDefault === true);
  return marked.sort((a, b) => Number(a.value) - Number(b.value))[0];
}

async function classOf(attributes: Attributes, name: unknown): Promise<KubeObject | undefined> {
  if (typeof name !== 'string' || name === '') return defaultClass(attributes);
  const found = await lookUp(attributes.ctx, classes, '', name);
  if (found === undefined) throw refuse(attributes, `no PriorityClass with name ${name} was found`);
  return found;
}

const REASON = 'must not be provided in pod spec; priority admission controller computed';

async function admitPod(attributes: Attributes): Promise<void> {
  const spec = objectAt(attributes.object!, 'spec');
  if (attributes.operation === 'UPDATE') {
    const old = objectAt(attributes.old!, 'spec');
    for (const key of ['priority', 'preemptionPolicy']) if (old[key] !== undefined) spec[key] ??= old[key];
    return;
  }
  const found = await classOf(attributes, spec.priorityClassName);
  const value = typeof found?.value === 'number' ? found.value : 0;
  const policy = found === undefined ? 'PreemptLowerPriority' : found.preemptionPolicy;
  if (spec.priority !== undefined && spec.priority !== value) {
    throw refuse(
      attributes,
      `the integer value of priority (${spec.priority}) ${REASON} ${value} from the given PriorityClass name`,
    );
  }
  if (found?.metadata.name !== undefined) spec.priorityClassName = found.metadata.name;
  spec.priority = value;
  if (policy === undefined) return;
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    const given = `the string value of PreemptionPolicy (${spec.preemptionPolicy})`;
    throw refuse(attributes, `${given} ${REASON} ${policy} from the given PriorityClass name`);
  }
  spec.preemptionPolicy = policy;
}

/** Classes that the system's own pods need. */
const SYSTEM_CLASSES: ReadonlySet<string> = new Set(['system-node-critical', 'system-cluster-critical']);

/** Turns a pod's priority class into its priority, lets only one class be the default, and keeps the system's own. */
export const priority: Plugin = {
  name: 'Priority',
  resources: ['/pods', 'scheduling.k8s.io/priorityclasses'],
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  admit: async (attributes) => {
    const { resource, operation, name } = attributes;
    if (operation === 'DELETE') {
      if (resource.resource === 'priorityclasses' && SYSTEM_CLASSES.has(name)) {
        throw refuse(attributes, 'this is a system priority class and cannot be deleted');
      }
    } else if (resource.resource === 'pods') await admitPod(attributes);
  },
  validate: async (attributes) => {
    if (attributes.resource.resource === 'pods' || attributes.object?.globalDefault !== true) return;
    const current = (await defaultClass(attributes))?.metadata.name;
    if (current === undefined) return;
    if (attributes.operation === 'UPDATE' && current === attributes.object.metadata.name) return;
    throw refuse(attributes, `PriorityClass ${current} is already marked as default. Only one default can exist`);
  },
};

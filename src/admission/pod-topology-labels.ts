import { mapOf, text } from '../api/fields.ts';
import type { Plugin } from './chain.ts';
import { builtinRow, lookUp } from './lookup.ts';

const nodes = builtinRow('v1', 'nodes');
const LABELS: readonly string[] = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

/** Tells pods where their node is: its zone and region become labels of pods that are bound to it. */
export const podTopologyLabels: Plugin = {
  name: 'PodTopologyLabels',
  resources: ['/pods', '/pods/binding'],
  operations: ['CREATE'],
  admit: async ({ ctx, subresource, object }) => {
    const { metadata, spec, target } = object!;
    const { kind, name } = mapOf(target);
    if (subresource === 'binding' && kind !== 'Node') return;
    const node = subresource === 'binding' ? text(name) : text(mapOf(spec).nodeName);
    const labels = node === '' ? undefined : (await lookUp(ctx, nodes, '', node))?.metadata.labels;
    const told = Object.entries(labels ?? {}).filter(([key]) => LABELS.includes(key));
    if (told.length > 0) metadata.labels = { ...metadata.labels, ...Object.fromEntries(told) };
  },
};

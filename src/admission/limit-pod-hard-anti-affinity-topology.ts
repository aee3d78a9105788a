import { at, objects, text } from '../api/fields.ts';
import { forbidden } from '../status/status.ts';
import { type Plugin, subjectOf } from './chain.ts';

const HOST = 'kubernetes.io/hostname';

/** Keeps pods from shutting others out of more than a node. */
export const limitPodHardAntiAffinityTopology: Plugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  resources: ['/pods'],
  operations: ['CREATE', 'UPDATE'],
  validate: (attributes) => {
    const { object } = attributes;
    const terms = at(object?.spec, 'affinity', 'podAntiAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
    const bad = objects(terms).find(({ topologyKey }) => topologyKey !== HOST);
    if (bad === undefined) return;
    const given = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${text(bad.topologyKey)}`;
    throw forbidden(subjectOf(attributes), object?.metadata.name ?? '', `${given} but only key ${HOST} is allowed`);
  },
};

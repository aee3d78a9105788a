import { mapOf, objects } from '../api/fields.ts';
import { isExtendedResource } from '../api/validation/resource-names.ts';
import type { Plugin } from './chain.ts';
import { lastingContainersOf } from './pods.ts';

/** Lets pods that ask for extended resources onto the nodes that are kept for them. */
export const extendedResourceToleration: Plugin = {
  name: 'ExtendedResourceToleration',
  resources: ['/pods'],
  operations: ['CREATE', 'UPDATE'],
  admit: ({ object }) => {
    const spec = mapOf(object!.spec);
    const asked = lastingContainersOf(spec).flatMap(({ resources }) => Object.keys(mapOf(mapOf(resources).requests)));
    const tolerations = objects(spec.tolerations);
    for (const key of [...new Set(asked.filter(isExtendedResource))].sort()) {
      const known = tolerations.some((t) => t.key === key && t.operator === 'Exists' && t.effect === 'NoSchedule');
      if (!known) tolerations.push({ key, operator: 'Exists', effect: 'NoSchedule' });
    }
    if (tolerations.length > 0) spec.tolerations = tolerations;
  },
};

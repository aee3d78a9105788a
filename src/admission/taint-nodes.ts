import { objectAt, objectsAt } from '../api/fields.ts';
import type { Plugin } from './chain.ts';

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as const;

/** Keeps pods off new nodes until the node controller has seen them ready. */
export const taintNodesByCondition: Plugin = {
  name: 'TaintNodesByCondition',
  resources: ['/nodes'],
  operations: ['CREATE'],
  admit: ({ object }) => {
    const node = object!;
    const spec = objectAt(node, 'spec');
    const taints = objectsAt(spec, 'taints');
    if (taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect)) return;
    node.spec = { ...spec, taints: [...taints, { ...NOT_READY }] };
  },
};

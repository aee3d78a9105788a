import { objectAt, objectsAt } from '../api/fields.ts';
import type { JsonObject } from '../api/object.ts';
import type { Plugin } from './chain.ts';

/** Taints of nodes that have failed, which every pod tolerates for five minutes. */
const TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const SECONDS = 300;

const tolerates = (toleration: JsonObject, taint: string) =>
  (toleration.key === taint || !toleration.key) && (toleration.effect === 'NoExecute' || !toleration.effect);

/** Adds tolerations of failed nodes to pods that say nothing of them. */
export const defaultTolerationSeconds: Plugin = {
  name: 'DefaultTolerationSeconds',
  resources: ['/pods'],
  operations: ['CREATE', 'UPDATE'],
  admit: ({ object }) => {
    const spec = objectAt(object!, 'spec');
    const tolerations = objectsAt(spec, 'tolerations');
    const missing = TAINTS.filter((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
    if (missing.length === 0) return;
    const added = missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: SECONDS }));
    spec.tolerations = [...tolerations, ...added];
  },
};

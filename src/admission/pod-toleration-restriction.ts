import { mapOf, objects } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { parseTree } from '../codec/json.ts';
import { qosClass } from '../registry/strategies/pod.ts';
import { notFound, plainError } from '../status/status.ts';
import type { Attributes, Plugin } from './chain.ts';
import { settingsOf } from './configuration.ts';
import { builtinRow, lookUp } from './lookup.ts';
import { covers, mergeTolerations } from './tolerations.ts';

const namespaces = builtinRow('v1', 'namespaces');
const DEFAULTS = 'scheduler.alpha.kubernetes.io/defaultTolerations';
const ALLOWED = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';
const MEMORY = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' };

async function namespaceOf({ ctx, namespace }: Attributes): Promise<KubeObject> {
  const found = await lookUp(ctx, namespaces, '', namespace);
  if (found === undefined) throw notFound({ group: '', name: 'namespaces' }, namespace);
  return found;
}

/** Tolerations that an annotation lists; undefined where it is not there. */
function listed({ metadata }: KubeObject, annotation: string): JsonObject[] | undefined {
  const value = metadata.annotations?.[annotation];
  if (value === undefined || value === '') return value === '' ? [] : undefined;
  try {
    return objects(parseTree(value));
  } catch (error) {
    throw plainError(error instanceof Error ? error.message : String(error));
  }
}

/** Gives the pods of a namespace its tolerations, and lets them have no others than it allows. */
export const podTolerationRestriction: Plugin = {
  name: 'PodTolerationRestriction',
  resources: ['/pods'],
  operations: ['CREATE', 'UPDATE'],
  admit: async (attributes) => {
    const pod = attributes.object!;
    const spec = mapOf(pod.spec);
    const extra: JsonObject[] = [];
    if (attributes.operation === 'CREATE') {
      const own = listed(await namespaceOf(attributes), DEFAULTS);
      extra.push(...(own ?? settingsOf(attributes.ctx.config).PodTolerationRestriction.default));
    }
    if (qosClass(pod) !== 'BestEffort') extra.push(MEMORY);
    if (extra.length > 0) spec.tolerations = mergeTolerations([...objects(spec.tolerations), ...extra]);
  },
  validate: async (attributes) => {
    const tolerations = objects(mapOf(attributes.object!.spec).tolerations);
    if (tolerations.length === 0) return;
    const own = listed(await namespaceOf(attributes), ALLOWED);
    const allowed = own ?? settingsOf(attributes.ctx.config).PodTolerationRestriction.whitelist;
    if (allowed.length === 0) return;
    if (tolerations.every((toleration) => allowed.some((wide) => covers(wide, toleration)))) return;
    const whose = own === undefined ? 'cluster' : 'namespace';
    throw plainError(
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${whose} whitelist`,
    );
  },
};

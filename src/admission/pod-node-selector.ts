import { mapOf, text } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';
import { forbidden, notFound, plainError } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { settingsOf } from './configuration.ts';
import { builtinRow, lookUp } from './lookup.ts';

const namespaces = builtinRow('v1', 'namespaces');
const ANNOTATION = 'scheduler.alpha.kubernetes.io/node-selector';
const DEFAULT = 'clusterDefaultNodeSelector';

type Labels = Record<string, string>;

/** Reads `key=value,key=value`. Throws 500 for anything else, as upstream does. */
function readLabels(selector: string): Labels {
  const labels: Labels = {};
  for (const part of selector.split(',').filter((piece) => piece !== '')) {
    const [key = '', value, ...more] = part.split('=');
    if (value === undefined || more.length > 0) throw plainError(`invalid selector: [${part}]`);
    labels[key.trim()] = value.trim();
  }
  return labels;
}

const conflict = (a: Labels, b: Labels): boolean =>
  Object.entries(a).some(([key, value]) => Object.hasOwn(b, key) && b[key] !== value);

async function selectorOf({ ctx, namespace }: Attributes): Promise<Labels> {
  const found = await lookUp(ctx, namespaces, '', namespace);
  if (found === undefined) throw notFound({ group: '', name: 'namespaces' }, namespace);
  const own = found.metadata.annotations?.[ANNOTATION];
  return readLabels(own ?? settingsOf(ctx.config).PodNodeSelector[DEFAULT] ?? '');
}

const ownSelector = ({ spec }: KubeObject): Labels =>
  Object.fromEntries(Object.entries(mapOf(mapOf(spec).nodeSelector)).map(([key, value]) => [key, text(value)]));

async function check(attributes: Attributes): Promise<Labels> {
  const { ctx, namespace } = attributes;
  const object = attributes.object!;
  const own = ownSelector(object);
  const wanted = await selectorOf(attributes);
  const refuse = (why: string) => forbidden(subjectOf(attributes), object.metadata.name ?? '', why);
  if (conflict(wanted, own)) throw refuse('pod node label selector conflicts with its namespace node label selector');
  const merged = { ...wanted, ...own };
  const allowed = readLabels(settingsOf(ctx.config).PodNodeSelector[namespace] ?? '');
  const strange = Object.entries(merged).some(([key, value]) => allowed[key] !== value);
  if (Object.keys(allowed).length > 0 && strange) {
    throw refuse('pod node label selector labels conflict with its namespace whitelist');
  }
  return merged;
}

/** Keeps the pods of a namespace on the nodes that are its own. */
export const podNodeSelector: Plugin = {
  name: 'PodNodeSelector',
  resources: ['/pods'],
  operations: ['CREATE'],
  admit: async (attributes) => {
    const merged = await check(attributes);
    if (Object.keys(merged).length > 0) mapOf(attributes.object!.spec).nodeSelector = merged;
  },
  validate: async (attributes) => {
    await check(attributes);
  },
};

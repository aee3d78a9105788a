import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, KubeObject } from '../object.ts';
import { each, oneOf, part, parts, text, texts } from './checks.ts';
import { cidrErrors, parseCidr } from './cidr.ts';
import type { Validator } from './index.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';
import { amountFaults } from './resource-names.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion'];

/** A taint as upstream shows it: under the names of its internal type. */
const shown = (taint: JsonObject) => ({
  Key: text(taint.key),
  Value: text(taint.value),
  Effect: text(taint.effect),
  TimeAdded: taint.timeAdded ?? null,
});

function taintFaults(node: KubeObject): StatusCause[] {
  const seen = new Set<string>();
  return parts(part(node, 'spec'), 'taints').flatMap((taint, i) => {
    const at = `metadata.taints[${i}]`;
    const [key, value, effect] = [text(taint.key), text(taint.value), text(taint.effect)];
    const out = each(`${at}.key`, key, qualifiedNameErrors(key));
    const wrong = labelValueErrors(value);
    if (wrong.length > 0) out.push(causes.invalid(`${at}.value`, value, wrong.join(';')));
    if (effect === '') out.push(causes.required(`${at}.effect`));
    else out.push(...oneOf(effect, `${at}.effect`, EFFECTS, false));
    const pair = JSON.stringify([key, effect]);
    if (seen.has(pair)) {
      const { message, ...rest } = causes.duplicate(at, shown(taint));
      out.push({ ...rest, message: `${message}: taints must be unique by key and effect pair` });
    }
    seen.add(pair);
    return out;
  });
}

function amountsFaults(node: KubeObject): StatusCause[] {
  const status = part(node, 'status');
  return ['capacity', 'allocatable'].flatMap((key) =>
    Object.entries(part(status, key)).flatMap(([name, value]) =>
      amountFaults(name, text(value), `status.${key}.${name}`),
    ),
  );
}

const rangesOf = (node: KubeObject) => texts(part(node, 'spec'), 'podCIDRs');

function rangeFaults(node: KubeObject): StatusCause[] {
  const ranges = rangesOf(node);
  const at = 'spec.podCIDRs';
  const out = ranges.flatMap((range, i) => each(`${at}[${i}]`, range, cidrErrors(range)));
  const families = new Set(ranges.map((range) => parseCidr(range)?.family));
  if (ranges.length < 2 || (ranges.length === 2 && families.size === 2)) return out;
  return [...out, causes.invalid(at, ranges, 'may specify no more than one CIDR for each IP family')];
}

const validateNode = (node: KubeObject) => [...taintFaults(node), ...amountsFaults(node), ...rangeFaults(node)];

function addressFaults(node: KubeObject): StatusCause[] {
  const seen = new Set<string>();
  return parts(part(node, 'status'), 'addresses').flatMap((address, i) => {
    const [type, value] = [text(address.type), text(address.address)];
    const pair = JSON.stringify([type, value]);
    if (seen.has(pair)) return [causes.duplicate(`status.addresses[${i}]`, { Type: type, Address: value })];
    seen.add(pair);
    return [];
  });
}

/** Ranges and the provider's id of a node are given once. */
function fixedFaults(node: KubeObject, old: KubeObject): StatusCause[] {
  const [now, before] = [rangesOf(node), rangesOf(old)];
  const why = (field: string) => `node updates may not change ${field} except from "" to valid`;
  const changes = now.length === before.length ? before.filter((range, i) => range !== now[i]) : before.slice(0, 1);
  const out = changes.map(() => causes.forbidden('spec.podCIDRs', why('podCIDR')));
  const [id, oldId] = [node, old].map((each) => text(part(each, 'spec').providerID));
  if (oldId === '' || oldId === id) return out;
  return [...out, causes.forbidden('spec.providerID', why('providerID'))];
}

const validateNodeChange = (node: KubeObject, old: KubeObject) => [
  ...validateNode(node),
  ...amountsFaults(node),
  ...addressFaults(node),
  ...fixedFaults(node, old),
  ...taintFaults(node),
];

function finalizerFaults(object: KubeObject, at: (index: number) => string): StatusCause[] {
  return texts(part(object, 'spec'), 'finalizers').flatMap((name, i) => {
    const out = each(at(i), name, qualifiedNameErrors(name));
    if (name.includes('/') || FINALIZERS.includes(name)) return out;
    return [...out, causes.invalid(at(i), name, 'name is neither a standard finalizer name nor is it fully qualified')];
  });
}

function phaseFaults(object: KubeObject): StatusCause[] {
  const phase = text(part(object, 'status').phase);
  const ending = object.metadata.deletionTimestamp !== undefined;
  const expected = ending ? 'Terminating' : 'Active';
  if (phase === expected) return [];
  const why = `may only be '${expected}' if \`deletionTimestamp\` is ${ending ? 'not ' : ''}empty`;
  return [causes.invalid('status.Phase', phase, why)];
}

/** Nodes and namespaces. */
export const nodeValidators: readonly [string, Validator][] = [
  ['/nodes', { create: validateNode, update: validateNodeChange }],
  ['/nodes/status', { update: validateNodeChange }],
  ['/namespaces', { create: (object) => finalizerFaults(object, () => 'spec.finalizers'), update: () => [] }],
  ['/namespaces/status', { update: phaseFaults }],
  ['/namespaces/finalize', { update: (object) => finalizerFaults(object, (i) => `spec.finalizers[${i}]`) }],
];

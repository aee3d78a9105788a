import { mapOf, objects, text } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { forbidden, internalError, invalid } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { settingsOf } from './configuration.ts';
import { builtinRow, lookUp, lookUpAll } from './lookup.ts';
import type { Pod } from './pod-security/faults.ts';
import {
  asksNothing,
  compareLevels,
  type Demand,
  LABELS,
  type Policy,
  type PolicyReading,
  readPolicy,
  sameDemand,
  show,
} from './pod-security/policy.ts';
import { details, reasons, violations } from './pod-security/registry.ts';
import { lastingContainersOf, templateOf, workloads } from './pods.ts';

const namespaces = builtinRow('v1', 'namespaces');
const pods = builtinRow('v1', 'pods');

/** Pods of a namespace that are looked at when it asks for more. */
const MAX_PODS = 3000;

const settings = ({ ctx }: Attributes) => settingsOf(ctx.config).PodSecurity;
const policyOf = (attributes: Attributes, namespace: KubeObject): PolicyReading =>
  readPolicy(namespace.metadata.labels ?? {}, settings(attributes).defaults);

const hasExemptClass = (attributes: Attributes, spec: JsonObject): boolean =>
  text(spec.runtimeClassName) !== '' &&
  settings(attributes).exemptions.runtimeClasses.includes(text(spec.runtimeClassName));

const isExempt = (attributes: Attributes): boolean => {
  const { namespaces, usernames } = settings(attributes).exemptions;
  return namespaces.includes(attributes.namespace) || usernames.includes(attributes.ctx.user.name);
};

const wouldViolate = (demand: Demand, found: string) =>
  `would violate PodSecurity ${JSON.stringify(show(demand))}: ${found}`;

/** Refuses a pod that violates what is enforced, and warns of what is warned of. */
function evaluate(attributes: Attributes, { enforce, warn }: Policy, pod: Pod, enforces: boolean): void {
  if (hasExemptClass(attributes, pod.spec)) return;
  const enforced = enforces ? violations(enforce, pod) : [];
  if (enforced.length > 0) {
    const why = `violates PodSecurity ${JSON.stringify(show(enforce))}: ${details(enforced)}`;
    throw forbidden(subjectOf(attributes), attributes.name, why);
  }
  const warned = violations(warn, pod);
  if (warned.length > 0) attributes.ctx.warnings.push(wouldViolate(warn, details(warned)));
}

/** Whether an update of a pod changes what the checks look at: which containers there are, and their images. */
function isSignificant(spec: JsonObject, old: JsonObject): boolean {
  for (const list of ['containers', 'initContainers']) {
    if (objects(spec[list]).length !== objects(old[list]).length) return true;
  }
  const before = lastingContainersOf(old);
  if (lastingContainersOf(spec).some(({ image }, i) => image !== before[i]?.image)) return true;
  const images = new Map(objects(old.ephemeralContainers).map(({ name, image }) => [name, image]));
  return objects(spec.ephemeralContainers).some(({ name, image }) => !images.has(name) || images.get(name) !== image);
}

async function namespaceOf({ ctx, namespace }: Attributes): Promise<KubeObject | undefined> {
  return lookUp(ctx, namespaces, '', namespace);
}

async function validatePod(attributes: Attributes): Promise<void> {
  if (isExempt(attributes)) return;
  const namespace = await namespaceOf(attributes);
  if (namespace === undefined)
    throw internalError(`failed to lookup namespace ${JSON.stringify(attributes.namespace)}`);
  const { policy, faults } = policyOf(attributes, namespace);
  if (faults.length === 0 && asksNothing(policy)) return;
  const { metadata, spec } = attributes.object!;
  const pod = { metadata, spec: mapOf(spec) };
  if (attributes.old !== undefined && !isSignificant(pod.spec, mapOf(attributes.old.spec))) return;
  evaluate(attributes, policy, pod, true);
}

async function validateWorkload(attributes: Attributes): Promise<void> {
  if (isExempt(attributes)) return;
  const template = templateOf(`${attributes.resource.group}/${attributes.resource.resource}`, attributes.object!);
  if (template === undefined) return;
  const namespace = await namespaceOf(attributes);
  if (namespace === undefined) return;
  evaluate(attributes, policyOf(attributes, namespace).policy, template, false);
}

/** A warning for a namespace that asks for something and is exempt from it. */
function exemptionWarning(attributes: Attributes, { metadata }: KubeObject, policy: Policy): string | undefined {
  const { defaults } = settings(attributes);
  const same = (['enforce', 'audit', 'warn'] as const).every(
    (mode) =>
      sameDemand(policy[mode], defaults[mode]) ||
      (policy[mode].level === 'privileged' && defaults[mode].level === 'privileged'),
  );
  if (asksNothing(policy) || same) return undefined;
  const labels = metadata.labels ?? {};
  const told = (['enforce', 'audit', 'warn'] as const)
    .filter((mode) => policy[mode].level !== 'privileged' && LABELS[mode].some((key) => Object.hasOwn(labels, key)))
    .map((mode) => `${mode}=${show(policy[mode])}`);
  const name = JSON.stringify(metadata.name);
  return `namespace ${name} is exempt from Pod Security, and the policy (${told.join(', ')}) will be ignored`;
}

/** Pods without those of an exempt class; the first of each controller before its others. */
function prioritized(attributes: Attributes, all: readonly KubeObject[]): KubeObject[] {
  const seen = new Set<string>();
  const first: KubeObject[] = [];
  const more: KubeObject[] = [];
  for (const pod of all) {
    if (hasExemptClass(attributes, mapOf(pod.spec))) continue;
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    if (owner !== undefined && seen.has(owner)) more.push(pod);
    else first.push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...more];
}

const others = (count: number) =>
  count === 1 ? '' : count === 2 ? ' (and 1 other pod)' : ` (and ${count - 1} other pods)`;

/** What the pods that a namespace has do beyond what it now asks of new ones. */
async function namespaceWarnings(attributes: Attributes, demand: Demand): Promise<string[]> {
  const { ctx, name } = attributes;
  const all = prioritized(attributes, await lookUpAll(ctx, pods, name));
  const checked = all.slice(0, MAX_PODS);
  const found = new Map<string, string[]>();
  for (const pod of checked) {
    const faults = violations(demand, { metadata: pod.metadata, spec: mapOf(pod.spec) });
    if (faults.length === 0) continue;
    const why = reasons(faults);
    found.set(why, [...(found.get(why) ?? []), pod.metadata.name ?? '']);
  }
  const warnings: string[] = [];
  if (checked.length < all.length) {
    const part = `the first ${checked.length} of ${all.length} existing pods`;
    warnings.push(`new PodSecurity enforce level only checked against ${part}`);
  }
  if (found.size > 0) {
    const level = `the new PodSecurity enforce level ${JSON.stringify(show(demand))}`;
    warnings.push(`existing pods in namespace ${JSON.stringify(name)} violate ${level}`);
  }
  const told = [...found].map(([why, names]) => `${names.sort()[0]}${others(names.length)}: ${why}`);
  return [...warnings, ...told.sort()];
}

async function validateNamespace(attributes: Attributes): Promise<void> {
  const { ctx, object, old, name } = attributes;
  const { policy, faults } = policyOf(attributes, object!);
  const before = old === undefined ? undefined : policyOf(attributes, old);
  const changed = before === undefined || JSON.stringify(before.faults) !== JSON.stringify(faults);
  if (faults.length > 0 && (before?.faults.length === 0 || changed)) {
    throw invalid({ group: '', name: 'Namespace' }, name, faults);
  }
  if (before !== undefined) {
    const { enforce } = before.policy;
    if (sameDemand(policy.enforce, enforce) || policy.enforce.level === 'privileged') return;
    if (policy.enforce.version === enforce.version && compareLevels(policy.enforce.level, enforce.level) < 1) return;
  }
  if (settings(attributes).exemptions.namespaces.includes(name)) {
    const warning = exemptionWarning(attributes, object!, policy);
    if (warning !== undefined) ctx.warnings.push(warning);
  } else if (before !== undefined) ctx.warnings.push(...(await namespaceWarnings(attributes, policy.enforce)));
}

/**
 * The Pod Security Standards, as the labels of a namespace ask for them: refuses pods, warns of them and of templates
 * of pods, and tells who asks for more than its pods meet.
 */
export const podSecurity: Plugin = {
  name: 'PodSecurity',
  resources: ['/namespaces', '/pods', '/pods/ephemeralcontainers', '/pods/resize', ...workloads],
  operations: ['CREATE', 'UPDATE'],
  validate: async (attributes) => {
    const { resource } = attributes.resource;
    if (resource === 'namespaces') await validateNamespace(attributes);
    else if (resource === 'pods') await validatePod(attributes);
    else await validateWorkload(attributes);
  },
};

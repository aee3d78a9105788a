import { causes, type StatusCause } from '../../status/status.ts';
import { deepCopy, deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { copyFields, has, part, parts, text } from './checks.ts';
import { imageSpaceFaults } from './containers.ts';
import type { Validator } from './index.ts';
import { validatePodSpec } from './pod-spec.ts';
import { validatePodStatus } from './pod-status.ts';
import { validatePodTemplate } from './pod-template.ts';

const LISTS = ['containers', 'initContainers'];
const MAX_INT32 = 2147483647;
const ALLOWED =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Causes in the spec of a pod, with what only pods and no templates are held to. */
function validateSpec(pod: KubeObject): StatusCause[] {
  const spec = part(pod, 'spec');
  const out = validatePodSpec(spec, 'spec', pod.metadata.name ?? '');
  if (text(spec.serviceAccountName) === '') {
    for (const [i, volume] of parts(spec, 'volumes').entries()) {
      for (const [j, source] of parts(part(volume, 'projected'), 'sources').entries()) {
        if (!has(source, 'serviceAccountToken')) continue;
        const at = `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`;
        out.push(causes.forbidden(at, 'must not be specified when serviceAccountName is not set'));
      }
    }
  }
  const images = LISTS.flatMap((key) =>
    parts(spec, key).flatMap((container, i) => imageSpaceFaults(container, `spec.${key}[${i}]`)),
  );
  return [...out, ...images];
}

function validatePod(pod: KubeObject): StatusCause[] {
  const spec = part(pod, 'spec');
  const out = validateSpec(pod);
  if (parts(spec, 'ephemeralContainers').length > 0) {
    out.push(causes.forbidden('spec.ephemeralContainers', 'cannot be set on create'));
  }
  if (text(spec.nodeName) !== '' && parts(spec, 'schedulingGates').length > 0) {
    out.push(causes.forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
  return out;
}

function validateTolerations(spec: JsonObject, old: JsonObject): StatusCause[] {
  const now = parts(spec, 'tolerations').map(({ tolerationSeconds: _, ...toleration }) => toleration);
  const kept = parts(old, 'tolerations').every(({ tolerationSeconds: _, ...before }) =>
    now.some((t) => deepEqual(t, before)),
  );
  if (kept) return [];
  return [causes.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

function validateGates(spec: JsonObject, old: JsonObject): StatusCause[] {
  const before = parts(old, 'schedulingGates').map(({ name }) => name);
  return parts(spec, 'schedulingGates').flatMap(({ name }, i) => {
    if (before.includes(name)) return [];
    const why = `only deletion is allowed, but found new scheduling gate '${text(name)}'`;
    return [causes.forbidden(`spec.schedulingGates[${i}].name`, why)];
  });
}

interface Deadline {
  faults: StatusCause[];
  /** Nothing else is looked at. */
  stop: boolean;
}

function validateDeadline(spec: JsonObject, old: JsonObject): Deadline {
  const at = 'spec.activeDeadlineSeconds';
  const [value, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  const fault = (why: string, stop: boolean) => ({ faults: [causes.invalid(at, value ?? null, why)], stop });
  if (typeof value !== 'number') {
    if (typeof before !== 'number') return { faults: [], stop: false };
    return fault('must not update from a positive integer to nil value', false);
  }
  if (value < 0 || value > MAX_INT32) return fault(`must be between 0 and ${MAX_INT32}, inclusive`, true);
  if (typeof before === 'number' && value > before) return fault('must be less than or equal to previous value', true);
  return { faults: [], stop: false };
}

/** The spec with all that an update may change taken from the old one. */
function leveled(spec: JsonObject, old: JsonObject): JsonObject {
  const out = deepCopy(spec);
  for (const key of LISTS) {
    const before = parts(old, key);
    for (const [i, container] of parts(out, key).entries()) copyFields(before[i] ?? {}, container, ['image']);
  }
  copyFields(old, out, ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']);
  if (Number(old.terminationGracePeriodSeconds) < 0 && spec.terminationGracePeriodSeconds === 1) {
    copyFields(old, out, ['terminationGracePeriodSeconds']);
  }
  if (parts(old, 'schedulingGates').length === 0) return out;
  copyFields(old, out, ['nodeSelector']);
  const affinity = { ...part(out, 'affinity') };
  copyFields(part(old, 'affinity'), affinity, ['nodeAffinity']);
  if (Object.keys(affinity).length > 0 || has(old, 'affinity')) out.affinity = affinity;
  else delete out.affinity;
  return out;
}

/** What a pod that waits at a gate asks of its node may only become narrower. */
function validateNarrowing(spec: JsonObject, old: JsonObject): StatusCause[] {
  if (parts(old, 'schedulingGates').length === 0) return [];
  const [now, before] = [part(spec, 'nodeSelector'), part(old, 'nodeSelector')];
  const out: StatusCause[] = [];
  if (Object.keys(before).some((key) => now[key] !== before[key])) {
    const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    out.push(causes.invalid('spec.nodeSelector', now, why));
  }
  const key = 'requiredDuringSchedulingIgnoredDuringExecution';
  const required = (of: JsonObject) => part(part(part(of, 'affinity'), 'nodeAffinity'), key);
  const [terms, termsBefore] = [parts(required(spec), 'nodeSelectorTerms'), parts(required(old), 'nodeSelectorTerms')];
  const at = `spec.affinity.nodeAffinity.${key}.nodeSelectorTerms`;
  if (termsBefore.length === 0) return out;
  if (terms.length !== termsBefore.length) {
    out.push(causes.invalid(at, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'));
    return out;
  }
  for (const [i, term] of terms.entries()) {
    const kept = ['matchExpressions', 'matchFields'].every((list) => {
      const was = parts(termsBefore[i]!, list);
      return deepEqual(parts(term, list).slice(0, was.length), was);
    });
    if (kept) continue;
    const why = 'only additions are allowed (no mutations or deletions)';
    out.push(causes.invalid(`${at}[${i}]`, term, why));
  }
  return out;
}

/** Causes in a changed pod: little of its spec may change. */
function validatePodUpdate(pod: KubeObject, old: KubeObject): StatusCause[] {
  const [spec, before] = [part(pod, 'spec'), part(old, 'spec')];
  const out = validateSpec(pod);
  for (const key of LISTS) {
    const containers = parts(spec, key);
    if (containers.length !== parts(before, key).length) {
      return [...out, causes.forbidden(`spec.${key}`, 'pod updates may not add or remove containers')];
    }
    for (const [i, container] of containers.entries()) {
      const at = `spec.${key}[${i}]`;
      if (text(container.image) === '') out.push(causes.required(`${at}.image`));
      out.push(...imageSpaceFaults(container, at));
    }
  }
  const deadline = validateDeadline(spec, before);
  out.push(...deadline.faults);
  if (deadline.stop) return out;
  out.push(...validateTolerations(spec, before), ...validateGates(spec, before), ...validateNarrowing(spec, before));
  if (!deepEqual(leveled(spec, before), before)) out.push(causes.forbidden('spec', ALLOWED));
  return out;
}

/** Ephemeral containers are only ever added. */
function validateEphemeralUpdate(pod: KubeObject, old: KubeObject): StatusCause[] {
  const out = validateSpec(pod);
  const now = parts(part(pod, 'spec'), 'ephemeralContainers');
  for (const before of parts(part(old, 'spec'), 'ephemeralContainers')) {
    const container = now.find(({ name }) => name === before.name);
    if (container !== undefined && deepEqual(container, before)) continue;
    const what = container === undefined ? 'removed' : 'changed';
    const why = `existing ephemeral containers ${JSON.stringify(before.name)} may not be ${what}\n`;
    out.push(causes.forbidden('spec.ephemeralContainers', why));
  }
  return out;
}

/** Pods and PodTemplates. */
export const podValidators: readonly [string, Validator][] = [
  ['/pods', { create: validatePod, update: validatePodUpdate }],
  ['/pods/status', { update: validatePodStatus }],
  ['/pods/ephemeralcontainers', { update: validateEphemeralUpdate }],
  ['/podtemplates', { create: (object) => validatePodTemplate(part(object, 'template'), 'template') }],
];

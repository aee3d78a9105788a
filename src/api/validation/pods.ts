import { causes, type StatusCause } from '../../status/status.ts';
import { deepCopy, deepEqual, isObject, type JsonObject, type KubeObject } from '../object.ts';
import { oneOf, part, parts, repeated, text } from './checks.ts';
import { validateContainers } from './containers.ts';
import type { Validator } from './index.ts';
import { dnsLabelErrors } from './names.ts';

function validateVolumes(spec: JsonObject, at: string): StatusCause[] {
  const volumes = parts(spec, 'volumes');
  const out: StatusCause[] = [];
  for (const [i, volume] of volumes.entries()) {
    const name = text(volume.name);
    const here = `${at}.volumes[${i}]`;
    if (name === '') out.push(causes.required(`${here}.name`));
    else for (const why of dnsLabelErrors(name)) out.push(causes.invalid(`${here}.name`, name, why));
    const sources = Object.keys(volume).filter((key) => key !== 'name' && isObject(volume[key]));
    if (sources.length === 0) out.push(causes.required(here, 'must specify a volume type'));
    for (const extra of sources.slice(1))
      out.push(causes.forbidden(`${here}.${extra}`, 'may not specify more than 1 volume type'));
  }
  return [
    ...out,
    ...repeated(
      volumes.map(({ name }) => text(name)),
      (i) => `${at}.volumes[${i}].name`,
    ),
  ];
}

/** Causes in a pod spec; `at` is where it stands. */
export function validatePodSpec(spec: JsonObject, at: string): StatusCause[] {
  return [
    ...validateVolumes(spec, at),
    ...validateContainers(spec, at),
    ...oneOf(spec.restartPolicy, `${at}.restartPolicy`, ['Always', 'Never', 'OnFailure']),
    ...oneOf(spec.dnsPolicy, `${at}.dnsPolicy`, ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']),
  ];
}

const ALLOWED =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function validateTolerations(spec: JsonObject, old: JsonObject): StatusCause[] {
  const now = parts(spec, 'tolerations').map(({ tolerationSeconds: _, ...toleration }) => toleration);
  const kept = parts(old, 'tolerations').every(({ tolerationSeconds: _, ...before }) =>
    now.some((t) => deepEqual(t, before)),
  );
  if (kept) return [];
  return [causes.forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

function validateDeadline(spec: JsonObject, old: JsonObject): StatusCause[] {
  const at = 'spec.activeDeadlineSeconds';
  const [value, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  if (typeof value === 'number' && (value < 1 || value > 2147483647)) {
    return [causes.invalid(at, value, 'must be between 1 and 2147483647, inclusive')];
  }
  if (typeof before !== 'number') return [];
  if (typeof value !== 'number')
    return [causes.invalid(at, null, 'must not update from a positive integer to nil value')];
  return value > before ? [causes.invalid(at, value, 'must be less than or equal to previous value')] : [];
}

/** The spec with all that an update may change taken from the old one. */
function leveled(spec: JsonObject, old: JsonObject): JsonObject {
  const out = deepCopy(spec);
  for (const key of ['containers', 'initContainers']) {
    const before = parts(old, key);
    for (const [i, container] of parts(out, key).entries()) {
      const image = before[i]?.image;
      if (image !== undefined) container.image = image;
    }
  }
  for (const key of ['activeDeadlineSeconds', 'tolerations']) {
    if (old[key] === undefined) delete out[key];
    else out[key] = old[key];
  }
  if (Number(old.terminationGracePeriodSeconds) < 0 && spec.terminationGracePeriodSeconds === 1) {
    out.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds!;
  }
  if (parts(old, 'schedulingGates').length > parts(spec, 'schedulingGates').length) {
    for (const key of ['schedulingGates', 'nodeSelector', 'affinity']) {
      if (old[key] === undefined) delete out[key];
      else out[key] = old[key];
    }
  }
  return out;
}

/** Causes in a changed pod: little of its spec may change. */
function validatePodUpdate(pod: KubeObject, old: KubeObject): StatusCause[] {
  const [spec, before] = [part(pod, 'spec'), part(old, 'spec')];
  for (const key of ['containers', 'initContainers']) {
    if (parts(spec, key).length !== parts(before, key).length) {
      return [causes.forbidden(`spec.${key}`, 'pod updates may not add or remove containers')];
    }
  }
  const out = [...validateDeadline(spec, before), ...validateTolerations(spec, before)];
  for (const [i, container] of parts(spec, 'containers').entries()) {
    if (text(container.image) === '') out.push(causes.required(`spec.containers[${i}].image`));
  }
  if (!deepEqual(leveled(spec, before), before)) out.push(causes.forbidden('spec', ALLOWED));
  return out;
}

/** Pods. */
export const podValidators: readonly [string, Validator][] = [
  ['/pods', { create: (pod) => validatePodSpec(part(pod, 'spec'), 'spec'), update: validatePodUpdate }],
  ['/podtemplates', { create: (object) => validatePodSpec(part(part(object, 'template'), 'spec'), 'template.spec') }],
];

import { matchesLabelSelector } from '../../registry/subresources/label-selector.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';
import { nonNegative, oneOf, part, parts, text, unchanged } from './checks.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { validateLabels } from './metadata.ts';
import { validatePodSpec } from './pods.ts';

/** Selector and template of a workload: the selector must be there, and select the template's pods. */
function validateTemplate(spec: JsonObject, kind: string): StatusCause[] {
  const out: StatusCause[] = [];
  const selector = spec.selector;
  const at = 'spec.template';
  const template = part(spec, 'template');
  const labels = part(part(template, 'metadata'), 'labels');
  let usable = true;
  if (!isObject(selector)) out.push(causes.required('spec.selector'));
  else {
    const faults = labelSelectorFaults(selector, 'spec.selector');
    usable = faults.length === 0;
    out.push(...faults);
    const count = Object.keys(part(selector, 'matchLabels')).length + parts(selector, 'matchExpressions').length;
    if (count === 0) out.push(causes.invalid('spec.selector', selector, `empty selector is invalid for ${kind}`));
    if (!usable) out.push(causes.invalid('spec.selector', selector, 'invalid label selector'));
    else if (count === 0) return [...out, ...validatePodSpec(part(template, 'spec'), `${at}.spec`)];
  }
  if (!usable) return out;
  if (!matchesLabelSelector(selector, labels as Record<string, string>)) {
    const shown = Object.keys(labels).length === 0 ? null : labels;
    out.push(causes.invalid(`${at}.metadata.labels`, shown, '`selector` does not match template `labels`'));
  }
  out.push(
    ...validateLabels(labels, `${at}.metadata.labels`),
    ...validatePodSpec(part(template, 'spec'), `${at}.spec`),
  );
  const { restartPolicy } = part(template, 'spec');
  if (restartPolicy !== 'Always') out.push(...oneOf(restartPolicy, `${at}.spec.restartPolicy`, ['Always']));
  return out;
}

const PERCENT = /^[0-9]+%$/;
const amountOf = (value: JsonValue | undefined) => Number(text(value).replace('%', '') || value || 0);

function intOrPercent(value: JsonValue | undefined, at: string): StatusCause[] {
  if (typeof value === 'string' && !PERCENT.test(value)) {
    const rule =
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
    return [causes.invalid(at, value, rule)];
  }
  if (typeof value === 'number' && value < 0) return [causes.invalid(at, value, 'must be greater than or equal to 0')];
  return [];
}

function validateStrategy(spec: JsonObject): StatusCause[] {
  const strategy = part(spec, 'strategy');
  const at = 'spec.strategy';
  if (strategy.type === 'Recreate') {
    if (!isObject(strategy.rollingUpdate)) return [];
    return [causes.forbidden(`${at}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")];
  }
  if (strategy.type !== 'RollingUpdate') return [causes.notSupported(at, strategy, ['Recreate', 'RollingUpdate'])];
  const { maxSurge: surge, maxUnavailable: unavailable } = part(strategy, 'rollingUpdate');
  const here = `${at}.rollingUpdate.maxUnavailable`;
  const out = [...intOrPercent(unavailable, here), ...intOrPercent(surge, `${at}.rollingUpdate.maxSurge`)];
  if (amountOf(surge) === 0 && amountOf(unavailable) === 0) {
    out.push(causes.invalid(here, unavailable ?? 0, 'may not be 0 when `maxSurge` is 0'));
  }
  if (typeof unavailable === 'string' && amountOf(unavailable) > 100) {
    out.push(causes.invalid(here, unavailable, 'must not be greater than 100%'));
  }
  return out;
}

function validateDeployment(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const deadline = spec.progressDeadlineSeconds;
  const out = [
    ...nonNegative(spec, 'spec', ['replicas']),
    ...validateTemplate(spec, 'deployment'),
    ...validateStrategy(spec),
    ...nonNegative(spec, 'spec', ['minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']),
  ];
  if (typeof deadline === 'number' && deadline <= Number(spec.minReadySeconds ?? 0)) {
    out.push(causes.invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
  }
  return out;
}

function validateReplicaSet(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  return [...nonNegative(spec, 'spec', ['replicas', 'minReadySeconds']), ...validateTemplate(spec, 'deployment')];
}

function validateDaemonSet(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  return [
    ...validateTemplate(spec, 'daemonset'),
    ...nonNegative(spec, 'spec', ['minReadySeconds', 'revisionHistoryLimit']),
  ];
}

/** Numbers of a status: none negative, and none above the number of replicas. */
function statusValidator(keys: readonly string[], bounded: readonly string[]): (object: KubeObject) => StatusCause[] {
  return (object) => {
    const status = part(object, 'status');
    const number = (key: string) => Number(status[key] ?? 0);
    const out = nonNegative(status, 'status', keys);
    for (const key of bounded) {
      if (number(key) <= number('replicas')) continue;
      out.push(causes.invalid(`status.${key}`, number(key), 'cannot be greater than status.replicas'));
    }
    if (number('availableReplicas') > number('readyReplicas')) {
      out.push(
        causes.invalid('status.availableReplicas', number('availableReplicas'), 'cannot be greater than readyReplicas'),
      );
    }
    return out;
  };
}

const withFixedSelector = (validate: (object: KubeObject) => StatusCause[]): Validator => ({
  create: validate,
  update: (object, old) => [
    ...validate(object),
    ...unchanged(part(object, 'spec').selector, part(old, 'spec').selector, 'spec.selector'),
  ],
});

const deploymentStatus = statusValidator(
  ['observedGeneration', 'replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas', 'unavailableReplicas'],
  ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
);
const replicaSetStatus = statusValidator(
  ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'],
  ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
);

/** Deployments, ReplicaSets, DaemonSets, and the length of a CronJob's name. */
export const workloadValidators: readonly [string, Validator][] = [
  ['apps/deployments', withFixedSelector(validateDeployment)],
  ['apps/deployments/status', { update: deploymentStatus }],
  ['apps/replicasets', withFixedSelector(validateReplicaSet)],
  ['apps/replicasets/status', { update: replicaSetStatus }],
  ['apps/daemonsets', withFixedSelector(validateDaemonSet)],
  [
    'batch/cronjobs',
    {
      create: ({ metadata: { name = '' }, spec }) => [
        ...(isObject(spec) && text(spec.schedule) === '' ? [causes.required('spec.schedule')] : []),
        ...(name.length > 52 ? [causes.invalid('metadata.name', name, 'must be no more than 52 characters')] : []),
      ],
      update: ({ spec }) => (isObject(spec) && text(spec.schedule) === '' ? [causes.required('spec.schedule')] : []),
    },
  ],
];

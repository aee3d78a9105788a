import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, isObject, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';
import { each, has, integer, nonNegative, oneOf, part, parts, text, unchanged } from './checks.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { dnsLabelErrors } from './names.ts';
import { validatePodTemplate, validateSelection } from './pod-template.ts';

/** What a workload's pods must be: always restarted, and without a deadline. */
function validateLasting(template: JsonObject, kind: string): StatusCause[] {
  const { restartPolicy, activeDeadlineSeconds } = part(template, 'spec');
  const at = 'spec.template.spec';
  const out = oneOf(restartPolicy, `${at}.restartPolicy`, ['Always']);
  if (typeof activeDeadlineSeconds !== 'number') return out;
  const why = `activeDeadlineSeconds in ${kind} is not Supported`;
  return [...out, causes.forbidden(`${at}.activeDeadlineSeconds`, why)];
}

const isEmptySelector = (selector: JsonObject) =>
  Object.keys(part(selector, 'matchLabels')).length + parts(selector, 'matchExpressions').length === 0;

/** A selector that must be there and not be empty. */
function validateSelector(selector: JsonValue | undefined, kind: string): StatusCause[] {
  const at = 'spec.selector';
  if (!isObject(selector)) return [causes.required(at)];
  const out = labelSelectorFaults(selector, at);
  if (isEmptySelector(selector)) out.push(causes.invalid(at, selector, `empty selector is invalid for ${kind}`));
  return out;
}

/** The pods of a ReplicaSet, given the causes in its selector. */
function validateReplicaTemplate({ selector, template }: JsonObject): StatusCause[] {
  if (isObject(selector) && labelSelectorFaults(selector, '').length > 0) {
    return [causes.invalid('spec.selector', selector, 'invalid label selector')];
  }
  const pods = isObject(template) ? template : {};
  return [
    ...validateSelection(selector, pods, 'spec.template'),
    ...validatePodTemplate(pods, 'spec.template'),
    ...validateLasting(pods, 'ReplicaSet'),
  ];
}

const PERCENT = /^[0-9]+%$/;
const PERCENT_RULE =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
const amountOf = (value: JsonValue | undefined) => Number(text(value).replace('%', '') || value || 0);

function intOrPercent(value: JsonValue | undefined, at: string): StatusCause[] {
  if (typeof value === 'string' && !PERCENT.test(value)) return [causes.invalid(at, value, PERCENT_RULE)];
  if (typeof value === 'number' && value < 0) return [causes.invalid(at, value, 'must be greater than or equal to 0')];
  return [];
}

function atMostAll(value: JsonValue | undefined, at: string): StatusCause[] {
  if (typeof value !== 'string' || !PERCENT.test(value) || amountOf(value) <= 100) return [];
  return [causes.invalid(at, value, 'must not be greater than 100%')];
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
  return [...out, ...atMostAll(unavailable, here)];
}

function validateDeployment(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const deadline = spec.progressDeadlineSeconds;
  const out = [
    ...nonNegative(spec, 'spec', ['replicas']),
    ...validateSelector(spec.selector, 'deployment'),
    ...validateReplicaTemplate(spec),
    ...validateStrategy(spec),
    ...nonNegative(spec, 'spec', ['minReadySeconds', 'revisionHistoryLimit', 'progressDeadlineSeconds']),
  ];
  if (typeof deadline === 'number' && deadline <= integer(spec.minReadySeconds)) {
    out.push(causes.invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
  }
  return out;
}

function validateReplicaSet(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  return [
    ...nonNegative(spec, 'spec', ['replicas', 'minReadySeconds']),
    ...validateSelector(spec.selector, 'deployment'),
    ...validateReplicaTemplate(spec),
  ];
}

function validateController(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const selector = part(spec, 'selector');
  const template = part(spec, 'template');
  const empty = Object.keys(selector).length === 0;
  const out = empty ? [causes.required('spec.selector')] : [];
  if (!has(spec, 'template')) out.push(causes.required('spec.template'));
  else {
    if (!empty) out.push(...validateSelection({ matchLabels: selector }, template, 'spec.template'));
    out.push(...validatePodTemplate(template, 'spec.template'), ...validateLasting(template, 'ReplicationController'));
  }
  return [...out, ...nonNegative(spec, 'spec', ['replicas', 'minReadySeconds'])];
}

function validateDaemonStrategy(spec: JsonObject): StatusCause[] {
  const strategy = part(spec, 'updateStrategy');
  const at = 'spec.updateStrategy';
  if (strategy.type === 'OnDelete') return [];
  if (strategy.type !== 'RollingUpdate') return [causes.notSupported(at, strategy, ['RollingUpdate', 'OnDelete'])];
  if (!has(strategy, 'rollingUpdate')) return [causes.required(`${at}.rollingUpdate`)];
  const { maxSurge: surge, maxUnavailable: unavailable } = part(strategy, 'rollingUpdate');
  const [upper, lower] = [`${at}.rollingUpdate.maxSurge`, `${at}.rollingUpdate.maxUnavailable`];
  const out = [
    ...intOrPercent(unavailable, lower),
    ...intOrPercent(surge, upper),
    ...atMostAll(unavailable, lower),
    ...atMostAll(surge, upper),
  ];
  const [some, more] = [amountOf(unavailable) !== 0, amountOf(surge) !== 0];
  if (some && more) out.push(causes.invalid(upper, surge, 'may not be set when maxUnavailable is non-zero'));
  if (!some && !more) out.push(causes.required(lower, 'cannot be 0 when maxSurge is 0'));
  return out;
}

function validateDaemonSet(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const template = part(spec, 'template');
  const { selector } = spec;
  const out = [
    ...labelSelectorFaults(selector, 'spec.selector'),
    ...validateSelection(selector, template, 'spec.template'),
  ];
  if (isObject(selector) && isEmptySelector(selector)) {
    out.push(causes.invalid('spec.selector', selector, 'empty selector is invalid for daemonset'));
  }
  return [
    ...out,
    ...validatePodTemplate(template, 'spec.template'),
    ...validateLasting(template, 'DaemonSet'),
    ...nonNegative(spec, 'spec', ['minReadySeconds']),
    ...validateDaemonStrategy(spec),
    ...nonNegative(spec, 'spec', ['revisionHistoryLimit']),
  ];
}

function validateStatefulStrategy(spec: JsonObject): StatusCause[] {
  const strategy = part(spec, 'updateStrategy');
  const at = 'spec.updateStrategy';
  const type = text(strategy.type);
  const rolling = part(strategy, 'rollingUpdate');
  if (type === '') return [causes.required(at)];
  if (type === 'OnDelete') {
    if (!has(strategy, 'rollingUpdate')) return [];
    return [causes.invalid(`${at}.rollingUpdate`, rolling, "only allowed for updateStrategy 'RollingUpdate'")];
  }
  if (type !== 'RollingUpdate') return [causes.invalid(at, strategy, "must be 'RollingUpdate' or 'OnDelete'")];
  const here = `${at}.rollingUpdate.maxUnavailable`;
  const { maxUnavailable: unavailable } = rolling;
  const out = nonNegative(rolling, `${at}.rollingUpdate`, ['partition']);
  if (unavailable === undefined) return out;
  out.push(...intOrPercent(unavailable, here));
  if (amountOf(unavailable) === 0) out.push(causes.invalid(here, unavailable, 'cannot be 0'));
  return [...out, ...atMostAll(unavailable, here)];
}

function validateRetention(spec: JsonObject): StatusCause[] {
  if (!has(spec, 'persistentVolumeClaimRetentionPolicy')) return [];
  const policy = part(spec, 'persistentVolumeClaimRetentionPolicy');
  return ['whenDeleted', 'whenScaled'].flatMap((key) =>
    oneOf(policy[key], `spec.persistentVolumeClaimRetentionPolicy.${key}`, ['Retain', 'Delete'], false),
  );
}

/** The template as the pods will be: named by the controller, and with a volume for each claim template. */
function withClaims(spec: JsonObject): JsonObject {
  const template = part(spec, 'template');
  const { hostname: _, subdomain: __, ...pod } = part(template, 'spec');
  const claims = parts(spec, 'volumeClaimTemplates').map((claim) => text(part(claim, 'metadata').name));
  const added = [...new Set(claims)].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const own = parts(pod, 'volumes').filter(({ name }) => !claims.includes(text(name)));
  return { ...template, spec: { ...pod, volumes: [...added, ...own] } };
}

function validateStatefulSpec(spec: JsonObject, isNew: boolean): StatusCause[] {
  const out: StatusCause[] = [];
  const policy = text(spec.podManagementPolicy);
  if (policy === '') out.push(causes.required('spec.podManagementPolicy'));
  else if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    out.push(causes.invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'"));
  }
  out.push(
    ...validateStatefulStrategy(spec),
    ...validateRetention(spec),
    ...nonNegative(spec, 'spec', ['replicas', 'minReadySeconds']),
    ...nonNegative(part(spec, 'ordinals'), 'spec.ordinals', ['start']),
  );
  const service = text(spec.serviceName);
  if (isNew && service !== '') out.push(...each('spec.serviceName', service, dnsLabelErrors(service)));
  const { selector } = spec;
  const template = part(spec, 'template');
  out.push(...validateSelector(selector, 'statefulset'));
  if (isObject(selector) && labelSelectorFaults(selector, '').length > 0) {
    out.push(causes.invalid('spec.selector', selector, ''));
  } else {
    out.push(
      ...validateSelection(selector, template, 'spec.template'),
      ...validatePodTemplate(withClaims(spec), 'spec.template'),
    );
  }
  return [...out, ...validateLasting(template, 'StatefulSet')];
}

const MUTABLE = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];

function validateStatefulUpdate(object: KubeObject, old: KubeObject): StatusCause[] {
  const [spec, before] = [part(object, 'spec'), part(old, 'spec')];
  const fixed = (from: JsonObject) =>
    Object.fromEntries(Object.entries(from).filter(([key]) => !MUTABLE.includes(key)));
  const out = validateStatefulSpec(spec, false);
  if (deepEqual(fixed(spec), fixed(before))) return out;
  const names = `${MUTABLE.slice(0, -1)
    .map((key) => `'${key}'`)
    .join(', ')} and '${MUTABLE.at(-1)}'`;
  const why = `updates to statefulset spec for fields other than ${names} are forbidden`;
  return [...out, causes.forbidden('spec', why)];
}

function validateRevision(object: KubeObject): StatusCause[] {
  const { revision } = object;
  if (integer(revision) >= 0) return [];
  return [causes.invalid('revision', revision, 'must be greater than or equal to 0')];
}

function validateNewRevision(object: KubeObject): StatusCause[] {
  const out = validateRevision(object);
  if (!has(object, 'data')) return [...out, causes.required('data', 'data is mandatory')];
  return isObject(object.data) ? out : [...out, causes.required('data', 'data must be a valid JSON object')];
}

const withFixedSelector = (validate: (object: KubeObject) => StatusCause[], first = false): Validator => ({
  create: validate,
  update: (object, old) => {
    const fixed = unchanged(part(object, 'spec').selector, part(old, 'spec').selector, 'spec.selector');
    return first ? [...fixed, ...validate(object)] : [...validate(object), ...fixed];
  },
});

/** Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers and ControllerRevisions. */
export const workloadValidators: readonly [string, Validator][] = [
  ['apps/deployments', withFixedSelector(validateDeployment)],
  ['apps/replicasets', withFixedSelector(validateReplicaSet)],
  ['apps/daemonsets', withFixedSelector(validateDaemonSet, true)],
  [
    'apps/statefulsets',
    { create: (object) => validateStatefulSpec(part(object, 'spec'), true), update: validateStatefulUpdate },
  ],
  [
    'apps/controllerrevisions',
    {
      create: validateNewRevision,
      update: (object, old) => [...validateRevision(object), ...unchanged(object.data, old.data, 'data')],
    },
  ],
  ['/replicationcontrollers', { create: validateController }],
];

import { causes, type StatusCause } from '../../status/status.ts';
import { convertTo } from '../conversion.ts';
import { groupOf } from '../fields.ts';
import type { JsonObject, KubeObject } from '../object.ts';
import { compareQuantities } from '../quantity.ts';
import { each, has, integer, nonNegative, oneOf, part, parts, requiredText, text } from './checks.ts';
import type { Validator } from './index.ts';
import { dnsLabelErrors, pathSegment } from './names.ts';

const MAX_PERIOD = 1800;
const MAX_WINDOW = 3600;
const TYPES = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];
/** The field that a metric of a type is described in. */
const fieldOf: Readonly<Record<string, string>> = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
};
const segment = (name: string) => pathSegment(name, false);

/** How strictly the apiVersion of a reference is taken. */
type Versions = 'any' | 'grouped' | 'well-formed';

function versionFault(version: string, rule: Versions): string | undefined {
  if (rule === 'any') return undefined;
  if (version.split('/').length > 2) return `unexpected GroupVersion string: ${version}`;
  return rule === 'grouped' && groupOf(version) === '' ? 'apiVersion must specify API group' : undefined;
}

function validateReference(ref: JsonObject, at: string, rule: Versions): StatusCause[] {
  const version = text(ref.apiVersion);
  const fault = versionFault(version, rule);
  return [
    ...requiredText(ref.kind, `${at}.kind`, segment),
    ...requiredText(ref.name, `${at}.name`, segment),
    ...(fault === undefined ? [] : [causes.invalid(`${at}.apiVersion`, version, fault)]),
  ];
}

function positive(target: JsonObject, key: string, at: string): StatusCause[] {
  const value = target[key];
  if (typeof value !== 'string' || compareQuantities(value, '0') > 0) return [];
  return [causes.invalid(`${at}.${key}`, value, 'must be positive')];
}

function validateTarget(source: JsonObject, at: string): StatusCause[] {
  const target = part(source, 'target');
  const here = `${at}.target`;
  const type = text(target.type);
  const out: StatusCause[] = [];
  if (type === '') out.push(causes.required(`${here}.type`, 'must specify a metric target type'));
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    out.push(causes.invalid(`${here}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  }
  out.push(...positive(target, 'value', here), ...positive(target, 'averageValue', here));
  const { averageUtilization: utilization } = target;
  if (typeof utilization === 'number' && utilization < 1) {
    out.push(causes.invalid(`${here}.averageUtilization`, utilization, 'must be greater than 0'));
  }
  return out;
}

function validateMetricName(source: JsonObject, at: string): StatusCause[] {
  const name = text(part(source, 'metric').name);
  if (name === '') return [causes.required(`${at}.metric.name`, 'must specify a metric name')];
  return each(`${at}.metric.name`, name, segment(name));
}

function validateUtilization(source: JsonObject, at: string): StatusCause[] {
  const target = part(source, 'target');
  const [utilization, average] = [has(target, 'averageUtilization'), has(target, 'averageValue')];
  const why = (verb: string, join: string) => `${verb} a target raw value ${join} a target utilization`;
  if (!utilization && !average) {
    return [causes.required(`${at}.target.averageUtilization`, why('must set either', 'or'))];
  }
  if (!utilization || !average) return [];
  return [causes.forbidden(`${at}.target.averageValue`, why('may not set both', 'and'))];
}

const resourceName = (source: JsonObject, at: string) =>
  text(source.name) === '' ? [causes.required(`${at}.name`, 'must specify a resource name')] : [];

function validateContainer(source: JsonObject, at: string): StatusCause[] {
  const name = text(source.container);
  if (name === '') return [causes.required(`${at}.container`, 'must specify a container')];
  return each(`${at}.container`, name, dnsLabelErrors(name));
}

type Source = (source: JsonObject, at: string, rule: Versions) => StatusCause[];

const sources: Readonly<Record<string, Source>> = {
  object: (source, at, rule) => {
    const target = part(source, 'target');
    const out = [
      ...validateReference(part(source, 'describedObject'), `${at}.describedObject`, rule),
      ...validateMetricName(source, at),
      ...validateTarget(source, at),
    ];
    if (has(target, 'value') || has(target, 'averageValue')) return out;
    return [...out, causes.required(`${at}.target.averageValue`, 'must set either a target value or averageValue')];
  },
  external: (source, at) => {
    const target = part(source, 'target');
    const [value, average] = [has(target, 'value'), has(target, 'averageValue')];
    const out = [...validateMetricName(source, at), ...validateTarget(source, at)];
    if (!value && !average) {
      const why = 'must set either a target value for metric or a per-pod target';
      out.push(causes.required(`${at}.target.averageValue`, why));
    }
    if (value && average) {
      const why = 'may not set both a target value for metric and a per-pod target';
      out.push(causes.forbidden(`${at}.target.value`, why));
    }
    return out;
  },
  pods: (source, at) => {
    const out = [...validateMetricName(source, at), ...validateTarget(source, at)];
    if (has(part(source, 'target'), 'averageValue')) return out;
    return [...out, causes.required(`${at}.target.averageValue`, 'must specify a positive target averageValue')];
  },
  resource: (source, at) => [
    ...resourceName(source, at),
    ...validateTarget(source, at),
    ...validateUtilization(source, at),
  ],
  containerResource: (source, at) => [
    ...resourceName(source, at),
    ...validateContainer(source, at),
    ...validateTarget(source, at),
    ...validateUtilization(source, at),
  ],
};

function validateMetric(metric: JsonObject, at: string, rule: Versions): StatusCause[] {
  const type = text(metric.type);
  const out: StatusCause[] = [];
  if (type === '') out.push(causes.required(`${at}.type`, 'must specify a metric source type'));
  out.push(...oneOf(type, `${at}.type`, TYPES));
  const present = Object.keys(sources).filter((key) => has(metric, key));
  const first = present[0];
  if (first !== undefined) out.push(...sources[first]!(part(metric, first), `${at}.${first}`, rule));
  const expected = Object.hasOwn(fieldOf, type) ? fieldOf[type] : undefined;
  if (expected === undefined) out.push(...oneOf(type, `${at}.type`, TYPES));
  else if (!present.includes(expected)) {
    out.push(causes.required(`${at}.${expected}`, 'must populate information for the given metric source'));
  }
  if (present.length === 1) return out;
  const others = present.filter((key) => key !== expected);
  return [
    ...out,
    ...others.map((key) => causes.forbidden(`${at}.${key}`, 'must populate the given metric source only')),
  ];
}

function validatePolicy(policy: JsonObject, at: string): StatusCause[] {
  const out = oneOf(policy.type, `${at}.type`, ['Percent', 'Pods']);
  const [value, period] = [integer(policy.value), integer(policy.periodSeconds)];
  if (value <= 0) out.push(causes.invalid(`${at}.value`, value, 'must be greater than zero'));
  if (period <= 0) out.push(causes.invalid(`${at}.periodSeconds`, period, 'must be greater than zero'));
  if (period > MAX_PERIOD) {
    out.push(causes.invalid(`${at}.periodSeconds`, period, `must be less than or equal to ${MAX_PERIOD}`));
  }
  return out;
}

function validateRules(rules: JsonObject, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const { stabilizationWindowSeconds: window, tolerance } = rules;
  if (typeof window === 'number') {
    const here = `${at}.stabilizationWindowSeconds`;
    if (window < 0) out.push(causes.invalid(here, window, 'must be greater than or equal to zero'));
    if (window > MAX_WINDOW) out.push(causes.invalid(here, window, `must be less than or equal to ${MAX_WINDOW}`));
  }
  if (has(rules, 'selectPolicy')) {
    out.push(...oneOf(rules.selectPolicy, `${at}.selectPolicy`, ['Disabled', 'Max', 'Min']));
  }
  const policies = parts(rules, 'policies');
  if (policies.length === 0) out.push(causes.required(`${at}.policies`, 'must specify at least one Policy'));
  out.push(...policies.flatMap((policy, i) => validatePolicy(policy, `${at}.policies[${i}]`)));
  if (typeof tolerance === 'string' && compareQuantities(tolerance, '0') < 0) {
    out.push(causes.invalid(`${at}.tolerance`, tolerance, 'must be greater than or equal to 0'));
  }
  return out;
}

interface Leniency {
  fewest: number;
  target: Versions;
  metrics: Versions;
}

function validateReplicas(spec: JsonObject, fewest: number): StatusCause[] {
  const out: StatusCause[] = [];
  const { minReplicas: min } = spec;
  const max = integer(spec.maxReplicas);
  if (typeof min === 'number' && min < fewest) {
    out.push(causes.invalid('spec.minReplicas', min, `must be greater than or equal to ${fewest}`));
  }
  if (max === 0) out.push(causes.required('spec.maxReplicas', 'must be set and greater than 0'));
  else if (max < 0) out.push(causes.invalid('spec.maxReplicas', max, 'must be greater than or equal to 1'));
  if (typeof min === 'number' && max < min) {
    out.push(causes.invalid('spec.maxReplicas', max, 'must be greater than or equal to `minReplicas`'));
  }
  return out;
}

function validateSpec(spec: JsonObject, { fewest, target, metrics: rule }: Leniency): StatusCause[] {
  const metrics = parts(spec, 'metrics');
  const out = [
    ...validateReplicas(spec, fewest),
    ...validateReference(part(spec, 'scaleTargetRef'), 'spec.scaleTargetRef', target),
    ...metrics.flatMap((metric, i) => validateMetric(metric, `spec.metrics[${i}]`, rule)),
  ];
  if (spec.minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const why = 'must specify at least one Object or External metric to support scaling to zero replicas';
    out.push(causes.forbidden('spec.metrics', why));
  }
  const behavior = part(spec, 'behavior');
  for (const key of ['scaleUp', 'scaleDown']) {
    if (has(behavior, key)) out.push(...validateRules(part(behavior, key), `spec.behavior.${key}`));
  }
  return out;
}

const specOf = (object: KubeObject) => part(convertTo(object, 'autoscaling/v2'), 'spec');
const describedVersion = (metric: JsonObject) => text(part(part(metric, 'object'), 'describedObject').apiVersion);

function leniencyOf(spec: JsonObject, old: JsonObject | undefined): Leniency {
  const ref = part(spec, 'scaleTargetRef');
  const oldRef = old === undefined ? undefined : part(old, 'scaleTargetRef');
  const same = oldRef !== undefined && oldRef.apiVersion === ref.apiVersion && oldRef.kind === ref.kind;
  const wasBad = parts(old ?? {}, 'metrics').some(
    (metric) =>
      metric.type === 'Object' &&
      has(metric, 'object') &&
      versionFault(describedVersion(metric), 'well-formed') !== undefined,
  );
  return {
    fewest: old?.minReplicas === 0 ? 0 : 1,
    target: same ? 'any' : ref.kind === 'ReplicationController' ? 'well-formed' : 'grouped',
    metrics: wasBad ? 'any' : 'well-formed',
  };
}

function validateAutoscaler(object: KubeObject, old?: KubeObject): StatusCause[] {
  const spec = specOf(object);
  return validateSpec(spec, leniencyOf(spec, old === undefined ? undefined : specOf(old)));
}

const statusOf = (object: JsonObject): JsonObject => part(object, 'status');
const COUNTS: readonly string[] = ['currentReplicas', 'desiredReplicas'];

/** Horizontal pod autoscalers of any version. */
export const autoscalingValidators: readonly [string, Validator][] = [
  [
    'autoscaling/horizontalpodautoscalers',
    { create: (object) => validateAutoscaler(object), update: (object, old) => validateAutoscaler(object, old) },
  ],
  [
    'autoscaling/horizontalpodautoscalers/status',
    { update: (object) => nonNegative(statusOf(object), 'status', COUNTS) },
  ],
];

import { mapOf, objects } from '../fields.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';

const PREFIX = 'autoscaling.alpha.kubernetes.io/';
const METRICS = `${PREFIX}metrics`;
const CURRENT_METRICS = `${PREFIX}current-metrics`;
const CONDITIONS = `${PREFIX}conditions`;
const BEHAVIOR = `${PREFIX}behavior`;
const ROUND_TRIP = [
  METRICS,
  BEHAVIOR,
  `${PREFIX}scale-down-tolerance`,
  `${PREFIX}scale-up-tolerance`,
  CURRENT_METRICS,
  CONDITIONS,
];
/** Per cent of the request that autoscaling/v1 aims at when it names no metric at all. */
const DEFAULT_CPU = 80;

/** Copies the fields that are there, under other names. */
function renamed(source: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const out: JsonObject = {};
  for (const [from, to] of Object.entries(names)) {
    const value = source[from];
    if (value !== undefined && value !== null) out[to] = value;
  }
  return out;
}

const isCpu = (metric: JsonObject) => metric.type === 'Resource' && mapOf(metric.resource).name === 'cpu';
const cpuUtilization = (metric: JsonObject) =>
  isCpu(metric) ? mapOf(mapOf(metric.resource).target).averageUtilization : undefined;

const cpuMetric = (percent: JsonValue): JsonObject => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: percent } },
});

/** Sources of one metric: spec as v2 has it → as v1's annotation has it. */
const sourcesToV1: Readonly<Record<string, (source: JsonObject) => JsonObject>> = {
  object: (s) => ({
    target: mapOf(s.describedObject),
    metricName: mapOf(s.metric).name ?? '',
    targetValue: mapOf(s.target).value ?? '0',
    ...renamed(mapOf(s.metric), { selector: 'selector' }),
    ...renamed(mapOf(s.target), { averageValue: 'averageValue' }),
  }),
  pods: (s) => ({
    metricName: mapOf(s.metric).name ?? '',
    targetAverageValue: mapOf(s.target).averageValue ?? '0',
    ...renamed(mapOf(s.metric), { selector: 'selector' }),
  }),
  resource: (s) => ({ ...renamed(s, { name: 'name' }), ...resourceTarget(s) }),
  containerResource: (s) => ({
    ...renamed(s, { name: 'name' }),
    ...resourceTarget(s),
    ...renamed(s, { container: 'container' }),
  }),
  external: (s) => ({
    metricName: mapOf(s.metric).name ?? '',
    ...renamed(mapOf(s.metric), { selector: 'metricSelector' }),
    ...renamed(mapOf(s.target), { value: 'targetValue', averageValue: 'targetAverageValue' }),
  }),
};
const resourceTarget = (s: JsonObject) =>
  renamed(mapOf(s.target), { averageUtilization: 'targetAverageUtilization', averageValue: 'targetAverageValue' });

const utilizationTarget = (s: JsonObject): JsonObject => ({
  type: s.targetAverageUtilization === undefined ? 'AverageValue' : 'Utilization',
  ...renamed(s, { targetAverageValue: 'averageValue', targetAverageUtilization: 'averageUtilization' }),
});
const metricOf = (s: JsonObject, selector: string): JsonObject => ({
  name: s.metricName ?? '',
  ...renamed(s, { [selector]: 'selector' }),
});
const sourcesToV2: Readonly<Record<string, (source: JsonObject) => JsonObject>> = {
  object: (s) => ({
    describedObject: mapOf(s.target),
    target: {
      type: s.averageValue === undefined ? 'Value' : 'AverageValue',
      ...renamed(s, s.averageValue === undefined ? { targetValue: 'value' } : { averageValue: 'averageValue' }),
    },
    metric: metricOf(s, 'selector'),
  }),
  pods: (s) => ({
    metric: metricOf(s, 'selector'),
    target: { type: 'AverageValue', ...renamed(s, { targetAverageValue: 'averageValue' }) },
  }),
  resource: (s) => ({ ...renamed(s, { name: 'name' }), target: utilizationTarget(s) }),
  containerResource: (s) => ({
    ...renamed(s, { name: 'name' }),
    target: utilizationTarget(s),
    ...renamed(s, { container: 'container' }),
  }),
  external: (s) => ({
    metric: metricOf(s, 'metricSelector'),
    target: {
      type: s.targetValue === undefined ? 'AverageValue' : 'Value',
      ...renamed(s, { targetValue: 'value', targetAverageValue: 'averageValue' }),
    },
  }),
};

const statusesToV1: Readonly<Record<string, (source: JsonObject) => JsonObject>> = {
  object: (s) => ({
    target: mapOf(s.describedObject),
    metricName: mapOf(s.metric).name ?? '',
    currentValue: mapOf(s.current).value ?? '0',
    ...renamed(mapOf(s.metric), { selector: 'selector' }),
    ...renamed(mapOf(s.current), { averageValue: 'averageValue' }),
  }),
  pods: (s) => ({
    metricName: mapOf(s.metric).name ?? '',
    currentAverageValue: mapOf(s.current).averageValue ?? '0',
    ...renamed(mapOf(s.metric), { selector: 'selector' }),
  }),
  resource: (s) => ({ ...renamed(s, { name: 'name' }), ...resourceCurrent(s) }),
  containerResource: (s) => ({
    ...renamed(s, { name: 'name' }),
    ...resourceCurrent(s),
    ...renamed(s, { container: 'container' }),
  }),
  external: (s) => ({
    metricName: mapOf(s.metric).name ?? '',
    ...renamed(mapOf(s.metric), { selector: 'metricSelector' }),
    currentValue: mapOf(s.current).value ?? '0',
    ...renamed(mapOf(s.current), { averageValue: 'currentAverageValue' }),
  }),
};
const resourceCurrent = (s: JsonObject): JsonObject => ({
  ...renamed(mapOf(s.current), { averageUtilization: 'currentAverageUtilization' }),
  currentAverageValue: mapOf(s.current).averageValue ?? '0',
});

const averages = (s: JsonObject) =>
  renamed(s, { currentAverageValue: 'averageValue', currentAverageUtilization: 'averageUtilization' });
const statusesToV2: Readonly<Record<string, (source: JsonObject) => JsonObject>> = {
  object: (s) => ({
    metric: metricOf(s, 'selector'),
    current: renamed(s, { currentValue: 'value', averageValue: 'averageValue' }),
    describedObject: mapOf(s.target),
  }),
  pods: (s) => ({ metric: metricOf(s, 'selector'), current: averages(s) }),
  resource: (s) => ({ ...renamed(s, { name: 'name' }), current: averages(s) }),
  containerResource: (s) => ({
    ...renamed(s, { name: 'name' }),
    current: averages(s),
    ...renamed(s, { container: 'container' }),
  }),
  external: (s) => ({
    metric: metricOf(s, 'metricSelector'),
    current: renamed(s, { currentValue: 'value', currentAverageValue: 'averageValue' }),
  }),
};

function converted(
  metric: JsonObject,
  sources: Readonly<Record<string, (source: JsonObject) => JsonObject>>,
): JsonObject {
  const out: JsonObject = { ...renamed(metric, { type: 'type' }) };
  for (const [key, convert] of Object.entries(sources)) {
    const source = metric[key];
    if (isObject(source)) out[key] = convert(source);
  }
  return out;
}

function withoutRoundTrip(annotations: JsonObject): JsonObject {
  const out = { ...annotations };
  for (const key of ROUND_TRIP) delete out[key];
  return out;
}

const json = (value: JsonValue) => JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? Number(v) : v));

function parsed(annotations: JsonObject, key: string): JsonValue | undefined {
  const text = annotations[key];
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function withAnnotations(source: KubeObject, annotations: JsonObject): KubeObject['metadata'] {
  const { annotations: _, ...metadata } = source.metadata;
  return Object.keys(annotations).length === 0
    ? metadata
    : { ...metadata, annotations: annotations as Record<string, string> };
}

/**
 * autoscaling/v2 → autoscaling/v1: only the CPU target is a field there, everything else goes into annotations, from
 * which {@link autoscalerToV2} takes it back.
 */
export function autoscalerFromV2(source: KubeObject): KubeObject {
  const spec = mapOf(source.spec);
  const status = mapOf(source.status);
  const metrics = objects(spec.metrics);
  const current = objects(status.currentMetrics);
  const annotations = withoutRoundTrip(mapOf(source.metadata.annotations as JsonObject | undefined));
  const others = metrics.filter((metric) => cpuUtilization(metric) === undefined);
  if (others.length > 0) annotations[METRICS] = json(others.map((metric) => converted(metric, sourcesToV1)));
  if (current.length > 0) annotations[CURRENT_METRICS] = json(current.map((metric) => converted(metric, statusesToV1)));
  if (isObject(spec.behavior)) annotations[BEHAVIOR] = json(internalBehavior(spec.behavior));
  if (objects(status.conditions).length > 0) annotations[CONDITIONS] = json(status.conditions!);
  const target = metrics.map(cpuUtilization).find((percent) => percent !== undefined);
  const seen = current.filter(isCpu).map((m) => mapOf(mapOf(m.resource).current).averageUtilization);
  const utilization = seen.findLast((percent) => percent !== undefined);
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata: withAnnotations(source, annotations),
    spec: {
      scaleTargetRef: mapOf(spec.scaleTargetRef),
      ...renamed(spec, { minReplicas: 'minReplicas' }),
      maxReplicas: spec.maxReplicas ?? 0,
      ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }),
    },
    status: {
      ...renamed(status, { observedGeneration: 'observedGeneration', lastScaleTime: 'lastScaleTime' }),
      currentReplicas: status.currentReplicas ?? 0,
      desiredReplicas: status.desiredReplicas ?? 0,
      ...(utilization === undefined ? {} : { currentCPUUtilizationPercentage: utilization }),
    },
  };
}

/** Upstream writes the behavior in its internal type, whose fields have capital names. */
function internalBehavior(behavior: JsonObject): JsonObject {
  const rules = (value: JsonValue | undefined): JsonValue => {
    if (!isObject(value)) return null;
    return {
      StabilizationWindowSeconds: value.stabilizationWindowSeconds ?? null,
      SelectPolicy: value.selectPolicy ?? null,
      Policies: Array.isArray(value.policies)
        ? objects(value.policies).map((p) => ({
            Type: p.type ?? '',
            Value: p.value ?? 0,
            PeriodSeconds: p.periodSeconds ?? 0,
          }))
        : null,
      Tolerance: value.tolerance ?? null,
    };
  };
  return { ScaleUp: rules(behavior.scaleUp), ScaleDown: rules(behavior.scaleDown) };
}

/** The same from an annotation; Go reads field names without regard to case. */
function publishedBehavior(value: JsonValue | undefined): JsonObject | undefined {
  const lower = (v: JsonValue | undefined): JsonValue => {
    if (Array.isArray(v)) return v.map(lower);
    if (!isObject(v)) return v ?? null;
    const out: JsonObject = {};
    for (const [key, part] of Object.entries(v)) {
      if (part !== null && part !== undefined) out[key.charAt(0).toLowerCase() + key.slice(1)] = lower(part);
    }
    return out;
  };
  const behavior = isObject(value) ? (lower(value) as JsonObject) : {};
  return Object.keys(behavior).length === 0 ? undefined : behavior;
}

/** autoscaling/v1 → autoscaling/v2; an autoscaler without any metric aims at 80 per cent of the CPU request. */
export function autoscalerToV2(source: KubeObject): KubeObject {
  const spec = mapOf(source.spec);
  const status = mapOf(source.status);
  const annotations = mapOf(source.metadata.annotations as JsonObject | undefined);
  const metrics = objects(parsed(annotations, METRICS)).map((metric) => converted(metric, sourcesToV2));
  const percent = spec.targetCPUUtilizationPercentage;
  if (percent !== undefined && percent !== null) metrics.push(cpuMetric(percent));
  if (metrics.length === 0) metrics.push(cpuMetric(DEFAULT_CPU));
  const behavior = publishedBehavior(parsed(annotations, BEHAVIOR));
  const current = parsed(annotations, CURRENT_METRICS);
  const conditions = parsed(annotations, CONDITIONS);
  return {
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata: withAnnotations(source, withoutRoundTrip(annotations)),
    spec: {
      scaleTargetRef: mapOf(spec.scaleTargetRef),
      ...renamed(spec, { minReplicas: 'minReplicas' }),
      maxReplicas: spec.maxReplicas ?? 0,
      metrics,
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: {
      ...renamed(status, { observedGeneration: 'observedGeneration', lastScaleTime: 'lastScaleTime' }),
      ...(status.currentReplicas === undefined || status.currentReplicas === 0
        ? {}
        : { currentReplicas: status.currentReplicas }),
      desiredReplicas: status.desiredReplicas ?? 0,
      currentMetrics: currentMetrics(current, status),
      ...(Array.isArray(conditions) ? { conditions } : {}),
    },
  };
}

function currentMetrics(annotated: JsonValue | undefined, status: JsonObject): JsonValue {
  if (Array.isArray(annotated)) return objects(annotated).map((metric) => converted(metric, statusesToV2));
  const percent = status.currentCPUUtilizationPercentage;
  if (percent === undefined || percent === null) return null;
  return [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: percent } } }];
}

import { at, int, objects, present, quantity, text } from '../../api/fields.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import { age, firstFew, nameOf } from './format.ts';
import type { Printers } from './printer.ts';

/** What a metric aims at or has reached, in the terms of autoscaling/v2. */
interface Measure {
  averageValue?: JsonValue | undefined;
  value?: JsonValue | undefined;
  averageUtilization?: JsonValue | undefined;
}

const sources: Record<string, string> = {
  External: 'external',
  Pods: 'pods',
  Object: 'object',
  Resource: 'resource',
  ContainerResource: 'containerResource',
};

/** autoscaling/v1 keeps metrics in annotations, whose fields carry the prefix in their names. */
function measure(source: JsonValue | undefined, key: 'target' | 'current'): Measure | undefined {
  if (!isObject(source)) return undefined;
  if (isObject(source[key]) && source[key].kind === undefined) return source[key];
  return {
    averageValue: source[`${key}AverageValue`] ?? source.averageValue,
    value: source[`${key}Value`],
    averageUtilization: source[`${key}AverageUtilization`],
  };
}

const percent = (value: JsonValue | undefined, otherwise: string) => (present(value) ? `${int(value)}%` : otherwise);

/** `current/target` of one metric, by what its target says. */
function metricText(spec: JsonObject, status: JsonObject | undefined): string {
  const type = text(spec.type);
  const key = sources[type];
  if (key === undefined) return '<unknown type>';
  const target = measure(spec[key], 'target') ?? {};
  const current = measure(status?.[key], 'current');
  const ofResource = type === 'Resource' || type === 'ContainerResource';
  const label = ofResource ? `${text(at(spec[key], 'name'))}: ` : '';
  if (present(target.averageValue) || type === 'Pods') {
    const optional = type === 'External' || type === 'Object';
    const known = current !== undefined && (!optional || present(current.averageValue));
    const shown = known ? quantity(current.averageValue) : '<unknown>';
    return `${label}${shown}/${quantity(target.averageValue)}${optional ? ' (avg)' : ''}`;
  }
  if (ofResource) {
    const shown = percent(current?.averageUtilization, '<unknown>');
    return `${label}${shown}/${percent(target.averageUtilization, '<auto>')}`;
  }
  return `${current === undefined ? '<unknown>' : quantity(current.value)}/${quantity(target.value)}`;
}

function annotated(o: KubeObject, name: string): JsonObject[] {
  try {
    return objects(
      JSON.parse(o.metadata.annotations?.[`autoscaling.alpha.kubernetes.io/${name}`] ?? '[]') as JsonValue,
    );
  } catch {
    return [];
  }
}

const cpu = (key: string, percentage: JsonValue | undefined): JsonObject[] =>
  present(percentage) ? [{ type: 'Resource', resource: { name: 'cpu', [key]: percentage } }] : [];

/** The metrics of autoscaling/v1: those of the annotation, then the CPU target, which is 80 % when there is none. */
function legacyMetrics(o: KubeObject): [JsonObject[], (JsonObject | undefined)[]] {
  const specs = [
    ...annotated(o, 'metrics'),
    ...cpu('targetAverageUtilization', at(o.spec, 'targetCPUUtilizationPercentage')),
  ];
  if (specs.length === 0) specs.push(...cpu('targetAverageUtilization', 80));
  const current = annotated(o, 'current-metrics');
  if (current.length === 0) {
    current.push(...cpu('currentAverageUtilization', at(o.status, 'currentCPUUtilizationPercentage')));
  }
  return [specs, specs.map((spec) => current.find((status) => subject(status) === subject(spec)))];
}

/** What a metric of autoscaling/v1 is about; there the order of specs and statuses may differ. */
function subject(metric: JsonObject): string {
  const source = metric[sources[text(metric.type)] ?? ''];
  return `${text(metric.type)} ${text(at(source, 'name') ?? at(source, 'metricName'))}`;
}

function metricsText(o: KubeObject): string {
  const [specs, statuses] =
    o.apiVersion === 'autoscaling/v1'
      ? legacyMetrics(o)
      : [objects(at(o.spec, 'metrics')), objects(at(o.status, 'currentMetrics'))];
  const all = specs.map((spec, i) => metricText(spec, statuses[i]));
  return firstFew(all, 2, '<none>', ', ');
}

function horizontalPodAutoscaler(o: KubeObject, now: number): JsonValue[] {
  const { spec, status } = o;
  const minimum = at(spec, 'minReplicas');
  return [
    nameOf(o),
    `${text(at(spec, 'scaleTargetRef', 'kind'))}/${text(at(spec, 'scaleTargetRef', 'name'))}`,
    metricsText(o),
    present(minimum) ? String(int(minimum)) : '<unset>',
    int(at(spec, 'maxReplicas')),
    int(at(status, 'currentReplicas')),
    age(o, now),
  ];
}

/** Autoscalers of either version, and the Scale that subresources answer with. */
export const autoscalingPrinters: Printers = {
  'autoscaling/horizontalpodautoscalers': horizontalPodAutoscaler,
  'autoscaling/scales': (o, now) => [
    nameOf(o),
    int(at(o.spec, 'replicas')),
    int(at(o.status, 'replicas')),
    age(o, now),
  ],
};

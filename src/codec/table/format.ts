import { at, mapOf, objects, present, text, texts } from '../../api/fields.ts';
import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';

/**
 * A time span in milliseconds with two or three significant figures, as kubectl shows ages: `5m12s`, `3d4h`, `2y10d`.
 * Up to two seconds of clock skew count as now; more is `<invalid>`.
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 8) return twoUnits(days, 'd', hours % 24, 'h');
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return hours < 24 * 365 * 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

const twoUnits = (large: number, largeUnit: string, small: number, smallUnit: string) =>
  small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;

/** Time since an RFC 3339 stamp; `<unknown>` when unset. `now` is milliseconds since the epoch. */
export function since(stamp: JsonValue | undefined, now: number): string {
  const time = Date.parse(text(stamp));
  return Number.isNaN(time) ? '<unknown>' : humanDuration(now - time);
}

/** Age of an object. */
export const age = (object: KubeObject, now: number): string => since(object.metadata.creationTimestamp, now);

export const nameOf = (object: KubeObject): string => object.metadata.name ?? '';

/** `a=1,b=2` in order of keys; `<none>` when empty. */
export function formatLabels(labels: JsonValue | undefined): string {
  const pairs = Object.entries(mapOf(labels)).map(([k, v]) => `${k}=${text(v)}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}

const operators: Record<string, (key: string, values: string[]) => string> = {
  In: (key, values) => `${key} in (${values.join(',')})`,
  NotIn: (key, values) => `${key} notin (${values.join(',')})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** A metav1.LabelSelector in the syntax of query parameters, requirements in order of keys. */
export function selectorString(selector: JsonValue | undefined): string {
  const requirements: [string, string][] = Object.entries(mapOf(at(selector, 'matchLabels'))).map(([key, value]) => [
    key,
    `${key}=${text(value)}`,
  ]);
  for (const { key, operator, values } of objects(at(selector, 'matchExpressions'))) {
    const format = operators[text(operator)];
    if (format === undefined) return '<error>';
    requirements.push([text(key), format(text(key), texts(values).sort())]);
  }
  requirements.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return requirements.map(([, requirement]) => requirement).join(',');
}

/** {@link selectorString}, `<none>` when it selects by nothing. */
export const formatSelector = (selector: JsonValue | undefined): string => selectorString(selector) || '<none>';

/** Names and images of containers, each joined by commas. */
export function containerCells(podSpec: JsonValue | undefined): [string, string] {
  const containers = objects(at(podSpec, 'containers'));
  return [containers.map((c) => text(c.name)).join(','), containers.map((c) => text(c.image)).join(',')];
}

/** The first `max` texts, and how many more there are; `otherwise` when there are none. */
export function firstFew(all: string[], max: number, otherwise: string, separator = ','): string {
  if (all.length > max) return `${all.slice(0, max).join(separator)} + ${all.length - max} more...`;
  return all.join(separator) || otherwise;
}

/** The reference of the managing controller in `ownerReferences`. */
export const controllerOf = (object: KubeObject): JsonObject | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.controller === true);

/** Kind and group as `kind.group`, lower case. */
export function lowerGroupKind(apiVersion: JsonValue | undefined, kind: JsonValue | undefined): string {
  const [group = ''] = text(apiVersion).includes('/') ? text(apiVersion).split('/') : [''];
  return (group === '' ? text(kind) : `${text(kind)}.${group}`).toLowerCase();
}

/** Whether an annotation marks an object as the default one of its kind. */
export const annotatedDefault = (object: KubeObject, ...keys: string[]): boolean =>
  keys.some((key) => object.metadata.annotations?.[key] === 'true');

/** Addresses of a load balancer's ingress points, sorted and each once. */
export function loadBalancerAddresses(status: JsonValue | undefined): string {
  const points = objects(at(status, 'loadBalancer', 'ingress'));
  const addresses = points.map((p) => text(p.ip) || text(p.hostname)).filter((a) => a !== '');
  return [...new Set(addresses)].sort().join(',');
}

const accessModes: Record<string, string> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

/** Access modes of a volume in short form and fixed order. */
export function shortAccessModes(modes: JsonValue | undefined): string {
  const given = texts(modes);
  return Object.entries(accessModes)
    .filter(([mode]) => given.includes(mode))
    .map(([, short]) => short)
    .join(',');
}

/** A class name from the annotation that came before the field, else from the field. */
export function classOf(object: KubeObject, annotation: string, field: JsonValue | undefined): string {
  const annotated = object.metadata.annotations?.[annotation];
  return annotated ?? text(field);
}

/** Go's `%s` of an optional text, `otherwise` when unset. */
export const optional = (value: JsonValue | undefined, otherwise: string): string =>
  present(value) ? String(value) : otherwise;

import { causes, type StatusCause } from '../../status/status.ts';
import { convertTo } from '../conversion.ts';
import { deepEqual, type JsonValue, type KubeObject } from '../object.ts';
import { each, has, integer, part, text, unchanged } from './checks.ts';
import type { Validator } from './index.ts';
import { qualifiedNameErrors } from './labels.ts';
import { dnsSubdomainErrors } from './names.ts';

/** Most characters of texts, in the order in which they are looked at; the first are required. */
const LIMITS: readonly (readonly [key: string, limit: number, required: boolean])[] = [
  ['reportingInstance', 128, true],
  ['action', 128, true],
  ['reason', 128, true],
  ['message', 1024, false],
];
/** What an update through the newer API may not change; upstream looks at the reason twice. */
const FIXED: readonly string[] = [
  ...['involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'reason', 'type'],
  ...['eventTime', 'action', 'related'],
];
const MISMATCH = 'does not match event.namespace';
const UNSET = 'needs to be unset';

function namespaceFaults(event: KubeObject): StatusCause[] {
  const own = event.metadata.namespace ?? '';
  const involved = text(part(event, 'involvedObject').namespace);
  const homes = has(event, 'eventTime') ? ['default', 'kube-system'] : ['', 'default'];
  const fits = involved === '' ? homes.includes(own) : has(event, 'eventTime') || involved === own;
  return fits ? [] : [causes.invalid('involvedObject.namespace', involved, MISMATCH)];
}

function timedFaults(event: KubeObject, controllerField: string): StatusCause[] {
  const controller = text(event.reportingComponent);
  const out = controller === '' ? [causes.required(controllerField)] : [];
  out.push(...each(controllerField, controller, qualifiedNameErrors(controller)));
  for (const [key, limit, required] of LIMITS) {
    const value = text(event[key]);
    if (required && value === '') out.push(causes.required(key));
    if (value.length > limit) out.push(causes.invalid(key, '', `can have at most ${limit} characters`));
  }
  return out;
}

/** Checks that events of every API get; `event` is in the form of v1. */
function validateAny(event: KubeObject, controllerField: string): StatusCause[] {
  const namespace = event.metadata.namespace ?? '';
  return [
    ...namespaceFaults(event),
    ...(has(event, 'eventTime') ? timedFaults(event, controllerField) : []),
    ...each('namespace', namespace, dnsSubdomainErrors(namespace)),
  ];
}

function seriesFaults(event: KubeObject): StatusCause[] {
  if (!has(event, 'series')) return [];
  const series = part(event, 'series');
  const out = integer(series.count) < 2 ? [causes.invalid('series.count', '', 'should be at least 2')] : [];
  return has(series, 'lastObservedTime') ? out : [...out, causes.required('series.lastObservedTime')];
}

function validateStrictly(object: KubeObject): StatusCause[] {
  const event = convertTo(object, 'v1');
  const out = [...validateAny(event, 'reportingController'), ...seriesFaults(event)];
  if (!has(event, 'eventTime')) out.push(causes.required('eventTime'));
  const type = text(event.type);
  if (type !== 'Normal' && type !== 'Warning') out.push(causes.invalid('type', '', `has invalid value: ${type}`));
  const source = part(event, 'source');
  if (has(event, 'firstTimestamp')) out.push(causes.invalid('firstTimestamp', '', UNSET));
  if (has(event, 'lastTimestamp')) out.push(causes.invalid('lastTimestamp', '', UNSET));
  if (integer(event.count) !== 0) out.push(causes.invalid('count', '', UNSET));
  if (text(source.component) !== '' || text(source.host) !== '') out.push(causes.invalid('source', '', UNSET));
  return out;
}

const EMPTY: Readonly<Record<string, JsonValue>> = {
  reason: '',
  message: '',
  type: '',
  action: '',
  count: 0,
  source: {},
};
const fieldOf = (event: KubeObject, key: string) => event[key] ?? EMPTY[key] ?? null;

function validateStrictChange(object: KubeObject, previous: KubeObject): StatusCause[] {
  const [event, old] = [convertTo(object, 'v1'), convertTo(previous, 'v1')];
  const same = deepEqual(event.series ?? null, old.series ?? null);
  return [
    ...validateAny(event, 'reportingController'),
    ...(same ? [] : seriesFaults(event)),
    ...FIXED.flatMap((key) => unchanged(fieldOf(event, key), fieldOf(old, key), key)),
    ...unchanged(text(event.reportingComponent), text(old.reportingComponent), 'reportingController'),
    ...unchanged(text(event.reportingInstance), text(old.reportingInstance), 'reportingInstance'),
  ];
}

/** Events of both APIs; the newer one is stricter. */
export const eventValidators: readonly [string, Validator][] = [
  ['/events', { create: (object) => validateAny(object, 'reportingComponent') }],
  ['events.k8s.io/events', { create: validateStrictly, update: validateStrictChange }],
];

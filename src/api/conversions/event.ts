import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';

/** Field of core/v1 Event, field of events.k8s.io/v1 Event, and its value where it is always shown. */
const fields: readonly (readonly [core: string, events: string, shown?: { core?: JsonValue; events?: JsonValue }])[] = [
  ['involvedObject', 'regarding', { core: {}, events: {} }],
  ['reason', 'reason'],
  ['message', 'note'],
  ['source', 'deprecatedSource', { core: {}, events: {} }],
  ['firstTimestamp', 'deprecatedFirstTimestamp', { core: null, events: null }],
  ['lastTimestamp', 'deprecatedLastTimestamp', { core: null, events: null }],
  ['count', 'deprecatedCount'],
  ['type', 'type'],
  ['eventTime', 'eventTime', { core: null, events: null }],
  ['series', 'series'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingComponent', 'reportingController', { core: '' }],
  ['reportingInstance', 'reportingInstance', { core: '' }],
];

function put(target: JsonObject, key: string, value: JsonValue | undefined, shown: JsonValue | undefined): void {
  const empty = value === undefined || value === '' || (shown !== undefined && value === null);
  if (!empty) target[key] = value;
  else if (shown !== undefined) target[key] = isObject(shown) ? {} : shown;
}

/** core/v1 Event → events.k8s.io/v1 Event. */
export function eventFromCore(event: KubeObject): KubeObject {
  const out: KubeObject = { kind: 'Event', apiVersion: 'events.k8s.io/v1', metadata: event.metadata };
  for (const [core, events, shown] of fields) put(out, events, event[core], shown?.events);
  return out;
}

/** events.k8s.io/v1 Event → core/v1 Event. */
export function eventToCore(event: KubeObject): KubeObject {
  const out: KubeObject = { kind: 'Event', apiVersion: 'v1', metadata: event.metadata };
  for (const [core, events, shown] of fields) put(out, core, event[events], shown?.core);
  return out;
}

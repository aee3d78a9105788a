import { condition, int, mapOf, objects, text } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import type { ServiceReference } from './api-service.ts';

/** What was found of the server of an APIService, without the time. */
export interface Finding {
  status: 'True' | 'False';
  reason: string;
  message: string;
}

export const LOCAL: Finding = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};
export const PASSED: Finding = { status: 'True', reason: 'Passed', message: 'all checks passed' };
/** The server was asked for its group version, and `message` is how it failed. */
export const failedDiscovery = (message: string): Finding => ({
  status: 'False',
  reason: 'FailedDiscoveryCheck',
  message,
});

const fault = (reason: string, message: string): Finding => ({ status: 'False', reason, message });
const isReady = ({ conditions }: JsonObject) => mapOf(conditions).ready !== false;

/** Why a Service leads to no server, as far as its objects tell; undefined: it may. Reasons and texts are upstream's. */
export function serviceFault(
  { namespace, name, port }: ServiceReference,
  service: KubeObject | undefined,
  slices: readonly KubeObject[],
): Finding | undefined {
  const where = `service/${name} in ${JSON.stringify(namespace)}`;
  if (service === undefined) return fault('ServiceNotFound', `${where} is not present`);
  const spec = mapOf(service.spec);
  if (spec.type !== 'ClusterIP') return undefined;
  const found = objects(spec.ports).find((one) => int(one.port) === port);
  if (found === undefined) return fault('ServicePortError', `${where} is not listening on port ${port}`);
  if (slices.length === 0) return fault('EndpointsNotFound', `cannot find endpointslices for ${where}`);
  const portName = text(found.name);
  const isServed = slices.some(
    ({ endpoints, ports }) =>
      objects(endpoints).some(isReady) &&
      objects(ports).some((one) => text(one.name) === portName && int(one.port) > 0),
  );
  if (isServed) return undefined;
  return fault(
    'MissingEndpoints',
    `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`,
  );
}

const says = ({ status }: KubeObject, finding: Finding): boolean => {
  const known = condition(mapOf(status).conditions, 'Available');
  return known?.status === finding.status && known.reason === finding.reason && known.message === finding.message;
};

/** Whether the status of an APIService is that of a local one already. */
export const saysLocal = (object: KubeObject): boolean => says(object, LOCAL);

/** The status of an APIService with what was found; undefined where it says so already. */
export function withAvailability(object: KubeObject, finding: Finding, now: Date): JsonObject | undefined {
  if (says(object, finding)) return undefined;
  const known = condition(mapOf(object.status).conditions, 'Available');
  const { status: state, reason, message } = finding;
  const lastTransitionTime = known?.status === state ? (known.lastTransitionTime ?? null) : formatTime(now);
  const others = objects(mapOf(object.status).conditions).filter(({ type }) => type !== 'Available');
  return {
    ...mapOf(object.status),
    conditions: [...others, { type: 'Available', status: state, lastTransitionTime, reason, message }],
  };
}

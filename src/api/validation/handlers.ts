import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, JsonValue } from '../object.ts';
import { each, has, integer, nonNegative, oneOf, part, parts, text, texts } from './checks.ts';
import { portFaults, portNameErrors } from './ports.ts';

const HEADER = '[-A-Za-z0-9]+';
const headerPattern = new RegExp(`^${HEADER}$`);
const HEADER_RULE = `a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '${HEADER}')`;

/** Causes where a value is neither a port nor the name of one. */
export function portOrNameFaults(port: JsonValue | undefined, at: string): StatusCause[] {
  return typeof port === 'string' ? each(at, port, portNameErrors(port)) : portFaults(integer(port), at);
}

function httpFaults(action: JsonObject, at: string): StatusCause[] {
  const headers = parts(action, 'httpHeaders').map(({ name }) => text(name));
  return [
    ...(text(action.path) === '' ? [causes.required(`${at}.path`)] : []),
    ...portOrNameFaults(action.port, `${at}.port`),
    ...oneOf(action.scheme, `${at}.scheme`, ['HTTP', 'HTTPS']),
    ...headers.flatMap((name) => each(`${at}.httpHeaders`, name, headerPattern.test(name) ? [] : [HEADER_RULE])),
  ];
}

type Action = (action: JsonObject, at: string, grace: JsonValue | undefined) => StatusCause[];

/** What a probe or a hook can do, in the order in which upstream looks. */
const ACTIONS: Readonly<Record<string, Action>> = {
  exec: (action, at) => (texts(action, 'command').length === 0 ? [causes.required(`${at}.command`)] : []),
  httpGet: httpFaults,
  tcpSocket: ({ port }, at) => portOrNameFaults(port, `${at}.port`),
  grpc: ({ port }, at) => portFaults(integer(port), `${at}.port`),
  sleep: (action, at, grace) => {
    const seconds = integer(action.seconds);
    if (typeof grace !== 'number' || (seconds >= 0 && seconds <= grace)) return [];
    const why = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
    return [causes.invalid(at, seconds, why)];
  },
};

function handlerFaults(handler: JsonObject, at: string, grace: JsonValue | undefined): StatusCause[] {
  const [first, ...others] = Object.keys(ACTIONS).filter((key) => has(handler, key));
  if (first === undefined) return [causes.required(at, 'must specify a handler type')];
  return [
    ...ACTIONS[first]!(part(handler, first), `${at}.${first}`, grace),
    ...others.map((key) => causes.forbidden(`${at}.${key}`, 'may not specify more than 1 handler type')),
  ];
}

const NUMBERS = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'];

function probeFaults(container: JsonObject, key: string, at: string, grace: JsonValue | undefined): StatusCause[] {
  if (!has(container, key)) return [];
  const probe = part(container, key);
  const here = `${at}.${key}`;
  const out = [...handlerFaults(probe, here, grace), ...nonNegative(probe, here, NUMBERS)];
  const own = probe.terminationGracePeriodSeconds;
  if (typeof own === 'number' && own <= 0) {
    out.push(causes.invalid(`${here}.terminationGracePeriodSeconds`, own, 'must be greater than 0'));
  }
  if (key === 'readinessProbe') {
    if (typeof own !== 'number') return out;
    const why = 'must not be set for readinessProbes';
    return [...out, causes.invalid(`${here}.terminationGracePeriodSeconds`, own, why)];
  }
  const threshold = probe.successThreshold;
  if (threshold === undefined || threshold === 1) return out;
  return [...out, causes.invalid(`${here}.successThreshold`, threshold, 'must be 1')];
}

const WINDOWS_SIGNALS = ['SIGKILL', 'SIGTERM'];

function stopSignalFaults(lifecycle: JsonObject, os: string, at: string): StatusCause[] {
  if (!has(lifecycle, 'stopSignal')) return [];
  if (os === '') return [causes.forbidden(at, 'may not be set for containers with empty `spec.os.name`')];
  return os === 'windows' ? oneOf(lifecycle.stopSignal, at, WINDOWS_SIGNALS) : [];
}

/** Fields of a container that only lasting ones may have. */
export const LASTING_FIELDS: readonly string[] = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'];

/** Causes in the hooks and probes of a container at a path, in a pod with this spec. */
export function handlersFaults(container: JsonObject, pod: JsonObject, at: string): StatusCause[] {
  const grace = pod.terminationGracePeriodSeconds;
  const lifecycle = part(container, 'lifecycle');
  const hooks = ['postStart', 'preStop'].filter((key) => has(lifecycle, key));
  return [
    ...hooks.flatMap((key) => handlerFaults(part(lifecycle, key), `${at}.lifecycle.${key}`, grace)),
    ...stopSignalFaults(lifecycle, text(part(pod, 'os').name), `${at}.lifecycle.stopSignal`),
    ...LASTING_FIELDS.slice(1).flatMap((key) => probeFaults(container, key, at, grace)),
  ];
}

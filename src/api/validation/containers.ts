import { causes, type StatusCause } from '../../status/status.ts';
import { isObject, type JsonObject, type JsonValue } from '../object.ts';
import { compareQuantities } from '../quantity.ts';
import { nonNegative, oneOf, part, parts, text } from './checks.ts';
import { dnsLabelErrors } from './names.ts';

const PORT_RULE = 'must be between 1 and 65535, inclusive';

/** What is wrong with the name of a port (an IANA service name). */
export function portNameErrors(name: string): string[] {
  const out = name.length > 15 ? ['must be no more than 15 characters'] : [];
  if (!/^[-a-z0-9]+$/.test(name)) out.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) out.push('must contain at least one letter (a-z)');
  if (name.includes('--')) out.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) out.push('must not begin or end with a hyphen');
  return out;
}

/** A cause where a number is no port. */
export function portFaults(value: JsonValue | undefined, at: string): StatusCause[] {
  const port = Number(value ?? 0);
  return port >= 1 && port <= 65535 ? [] : [causes.invalid(at, port, PORT_RULE)];
}

function validatePorts(container: JsonObject, at: string): StatusCause[] {
  const seen = new Set<string>();
  return parts(container, 'ports').flatMap((port, i) => {
    const here = `${at}.ports[${i}]`;
    const out: StatusCause[] = [];
    const name = text(port.name);
    if (name !== '') {
      const faults = portNameErrors(name);
      for (const why of faults) out.push(causes.invalid(`${here}.name`, name, why));
      if (faults.length === 0 && seen.has(name)) out.push(causes.duplicate(`${here}.name`, name));
      else if (faults.length === 0) seen.add(name);
    }
    if (!port.containerPort) out.push(causes.required(`${here}.containerPort`));
    else out.push(...portFaults(port.containerPort, `${here}.containerPort`));
    if (port.hostPort !== undefined && port.hostPort !== 0) out.push(...portFaults(port.hostPort, `${here}.hostPort`));
    return [...out, ...oneOf(port.protocol, `${here}.protocol`, ['SCTP', 'TCP', 'UDP'])];
  });
}

const SOURCES = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'];
const ENV_NAME = /^[ -<>-~]+$/;

function validateEnv(container: JsonObject, at: string): StatusCause[] {
  return parts(container, 'env').flatMap((env, i) => {
    const here = `${at}.env[${i}]`;
    const name = text(env.name);
    const out: StatusCause[] = [];
    if (name === '') out.push(causes.required(`${here}.name`));
    else if (!ENV_NAME.test(name)) {
      const why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
      out.push(causes.invalid(`${here}.name`, name, why));
    }
    if (!isObject(env.valueFrom)) return out;
    const count = SOURCES.filter((source) => isObject((env.valueFrom as JsonObject)[source])).length;
    if (count === 0) {
      const why =
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
      out.push(causes.invalid(`${here}.valueFrom`, '', why));
    } else if (text(env.value) !== '') {
      out.push(causes.invalid(`${here}.valueFrom`, '', 'may not be specified when `value` is not empty'));
    } else if (count > 1) {
      out.push(causes.invalid(`${here}.valueFrom`, '', 'may not have more than one field specified at a time'));
    }
    return out;
  });
}

function validateMounts(container: JsonObject, volumes: ReadonlySet<string>, at: string): StatusCause[] {
  const paths = new Set<string>();
  return parts(container, 'volumeMounts').flatMap((mount, i) => {
    const here = `${at}.volumeMounts[${i}]`;
    const [name, path] = [text(mount.name), text(mount.mountPath)];
    const out: StatusCause[] = [];
    if (name === '') out.push(causes.required(`${here}.name`));
    if (!volumes.has(name)) out.push(causes.notFound(`${here}.name`, name));
    if (path === '') out.push(causes.required(`${here}.mountPath`));
    else if (paths.has(path)) out.push(causes.invalid(`${here}.mountPath`, path, 'must be unique'));
    paths.add(path);
    return out;
  });
}

const isExtended = (name: string) => name.includes('/') && !name.startsWith('kubernetes.io/');

function validateResources(container: JsonObject, at: string): StatusCause[] {
  const resources = part(container, 'resources');
  const [limits, requests] = [part(resources, 'limits'), part(resources, 'requests')];
  const out: StatusCause[] = [];
  const amounts = (of: JsonObject, where: string) => {
    for (const [name, value] of Object.entries(of)) {
      const amount = text(value);
      const field = `${at}.resources.${where}[${name}]`;
      if (compareQuantities(amount, '0') < 0)
        out.push(causes.invalid(field, amount, 'must be greater than or equal to 0'));
      if (isExtended(name) && /m$/.test(amount)) out.push(causes.invalid(field, amount, 'must be an integer'));
    }
  };
  amounts(limits, 'limits');
  amounts(requests, 'requests');
  for (const [name, value] of Object.entries(requests)) {
    const limit = text(limits[name]);
    if (limit === '' || compareQuantities(text(value), limit) <= 0) continue;
    const why = `must be less than or equal to ${name} limit of ${limit}`;
    out.push(causes.invalid(`${at}.resources.requests`, text(value), why));
  }
  return out;
}

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc'];
const PROBE_NUMBERS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
];

function validateProbe(container: JsonObject, key: string, at: string): StatusCause[] {
  const probe = container[key];
  if (!isObject(probe)) return [];
  const here = `${at}.${key}`;
  const found = HANDLERS.filter((handler) => isObject(probe[handler]));
  const out: StatusCause[] = [];
  for (const extra of found.slice(1))
    out.push(causes.forbidden(`${here}.${extra}`, 'may not specify more than 1 handler type'));
  if (found.length === 0) out.push(causes.required(here, 'must specify a handler type'));
  out.push(...nonNegative(probe, here, PROBE_NUMBERS));
  const threshold = Number(probe.successThreshold ?? 1);
  if (key !== 'readinessProbe' && threshold > 1)
    out.push(causes.invalid(`${here}.successThreshold`, threshold, 'must be 1'));
  return out;
}

function validateContainer(container: JsonObject, volumes: ReadonlySet<string>, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const [name, image] = [text(container.name), text(container.image)];
  if (name === '') out.push(causes.required(`${at}.name`));
  else for (const why of dnsLabelErrors(name)) out.push(causes.invalid(`${at}.name`, name, why));
  if (image === '') out.push(causes.required(`${at}.image`));
  else if (image.trim() !== image) {
    out.push(causes.invalid(`${at}.image`, image, 'must not have leading or trailing whitespace'));
  }
  const policies = ['File', 'FallbackToLogsOnError'];
  out.push(
    ...oneOf(container.terminationMessagePolicy, `${at}.terminationMessagePolicy`, policies, false),
    ...validatePorts(container, at),
    ...validateEnv(container, at),
    ...validateMounts(container, volumes, at),
    ...oneOf(container.imagePullPolicy, `${at}.imagePullPolicy`, ['Always', 'IfNotPresent', 'Never']),
    ...validateResources(container, at),
  );
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    out.push(...validateProbe(container, probe, at));
  return out;
}

/** Causes in the containers of a pod spec: names, images, ports, environment, mounts, resources and probes. */
export function validateContainers(spec: JsonObject, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const volumes = new Set(parts(spec, 'volumes').map((volume) => text(volume.name)));
  const names = new Set<string>();
  const containers = parts(spec, 'containers');
  if (containers.length === 0) out.push(causes.required(`${at}.containers`));
  for (const key of ['containers', 'initContainers']) {
    for (const [i, container] of parts(spec, key).entries()) {
      const here = `${at}.${key}[${i}]`;
      const name = text(container.name);
      const faults = validateContainer(container, volumes, here);
      if (name !== '' && names.has(name)) out.push(causes.duplicate(`${here}.name`, name));
      names.add(name);
      out.push(...faults);
    }
  }
  return out;
}

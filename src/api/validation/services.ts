import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, KubeObject } from '../object.ts';
import { oneOf, part, parts, text } from './checks.ts';
import { portFaults, portNameErrors } from './containers.ts';
import type { Validator } from './index.ts';
import { validateLabels } from './metadata.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const MAX_AFFINITY = 86400;

function validatePort(port: JsonObject, named: boolean, names: Set<string>, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const name = text(port.name);
  if (name === '') {
    if (named) out.push(causes.required(`${at}.name`));
  } else {
    for (const why of dnsLabelErrors(name)) out.push(causes.invalid(`${at}.name`, name, why));
    if (names.has(name)) out.push(causes.duplicate(`${at}.name`, name));
    names.add(name);
  }
  out.push(...portFaults(port.port, `${at}.port`), ...oneOf(port.protocol, `${at}.protocol`, ['SCTP', 'TCP', 'UDP']));
  const { targetPort } = port;
  if (typeof targetPort === 'number') out.push(...portFaults(targetPort, `${at}.targetPort`));
  else if (typeof targetPort === 'string') {
    for (const why of portNameErrors(targetPort)) out.push(causes.invalid(`${at}.targetPort`, targetPort, why));
  }
  return out;
}

function validatePorts(spec: JsonObject): StatusCause[] {
  const ports = parts(spec, 'ports');
  const names = new Set<string>();
  const out = ports.flatMap((port, i) => validatePort(port, ports.length > 1, names, `spec.ports[${i}]`));
  const seen = new Set<string>();
  for (const [i, port] of ports.entries()) {
    const key = `${port.protocol}/${port.port}`;
    if (seen.has(key)) out.push(causes.duplicate(`spec.ports[${i}]`, { protocol: port.protocol, port: port.port }));
    seen.add(key);
  }
  return out;
}

function validateAffinity(spec: JsonObject): StatusCause[] {
  const { sessionAffinity: affinity } = spec;
  if (affinity === 'None') return [];
  if (affinity !== 'ClientIP') return oneOf(affinity, 'spec.sessionAffinity', ['ClientIP', 'None']);
  const seconds = part(part(spec, 'sessionAffinityConfig'), 'clientIP').timeoutSeconds;
  const at = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds';
  if (typeof seconds !== 'number') return [causes.required(at)];
  if (seconds > 0 && seconds <= MAX_AFFINITY) return [];
  return [causes.invalid(at, seconds, `must be greater than 0 and less than ${MAX_AFFINITY}`)];
}

function validateService(service: KubeObject): StatusCause[] {
  const spec = part(service, 'spec');
  const out: StatusCause[] = [];
  const external = spec.type === 'ExternalName';
  const headless = spec.clusterIP === 'None';
  if (parts(spec, 'ports').length === 0 && !external && !headless) out.push(causes.required('spec.ports'));
  if (external) {
    const name = text(spec.externalName).replace(/\.$/, '');
    if (name === '') out.push(causes.required('spec.externalName'));
    else for (const why of dnsSubdomainErrors(name)) out.push(causes.invalid('spec.externalName', name, why));
  }
  out.push(...validatePorts(spec), ...validateLabels(spec.selector, 'spec.selector'), ...validateAffinity(spec));
  out.push(...oneOf(spec.type, 'spec.type', TYPES));
  const exposed = spec.type === 'NodePort' || spec.type === 'LoadBalancer';
  if (!exposed) {
    for (const [i, port] of parts(spec, 'ports').entries()) {
      if (!port.nodePort) continue;
      out.push(causes.forbidden(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'"));
    }
    if (text(spec.externalTrafficPolicy) !== '' && !Array.isArray(spec.externalIPs)) {
      const why = 'may only be set for externally-accessible services';
      out.push(causes.invalid('spec.externalTrafficPolicy', spec.externalTrafficPolicy, why));
    }
  }
  return out;
}

function validateAddresses(service: KubeObject, old: KubeObject): StatusCause[] {
  const [spec, before] = [part(service, 'spec'), part(old, 'spec')];
  if (spec.type === 'ExternalName' || before.type === 'ExternalName') return [];
  const ips = Array.isArray(spec.clusterIPs) ? spec.clusterIPs : [];
  const was = Array.isArray(before.clusterIPs) ? before.clusterIPs : [];
  if (was.length === 0) return [];
  if (ips.length === 0) return [causes.invalid('spec.clusterIPs[0]', ips, 'primary clusterIP can not be unset')];
  return ips[0] === was[0] ? [] : [causes.invalid('spec.clusterIPs[0]', ips, 'may not change once set')];
}

/** Services. */
export const serviceValidators: readonly [string, Validator][] = [
  [
    '/services',
    {
      create: validateService,
      update: (service, old) => [...validateAddresses(service, old), ...validateService(service)],
    },
  ],
];

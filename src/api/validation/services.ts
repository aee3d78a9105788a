import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, JsonValue, KubeObject } from '../object.ts';
import { each, has, integer, oneOf, part, parts, text, texts } from './checks.ts';
import { addressErrors, cidrErrors } from './cidr.ts';
import { endpointAddressFaults } from './endpoints.ts';
import type { Validator } from './index.ts';
import { qualifiedNameErrors } from './labels.ts';
import { validateLabels } from './metadata.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';
import { portFaults, portNameErrors } from './ports.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const POLICIES = ['Cluster', 'Local'];
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const MAX_AFFINITY = 86400;
const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const HINTS = 'service.kubernetes.io/topology-aware-hints';
const MODE = 'service.kubernetes.io/topology-mode';
const FOR_BALANCERS = "may only be used when `type` is 'LoadBalancer'";

const isHeadless = (spec: JsonObject) => texts(spec, 'clusterIPs').join() === 'None';
const isBalancer = ({ type }: JsonObject) => type === 'LoadBalancer';
const needsHealthCheck = (spec: JsonObject) => isBalancer(spec) && spec.externalTrafficPolicy === 'Local';

/** One cause where a text that has to be there is missing or none of those that are known. */
function choice(value: JsonValue | undefined, at: string, known: readonly string[]): StatusCause[] {
  return text(value) === '' ? [causes.required(at)] : oneOf(value, at, known);
}

function validatePort(port: JsonObject, named: boolean, names: Set<string>, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const name = text(port.name);
  if (name === '') {
    if (named) out.push(causes.required(`${at}.name`));
  } else {
    out.push(...each(`${at}.name`, name, dnsLabelErrors(name)));
    if (names.has(name)) out.push(causes.duplicate(`${at}.name`, name));
    names.add(name);
  }
  out.push(...portFaults(port.port, `${at}.port`), ...choice(port.protocol, `${at}.protocol`, ['SCTP', 'TCP', 'UDP']));
  const { targetPort } = port;
  if (typeof targetPort === 'number') out.push(...portFaults(targetPort, `${at}.targetPort`));
  else if (typeof targetPort === 'string')
    out.push(...each(`${at}.targetPort`, targetPort, portNameErrors(targetPort)));
  if (!has(port, 'appProtocol')) return out;
  return [...out, ...each(`${at}.appProtocol`, text(port.appProtocol), qualifiedNameErrors(text(port.appProtocol)))];
}

function validatePorts(spec: JsonObject): StatusCause[] {
  const ports = parts(spec, 'ports');
  const names = new Set<string>();
  return ports.flatMap((port, i) => validatePort(port, ports.length > 1, names, `spec.ports[${i}]`));
}

/** Node ports where there can be none, and ports that come twice. */
function validatePortNumbers(spec: JsonObject): StatusCause[] {
  const ports = parts(spec, 'ports');
  const out: StatusCause[] = [];
  const taken = (key: 'nodePort' | 'port', cause: (port: JsonObject, at: string) => StatusCause) => {
    const seen = new Set<string>();
    for (const [i, port] of ports.entries()) {
      if (key === 'nodePort' && !port.nodePort) continue;
      const name = `${port.protocol}/${port[key]}`;
      if (seen.has(name)) out.push(cause(port, `spec.ports[${i}]`));
      seen.add(name);
    }
  };
  if (spec.type === 'ClusterIP') {
    for (const [i, port] of ports.entries()) {
      if (!port.nodePort) continue;
      out.push(causes.forbidden(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'"));
    }
  }
  taken('nodePort', ({ nodePort }, at) => causes.duplicate(`${at}.nodePort`, nodePort));
  taken('port', ({ protocol, port }, at) => causes.duplicate(at, { protocol, port }));
  return out;
}

function validateAffinity(spec: JsonObject): StatusCause[] {
  const { sessionAffinity: affinity } = spec;
  const at = 'spec.sessionAffinityConfig';
  if (affinity === 'None') {
    if (!has(spec, 'sessionAffinityConfig')) return [];
    return [causes.forbidden(at, 'must not be set when session affinity is None')];
  }
  if (affinity !== 'ClientIP') return choice(affinity, 'spec.sessionAffinity', ['ClientIP', 'None']);
  const config = part(spec, 'sessionAffinityConfig');
  const when = 'when session affinity type is ClientIP';
  if (!has(spec, 'sessionAffinityConfig')) return [causes.required(at, when)];
  if (!has(config, 'clientIP')) return [causes.required(`${at}.clientIP`, when)];
  const seconds = part(config, 'clientIP').timeoutSeconds;
  const here = `${at}.clientIP.timeoutSeconds`;
  if (typeof seconds !== 'number') return [causes.required(here, when)];
  if (seconds > 0 && seconds <= MAX_AFFINITY) return [];
  return [causes.invalid(here, seconds, `must be greater than 0 and less than ${MAX_AFFINITY}`)];
}

function validateType(spec: JsonObject): StatusCause[] {
  const { type } = spec;
  const at = 'spec.clusterIPs';
  if (isHeadless(spec) && (type === 'LoadBalancer' || type === 'NodePort')) {
    return [causes.invalid(`${at}[0]`, 'None', `may not be set to 'None' for ${type} services`)];
  }
  if (type !== 'ExternalName') return [];
  const out: StatusCause[] = [];
  for (const key of ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
    const value = spec[key];
    if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue;
    out.push(causes.forbidden(`spec.${key}`, 'may not be set for ExternalName services'));
  }
  const name = text(spec.externalName).replace(/\.$/, '');
  if (name === '') return [...out, causes.required('spec.externalName')];
  return [...out, ...each('spec.externalName', name, dnsSubdomainErrors(name))];
}

/** Addresses that a Service had before are not checked again. */
function validateExternalIPs(spec: JsonObject, old: JsonObject): StatusCause[] {
  const before = texts(old, 'externalIPs');
  return texts(spec, 'externalIPs').flatMap((ip, i) => {
    const at = `spec.externalIPs[${i}]`;
    const faults = before.includes(ip) ? [] : each(at, ip, addressErrors(ip));
    return faults.length > 0 ? faults : endpointAddressFaults(ip, at);
  });
}

function validateSourceRanges(service: KubeObject, old: KubeObject | undefined): StatusCause[] {
  const spec = part(service, 'spec');
  const own = texts(spec, 'loadBalancerSourceRanges');
  const annotation = service.metadata.annotations?.[SOURCE_RANGES];
  const forbidden = (at: string) => (isBalancer(spec) ? [] : [causes.forbidden(at, FOR_BALANCERS)]);
  if (own.length > 0) {
    const at = 'spec.LoadBalancerSourceRanges';
    const before = texts(part(old ?? {}, 'spec'), 'loadBalancerSourceRanges').map((range) => range.trim());
    const faults = own.flatMap((padded, i) => {
      const range = padded.trim();
      return before.includes(range) ? [] : each(`${at}[${i}]`, range, cidrErrors(range));
    });
    return [...forbidden(at), ...faults];
  }
  if (annotation === undefined) return [];
  const at = `metadata.annotations[${SOURCE_RANGES}]`;
  const kept = old !== undefined && old.metadata.annotations?.[SOURCE_RANGES] === annotation;
  const ranges = kept || annotation.trim() === '' ? [] : annotation.split(',').map((range) => range.trim());
  return [...forbidden(at), ...ranges.flatMap((range) => each(at, range, cidrErrors(range)))];
}

function validateClass(spec: JsonObject): StatusCause[] {
  const at = 'spec.loadBalancerClass';
  if (!has(spec, 'loadBalancerClass')) return [];
  const name = text(spec.loadBalancerClass);
  return isBalancer(spec) ? each(at, name, qualifiedNameErrors(name)) : [causes.forbidden(at, FOR_BALANCERS)];
}

function validateBalancer(spec: JsonObject): StatusCause[] {
  const out: StatusCause[] = [];
  const allocates = has(spec, 'allocateLoadBalancerNodePorts');
  if (allocates && !isBalancer(spec)) out.push(causes.forbidden('spec.allocateLoadBalancerNodePorts', FOR_BALANCERS));
  if (!allocates && isBalancer(spec)) out.push(causes.required('allocateLoadBalancerNodePorts'));
  return [...out, ...validateClass(spec)];
}

function validateTraffic(spec: JsonObject): StatusCause[] {
  const { type, externalTrafficPolicy: policy } = spec;
  const exposed =
    type === 'NodePort' || isBalancer(spec) || (type === 'ClusterIP' && texts(spec, 'externalIPs').length > 0);
  const out: StatusCause[] = [];
  const at = 'spec.externalTrafficPolicy';
  if (exposed) out.push(...choice(policy, at, POLICIES));
  else if (text(policy) !== '') {
    out.push(causes.invalid(at, policy, 'may only be set for externally-accessible services'));
  }
  const health = integer(spec.healthCheckNodePort);
  const here = 'spec.healthCheckNodePort';
  if (needsHealthCheck(spec)) {
    out.push(...(health === 0 ? [causes.required(here)] : portFaults(health, here)));
  } else if (health !== 0) {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    out.push(causes.invalid(here, health, why));
  }
  if (!has(spec, 'internalTrafficPolicy')) {
    if (TYPES.includes(text(type)) && type !== 'ExternalName') out.push(causes.required('spec.internalTrafficPolicy'));
  } else out.push(...oneOf(spec.internalTrafficPolicy, 'spec.internalTrafficPolicy', POLICIES));
  if (!has(spec, 'trafficDistribution')) return out;
  return [...out, ...oneOf(spec.trafficDistribution, 'spec.trafficDistribution', DISTRIBUTIONS, false)];
}

function validateService(service: KubeObject, old?: KubeObject): StatusCause[] {
  const spec = part(service, 'spec');
  const out: StatusCause[] = [];
  const { [HINTS]: hints, [MODE]: mode } = service.metadata.annotations ?? {};
  if (mode !== undefined && hints !== undefined && mode !== hints) {
    const why = `must match annotations[${HINTS}] when both are specified`;
    out.push(causes.invalid(`metadata.annotations[${MODE}]`, mode, why));
  }
  if (parts(spec, 'ports').length === 0 && spec.type !== 'ExternalName' && !isHeadless(spec)) {
    out.push(causes.required('spec.ports'));
  }
  return [
    ...out,
    ...validateType(spec),
    ...validatePorts(spec),
    ...validateLabels(spec.selector, 'spec.selector'),
    ...validateAffinity(spec),
    ...validateExternalIPs(spec, part(old ?? {}, 'spec')),
    ...choice(spec.type, 'spec.type', TYPES),
    ...validatePortNumbers(spec),
    ...validateSourceRanges(service, old),
    ...validateBalancer(spec),
    ...validateTraffic(spec),
  ];
}

/** What cluster addresses, or their families, may become: the first one stays, a second one may come and go. */
function validateSeries(spec: JsonObject, old: JsonObject, key: string, one: string): StatusCause[] {
  const [now, before] = [texts(spec, key), texts(old, key)];
  const at = `spec.${key}`;
  const first = `${at}[0]`;
  const fault = (field: string) => causes.invalid(field, spec[key] ?? null, 'may not change once set');
  if (now.length === before.length) {
    return before.flatMap((value, i) =>
      value === now[i] ? [] : [fault(key === 'ipFamilies' ? first : `${at}[${i}]`)],
    );
  }
  const out: StatusCause[] = [];
  if (before.length > 0 && now.length > 0 && now[0] !== before[0]) out.push(fault(first));
  if (now.length > before.length) return out;
  if (texts(spec, 'clusterIPs').length === 0) {
    out.unshift(causes.invalid(first, spec[key] ?? null, `primary ${one} can not be unset`));
  }
  if (now.length !== 1 || spec.ipFamilyPolicy === 'SingleStack') return out;
  const why = `must be set to 'SingleStack' when releasing the secondary ${one}`;
  return [...out, causes.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy ?? null, why)];
}

function validateChange(service: KubeObject, old: KubeObject): StatusCause[] {
  const [spec, before] = [part(service, 'spec'), part(old, 'spec')];
  const out: StatusCause[] = [];
  if (spec.type !== 'ExternalName' && before.type !== 'ExternalName') {
    const [now, then] = [isHeadless(spec), isHeadless(before)];
    if (!now || !then) out.push(...validateSeries(spec, before, 'clusterIPs', 'clusterIP'));
    if (!now && !then) out.push(...validateSeries(spec, before, 'ipFamilies', 'ipFamily'));
  }
  if (isBalancer(spec) && isBalancer(before) && spec.loadBalancerClass !== before.loadBalancerClass) {
    out.push(causes.invalid('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set'));
  }
  out.push(...validateClass(spec));
  const [port, portBefore] = [integer(spec.healthCheckNodePort), integer(before.healthCheckNodePort)];
  if (needsHealthCheck(spec) && needsHealthCheck(before) && port !== portBefore) {
    out.push(causes.forbidden('spec.healthCheckNodePort', 'field is immutable'));
  }
  return [...out, ...validateService(service, old)];
}

/** Services. What addresses they ask for is checked where these are allocated. */
export const serviceValidators: readonly [string, Validator][] = [
  ['/services', { create: validateService, update: validateChange }],
];

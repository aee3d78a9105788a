import { objectAt, objectsAt } from '../../api/fields.ts';
import { isObject, type JsonObject, type KubeObject } from '../../api/object.ts';
import { addressErrors } from '../../api/validation/cidr.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { type Family, familyOf } from './ranges.ts';

/** The parts of a service's spec that allocation reads and fills in. */
export interface ServiceSpec extends JsonObject {
  type?: string;
  clusterIP?: string;
  clusterIPs?: string[];
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  ports?: JsonObject[];
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  allocateLoadBalancerNodePorts?: boolean;
}

export const specOf = (service: KubeObject): ServiceSpec => objectAt(service, 'spec') as ServiceSpec;
export const portsOf = (spec: ServiceSpec): JsonObject[] => objectsAt(spec, 'ports');
export const nodePortOf = (port: JsonObject): number => (typeof port.nodePort === 'number' ? port.nodePort : 0);

export const isHeadless = ({ clusterIPs, clusterIP }: ServiceSpec) =>
  clusterIPs?.[0] === 'None' || clusterIP === 'None';
export const needsClusterIP = ({ type }: ServiceSpec) => type !== 'ExternalName';
export const needsNodePort = ({ type }: ServiceSpec) => type === 'NodePort' || type === 'LoadBalancer';
export const needsHealthCheckPort = (spec: ServiceSpec) =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';

const same = (a: readonly string[] | undefined, b: readonly string[] | undefined) =>
  (a ?? []).length === (b ?? []).length && (a ?? []).every((value, i) => value === b?.[i]);

/** Brings along what an update leaves out and the old service had been given, in place. */
export function keepAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIP(old) && needsClusterIP(spec)) {
    if (!spec.clusterIP && old.clusterIP) spec.clusterIP = old.clusterIP;
    if (!spec.clusterIPs?.length && old.clusterIPs?.length) spec.clusterIPs = [...old.clusterIPs];
  }
  if (needsNodePort(old) && needsNodePort(spec)) keepNodePorts(spec, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec) && !spec.healthCheckNodePort) {
    if (old.healthCheckNodePort) spec.healthCheckNodePort = old.healthCheckNodePort;
  }
}

function keepNodePorts(spec: ServiceSpec, old: ServiceSpec): void {
  const now = new Set(portsOf(spec).map(nodePortOf));
  const used = new Set(
    portsOf(old)
      .map(nodePortOf)
      .filter((port) => port !== 0 && now.has(port)),
  );
  const byName = new Map(portsOf(old).map((port) => [port.name ?? '', nodePortOf(port)]));
  for (const port of portsOf(spec)) {
    const before = byName.get(port.name ?? '') ?? 0;
    if (nodePortOf(port) === 0 && before !== 0 && !used.has(before)) port.nodePort = before;
  }
}

/** Makes `clusterIP` and `clusterIPs` agree for clients that know only one of them, in place. */
export function normalizeClusterIPs(spec: ServiceSpec, old: ServiceSpec | undefined): void {
  if (old === undefined) {
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
    return;
  }
  const [now = '', before = ''] = [spec.clusterIP, old.clusterIP];
  if (old.clusterIPs?.length && !spec.clusterIPs?.length && now === before) spec.clusterIPs = [...old.clusterIPs];
  if (now === before || !same(spec.clusterIPs, old.clusterIPs)) return;
  if (now === '') delete spec.clusterIPs;
  else spec.clusterIPs = [now];
}

const POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

/** Causes in the fields that say which addresses a service gets. */
export function validateClusterIPs(spec: ServiceSpec): StatusCause[] {
  if (!needsClusterIP(spec)) return [];
  const out: StatusCause[] = [];
  const ips = spec.clusterIPs ?? [];
  const field = 'spec.clusterIPs';
  if (spec.clusterIP) {
    if (ips.length === 0) out.push(causes.required(field));
    else if (ips[0] !== spec.clusterIP) out.push(causes.invalid(field, ips, 'first value must match `clusterIP`'));
  } else if (ips.length > 0) out.push(causes.invalid(field, ips, 'must be empty when `clusterIP` is not specified'));
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    const at = `spec.ipFamilies[${i}]`;
    if (family !== 'IPv4' && family !== 'IPv6') out.push(causes.notSupported(at, family, ['IPv4', 'IPv6']));
    if (spec.ipFamilies!.indexOf(family) < i) out.push(causes.duplicate(at, family));
  }
  if (spec.ipFamilyPolicy !== undefined && !POLICIES.includes(spec.ipFamilyPolicy)) {
    out.push(causes.notSupported('spec.ipFamilyPolicy', spec.ipFamilyPolicy, POLICIES));
  }
  let bad = false;
  for (const [i, ip] of ips.entries()) {
    if (i === 0 && ip === 'None') {
      if (ips.length > 1) out.push(causes.invalid(field, ips, "'None' must be the first and only value"));
      bad ||= ips.length > 1;
    } else {
      const faults = addressErrors(ip).map((why) => causes.invalid(`${field}[${i}]`, ip, why));
      out.push(...faults);
      bad ||= faults.length > 0;
    }
  }
  if (ips.length > 2) out.push(causes.invalid(field, ips, 'may only hold up to 2 values'));
  if (!bad) out.push(...validateFamilies(spec, ips, field));
  return out;
}

function validateFamilies(spec: ServiceSpec, ips: string[], field: string): StatusCause[] {
  const out: StatusCause[] = [];
  if (ips.length > 1 && new Set(ips.map(familyOf)).size < 2) {
    out.push(causes.invalid(field, ips, 'may specify no more than one IP for each IP family'));
  }
  if (isHeadless(spec)) return out;
  for (const [i, ip] of ips.entries()) {
    const family = spec.ipFamilies?.[i];
    if (family === undefined || familyOf(ip) === family) continue;
    out.push(causes.invalid(`${field}[${i}]`, ip, `expected an ${family} value as indicated by \`ipFamilies[${i}]\``));
  }
  return out;
}

/** Fills in the families and their policy, in place. Gives causes for what this cluster has not. */
export function initFamilies(spec: ServiceSpec, old: ServiceSpec | undefined, own: Family): StatusCause[] {
  const bare = isHeadless(spec) && Object.keys(isObject(spec.selector) ? spec.selector : {}).length === 0;
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (bare ? 'RequireDualStack' : 'SingleStack');
  const faults = validateClusterIPs(spec);
  if (faults.length > 0) return faults;
  const single = spec.ipFamilyPolicy === 'SingleStack';
  const families = [...(spec.ipFamilies ?? [])];
  if (single && (spec.clusterIPs?.length ?? 0) === 2) {
    const why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified";
    faults.push(causes.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, why));
  }
  if (single && families.length === 2) {
    const why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
    faults.push(causes.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, why));
  }
  for (const [i, ip] of (spec.clusterIPs ?? []).entries()) {
    if (ip === 'None') break;
    if (i < families.length) continue;
    if (familyOf(ip) === own) families.push(own);
    else {
      const why = `${familyOf(ip)} is not configured on this cluster`;
      faults.push(causes.invalid(`spec.clusterIPs[${i}]`, spec.clusterIPs, why));
    }
  }
  if (faults.length > 0) return faults;
  if (families.length === 0) families.push(own);
  if (bare) {
    if (families.length < 2 && !single) families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
  } else {
    if (spec.ipFamilyPolicy === 'RequireDualStack') {
      const why = 'this cluster is not configured for dual-stack services';
      faults.push(causes.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, why));
    }
    for (const [i, family] of families.entries()) {
      if (family !== own)
        faults.push(causes.invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster'));
    }
  }
  spec.ipFamilies = families;
  return faults;
}

/** Drops what a service of its new type cannot have, where the client has only left it as it was, in place. */
export function dropForType(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIP(old) && !needsClusterIP(spec)) {
    if (same(spec.clusterIPs, old.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (same(spec.ipFamilies, old.ipFamilies)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  if (needsNodePort(old) && !needsNodePort(spec)) {
    const before = portsOf(old).map(nodePortOf);
    const now = portsOf(spec).map(nodePortOf);
    if (now.every((port, i) => port === before[i]) && now.length === before.length) {
      for (const port of portsOf(spec)) delete port.nodePort;
    }
  }
  if (
    needsHealthCheckPort(old) &&
    !needsHealthCheckPort(spec) &&
    spec.healthCheckNodePort === old.healthCheckNodePort
  ) {
    delete spec.healthCheckNodePort;
  }
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === old.allocateLoadBalancerNodePorts)
      delete spec.allocateLoadBalancerNodePorts;
    if (spec.loadBalancerClass === old.loadBalancerClass) delete spec.loadBalancerClass;
  }
}

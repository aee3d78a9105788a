import { at, int, mapOf, objects, text, texts } from '../../api/fields.ts';
import type { JsonObject } from '../../api/object.ts';
import { containersOf } from '../pods.ts';
import { type Fault, type Pod, plural, quoted, setters, sorted } from './faults.ts';

/** Looks at a pod (or the template of one); a fault where it does more than the check allows. */
export type Check = (pod: Pod) => Fault | undefined;

const contextOf = (part: JsonObject): JsonObject => mapOf(part.securityContext);
const namesOf = (containers: readonly JsonObject[]): string[] => containers.map(({ name }) => text(name));
const containers = (names: readonly string[]) => `${plural('container', 'containers', names.length)} ${quoted(names)}`;

/** Containers whose own words are against a check, by name. */
const offenders = ({ spec }: Pod, isBad: (container: JsonObject) => boolean): string[] =>
  namesOf(containersOf(spec).filter(isBad));

const isWindows = ({ spec }: Pod): boolean => at(spec, 'os', 'name') === 'windows';
/** Pods in a user namespace of their own are root only in it. */
const hasUserNamespace = ({ spec }: Pod): boolean => spec.hostUsers === false;
export const unlessWindows =
  (check: Check): Check =>
  (pod) =>
    isWindows(pod) ? undefined : check(pod);
export const unlessUserNamespace =
  (check: Check): Check =>
  (pod) =>
    hasUserNamespace(pod) ? undefined : check(pod);

export const allowPrivilegeEscalation: Check = (pod) => {
  const bad = offenders(pod, (c) => contextOf(c).allowPrivilegeEscalation !== false);
  if (bad.length === 0) return undefined;
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${containers(bad)} must set securityContext.allowPrivilegeEscalation=false`,
  };
};

const CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

const added = (c: JsonObject) => texts(at(contextOf(c), 'capabilities', 'add'));

export const capabilitiesBaseline: Check = (pod) => {
  const extra = (c: JsonObject) => added(c).filter((name) => !CAPABILITIES.has(name));
  const bad = offenders(pod, (c) => extra(c).length > 0);
  if (bad.length === 0) return undefined;
  const all = sorted(containersOf(pod.spec).flatMap(extra));
  return {
    reason: 'non-default capabilities',
    detail: `${containers(bad)} must not include ${quoted(all)} in securityContext.capabilities.add`,
  };
};

export const capabilitiesRestricted: Check = (pod) => {
  const keeping = offenders(pod, (c) => !texts(at(contextOf(c), 'capabilities', 'drop')).includes('ALL'));
  const extra = (c: JsonObject) => added(c).filter((name) => name !== 'NET_BIND_SERVICE');
  const adding = offenders(pod, (c) => extra(c).length > 0);
  const details: string[] = [];
  if (keeping.length > 0) details.push(`${containers(keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  if (adding.length > 0) {
    const all = sorted(containersOf(pod.spec).flatMap(extra));
    details.push(`${containers(adding)} must not include ${quoted(all)} in securityContext.capabilities.add`);
  }
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

export const hostNamespaces: Check = ({ spec }) => {
  const bad = ['hostNetwork', 'hostPID', 'hostIPC'].filter((key) => spec[key] === true).map((key) => `${key}=true`);
  return bad.length === 0 ? undefined : { reason: 'host namespaces', detail: bad.join(', ') };
};

export const hostPathVolumes: Check = ({ spec }) => {
  const bad = namesOf(objects(spec.volumes).filter(({ hostPath }) => hostPath !== undefined));
  if (bad.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${plural('volume', 'volumes', bad.length)} ${quoted(bad)}` };
};

export const hostPorts: Check = (pod) => {
  const portsOf = (c: JsonObject) =>
    objects(c.ports)
      .map(({ hostPort }) => int(hostPort))
      .filter((port) => port !== 0);
  const bad = offenders(pod, (c) => portsOf(c).length > 0);
  if (bad.length === 0) return undefined;
  const ports = sorted(containersOf(pod.spec).flatMap((c) => portsOf(c).map(String)));
  const uses = `${plural('uses', 'use', bad.length)} ${plural('hostPort', 'hostPorts', ports.length)}`;
  return { reason: 'hostPort', detail: `${containers(bad)} ${uses} ${ports.join(', ')}` };
};

/** Hosts that a container's probes and lifecycle handlers name. */
function probedHosts(container: JsonObject): string[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  const handlers = [livenessProbe, readinessProbe, startupProbe, at(lifecycle, 'postStart'), at(lifecycle, 'preStop')];
  return handlers
    .flatMap((handler) => [at(handler, 'httpGet', 'host'), at(handler, 'tcpSocket', 'host')])
    .map(text)
    .filter((host) => host !== '');
}

export const hostProbes: Check = (pod) => {
  const bad = sorted(offenders(pod, (c) => probedHosts(c).length > 0));
  if (bad.length === 0) return undefined;
  const hosts = sorted(containersOf(pod.spec).flatMap(probedHosts));
  const what = plural('probe or lifecycle host', 'probe or lifecycle hosts', hosts.length);
  return {
    reason: 'probe or lifecycle host',
    detail: `${containers(bad)} ${plural('uses', 'use', bad.length)} ${what} ${quoted(hosts)}`,
  };
};

export const privileged: Check = (pod) => {
  const bad = offenders(pod, (c) => contextOf(c).privileged === true);
  if (bad.length === 0) return undefined;
  return { reason: 'privileged', detail: `${containers(bad)} must not set securityContext.privileged=true` };
};

export const procMount: Check = (pod) => {
  const typeOf = (c: JsonObject) => text(contextOf(c).procMount);
  const isBad = (c: JsonObject) => contextOf(c).procMount !== undefined && typeOf(c) !== 'Default';
  const bad = offenders(pod, isBad);
  if (bad.length === 0) return undefined;
  const types = sorted(containersOf(pod.spec).filter(isBad).map(typeOf));
  return {
    reason: 'procMount',
    detail: `${containers(bad)} must not set securityContext.procMount to ${quoted(types)}`,
  };
};

const SAFE_VOLUMES: readonly string[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

export const restrictedVolumes: Check = ({ spec }) => {
  const bad = objects(spec.volumes).filter((volume) => !SAFE_VOLUMES.some((type) => volume[type] !== undefined));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map((volume) => Object.keys(volume).find((key) => key !== 'name') ?? 'unknown'));
  const names = namesOf(bad);
  const what = plural('restricted volume type', 'restricted volume types', types.length);
  const volumes = `${plural('volume', 'volumes', names.length)} ${quoted(names)}`;
  return {
    reason: 'restricted volume types',
    detail: `${volumes} ${plural('uses', 'use', names.length)} ${what} ${quoted(types)}`,
  };
};

export const runAsNonRoot: Check = (pod) => {
  const whole = contextOf(pod.spec).runAsNonRoot;
  const explicit = offenders(pod, (c) => contextOf(c).runAsNonRoot === false);
  const bad = setters(whole === false, explicit);
  const reason = 'runAsNonRoot != true';
  if (bad !== '') return { reason, detail: `${bad} must not set securityContext.runAsNonRoot=false` };
  const silent = whole === true ? [] : offenders(pod, (c) => contextOf(c).runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containers(silent)} must set securityContext.runAsNonRoot=true` };
};

export const runAsUser: Check = (pod) => {
  const bad = setters(
    contextOf(pod.spec).runAsUser === 0,
    offenders(pod, (c) => contextOf(c).runAsUser === 0),
  );
  return bad === '' ? undefined : { reason: 'runAsUser=0', detail: `${bad} must not set runAsUser=0` };
};

export const sysctls =
  (allowed: ReadonlySet<string>): Check =>
  ({ spec }) => {
    const names = namesOf(objects(contextOf(spec).sysctls));
    const bad = names.filter((name) => !allowed.has(name));
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
  };

export const windowsHostProcess: Check = (pod) => {
  const isBad = (part: JsonObject) => at(contextOf(part), 'windowsOptions', 'hostProcess') === true;
  const bad = setters(isBad(pod.spec), offenders(pod, isBad));
  if (bad === '') return undefined;
  return { reason: 'hostProcess', detail: `${bad} must not set securityContext.windowsOptions.hostProcess=true` };
};

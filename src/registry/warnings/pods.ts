import { mapOf, objectAt, objectsAt, text as textOf, texts, at as valueAt } from '../../api/fields.ts';
import { deepEqual, type JsonObject } from '../../api/object.ts';
import { APP_ARMOR_ADVICE, APP_ARMOR_ANNOTATION, appArmorOf } from '../strategies/app-armor.ts';
import { addressWarnings, eachAddress } from './addresses.ts';
import { placementWarnings, podAffinityWarnings } from './node-labels.ts';
import { containerResourceWarnings, fractionWarnings } from './resources.ts';
import { volumeWarnings } from './volumes.ts';

/** A container port and the path at which it stands. */
interface PortAt {
  at: string;
  port: JsonObject;
}
interface ContainerAt {
  at: string;
  container: JsonObject;
}

/** Annotations of pods that have lost their meaning; the second of a row is the beginning of further ones. */
const oldAnnotations = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
] as const;
const NO_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/**
 * Warnings about a pod (`at` is empty) or pod template that is valid and yet hardly meant, in the words and the order of
 * upstream (pkg/api/pod/warnings.go).
 */
export function podWarnings(pod: JsonObject, at: string): string[] {
  const spec = objectAt(pod, 'spec');
  const path = at === '' ? 'spec' : `${at}.spec`;
  const annotations = mapOf(valueAt(pod, 'metadata', 'annotations'));
  const annotationAt = (key: string) => `${at === '' ? '' : `${at}.`}metadata.annotations[${key}]`;
  return [
    ...placementWarnings(spec, path),
    ...oldAnnotations.filter(([key]) => key in annotations).map(([key, said]) => `${annotationAt(key)}: ${said}`),
    ...volumeWarnings(spec, path),
    ...specWarnings(spec, path, annotationWarnings(spec, annotations, annotationAt, at !== '')),
  ];
}

/** What there is to say of a container for the annotations of its pod; with no container: of the pod itself. */
type AnnotationWarnings = (container?: JsonObject) => string[];

function annotationWarnings(
  spec: JsonObject,
  annotations: JsonObject,
  at: (key: string) => string,
  template: boolean,
): AnnotationWarnings {
  const said = (key: string, what: string) => (key in annotations ? [`${at(key)}: ${what}`] : []);
  const secured = (owner: JsonObject, field: string) => valueAt(owner, 'securityContext', field);
  const podProfile = secured(spec, 'appArmorProfile');
  return (container) => {
    const owner = container ?? spec;
    const seccomp =
      container === undefined
        ? 'seccomp.security.alpha.kubernetes.io/pod'
        : `container.seccomp.security.alpha.kubernetes.io/${textOf(container.name)}`;
    const out = secured(owner, 'seccompProfile') === undefined ? said(seccomp, NO_SECCOMP) : [];
    if (container === undefined || !template || secured(container, 'appArmorProfile') !== undefined) return out;
    const key = `${APP_ARMOR_ANNOTATION}${textOf(container.name)}`;
    const same = podProfile !== undefined && deepEqual(podProfile, appArmorOf(textOf(annotations[key])));
    return same ? out : [...out, ...said(key, APP_ARMOR_ADVICE)];
  };
}

function specWarnings(spec: JsonObject, at: string, annotated: AnnotationWarnings): string[] {
  const containers: ContainerAt[] = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    objectsAt(spec, list).map((container, i) => ({ container, at: `${at}.${list}[${i}]` })),
  );
  const ports = containers.flatMap((one) =>
    objectsAt(one.container, 'ports').map((port, i) => ({ port, at: `${one.at}.ports[${i}]` })),
  );
  const grace = spec.terminationGracePeriodSeconds;
  const aliases = objectsAt(spec, 'hostAliases');
  const secrets = objectsAt(spec, 'imagePullSecrets');
  return [
    ...repeated(aliases, 'ip').map(([i, ip]) => `${at}.hostAliases[${i}].ip: duplicate ip ${ip}`),
    ...repeated(secrets, 'name').map(([i, name]) => `${at}.imagePullSecrets[${i}].name: duplicate name ${name}`),
    ...secrets.flatMap(({ name }, i) =>
      textOf(name) === '' ? [`${at}.imagePullSecrets[${i}].name: invalid empty name ""`] : [],
    ),
    ...fractionWarnings(spec.overhead, `${at}.overhead`, ['memory', 'ephemeral-storage']),
    ...annotated(),
    ...containers.flatMap(({ container, at: path }) => [
      ...annotated(container),
      ...containerResourceWarnings(container, path),
      ...environmentWarnings(objectsAt(container, 'env'), `${path}.env`),
    ]),
    ...portWarnings(ports),
    ...portNameWarnings(ports),
    ...(typeof grace === 'number' && grace < 0
      ? [`${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
    ...podAffinityWarnings(spec, at),
    ...eachAddress(`${at}.dnsConfig.nameservers`, texts(objectAt(spec, 'dnsConfig').nameservers)),
    ...aliases.flatMap(({ ip }, i) => addressWarnings(`${at}.hostAliases[${i}].ip`, textOf(ip))),
  ];
}

/** Index and quoted value of each object whose `key` an earlier one has. */
function repeated(objects: JsonObject[], key: string): [number, string][] {
  const values = objects.map((object) => object[key] ?? '');
  return values.flatMap((value, i): [number, string][] =>
    values.indexOf(value) < i ? [[i, JSON.stringify(value)]] : [],
  );
}

/** A variable defined again is meant only where it builds on what it hides. */
function environmentWarnings(variables: JsonObject[], at: string): string[] {
  return repeated(variables, 'name').flatMap(([i, name]) => {
    const { name: plain, value = '', valueFrom } = variables[i]!;
    const reference = `$(${plain})`;
    const buildsOn = valueFrom === undefined && value !== reference && String(value).includes(reference);
    return buildsOn ? [] : [`${at}[${i}]: hides previous definition of ${name}, which may be dropped when using apply`];
  });
}

const text = (port: JsonObject, key: string) => String(port[key] ?? '');
const hostPort = (port: JsonObject) => Number(port.hostPort ?? 0);

/** What is odd about a port beside an earlier one with its number and protocol. */
function overlap(port: JsonObject, other: JsonObject): string | undefined {
  const samePort = hostPort(port) === hostPort(other);
  if (samePort && text(port, 'hostIP') === text(other, 'hostIP')) return 'duplicate';
  if (hostPort(port) === 0 || hostPort(other) === 0) return 'overlapping';
  const oneIsOpen = (text(port, 'hostIP') === '') !== (text(other, 'hostIP') === '');
  return samePort && oneIsOpen ? 'dangerously ambiguous' : undefined;
}

function portWarnings(ports: PortAt[]): string[] {
  return ports.flatMap(({ port, at }, i) => {
    const warnings = [];
    if (text(port, 'hostIP') !== '' && hostPort(port) === 0) {
      const shown = ['Name', 'HostPort', 'ContainerPort', 'Protocol', 'HostIP'].map((name) => {
        const key = name === 'HostIP' ? 'hostIP' : name[0]!.toLowerCase() + name.slice(1);
        return `${name}:${name === 'HostPort' ? hostPort(port) : text(port, key)}`;
      });
      warnings.push(`${at}: hostIP set without hostPort: {${shown.join(' ')}}`);
    }
    for (const other of ports.slice(0, i)) {
      if (other.port.containerPort !== port.containerPort || other.port.protocol !== port.protocol) continue;
      const kind = overlap(port, other.port);
      if (kind !== undefined) warnings.push(`${at}: ${kind} port definition with ${other.at}`);
    }
    return warnings;
  });
}

function portNameWarnings(ports: PortAt[]): string[] {
  const first = new Map<string, string>();
  return ports.flatMap(({ port, at }) => {
    const name = text(port, 'name');
    const other = first.get(name);
    if (name === '') return [];
    if (other === undefined) {
      first.set(name, at);
      return [];
    }
    const quoted = JSON.stringify(name);
    return [
      `${at}: duplicate port name ${quoted} with ${other}, services and probes that select ports by name will use ${other}`,
    ];
  });
}

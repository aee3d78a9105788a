import { objectAt, objectsAt } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import type { Resource } from './resource.ts';

/** Where a kind has its pod template, or is a pod itself. */
const templates: Readonly<Record<string, readonly string[]>> = {
  'v1/Pod': [],
  'v1/PodTemplate': ['template'],
  'v1/ReplicationController': ['spec', 'template'],
  'apps/v1/DaemonSet': ['spec', 'template'],
  'apps/v1/Deployment': ['spec', 'template'],
  'apps/v1/ReplicaSet': ['spec', 'template'],
  'apps/v1/StatefulSet': ['spec', 'template'],
  'batch/v1/CronJob': ['spec', 'jobTemplate', 'spec', 'template'],
  'batch/v1/Job': ['spec', 'template'],
};

/** A container port and the path at which it stands. */
interface PortAt {
  at: string;
  port: JsonObject;
}

/**
 * Warnings about a pod or pod template that is valid and yet hardly meant: things named twice, in the words and the order
 * of upstream. An update is warned of only where it made a new generation, and never for a pod.
 */
export function podWarnings(resource: Resource, object: KubeObject, old?: KubeObject): string[] {
  const path = templates[`${resource.groupVersion}/${resource.kind}`];
  if (path === undefined) return [];
  if (old !== undefined && (path.length === 0 || object.metadata.generation === old.metadata.generation)) return [];
  const spec = objectAt(path.reduce<JsonObject>(objectAt, object), 'spec');
  return specWarnings(spec, [...path, 'spec'].join('.'));
}

function specWarnings(spec: JsonObject, at: string): string[] {
  const containers = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    objectsAt(spec, list).map((container, i) => ({ container, at: `${at}.${list}[${i}]` })),
  );
  const ports = containers.flatMap((one) =>
    objectsAt(one.container, 'ports').map((port, i) => ({ port, at: `${one.at}.ports[${i}]` })),
  );
  const grace = spec.terminationGracePeriodSeconds;
  return [
    ...repeated(objectsAt(spec, 'hostAliases'), 'ip').map(
      ([i, ip]) => `${at}.hostAliases[${i}].ip: duplicate ip ${ip}`,
    ),
    ...repeated(objectsAt(spec, 'imagePullSecrets'), 'name').map(
      ([i, name]) => `${at}.imagePullSecrets[${i}].name: duplicate name ${name}`,
    ),
    ...containers.flatMap((one) => environmentWarnings(objectsAt(one.container, 'env'), `${one.at}.env`)),
    ...portWarnings(ports),
    ...portNameWarnings(ports),
    ...(typeof grace === 'number' && grace < 0
      ? [`${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`]
      : []),
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

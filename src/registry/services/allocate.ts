import type { KubeObject } from '../../api/object.ts';
import { formatTime } from '../../api/time.ts';
import { encodeStored } from '../../codec/stored.ts';
import type { Condition, Operation } from '../../keyspace/types.ts';
import { causes, internalError, invalid, type StatusError } from '../../status/status.ts';
import { keyOf } from '../keys.ts';
import { recordMeta } from '../meta.ts';
import { builtins } from '../resource.ts';
import type { Allocate, Scope } from '../scope.ts';
import {
  dropForType,
  initFamilies,
  isHeadless,
  keepAllocated,
  needsClusterIP,
  needsHealthCheckPort,
  needsNodePort,
  nodePortOf,
  normalizeClusterIPs,
  portsOf,
  type ServiceSpec,
  specOf,
} from './fields.ts';
import { candidates, type Family, formatAddress, isUsable, parseAddress, parseRange, type Range } from './ranges.ts';

/** The range that a cluster's services get addresses from when it is not configured. */
const DEFAULT_RANGE = '10.0.0.0/24';
const NODE_PORTS = { first: 30000, last: 32767 } as const;
/** Key prefix of the node ports that are taken, a record each. */
const NODE_PORT_PREFIX = '/registry/ranges/nodeports/';
const addresses = builtins.get('networking.k8s.io/v1')!.get('ipaddresses')!;

const encoder = new TextEncoder();
const addressKey = (address: string) => keyOf(addresses, '', address);

/** What one write takes and gives back, gathered while its fields are filled in. */
class Allocation {
  readonly #scope: Scope;
  readonly #service: KubeObject;
  readonly #conditions: Condition[] = [];
  readonly #refusals: (StatusError | undefined)[] = [];
  readonly #operations: Operation[] = [];

  constructor(scope: Scope, service: KubeObject) {
    this.#scope = scope;
    this.#service = service;
  }

  #take(key: string, put: Operation, refusal: StatusError | undefined): void {
    this.#conditions.push({ type: 'absent', key });
    this.#refusals.push(refusal);
    this.#operations.push(put);
  }

  release(key: string): void {
    this.#operations.push({ type: 'delete', key });
  }

  takeAddress(address: string, family: Family, refusal: StatusError | undefined): void {
    const { ctx, namespace } = this.#scope;
    const { name = '' } = this.#service.metadata;
    const time = formatTime(ctx.now());
    const key = addressKey(address);
    const object = addressObject(address, family, { namespace, name }, time);
    const { value, tag } = encodeStored(object);
    this.#take(key, { type: 'put', key, value, meta: recordMeta(addresses, object, tag) }, refusal);
  }

  takePort(port: number, refusal: StatusError | undefined): void {
    const key = `${NODE_PORT_PREFIX}${port}`;
    const { namespace } = this.#scope;
    const value = encoder.encode(JSON.stringify({ namespace, name: this.#service.metadata.name ?? '' }));
    const tag = { storageVersion: '', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };
    this.#take(key, { type: 'put', key, value, meta: { labels: {}, fields: {}, terms: [], tag } }, refusal);
  }

  /** What is taken, by the last part of the key. */
  async taken(prefix: string): Promise<Set<string>> {
    const consistency = { type: 'linearizable' } as const;
    const { records } = await this.#scope.ctx.keyspace.list({ prefix, limit: 0, consistency, keysOnly: true });
    return new Set(records.map(({ key }) => key.slice(prefix.length)));
  }

  companions() {
    const refused = (index: number) => this.#refusals[index];
    return { conditions: this.#conditions, operations: this.#operations, refused };
  }
}

function addressObject(
  address: string,
  family: Family,
  parent: { namespace: string; name: string },
  time: string,
): KubeObject {
  const labels = {
    'ipaddress.kubernetes.io/ip-family': family,
    'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
  };
  const fieldsV1 = {
    'f:metadata': {
      'f:labels': {
        '.': {},
        'f:ipaddress.kubernetes.io/ip-family': {},
        'f:ipaddress.kubernetes.io/managed-by': {},
      },
    },
    'f:spec': { 'f:parentRef': { '.': {}, 'f:name': {}, 'f:namespace': {}, 'f:resource': {} } },
  };
  return {
    kind: 'IPAddress',
    apiVersion: 'networking.k8s.io/v1',
    metadata: {
      name: address,
      uid: crypto.randomUUID(),
      creationTimestamp: time,
      labels,
      managedFields: [
        {
          manager: 'kube-apiserver',
          operation: 'Update',
          apiVersion: 'networking.k8s.io/v1',
          time,
          fieldsType: 'FieldsV1',
          fieldsV1,
        },
      ],
    },
    spec: { parentRef: { resource: 'services', namespace: parent.namespace, name: parent.name } },
  };
}

const invalidService = (service: KubeObject, faults: ReturnType<typeof causes.invalid>[]) =>
  invalid({ group: '', name: 'Service' }, service.metadata.name ?? '', faults);

/** An address that is asked for by name. Throws 422 when the range has it not. */
function takeNamed(allocation: Allocation, service: KubeObject, range: Range, address: string): void {
  const { clusterIPs } = specOf(service);
  const refuse = (why: string) =>
    invalidService(service, [
      causes.invalid('spec.clusterIPs', clusterIPs, `failed to allocate IP ${address}: ${why}`),
    ]);
  const value = parseAddress(address);
  if (value === undefined || !isUsable(range, value)) {
    throw refuse('the provided network does not match the current range');
  }
  allocation.takeAddress(address, range.family, refuse('provided IP is already allocated'));
}

async function takeAny(allocation: Allocation, service: KubeObject, range: Range): Promise<string> {
  const taken = await allocation.taken(`${addresses.storage!.prefix}/`);
  for (const value of candidates(range)) {
    const address = formatAddress(value, range.family);
    if (taken.has(address)) continue;
    allocation.takeAddress(address, range.family, undefined);
    return address;
  }
  const name = JSON.stringify(service.metadata.name ?? '');
  throw internalError(`failed to allocate a serviceIP for Service ${name}: range is full`);
}

async function allocateAddress(allocation: Allocation, service: KubeObject, range: Range): Promise<void> {
  const spec = specOf(service);
  if (!needsClusterIP(spec) || isHeadless(spec)) return;
  const asked = spec.clusterIPs?.[0];
  if (asked !== undefined && asked !== '') {
    takeNamed(allocation, service, range, asked);
    return;
  }
  const address = await takeAny(allocation, service, range);
  spec.clusterIP = address;
  spec.clusterIPs = [address];
}

const RANGE_FAULT = `provided port is not in the valid range. The range of valid ports is ${NODE_PORTS.first}-${NODE_PORTS.last}`;

function takeNamedPort(allocation: Allocation, service: KubeObject, index: number, port: number): void {
  const refuse = (why: string) => invalidService(service, [causes.invalid(`spec.ports[${index}].nodePort`, port, why)]);
  if (port < NODE_PORTS.first || port > NODE_PORTS.last) throw refuse(RANGE_FAULT);
  allocation.takePort(port, refuse('provided port is already allocated'));
}

/** Chooses ports that no one has; each only once in a write. */
class PortChooser {
  readonly #allocation: Allocation;
  #taken: Set<string> | undefined;

  constructor(allocation: Allocation) {
    this.#allocation = allocation;
  }

  async next(): Promise<number> {
    this.#taken ??= await this.#allocation.taken(NODE_PORT_PREFIX);
    const size = NODE_PORTS.last - NODE_PORTS.first + 1;
    const start = crypto.getRandomValues(new Uint32Array(1))[0]! % size;
    for (let i = 0; i < size; i++) {
      const port = NODE_PORTS.first + ((start + i) % size);
      if (this.#taken.has(String(port))) continue;
      this.#taken.add(String(port));
      this.#allocation.takePort(port, undefined);
      return port;
    }
    throw internalError('failed to allocate a nodePort: range is full');
  }
}

async function allocatePorts(allocation: Allocation, service: KubeObject, old: ServiceSpec | undefined): Promise<void> {
  const spec = specOf(service);
  const held = new Set(old === undefined ? [] : nodePortsOf(old));
  const chooser = new PortChooser(allocation);
  if (needsNodePort(spec)) {
    const allocates = spec.type === 'NodePort' || spec.allocateLoadBalancerNodePorts !== false;
    const byPort = new Map<unknown, number>();
    for (const { port, nodePort } of portsOf(spec)) {
      if (typeof nodePort === 'number' && nodePort !== 0 && !byPort.has(port)) byPort.set(port, nodePort);
    }
    for (const [i, port] of portsOf(spec).entries()) {
      if (nodePortOf(port) === 0) {
        if (!allocates) continue;
        const shared = old === undefined ? byPort.get(port.port) : undefined;
        port.nodePort = shared ?? (await chooser.next());
        if (shared === undefined) byPort.set(port.port, nodePortOf(port));
        held.add(nodePortOf(port));
      } else if (!held.has(nodePortOf(port))) {
        takeNamedPort(allocation, service, i, nodePortOf(port));
        held.add(nodePortOf(port));
      }
    }
  }
  if (!needsHealthCheckPort(spec) || (old !== undefined && needsHealthCheckPort(old))) return;
  const asked = spec.healthCheckNodePort ?? 0;
  if (asked === 0) spec.healthCheckNodePort = await chooser.next();
  else
    allocation.takePort(
      asked,
      internalError(`failed to allocate requested HealthCheck NodePort ${asked}: provided port is already allocated`),
    );
}

function nodePortsOf(spec: ServiceSpec): number[] {
  const ports = needsNodePort(spec) ? portsOf(spec).map(nodePortOf) : [];
  if (needsHealthCheckPort(spec)) ports.push(spec.healthCheckNodePort ?? 0);
  return [...new Set(ports)].filter((port) => port !== 0);
}

const clusterIPsOf = (spec: ServiceSpec): string[] =>
  needsClusterIP(spec) && !isHeadless(spec) ? (spec.clusterIPs ?? []).filter((ip) => ip !== '') : [];

/** The operations that give back all that a service was given. */
export function releaseService(service: KubeObject): Operation[] {
  const spec = specOf(service);
  return [
    ...clusterIPsOf(spec).map((ip): Operation => ({ type: 'delete', key: addressKey(ip) })),
    ...nodePortsOf(spec).map((port): Operation => ({ type: 'delete', key: `${NODE_PORT_PREFIX}${port}` })),
  ];
}

function release(allocation: Allocation, spec: ServiceSpec, old: ServiceSpec): void {
  const kept = new Set(nodePortsOf(spec));
  for (const port of nodePortsOf(old)) if (!kept.has(port)) allocation.release(`${NODE_PORT_PREFIX}${port}`);
  if (needsClusterIP(spec)) return;
  for (const ip of clusterIPsOf(old)) allocation.release(addressKey(ip));
}

/**
 * Gives a service its cluster address and node ports, in place, and says what must commit with it: an IPAddress and a
 * record for each port, each on condition that no one has it. Throws 422 for what cannot be had.
 */
export function allocateService(scope: Scope): Allocate {
  const range = parseRange(scope.ctx.config?.serviceClusterIPRange ?? DEFAULT_RANGE);
  return async (service, previous) => {
    const spec = specOf(service);
    service.spec = spec;
    const old = previous === undefined ? undefined : specOf(previous);
    const allocation = new Allocation(scope, service);
    if (old !== undefined) keepAllocated(spec, old);
    normalizeClusterIPs(spec, old);
    if (needsClusterIP(spec)) {
      const faults = initFamilies(spec, old, range.family);
      if (faults.length > 0) throw invalidService(service, faults);
    }
    if (old === undefined || !needsClusterIP(old)) await allocateAddress(allocation, service, range);
    await allocatePorts(allocation, service, old);
    if (old !== undefined) {
      release(allocation, spec, old);
      dropForType(spec, old);
    }
    return allocation.companions();
  };
}

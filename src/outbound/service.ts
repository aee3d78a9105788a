import { int, mapOf, objects, text, texts } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { decodeStored } from '../codec/stored.ts';
import type { Keyspace } from '../keyspace/types.ts';

/** Where a Service is reached. */
export interface ServiceAddress {
  host: string;
  port: number;
}

/** A Service cannot be reached; the message is upstream's. */
export class ServiceError extends Error {}

const SERVICES = '/registry/services/specs/';
const SLICES = '/registry/endpointslices/';
const SERVICE_LABEL = 'kubernetes.io/service-name';

/**
 * Where to connect to for a port of a Service: a ready endpoint, as nobody translates cluster addresses on the way from
 * here; where none is ready, the cluster address; an external name as it is (k8s.io/apiserver, pkg/util/proxy). Throws
 * {@link ServiceError}. `routes`: fixed addresses by `namespace/name` or `namespace/name:port`, which go before.
 */
export async function resolveService(
  keyspace: Pick<Keyspace, 'get' | 'list'>,
  service: { namespace: string; name: string; port: number },
  routes: Readonly<Record<string, string>> = {},
): Promise<ServiceAddress> {
  const { namespace, name, port } = service;
  const route = routes[`${namespace}/${name}:${port}`] ?? routes[`${namespace}/${name}`];
  if (route !== undefined) return splitRoute(route, port);
  const { records } = await keyspace.get([`${SERVICES}${namespace}/${name}`], { type: 'leader' });
  if (records[0] === undefined) throw new ServiceError(`service ${JSON.stringify(name)} not found`);
  const spec = mapOf(decodeStored(records[0]).spec);
  if (spec.type === 'ExternalName') return { host: text(spec.externalName), port };
  if (spec.clusterIP === 'None') throw new ServiceError('cannot route to service with ClusterIP "None"');
  const found = objects(spec.ports).find((one) => int(one.port) === port);
  if (found === undefined) throw new ServiceError(`no service port ${port} found for service ${JSON.stringify(name)}`);
  const endpoints = await readyEndpoints(keyspace, namespace, name, text(found.name));
  const chosen = endpoints[Math.floor(Math.random() * endpoints.length)];
  return chosen ?? { host: text(spec.clusterIP), port };
}

function splitRoute(route: string, port: number): ServiceAddress {
  const [, host = route, given] = /^(.*?)(?::(\d+))?$/.exec(route) ?? [];
  return { host, port: given === undefined ? port : Number(given) };
}

async function readyEndpoints(
  keyspace: Pick<Keyspace, 'list'>,
  namespace: string,
  name: string,
  portName: string,
): Promise<ServiceAddress[]> {
  const prefix = `${SLICES}${namespace}/`;
  const { records } = await keyspace.list({ prefix, limit: 0, consistency: { type: 'leader' } });
  const slices = records.map((record) => decodeStored(record));
  return slices
    .filter((slice) => slice.metadata.labels?.[SERVICE_LABEL] === name)
    .flatMap((s) => addresses(s, portName));
}

function addresses(slice: KubeObject & JsonObject, portName: string): ServiceAddress[] {
  const port = objects(slice.ports).find((one) => text(one.name) === portName && int(one.port) > 0);
  if (port === undefined) return [];
  const ready = objects(slice.endpoints).filter(({ conditions }) => mapOf(conditions).ready !== false);
  return ready
    .flatMap((endpoint) => texts(endpoint.addresses).slice(0, 1))
    .map((host) => ({ host, port: int(port.port) }));
}

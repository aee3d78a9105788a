import { builtinRow, lookUp } from '../admission/lookup.ts';
import { int, objectAt, objectsAt, text } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';
import { badRequest, notFound, serviceUnavailable } from '../status/status.ts';
import { type Location, passOn } from './backend.ts';
import { admitConnect } from './connect.ts';
import { kubeletOf } from './kubelet.ts';
import { podOf } from './pod.ts';
import { authorityOf, isAddress, isGlobalUnicast, parseTarget, type Target } from './target.ts';

const services = builtinRow('v1', 'services');
const endpoints = builtinRow('v1', 'endpoints');
const pods = builtinRow('v1', 'pods');

/** Where a target is, without the path. */
type Found = Pick<Location, 'origin' | 'peer'>;

const originOf = ({ scheme }: Target, host: string, port: string) =>
  `${scheme === '' ? 'http' : scheme}://${authorityOf(host, port)}`;

/** Whether a host is one of this machine, or not to be called for another reason. */
const isForbidden = (host: string) => (isAddress(host) ? !isGlobalUnicast(host) : /^(.+\.)?localhost\.?$/i.test(host));

async function nodeLocation(ctx: RequestContext, target: Target): Promise<Found> {
  const kubelet = await kubeletOf(ctx, target.name);
  if (isForbidden(kubelet.host)) throw badRequest('address not allowed');
  if (target.port === '' || target.port === kubelet.port) return kubelet;
  return { origin: originOf(target, kubelet.host, target.port) };
}

async function podLocation(ctx: RequestContext, target: Target): Promise<Found> {
  const pod = await podOf(ctx, target.name);
  const containers = objectsAt(objectAt(pod, 'spec'), 'containers');
  const first = containers.flatMap((container) => objectsAt(container, 'ports'))[0];
  const status = objectAt(pod, 'status');
  const address = text(objectsAt(status, 'podIPs')[0]?.ip) || text(status.podIP);
  if (!isGlobalUnicast(address)) throw badRequest('address not allowed');
  const port = target.port === '' && first !== undefined ? String(int(first.containerPort)) : target.port;
  return { origin: originOf(target, address, port) };
}

/** The name of the port of a service that a target asks for. Throws 404 and 503. */
async function portName(ctx: RequestContext, { name, port }: Target): Promise<string> {
  if (!/^[+-]?\d+$/.test(port)) return port;
  const service = await lookUp(ctx, services, ctx.info.namespace, name);
  if (service === undefined) throw notFound({ group: '', name: 'services' }, name);
  const found = objectsAt(objectAt(service, 'spec'), 'ports').find((one) => int(one.port) === Number(port));
  if (found === undefined) {
    throw serviceUnavailable(`no service port ${Number(port)} found for service ${JSON.stringify(name)}`);
  }
  return text(found.name);
}

/** Whether an address of an endpoint is that of a pod of the namespace. */
async function isPods(ctx: RequestContext, address: JsonObject): Promise<boolean> {
  const target = objectAt(address, 'targetRef');
  if (text(target.namespace) !== ctx.info.namespace) return false;
  const pod = await lookUp(ctx, pods, ctx.info.namespace, text(target.name));
  return pod !== undefined && objectsAt(objectAt(pod, 'status'), 'podIPs').some(({ ip }) => ip === address.ip);
}

const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

async function serviceLocation(ctx: RequestContext, target: Target, id: string): Promise<Found> {
  const wanted = await portName(ctx, target);
  const found = await lookUp(ctx, endpoints, ctx.info.namespace, target.name);
  if (found === undefined) throw notFound({ group: '', name: 'services' }, target.name);
  const subsets = objectsAt(found, 'subsets');
  const none = (name: string) => serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  if (subsets.length === 0) throw none(target.name);
  for (const subset of shuffled(subsets)) {
    const port = objectsAt(subset, 'ports').find(({ name }) => text(name) === wanted);
    if (port === undefined) continue;
    for (const address of shuffled(objectsAt(subset, 'addresses'))) {
      if (await isPods(ctx, address)) return { origin: originOf(target, text(address.ip), String(int(port.port))) };
    }
  }
  throw none(id);
}

const kinds = {
  nodes: { word: 'node', options: 'NodeProxyOptions', locate: nodeLocation },
  pods: { word: 'pod', options: 'PodProxyOptions', locate: podLocation },
  services: { word: 'service', options: 'ServiceProxyOptions', locate: serviceLocation },
} as const;

/** The resources that requests are passed on to. */
export const isProxied = (resource: string): resource is keyof typeof kinds => resource in kinds;

const PATH = /^(.*?\/api\/v1\/(?:namespaces\/[^/]+\/)?(?:pods|services|nodes)\/[^/]+\/proxy)(\/.*)?$/;

/** Any request below `proxy` of a node, pod or service: passed on with its method, query and body. */
export async function serveProxy(ctx: RequestContext, resource: Resource): Promise<Response> {
  const { name: id, resource: plural } = ctx.info;
  if (!isProxied(plural)) throw new TypeError(`no proxy of ${plural}`);
  const kind = kinds[plural];
  const [, prefix = '', path = ''] = PATH.exec(ctx.url.pathname) ?? [];
  const options = { kind: kind.options, apiVersion: 'v1', metadata: {}, ...(path !== '' && { path }) };
  await admitConnect(ctx, resource, options as KubeObject);
  const target = parseTarget(id);
  if (target === undefined) throw badRequest(`invalid ${kind.word} request ${JSON.stringify(id)}`);
  const found = await kind.locate(ctx, target, id);
  const landed = ctx.longRunning(resource);
  return passOn(ctx, { ...found, path, prefix }).finally(landed);
}

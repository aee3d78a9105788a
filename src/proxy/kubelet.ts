import { builtinRow, lookUp } from '../admission/lookup.ts';
import { int, objectAt, objectsAt, text } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';
import type { RequestContext } from '../request/context.ts';
import { notFound, plainError } from '../status/status.ts';
import type { Location } from './backend.ts';
import { authorityOf } from './target.ts';

/** Kinds of addresses at which kubelets are called, the best first: upstream's default. */
const ADDRESS_TYPES = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'];
const DEFAULT_PORT = 10250;
const nodes = builtinRow('v1', 'nodes');

/** How a node's kubelet is reached. */
export interface Kubelet {
  host: string;
  port: string;
  /** Scheme and authority. */
  origin: string;
  peer: NonNullable<Location['peer']>;
}

/** A list of addresses as Go prints it. */
const shown = (node: KubeObject) =>
  objectsAt(objectAt(node, 'status'), 'addresses')
    .map(({ type, address }) => `{${text(type)} ${text(address)}}`)
    .join(' ');

/** The kubelet of a node. Throws 404 for a node that is not there, 500 for one without an address. */
export async function kubeletOf(ctx: RequestContext, name: string): Promise<Kubelet> {
  const node = await lookUp(ctx, nodes, '', name);
  if (node === undefined) throw notFound({ group: '', name: 'nodes' }, name);
  const status = objectAt(node, 'status');
  const addresses = objectsAt(status, 'addresses');
  const settings = ctx.config?.kubelet;
  const types = settings?.addressTypes ?? ADDRESS_TYPES;
  const best = types.flatMap((type) => addresses.filter((address) => address.type === type))[0];
  if (best === undefined) throw plainError(`no preferred addresses found; known addresses: [${shown(node)}]`);
  const host = text(best.address);
  const port = String(int(objectAt(objectAt(status, 'daemonEndpoints'), 'kubeletEndpoint').Port) || DEFAULT_PORT);
  const authority = settings?.authority ?? '';
  const peer = {
    ...(authority === '' ? { insecure: true } : { authority }),
    ...(settings?.identity && { identity: settings.identity }),
  };
  return { host, port, origin: `https://${authorityOf(host, port)}`, peer };
}

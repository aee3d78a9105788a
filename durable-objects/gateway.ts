import { WorkerEntrypoint } from 'cloudflare:workers';
import type { Bindings } from '../src/config.ts';
import { ownsReplica, parseReplicaUrl } from '../src/protocol/address.ts';

/**
 * The door of a replica process: what other processes of the same installation call. It leads only to replicas that this
 * process owns, since the runtime would create a second, empty one of any other. It has a socket of its own that
 * clients cannot reach.
 */
export class ReplicaGateway extends WorkerEntrypoint<Bindings> {
  override async fetch(request: Request): Promise<Response> {
    const address = parseReplicaUrl(request.url);
    if (address === undefined) return new Response('wrong address', { status: 421 });
    if (!ownsReplica(this.env, address.id)) return new Response('replica lives elsewhere', { status: 421 });
    return this.env.REPLICA!.getByName(address.name).fetch(request);
  }
}

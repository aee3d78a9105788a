import type { Bindings } from '../config.ts';

/** Name of a replica's Durable Object: a permanent id. */
export function replicaName(tenant: string, shard: string, id: number): string {
  return `${tenant}/${shard}/${id}`;
}

/**
 * The place in an installation that a replica belongs to, by its id alone: with three places 1, 4, 7 … belong to the
 * first. So a replica that takes another's place needs no new configuration: each process owns a place, not an id.
 */
export function slotOf(env: Bindings, id: number): number {
  const slots = Number(env.GUNWALE_REPLICA_SLOTS ?? 0);
  return slots > 0 ? ((id - 1) % slots) + 1 : id;
}

/** The lowest id above `highest` that belongs to a place; where there are no places, the next id. */
export function spareId(env: Bindings, highest: number, slot: number): number {
  const slots = Number(env.GUNWALE_REPLICA_SLOTS ?? 0);
  return slots > 0 ? highest + 1 + ((((slot - highest - 1) % slots) + slots) % slots) : highest + 1;
}

/** Whether this process owns a replica: all of them unless `GUNWALE_OWN_REPLICAS` lists some places. */
export function ownsReplica(env: Bindings, id: number): boolean {
  return env.REPLICA !== undefined && ownedSlots(env)?.includes(slotOf(env, id)) !== false;
}

function ownedSlots(env: Bindings): unknown[] | undefined {
  return env.GUNWALE_OWN_REPLICAS === undefined ? undefined : (JSON.parse(env.GUNWALE_OWN_REPLICAS) as unknown[]);
}

/** How to reach one replica. */
export interface ReplicaLink {
  /** Posts a body to an operation, `?query` included; rejects when the replica cannot be reached in time. */
  call(operation: string, body: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** Opens a WebSocket. */
  upgrade(operation: string, signal: AbortSignal): Promise<Response>;
}

/** What a replica's Durable Object offers within its process. */
export interface ReplicaCalls {
  call(operation: string, body: Uint8Array): Promise<Uint8Array>;
}

/**
 * The link to a replica: straight to its Durable Object where it lives in this process, else through the service that
 * leads to the gateway of the process that owns it. Throws TypeError when the configuration names neither.
 */
export function linkTo(env: Bindings, tenant: string, shard: string, id: number): ReplicaLink {
  const url = (operation: string) => `http://replica/${replicaName(tenant, shard, id)}/${operation}`;
  const own = ownsReplica(env, id) ? env.REPLICA!.getByName(replicaName(tenant, shard, id)) : undefined;
  const fetcher: Pick<Fetcher, 'fetch'> | undefined = own ?? env[`REPLICA_PROCESS_${slotOf(env, id)}`];
  if (fetcher === undefined) throw new TypeError(`no route to replica ${id}`);
  return {
    upgrade: (operation, signal) => fetcher.fetch(url(operation), { headers: { Upgrade: 'websocket' }, signal }),
    async call(operation, body, timeoutMs) {
      if (own !== undefined) return within(timeoutMs, (own as unknown as ReplicaCalls).call(operation, body));
      // Not AbortSignal.timeout: its timer runs on after the answer, and keeps the caller's object in memory.
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), timeoutMs);
      try {
        const response = await fetcher.fetch(url(operation), { method: 'POST', body, signal: abort.signal });
        const answer = new Uint8Array(await response.arrayBuffer());
        if (response.status !== 200) throw new Error(`replica ${id} answered with ${response.status}`);
        return answer;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timed out')), ms);
  });
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Takes a replica's URL apart; the operation keeps its query. Undefined for any other URL. */
export function parseReplicaUrl(url: string): { name: string; id: number; operation: string } | undefined {
  const match = /^https?:\/\/[^/]+\/([^/?]+\/[^/?]+\/(\d+))\/([a-z]+(?:\?.*)?)$/.exec(url);
  return match === null ? undefined : { name: match[1]!, id: Number(match[2]), operation: match[3]! };
}

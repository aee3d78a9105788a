import type { Bindings } from '../config.ts';
import { linkTo, ownsReplica, type ReplicaLink, slotOf, spareId } from '../protocol/address.ts';
import type { Members } from '../protocol/members.ts';
import { Feeds } from './feeds.ts';
import { found } from './founding.ts';
import type { Lines } from './in-turn.ts';
import { joinStep } from './join.ts';
import { askMembers } from './members.ts';
import type { ListReadings } from './shared-lists.ts';
import { type Floor, unknownFloor } from './side-shard.ts';
import type { Revision } from './types.ts';

/** What an isolate remembers of a shard. */
interface ShardMemory {
  /** The leader by the last answer; 0 when unknown. */
  leader: number;
  /** Highest revision that this isolate has been answered with: later reads of any replica do not go below it. */
  seen: Revision;
  /** ms by which the log's time is ahead of this isolate's clock, where that was found to matter. */
  ahead: number;
  /** Replicas that could not be reached, with the time in ms until which they are asked last. */
  avoid: Map<number, number>;
  /** Members by the word of a replica that had applied the log up to `as of`; the configuration's are only a first hint. */
  members: { ids: readonly number[]; asOf: number } | undefined;
  /** When to ask for the members again at the earliest. */
  learnAt: number;
  /** Changes that wait for each other, by the record's key; only those of requests under way. */
  lines: Lines;
  /** Lists that are being read; only by requests under way. */
  readings: ListReadings;
  /** Streams of events that watches under way share. */
  feeds: Feeds;
  /** What is known of the shard's policy floor, where it is not `main`. */
  floor: Floor;
}

const AVOID_MS = 10_000;
/** How often the members are asked for at most, and how long each may take to answer. */
const LEARN_MS = 2_000;
const LEARN_CALL_MS = 300;

/**
 * The isolate's only memory of shards, by tenant and shard. It is a hint about where to ask first and a floor for relaxed
 * reads, so losing it, or its being stale, costs a detour and never correctness.
 */
const shards = new Map<string, ShardMemory>();

/** Members and whereabouts of one shard. */
export interface Route {
  readonly tenant: string;
  readonly shard: string;
  /** Who votes, as far as known. */
  readonly members: readonly number[];
  readonly memory: ShardMemory;
  /** How to reach a member. Throws TypeError when the configuration does not say. */
  link(id: number): ReplicaLink;
  /** Makes the first members of a new shard out of empty objects, if it is new; false if that cannot be, or not yet. */
  join(): Promise<boolean>;
  /** Members in the order in which to ask for a relaxed read: those of this process first, lately unreachable ones last. */
  spread(now: number, random: () => number): number[];
  /** Notes that a replica could not be reached. */
  failed(id: number, now: number): void;
  /** Takes note of a membership, unless a newer one is known. */
  know(members: Members): void;
  /** Asks who the members are, not too often: a replica that was asked is gone, or is none (any more). */
  learn(now: number): Promise<void>;
  /** The place that a replica belongs to, and the lowest id above another that belongs to a place. */
  slotOf(id: number): number;
  spare(highest: number, slot: number): number;
}

/** Route to a tenant's shard whose first members the configuration lists. */
export function routeTo(env: Bindings, tenant: string, shard: string, members: readonly number[]): Route {
  const key = `${tenant}/${shard}`;
  const memory = shards.get(key) ?? newMemory();
  shards.set(key, memory);
  const link = (id: number) => linkTo(env, tenant, shard, id);
  const route: Route = {
    tenant,
    shard,
    get members() {
      return memory.members?.ids ?? members;
    },
    memory,
    link,
    know({ voters, votersOutgoing, applied }) {
      const ids = [...new Set([...voters, ...votersOutgoing])];
      if (ids.length > 0 && applied >= (memory.members?.asOf ?? 0)) memory.members = { ids, asOf: applied };
    },
    async learn(now) {
      if (now < memory.learnAt) return;
      memory.learnAt = now + LEARN_MS;
      const reachable = route.members.filter((id) => (memory.avoid.get(id) ?? 0) <= now);
      const asked = reachable.map(
        async (id) => (await askMembers(route, id, { action: 'show' }, LEARN_CALL_MS))?.members,
      );
      for (const known of await Promise.all(asked)) if (known !== undefined) route.know(known);
    },
    slotOf: (id) => slotOf(env, id),
    spare: (highest, slot) => spareId(env, highest, slot),
    async join() {
      const founding = await found(members, (id, step) => joinStep(link(id), { ...step, tenant, shard, id }));
      if (founding.type === 'lost') console.error('the disks of these replicas are lost', key, founding.ids.join(' '));
      return founding.type === 'founded';
    },
    spread(now, random) {
      const rank = (id: number) => ((memory.avoid.get(id) ?? 0) > now ? 2 : ownsReplica(env, id) ? 0 : 1);
      const order = route.members.map((id) => ({ id, rank: rank(id) + random() * 0.5 }));
      return order.sort((a, b) => a.rank - b.rank).map(({ id }) => id);
    },
    failed(id, now) {
      memory.avoid.set(id, now + AVOID_MS);
      if (memory.leader === id) memory.leader = 0;
    },
  };
  return route;
}

function newMemory(): ShardMemory {
  const [avoid, lines, readings] = [new Map(), new Map(), new Map()];
  return {
    leader: 0,
    seen: 0,
    ahead: 0,
    avoid,
    members: undefined,
    learnAt: 0,
    lines,
    readings,
    feeds: new Feeds(),
    floor: unknownFloor(),
  };
}

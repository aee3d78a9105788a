import { describe, expect, it } from 'vitest';
import { Client } from '../../src/keyspace/client.ts';
import { Feeds } from '../../src/keyspace/feeds.ts';
import type { Route } from '../../src/keyspace/route.ts';
import { unknownFloor } from '../../src/keyspace/side-shard.ts';
import {
  CompactedError,
  FutureRevisionError,
  OutcomeUnknownError,
  OverloadedError,
  TooLargeError,
  UnavailableError,
} from '../../src/keyspace/types.ts';
import { PROPOSAL_ID_LENGTH, stampOf } from '../../src/protocol/commands.ts';
import { encodeFailure, encodeGetAnswer, encodeProposeAnswer } from '../../src/protocol/messages.ts';

type Reply = (operation: string, body: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** A client of replicas 1 to 3 that are functions; `calls` notes who was asked what. Time passes in sleeps only. */
function clientOf(replicas: Record<number, Reply>) {
  const calls: string[] = [];
  const bodies: Uint8Array[] = [];
  let now = 0;
  const memory = {
    leader: 0,
    seen: 0,
    ahead: 0,
    avoid: new Map<number, number>(),
    lines: new Map(),
    members: undefined,
    learnAt: 0,
    readings: new Map(),
    feeds: new Feeds(),
    floor: unknownFloor(),
  };
  const route: Route = {
    tenant: 't',
    shard: 'main',
    members: [1, 2, 3],
    memory,
    know: () => undefined,
    learn: async () => undefined,
    slotOf: (id) => id,
    spare: (highest) => highest + 1,
    link: (id) => ({
      upgrade: () => Promise.reject(new Error('no sockets here')),
      async call(operation, body) {
        calls.push(`${id} ${operation}`);
        bodies.push(body);
        return replicas[id]!(operation, body);
      },
    }),
    join: async () => {
      calls.push('join');
      return true;
    },
    spread: () => [1, 2, 3],
    failed: (id) => {
      if (memory.leader === id) memory.leader = 0;
    },
  };
  const sleep = async (ms: number) => {
    now += ms;
  };
  return { client: new Client(route, { now: () => now, random: () => 0.5, sleep }), calls, bodies, memory };
}

const down: Reply = () => Promise.reject(new Error('connection refused'));
const found: Reply = () => encodeGetAnswer(2, 7, 3, []);
const done: Reply = () => encodeProposeAnswer(2, 3, { type: 'done', revisions: [8], previous: [undefined] });
const follows = (leader: number): Reply => {
  return () => encodeFailure('notLeader', leader);
};
const fails = (status: Parameters<typeof encodeFailure>[0]): Reply => {
  return () => encodeFailure(status, 1, 5);
};
const batch = { conditions: [], operations: [{ type: 'delete' as const, key: '/registry/pods/n/a' }] };

describe('keyspace client', () => {
  it('follows the hint to the leader and remembers it', async () => {
    const { client, calls, memory } = clientOf({ 1: follows(2), 2: done, 3: down });
    expect(await client.propose(batch)).toMatchObject({ ok: true, revisions: [8], policyRevision: 3 });
    await client.propose(batch);
    expect(calls).toEqual(['1 propose', '2 propose', '2 propose']);
    expect(memory).toMatchObject({ leader: 2, seen: 8 });
  });

  it('asks the others when a replica is gone and says whom it suspects', async () => {
    const { client, calls } = clientOf({ 1: down, 2: found, 3: found });
    expect(await client.get([], { type: 'linearizable' })).toMatchObject({ revision: 7 });
    expect(calls).toEqual(['1 get', '2 get?suspect=1']);
  });

  it('repeats a proposal under the same id only', async () => {
    const { client, bodies } = clientOf({ 1: down, 2: follows(0), 3: done });
    await client.propose(batch);
    await client.propose(batch);
    const ids = bodies.map((body) => String(body.subarray(0, PROPOSAL_ID_LENGTH)));
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect(ids.at(-1)).not.toBe(ids[0]);
  });

  it('takes the time of the log when its own clock is far off, and says so when an attempt may have counted', async () => {
    const time = 9_000_000;
    const expired: Reply = () => encodeProposeAnswer(1, 3, { type: 'expired', time });
    let asked = 0;
    const late: Reply = (...call) => (asked++ === 0 ? expired : done)(...call);
    const { client, bodies } = clientOf({ 1: late, 2: down, 3: down });
    expect(await client.propose(batch)).toMatchObject({ ok: true });
    const stamps = bodies.map((body) => stampOf(String.fromCharCode(...body.subarray(0, PROPOSAL_ID_LENGTH))));
    expect(stamps[0]).toBeLessThan(time);
    expect(stamps[1]).toBe(time);
    const lost = clientOf({ 1: down, 2: expired, 3: expired });
    await expect(lost.client.propose(batch)).rejects.toThrow(OutcomeUnknownError);
    const moving = clientOf({ 1: expired, 2: expired, 3: expired });
    await expect(moving.client.propose(batch)).rejects.toThrow(UnavailableError);
  });

  it('makes replicas of empty objects and asks again', async () => {
    let asked = 0;
    const empty: Reply = (...call) => (asked++ === 0 ? encodeFailure('notReplica', 0) : found(...call));
    const { client, calls } = clientOf({ 1: empty, 2: down, 3: down });
    await client.get([], { type: 'linearizable' });
    expect(calls).toEqual(['1 get', 'join', '1 get']);
  });

  it('tells an unknown outcome from a proposal that was never made', async () => {
    const lost = clientOf({ 1: down, 2: down, 3: down });
    await expect(lost.client.propose(batch)).rejects.toThrow(OutcomeUnknownError);
    await expect(lost.client.get([], { type: 'leader' })).rejects.toThrow(UnavailableError);
    const leaderless = clientOf({ 1: follows(0), 2: follows(0), 3: follows(0) });
    await expect(leaderless.client.propose(batch)).rejects.toThrow(UnavailableError);
  });

  it('turns refusals into errors', async () => {
    const read = (status: Parameters<typeof encodeFailure>[0]) => {
      return clientOf({ 1: fails(status), 2: down, 3: down }).client.get([], { type: 'exact', revision: 9 });
    };
    await expect(read('compacted')).rejects.toThrow(CompactedError);
    await expect(read('future')).rejects.toThrow(FutureRevisionError);
    await expect(read('overloaded')).rejects.toThrow(OverloadedError);
    await expect(read('tooLarge')).rejects.toThrow(TooLargeError);
    const { client } = clientOf({ 1: done, 2: done, 3: done });
    const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 0, resourceVersionAt: 0 };
    const meta = { labels: {}, fields: {}, terms: [], tag };
    const big = { type: 'put' as const, key: '/registry/pods/n/a', value: new Uint8Array((3 << 20) + 1), meta };
    await expect(client.propose({ conditions: [], operations: [big] })).rejects.toThrow(TooLargeError);
  });

  it('never reads below what it was answered with', async () => {
    const { client, bodies } = clientOf({ 1: found, 2: found, 3: found });
    await client.get([], { type: 'any' });
    await client.get([], { type: 'any' });
    expect(bodies[1]).not.toEqual(bodies[0]);
    expect(new DataView(bodies[1]!.buffer, bodies[1]!.byteOffset + 1, 8).getFloat64(0)).toBe(7);
  });
});

import { describe, expect, it } from 'vitest';
import { IdentityStore } from '../../durable-objects/replica/identity.ts';
import { OPERATIONS } from '../../durable-objects/replica/operations.ts';
import { Refusal } from '../../durable-objects/replica/refusal.ts';
import { migrate } from '../../durable-objects/replica/sql.ts';
import { MembershipError, ShardMembers } from '../../src/keyspace/members.ts';
import { type Route, routeTo } from '../../src/keyspace/route.ts';
import type { JoinRequest } from '../../src/protocol/join.ts';
import { answerWriter, encodeFailure } from '../../src/protocol/messages.ts';
import { migrations } from '../support/sqlite.ts';
import { Group } from './support/group.ts';

let shards = 0;

/** What a Worker has before a group: a route whose links lead to the group's drivers, empty disks included. */
function routeOf(group: Group): Route {
  const route = routeTo({ GUNWALE_CONFIG: '', GUNWALE_REPLICA_SLOTS: '3' }, `t${++shards}`, 'main', [1, 2, 3]);
  const link: Route['link'] = (id) => ({
    upgrade: () => Promise.reject(new Error('no sockets here')),
    async call(operation, body) {
      if (group.cut.has(id)) throw new Error('not reachable');
      if (operation === 'join') return join(group, JSON.parse(new TextDecoder().decode(body)) as JoinRequest);
      const driver = group.members.get(id)?.driver;
      if (driver === undefined) return encodeFailure('notReplica', 0);
      try {
        return (await OPERATIONS.get(operation)!(driver, body, 0)).slice();
      } catch (error) {
        if (error instanceof Refusal) return encodeFailure(error.status, driver.leader);
        throw error;
      }
    },
  });
  return Object.defineProperty(route, 'link', { value: link });
}

function join(group: Group, request: JoinRequest): Uint8Array {
  const { sql } = group.disk(request.id);
  const identity = new IdentityStore(sql).join(
    request,
    () => migrate(sql, migrations()),
    () => `token of ${request.id}`,
  );
  if (identity?.state === 'started' && group.member(request.id).driver === undefined) group.start(request.id);
  if (identity?.state === 'retired') group.stop(request.id);
  return answerWriter(0)
    .raw(new TextEncoder().encode(JSON.stringify(identity ?? null)))
    .finish();
}

/** The operator, to whom time passes as the group's does. */
function operator(group: Group): { members: ShardMembers; route: Route; run<T>(work: Promise<T>): Promise<T> } {
  const route = routeOf(group);
  const sleep = async (ms: number) => {
    const until = group.now + ms;
    while (group.now < until) await new Promise((resolve) => setImmediate(resolve));
  };
  const members = new ShardMembers(route, { now: () => group.now, random: () => 0.5, sleep });
  return {
    members,
    route,
    async run(work) {
      let over = false;
      const ended = work.finally(() => {
        over = true;
      });
      ended.catch(() => undefined);
      while (!over) await group.pass(10);
      return ended;
    },
  };
}

const MINUTE = 60_000;

describe('replacing a replica', { timeout: 60_000 }, () => {
  it('that is gone for good: the new one has all data, and then a second failure is survived', async () => {
    const group = new Group([1, 2, 3]);
    await group.elect();
    for (let n = 0; n < 20; n++) await group.put(`/registry/a/${n}`, 100_000);
    const leader = group.leader!.status().id;
    const gone = leader === 2 ? 3 : 2;
    group.stop(gone);
    group.cut.add(gone);
    const { members, run, route } = operator(group);
    const replaced = await run(members.replace(gone, group.now + MINUTE));
    expect(replaced).toMatchObject({ done: true, id: gone + 3 });
    expect(replaced.members.voters).toEqual([1, 2, 3, gone + 3].filter((id) => id !== gone));
    expect(route.members).toEqual(replaced.members.voters);
    const other = [1, 2, 3].find((id) => id !== leader && id !== gone)!;
    group.stop(other);
    expect(await group.put('/registry/a/last')).toBe('done');
    await group.until(() => group.keys(gone + 3).includes('/registry/a/last'));
    expect(group.keys(gone + 3)).toHaveLength(21);
  });

  it('that leads hands leadership over first, and falls silent afterwards', async () => {
    const group = new Group([1, 2, 3]);
    const leader = (await group.elect()).status().id;
    for (const id of [1, 2, 3]) {
      group
        .member(id)
        .sql.exec("INSERT INTO identity (one, tenant, shard, id, token) VALUES (1, 't', 'main', ?, 'first')", id);
    }
    const { members, run } = operator(group);
    expect(await run(members.replace(leader, group.now + MINUTE))).toMatchObject({ done: true, id: leader + 3 });
    expect(group.member(leader).driver).toBeUndefined();
    expect((await group.elect()).status().id).not.toBe(leader);
    expect(await group.put('/registry/a/x')).toBe('done');
  });

  it('goes on while writes do, through the state when the log does not reach back', async () => {
    const group = new Group([1, 2, 3]);
    await group.elect();
    for (let n = 0; n < 12; n++) await group.put(`/registry/a/${n}`, 900_000);
    await group.pass(6_000);
    await group.until(() => (group.leader?.status().firstIndex ?? 0) > 1);
    const gone = group.leader!.status().id === 2 ? 3 : 2;
    group.stop(gone);
    group.cut.add(gone);
    const { members, run } = operator(group);
    const work = run(members.replace(gone, group.now + MINUTE));
    for (let n = 0; n < 40; n++) expect(await group.put(`/registry/b/${n}`, 10)).toBe('done');
    expect(await work).toMatchObject({ done: true });
    expect(group.member(gone + 3).chunks).toBeGreaterThan(5);
    await group.until(() => group.keys(gone + 3).length === 52);
  });

  it('can be repeated and goes on where it stopped; ids are never used again', async () => {
    const group = new Group([1, 2, 3]);
    await group.elect();
    group.stop(3);
    group.cut.add(3);
    const { members, run } = operator(group);
    const voters = () => group.leader?.status().membership.voters;
    if (voters() === undefined) await group.elect();
    for (let tries = 0; tries < 50; tries++) {
      const { done } = await run(members.replace(3, group.now + 100));
      if (done) break;
    }
    expect(voters()).toEqual([1, 2, 6]);
    expect(await run(members.replace(3, group.now + MINUTE))).toMatchObject({ done: true });
    await expect(run(members.replace(9, group.now + MINUTE))).rejects.toThrow(MembershipError);
    expect(await run(members.replace(6, group.now + MINUTE))).toMatchObject({ done: true, id: 9 });
    expect(voters()).toEqual([1, 2, 9]);
    expect(group.leader!.status().highestId).toBe(9);
  });

  it('is refused for a group of which no quorum is left', async () => {
    const group = new Group([1, 2, 3]);
    await group.elect();
    for (const id of [2, 3]) {
      group.stop(id);
      group.cut.add(id);
    }
    await group.pass(5_000);
    const { members, run } = operator(group);
    await expect(run(members.replace(3, group.now + 3_000))).rejects.toThrow('no leader');
  });
});

describe('leadership', { timeout: 60_000 }, () => {
  it('is handed to the voter that is asked for, and to nobody else', async () => {
    const group = new Group([1, 2, 3]);
    const leader = (await group.elect()).status().id;
    const next = (leader % 3) + 1;
    const { members, run } = operator(group);
    expect((await run(members.transfer(next, group.now + MINUTE))).leader).toBe(next);
    expect(group.driver(next).isLeader).toBe(true);
    expect(await group.put('/registry/a/x')).toBe('done');
    await expect(run(members.transfer(7, group.now + MINUTE))).rejects.toThrow('no voter');
  });
});

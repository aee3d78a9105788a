import { describe, expect, it } from 'vitest';
import type { Driver } from '../../durable-objects/replica/driver.ts';
import type { Refusal } from '../../durable-objects/replica/refusal.ts';
import { Group } from './support/group.ts';

/** A group whose leader reaches nobody, so that nothing commits and all that is asked of it waits. */
async function alone(): Promise<{ group: Group; leader: Driver; others: number[] }> {
  const group = new Group([1, 2, 3]);
  const leader = await group.elect();
  await group.put('/registry/a/first');
  const others = [1, 2, 3].filter((id) => id !== leader.status().id);
  for (const id of others) group.stop(id);
  return { group, leader, others };
}

/** How often each outcome came, those refused by status; what waits still is counted as `waiting`. */
function tally(work: readonly Promise<unknown>[]): Map<string, number> {
  const counts = new Map([['waiting', work.length]]);
  const count = (name: string) => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    counts.set('waiting', counts.get('waiting')! - 1);
  };
  for (const each of work) {
    each.then(
      (outcome) => count((outcome as { type: string } | undefined)?.type ?? 'done'),
      (refusal: Refusal) => count(refusal.status),
    );
  }
  return counts;
}

describe('queues are bounded', { timeout: 60_000 }, () => {
  it('proposals beyond their number are refused and never get into the log; the others commit later', async () => {
    const { group, leader, others } = await alone();
    const before = leader.status().lastIndex;
    const counts = tally(
      Array.from({ length: 5_000 }, (_, n) => leader.propose(group.proposal(`/registry/b/${n}`), 0)),
    );
    await group.pass(1);
    expect(counts.get('overloaded')).toBe(5_000 - 4_096);
    expect(counts.get('waiting')).toBe(4_096);
    expect(leader.status().lastIndex - before).toBe(4_096);
    for (const id of others) group.start(id);
    await group.until(() => counts.get('waiting') === 0);
    expect(counts.get('done')).toBe(4_096);
    expect(group.keys(leader.status().id).filter((key) => key.startsWith('/registry/b/'))).toHaveLength(4_096);
    expect(await group.put('/registry/c/more')).toBe('done');
  });

  it('proposals beyond 16 MiB that wait for their commit are refused', async () => {
    const { group, leader } = await alone();
    const counts = tally(Array.from({ length: 10 }, (_, n) => leader.propose(group.proposal(`/b/${n}`, 3 << 20), 0)));
    await group.pass(1);
    expect([counts.get('waiting'), counts.get('overloaded')]).toEqual([5, 5]);
  });

  it('reads beyond their number are refused; those that wait are let go when the leader steps down', async () => {
    const { group, leader } = await alone();
    const reads = Array.from({ length: 20_100 }, () => leader.reading.readable({ type: 'linearizable' }, 0));
    const counts = tally(reads);
    await group.pass(1);
    expect(counts.get('overloaded')).toBe(100);
    await group.until(() => counts.get('waiting') === 0);
    expect(counts.get('unavailable')).toBe(20_000);
  });

  it('waits for a revision to come are refused beyond their number, and end by themselves', async () => {
    const group = new Group([1]);
    const leader = await group.elect();
    const counts = tally(Array.from({ length: 20_100 }, () => leader.reading.reached(1_000)));
    await group.pass(1);
    expect(counts.get('overloaded')).toBe(100);
    await group.until(() => counts.get('waiting') === 0);
    expect(counts.get('future')).toBe(20_000);
  });

  it('requests that wait for a leader are refused beyond their number, and given up before long', async () => {
    const { group, leader, others } = await alone();
    group.stop(leader.status().id);
    group.start(others[0]!);
    const lonely = group.driver(others[0]!);
    const counts = tally(Array.from({ length: 10_100 }, () => lonely.reading.readable({ type: 'linearizable' }, 0)));
    await group.pass(1);
    expect(counts.get('overloaded')).toBe(100);
    await group.until(() => counts.get('waiting') === 0);
    expect(counts.get('unavailable')).toBe(10_000);
  });
});

describe('a proposal that cannot be stored', () => {
  it('is refused before it is in the log: too large, or no proposal at all', async () => {
    const group = new Group([1, 2, 3]);
    const leader = await group.elect();
    const before = leader.status().lastIndex;
    const refused = async (payload: Uint8Array) =>
      leader.propose(payload, 0).catch((refusal: Refusal) => refusal.status);
    expect(await refused(group.proposal('/registry/a/x', 13 << 20))).toBe('tooLarge');
    expect(await refused(new Uint8Array([1, 2, 3]))).toBe('malformed');
    expect(await refused(new Uint8Array(0))).toBe('malformed');
    expect(leader.status().lastIndex).toBe(before);
    expect(await group.put('/registry/a/y', 3 << 20)).toBe('done');
  });
});

describe('an idle group', () => {
  it('has nothing pending once it is quiet: no timer, at no replica', async () => {
    const group = new Group([1, 2, 3]);
    await group.elect();
    for (let n = 0; n < 20; n++) await group.put(`/registry/a/${n}`);
    await group.until(() => [1, 2, 3].every((id) => group.driver(id).asleep));
    expect([1, 2, 3].map((id) => group.member(id).timer)).toEqual([undefined, undefined, undefined]);
    expect([1, 2, 3].map((id) => group.driver(id).state.unflushed)).toEqual([false, false, false]);
  });

  it('that is woken for its history drops the log with it, also when a member answers late', async () => {
    const group = new Group([1, 2, 3]);
    await group.elect();
    for (let n = 0; n < 5; n++) await group.put(`/registry/a/${n}`);
    await group.until(() => [1, 2, 3].every((id) => group.driver(id).asleep));
    for (const id of [1, 2, 3]) group.stop(id);
    group.now += 400_000;
    for (const id of [1, 2, 3]) group.start(id);
    group.cut.add(3);
    group
      .driver(1)
      .wake()
      .catch(() => undefined);
    await group.until(() => group.driver(1).isLeader);
    await group.pass(50);
    group.cut.delete(3);
    await group.until(() => [1, 2, 3].every((id) => group.driver(id).asleep));
    const { compacted, revision } = group.driver(1).state.scalars;
    expect(compacted).toBe(revision);
    const kept = [1, 2, 3].map((id) => group.driver(id).status().firstIndex - group.driver(id).state.scalars.logFloor);
    expect(kept).toEqual([1, 1, 1]);
    expect(group.driver(3).status().firstIndex).toBeGreaterThan(6);
  });
});

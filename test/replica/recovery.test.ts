import { describe, expect, it } from 'vitest';
import { Group } from './support/group.ts';

/** Writes until the leader has dropped the log that a replica which is away would need. */
async function outrun(group: Group, away: number): Promise<void> {
  const { lastIndex } = group.leader!.status();
  for (let n = 0; group.leader!.status().firstIndex <= lastIndex + 1; n++) {
    if (n > 200) throw new Error('the log was never shortened');
    expect(await group.put(`/registry/a/${n % 10}`, 900_000)).toBe('done');
    if (n % 5 === 4) await group.pass(6_000);
  }
  expect(group.members.get(away)!.driver).toBeUndefined();
}

describe('a replica that was away for long', { timeout: 60_000 }, () => {
  it('is given the state in chunks, then the log, and counts again', async () => {
    const group = new Group([1, 2, 3]);
    const leader = await group.elect();
    await group.put('/registry/a/first');
    const away = leader.status().id === 3 ? 2 : 3;
    group.stop(away);
    await outrun(group, away);
    group.start(away);
    await group.until(() => group.driver(away).status().commit === group.leader!.status().commit);
    expect(group.member(away).chunks).toBeGreaterThan(10);
    expect(group.keys(away)).toEqual(group.keys(leader.status().id));
    // The other follower fails: the one that came back makes the quorum.
    group.stop([1, 2, 3].find((id) => id !== away && id !== leader.status().id)!);
    expect(await group.put('/registry/a/last')).toBe('done');
    await group.until(() => group.keys(away).includes('/registry/a/last'));
    group.stop(away);
    group.start(away);
    expect(group.keys(away)).toContain('/registry/a/last');
  });

  it('asks again for chunks that are damaged, and goes on where it stopped after a crash', async () => {
    const group = new Group([1, 2, 3]);
    const leader = await group.elect();
    await group.put('/registry/a/first');
    const away = leader.status().id === 3 ? 2 : 3;
    group.stop(away);
    await outrun(group, away);
    let sent = 0;
    group.tamper = (chunk) => {
      if (++sent % 3 === 0) chunk[chunk.length - 1]! ^= 1;
      return chunk;
    };
    group.start(away);
    await group.until(() => group.member(away).chunks >= 10);
    group.stop(away);
    const before = group.member(away).chunks;
    group.start(away);
    await group.until(() => group.driver(away).status().commit === group.leader!.status().commit);
    expect(group.keys(away)).toEqual(group.keys(leader.status().id));
    expect(group.member(away).chunks - before).toBeLessThan(sent);
    expect(group.member(away).failure).toBeUndefined();
  });

  it('makes the leader keep the log from the state on until it has caught up', async () => {
    const group = new Group([1, 2, 3]);
    const leader = await group.elect();
    await group.put('/registry/a/first');
    const away = leader.status().id === 3 ? 2 : 3;
    group.stop(away);
    await outrun(group, away);
    group.start(away);
    await group.until(() => group.member(away).chunks >= 3);
    const pinned = leader.transfer.floor;
    group.cut.add(away);
    for (let n = 0; n < 12; n++) await group.put(`/registry/b/${n}`, 900_000);
    await group.pass(6_000);
    expect(leader.transfer.floor).toBe(pinned);
    expect(leader.status().firstIndex).toBeLessThanOrEqual(pinned + 1);
    group.cut.delete(away);
    await group.until(() => group.driver(away).status().commit === group.leader!.status().commit);
    expect(group.keys(away)).toEqual(group.keys(leader.status().id));
    await group.pass(6_000);
    expect(leader.transfer.floor).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('a full disk', { timeout: 60_000 }, () => {
  it('makes a leader stop without losing what it acknowledged; a write under way has an unknown outcome', async () => {
    const group = new Group([1, 2, 3]);
    const leader = (await group.elect()).status().id;
    expect(await group.put('/registry/a/before')).toBe('done');
    group.member(leader).diskFull = true;
    expect(await group.put('/registry/a/during')).toBe('unknown');
    expect(String(group.member(leader).failure)).toContain('full');
    const next = (await group.elect()).status().id;
    expect(next).not.toBe(leader);
    expect(await group.put('/registry/a/after')).toBe('done');
    group.member(leader).diskFull = false;
    group.start(leader);
    await group.until(() => group.keys(leader).includes('/registry/a/after'));
    expect(group.keys(leader)).toContain('/registry/a/before');
    expect(group.keys(leader)).toEqual(group.keys(next));
  });

  it('makes a follower stop; the others go on', async () => {
    const group = new Group([1, 2, 3]);
    const leader = (await group.elect()).status().id;
    const follower = leader === 3 ? 2 : 3;
    group.member(follower).diskFull = true;
    expect(await group.put('/registry/a/during')).toBe('done');
    await group.until(() => group.member(follower).failure !== undefined);
    expect(await group.put('/registry/a/after')).toBe('done');
  });
});

describe('a restart', () => {
  it('finds what was committed without hearing of it again', async () => {
    const group = new Group([1]);
    await group.elect();
    for (let n = 0; n < 5; n++) await group.put(`/registry/a/${n}`);
    const { commit } = group.driver(1).status();
    group.stop(1);
    group.cut.add(1);
    group.start(1);
    expect(group.driver(1).status().commit).toBeGreaterThanOrEqual(commit - 1);
  });
});

import { describe, expect, it } from 'vitest';
import { DamagedError } from '../../durable-objects/replica/damage.ts';
import { OPERATIONS } from '../../durable-objects/replica/operations.ts';
import { decodeReport, encodeReport } from '../../durable-objects/replica/reports.ts';
import { decodeCommand, encodeEntry, FORMAT, type Format, KIND } from '../../src/protocol/commands.ts';
import { decodeAnswer } from '../../src/protocol/messages.ts';
import { Group, putBatch } from './group.ts';

const OLD = FORMAT;
/** The next version of the code: its entries are of a level that the present one does not know. */
const NEW: Format = {
  level: OLD.level + 1,
  decode(entry) {
    if (entry[0]! > NEW.level) throw new RangeError('unknown level');
    const known = entry.slice();
    known[0] = Math.min(entry[0]!, OLD.level);
    return decodeCommand(known);
  },
};
const IDS = [1, 2, 3];

async function write(group: Group, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await group.put(`/registry/pods/n/${i % 7}`);
}

function levels(group: Group): number[] {
  return IDS.map((id) => group.members.get(id)!.driver.state.scalars.level);
}

describe('a group of mixed versions', () => {
  it('keeps to what all members know, and goes on once all have the new code', async () => {
    const group = new Group(IDS, (id) => (id === 3 ? OLD : NEW));
    await write(group, 5);
    await group.pass(12_000);
    expect(levels(group)).toEqual([OLD.level, OLD.level, OLD.level]);
    group.start(3, NEW);
    await write(group, 5);
    await group.pass(12_000);
    expect(levels(group)).toEqual([NEW.level, NEW.level, NEW.level]);
    await write(group, 5);
  });

  it('can go back to the old code before it has gone on', async () => {
    const group = new Group(IDS, () => OLD);
    await write(group, 3);
    group.start(1, NEW);
    await write(group, 3);
    group.start(1, OLD);
    await write(group, 3);
    expect(group.members.size).toBe(3);
  });

  it('stops a replica that goes back later, without harm to its disk', async () => {
    const group = new Group(IDS, () => NEW);
    await write(group, 3);
    await group.pass(12_000);
    expect(levels(group)).toEqual([NEW.level, NEW.level, NEW.level]);
    expect(() => group.start(2, OLD)).toThrow(RangeError);
    await write(group, 3);
    group.start(2, NEW);
    await group.pass(2_000);
    expect(group.members.get(2)!.driver.state.scalars.applied).toBe((await group.leader()).state.scalars.applied);
  });

  it('stops an old replica at the first entry that it does not know', async () => {
    const group = new Group(IDS, () => OLD);
    await write(group, 3);
    const { state } = group.members.get(3)!.driver;
    const { applied } = state.scalars;
    const entry = encodeEntry(KIND.expire, 1, new Uint8Array([0]), NEW.level);
    expect(() => state.apply(applied + 1, entry)).toThrow(RangeError);
    expect(state.scalars.applied).toBe(applied);
  });

  it('refuses a proposal that its level does not know before it is in the log', async () => {
    const group = new Group(IDS, () => OLD);
    await write(group, 1);
    const leader = await group.leader();
    const { lastIndex } = leader.status();
    await expect(leader.propose(new Uint8Array([9, 9, 9]), 0)).rejects.toMatchObject({ status: 'malformed' });
    expect(leader.status().lastIndex).toBe(lastIndex);
    expect(() => decodeCommand(encodeEntry(KIND.level, 1, new Uint8Array([3]), 1))).toThrow(RangeError);
    expect(() => decodeCommand(encodeEntry(77, 1, new Uint8Array([3])))).toThrow(RangeError);
  });

  it('reads reports that later versions have added to', () => {
    const report = { level: 4, checkpoint: { index: 32, digest: 77 }, confirmed: { index: 16, digest: 4_000_000_000 } };
    expect(decodeReport(encodeReport(report))).toEqual(report);
    expect(decodeReport(new Uint8Array([...encodeReport(report), 5, 6]))).toEqual(report);
    const first = { level: 2, checkpoint: undefined, confirmed: undefined };
    expect(decodeReport(encodeReport(first))).toEqual(first);
  });
});

describe('replicas that compare their states', () => {
  it('agree, and the leader has it confirmed', async () => {
    const group = new Group(IDS);
    await write(group, 40);
    const leader = await group.leader();
    expect(leader.report().confirmed).toEqual(leader.report().checkpoint);
    expect(leader.report().checkpoint!.index).toBeGreaterThan(30);
  });

  it.each(['a follower', 'the leader'])('stop the one that differs from the majority: %s', async (who) => {
    const group = new Group(IDS);
    await write(group, 20);
    const leader = (await group.leader()).status().id;
    const wrong = who === 'the leader' ? leader : IDS.find((id) => id !== leader)!;
    const member = group.members.get(wrong)!;
    const { driver } = member;
    driver.state.flush();
    group.disks.get(wrong)!.exec('UPDATE scalars SET digest = digest + 1, checksum = NULL');
    group.start(wrong);
    await write(group, 20);
    for (let i = 0; i < 40 && group.members.has(wrong); i++) {
      await write(group, 5);
      for (const id of IDS) if (id !== wrong && !group.members.has(id)) group.start(id);
    }
    expect(group.members.has(wrong)).toBe(false);
    expect(group.failures.get(wrong)).toBeInstanceOf(DamagedError);
    expect(group.failures.get(wrong)).toMatchObject({ place: 'state' });
    await write(group, 3);
  });
});

describe('a follower asked to propose by a Worker that could not reach the leader', () => {
  const forward = async (group: Group, suspect: number) => {
    const leader = (await group.leader()).status().id;
    const follower = group.members.get(IDS.find((id) => id !== leader)!)!.driver;
    const body = group.encode(putBatch('/registry/pods/n/forwarded'));
    const answer = OPERATIONS.get('propose')!(follower, body, suspect || leader);
    return { leader, answer };
  };

  it('passes the proposal on and answers as the leader does', async () => {
    const group = new Group(IDS);
    await write(group, 1);
    const { leader, answer } = await forward(group, 0);
    await group.pass(50);
    expect(decodeAnswer(await answer)).toMatchObject({ status: 'ok', leader });
    for (const { driver } of group.members.values())
      expect(driver.state.get('/registry/pods/n/forwarded')).toBeDefined();
  });

  it('says that the outcome is unknown when the leader does not answer it either', async () => {
    const group = new Group(IDS);
    await write(group, 1);
    group.members.delete((await group.leader()).status().id);
    const follower = [...group.members.values()][0]!.driver;
    const answer = OPERATIONS.get('propose')!(follower, group.encode(putBatch('/k')), follower.leader);
    await expect(answer).rejects.toMatchObject({ status: 'unknown' });
  });

  it('does not pass on what is meant for a leader that it does not follow', async () => {
    const group = new Group(IDS);
    await write(group, 1);
    const { answer } = await forward(group, 9);
    await expect(answer).rejects.toMatchObject({ status: 'notLeader' });
  });
});

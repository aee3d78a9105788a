import { describe, expect, test } from 'vitest';
import { InvariantError } from '../../durable-objects/raft/invariant.ts';
import { initialMembership } from '../../durable-objects/raft/membership.ts';
import { RawNode } from '../../durable-objects/raft/node.ts';
import type { Config, Entry, Message, Ready } from '../../durable-objects/raft/types.ts';
import { MemoryStorage } from './support/memory-storage.ts';

function create(config: Partial<Config> = {}, voters = [1, 2, 3]): { node: RawNode; storage: MemoryStorage } {
  const storage = new MemoryStorage(initialMembership(voters));
  return { node: new RawNode({ id: 1, storage, random: () => 0, now: 0, ...config }), storage };
}

function entry(index: number, term: number): Entry {
  return { index, term, type: 'normal', data: new Uint8Array([index]) };
}

function append(fields: Partial<Extract<Message, { type: 'append' }>>): Message {
  const empty = { prevIndex: 0, prevTerm: 0, entries: [], commit: 0, pipelined: false };
  return { type: 'append', from: 2, to: 1, term: 1, ...empty, ...fields };
}

function carryOut(node: RawNode, storage: MemoryStorage): Ready {
  const ready = node.ready();
  storage.persist(ready);
  node.advance(ready);
  return ready;
}

describe('the contract of Ready', () => {
  test('one at a time, acknowledged once', () => {
    const { node } = create();
    node.campaign(0);
    const ready = node.ready();
    expect(node.hasReady()).toBe(false);
    expect(() => node.ready()).toThrow(InvariantError);
    expect(() => node.advance({ ...ready })).toThrow('advance without its Ready');
    node.advance(ready);
    expect(() => node.advance(ready)).toThrow(InvariantError);
  });

  test('a state is not installed while a Ready is out', () => {
    const { node } = create();
    node.campaign(0);
    node.ready();
    const snapshot = { index: 9, term: 1, membership: initialMembership([1, 2, 3]) };
    expect(() => node.restore(snapshot, 0)).toThrow(InvariantError);
  });

  test('committed entries come in portions without a gap', () => {
    const { node, storage } = create({ maxApplyBytes: 2 });
    node.step(append({ entries: [1, 2, 3, 4, 5].map((index) => entry(index, 1)), commit: 5 }), 0);
    const applied: number[] = [];
    while (node.hasReady()) applied.push(carryOut(node, storage).committedEntries.length);
    expect(applied).toEqual([2, 2, 1]);
  });
});

describe('configuration', () => {
  const cases: [Partial<Config>, string][] = [
    [{ id: 0 }, 'raft: id must be a positive integer'],
    [{ now: Number.NaN }, 'raft: now must be a finite number'],
    [{ electionTimeoutMs: 100 }, 'raft: electionTimeoutMs must exceed heartbeatIntervalMs'],
    [{ maxInflightBytes: 1 }, 'raft: maxInflightBytes must not be below maxAppendBytes'],
  ];
  test.each(cases)('%j is refused', (config, message) => {
    expect(() => create(config)).toThrow(new RangeError(message));
  });

  test('an undefined value means the default', () => {
    expect(create({ electionTimeoutMs: undefined }).node.nextDeadline()).toBe(1000);
  });
});

describe('a follower', () => {
  test('commits no further than its log is known to equal the leader’s (Raft §5.3)', () => {
    const { node, storage } = create();
    node.step(append({ entries: [entry(1, 1), entry(2, 1), entry(3, 1)] }), 0);
    carryOut(node, storage);
    // A new leader knows that its own entries 1 to 3 are committed, but this replica's 2 and 3 are others.
    node.step(append({ term: 2, prevIndex: 1, prevTerm: 1, commit: 3 }), 0);
    expect(node.commit).toBe(1);
  });

  test('acknowledges again what it has, and changes nothing, when an append comes twice or late', () => {
    const { node, storage } = create();
    const early = append({ entries: [entry(1, 1)] });
    node.step(early, 0);
    node.step(append({ prevIndex: 1, prevTerm: 1, entries: [entry(2, 1)], commit: 1 }), 0);
    carryOut(node, storage);
    node.step(early, 0);
    expect(carryOut(node, storage).messagesAfterPersist).toMatchObject([{ type: 'append-response', index: 1 }]);
    expect(node.status()).toMatchObject({ lastIndex: 2, commit: 1 });
  });

  test('ignores messages for others', () => {
    const { node } = create();
    node.step({ ...append({}), to: 3, term: 7 }, 0);
    expect(node.term).toBe(0);
  });

  test('stops when a second leader appears in a term', () => {
    const { node, storage } = create({}, [1]);
    node.tick(0);
    while (node.hasReady()) carryOut(node, storage);
    expect(node.isLeader).toBe(true);
    expect(() => node.step(append({ term: 1 }), 0)).toThrow('node 2 also leads in term 1');
  });

  test('does not install a state that its log already reaches', () => {
    const { node, storage } = create();
    node.step(append({ entries: [entry(1, 1), entry(2, 1)], commit: 1 }), 0);
    carryOut(node, storage);
    const membership = initialMembership([1, 2, 3]);
    expect(node.wantsSnapshot({ index: 1, term: 1, membership })).toBe(false);
    expect(node.wantsSnapshot({ index: 2, term: 1, membership })).toBe(false);
    expect(node.wantsSnapshot({ index: 2, term: 2, membership })).toBe(true);
    node.step({ type: 'snapshot', from: 2, to: 1, term: 1, snapshot: { index: 2, term: 1, membership } }, 0);
    expect(node.commit).toBe(2);
    expect(node.ready().wantedSnapshot).toBeUndefined();
  });
});

test('the clock never goes back', () => {
  const { node } = create({ now: 5000 });
  expect(node.nextDeadline()).toBe(6000);
  node.step(append({}), 100);
  expect(node.nextDeadline()).toBe(6000);
});

test('a replica without members waits to be found', () => {
  const { node } = create({}, []);
  expect(node.nextDeadline()).toBeUndefined();
  node.campaign(0);
  node.tick(1e9);
  expect(node.hasReady()).toBe(false);
});

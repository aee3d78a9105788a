import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvariantError } from '../../durable-objects/raft/invariant.ts';
import { RaftLog } from '../../durable-objects/raft/log.ts';
import { initialMembership } from '../../durable-objects/raft/membership.ts';
import type { Entry } from '../../durable-objects/raft/types.ts';
import { MemoryStorage } from './support/memory-storage.ts';

function entry(index: number, term: number, size = 1): Entry {
  return { index, term, type: 'normal', data: new Uint8Array(size) };
}

function entries(first: number, terms: readonly number[]): Entry[] {
  return terms.map((term, at) => entry(first + at, term));
}

/** A log whose first `terms.length` entries are stored. */
function stored(terms: readonly number[], committed = 0): { log: RaftLog; storage: MemoryStorage } {
  const storage = new MemoryStorage(initialMembership([1]));
  storage.log = entries(1, terms);
  return { log: new RaftLog(storage, committed, 0), storage };
}

const terms = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 6 }).map((list) => list.sort((a, b) => a - b));

test('taking in entries agrees with a plain array, wherever the boundary of the stored log is', () => {
  fc.assert(
    fc.property(terms, terms, terms, fc.nat({ max: 8 }), (onDisk, inMemory, sent, prevIndex) => {
      const { log } = stored(onDisk);
      const own = [...onDisk, ...inMemory.map((term) => term + 2)];
      log.append(entries(onDisk.length + 1, own.slice(onDisk.length)));
      const prevTerm = prevIndex === 0 ? 0 : (own[prevIndex - 1] ?? 9);
      const last = log.tryAppend({ index: prevIndex, term: prevTerm }, entries(prevIndex + 1, sent));
      if (prevIndex > own.length) {
        expect(last).toBeUndefined();
      } else {
        const differs = sent.findIndex((term, at) => own[prevIndex + at] !== term);
        const expected = differs < 0 ? own : [...own.slice(0, prevIndex + differs), ...sent.slice(differs)];
        expect(last).toBe(prevIndex + sent.length);
        expect(Array.from({ length: log.lastIndex }, (_, at) => log.term(at + 1))).toEqual(expected);
        expect(log.stable).toBe(differs < 0 ? onDisk.length : Math.min(onDisk.length, prevIndex + differs));
      }
    }),
    { numRuns: 3000 },
  );
});

describe('reading', () => {
  test('crosses from the stored log into memory and keeps to the limit', () => {
    const { log, storage } = stored([1, 1, 1]);
    storage.log = [entry(1, 1, 10), entry(2, 1, 10), entry(3, 1, 10)];
    log.append([entry(4, 2, 10), entry(5, 2, 10)]);
    const read = (max: number) => log.slice(2, 6, max).map(({ index }) => index);
    expect(read(100)).toEqual([2, 3, 4, 5]);
    expect(read(30)).toEqual([2, 3, 4]);
    expect(read(25)).toEqual([2, 3]);
    expect(read(1)).toEqual([2]);
    expect(log.slice(4, 6, 1).map(({ index }) => index)).toEqual([4]);
  });

  test('keeps entries in memory until they are stored and applied', () => {
    const { log, storage } = stored([]);
    log.append(entries(1, [1, 1, 1]));
    storage.log = entries(1, [1, 1, 1]);
    log.commitTo(2);
    expect(log.takeCommitted(100).map(({ index }) => index)).toEqual([1, 2]);
    log.stableTo({ index: 3, term: 1 });
    storage.entries = () => {
      throw new Error('asked the storage');
    };
    expect(log.slice(1, 4, 100)).toHaveLength(3);
    log.appliedTo(2);
    expect(log.slice(3, 4, 100)).toHaveLength(1);
    expect(() => log.slice(2, 4, 100)).toThrow('asked the storage');
  });
});

describe('acknowledging', () => {
  test('an entry that was replaced meanwhile is not stored', () => {
    const { log } = stored([]);
    log.append(entries(1, [1, 1]));
    const handed = log.unstable();
    log.tryAppend({ index: 1, term: 1 }, entries(2, [2]));
    log.stableTo(handed.at(-1)!);
    expect(log.unstable().map(({ index, term }) => [index, term])).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  test('a truncated stored suffix is to be stored anew', () => {
    const { log } = stored([1, 1, 1]);
    log.tryAppend({ index: 1, term: 1 }, entries(2, [2]));
    expect(log.lastIndex).toBe(2);
    expect(log.unstable().map(({ index }) => index)).toEqual([2]);
  });
});

test('the place where two logs may meet is the last one whose term is not above', () => {
  const { log } = stored([1, 1, 4, 4, 4]);
  expect(log.lastNotAbove(5, 3)).toEqual({ index: 2, term: 1 });
  expect(log.lastNotAbove(9, 4)).toEqual({ index: 5, term: 4 });
  expect(log.lastNotAbove(5, 0)).toEqual({ index: 0, term: 0 });
});

test('a candidate is up to date by term first, then by length (Raft §5.4.1)', () => {
  const { log } = stored([1, 2]);
  expect(log.isUpToDate(2, 2)).toBe(true);
  expect(log.isUpToDate(1, 3)).toBe(true);
  expect(log.isUpToDate(9, 1)).toBe(false);
  expect(log.isUpToDate(1, 2)).toBe(false);
});

describe('broken invariants throw', () => {
  test('a conflict with what is committed', () => {
    const { log } = stored([1, 1], 2);
    expect(() => log.tryAppend({ index: 1, term: 1 }, entries(2, [2]))).toThrow(InvariantError);
  });

  test('a commit beyond the log', () => {
    expect(() => stored([1]).log.commitTo(2)).toThrow('commit 2 is beyond the last index 1');
  });

  test('a gap', () => {
    expect(() => stored([1]).log.append(entries(3, [1]))).toThrow('entry 3 does not follow the last index 1');
  });

  test('a disk that lost what it had committed', () => {
    expect(() => stored([1], 5)).toThrow('log 1..1 does not reach from applied 0 to committed 5');
  });
});

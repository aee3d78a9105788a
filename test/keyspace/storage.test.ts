import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listPage } from '../../durable-objects/keyspace/list.ts';
import { Retention } from '../../durable-objects/keyspace/retention.ts';
import { StateMachine } from '../../durable-objects/keyspace/state.ts';
import { rangeOf, type Storage } from '../../durable-objects/keyspace/storage.ts';
import { RaftLog } from '../../durable-objects/replica/raft-log.ts';
import { SqlStorage } from '../../durable-objects/replica/sql-storage.ts';
import type { Operation } from '../../src/keyspace/types.ts';
import {
  encodeCompact,
  encodeEntry,
  encodeExpire,
  encodeProposal,
  KIND,
  proposalId,
} from '../../src/protocol/commands.ts';
import { decodeRecord } from '../../src/protocol/records.ts';
import { MapStorage } from '../support/map-storage.ts';
import { memorySql } from '../support/sqlite.ts';

const PREFIX = '/registry/events/';
const KEYS = ['a/1', 'a/2', 'a0', 'b/1'].map((name) => PREFIX + name);
const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 2 };

type Step =
  | { type: 'put'; key: string; terms: string[]; ttlSeconds: number }
  | { type: 'delete'; key: string }
  | { type: 'work'; item: string; ifTerm: string | undefined }
  | { type: 'done' | 'fail' | 'compact' | 'flush' | 'restart' }
  | { type: 'wait'; ms: number }
  /** Decides what is due, lets something else be written first, then expires. */
  | { type: 'expire'; rewritten: string | undefined };

const key = fc.constantFrom(...KEYS);
const term = fc.constantFrom('t:1', 't:2');
const constant = <T extends string>(type: T) => fc.constant(type);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: constant('put'),
      key,
      terms: fc.uniqueArray(term, { maxLength: 2 }),
      ttlSeconds: fc.constantFrom(0, 0, 1, 5),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: constant('delete'), key }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: constant('work'), item: key, ifTerm: fc.option(term, { nil: undefined }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom('done', 'fail', 'compact', 'flush', 'restart'),
    }) as fc.Arbitrary<Step>,
  },
  { weight: 2, arbitrary: fc.record({ type: constant('wait'), ms: fc.constantFrom(500, 1_500, 6_000, 400_000) }) },
  { weight: 3, arbitrary: fc.record({ type: constant('expire'), rewritten: fc.option(key, { nil: undefined }) }) },
);

/** Applies the same entries to state machines over several stores. */
class Twins {
  readonly storages: Storage[];
  states: StateMachine[];
  time = 1_000_000_000;
  #index = 0;
  #proposals = 0;

  constructor(storages: Storage[]) {
    this.storages = storages;
    this.states = storages.map((storage) => new StateMachine(storage));
  }

  get first(): StateMachine {
    return this.states[0]!;
  }

  apply(kind: number, payload: Uint8Array): void {
    const entry = encodeEntry(kind, this.time, payload);
    this.#index++;
    const [first, ...others] = this.states.map((state) => state.apply(this.#index, entry));
    for (const outcome of others) expect(outcome).toEqual(first);
  }

  propose(operations: Operation[], absent?: string): void {
    const random = new Uint8Array(8);
    new DataView(random.buffer).setUint32(0, ++this.#proposals);
    const conditions = absent === undefined ? [] : [{ type: 'absent' as const, key: absent }];
    this.apply(KIND.batch, encodeProposal(proposalId(this.time, random), { conditions, operations }, undefined));
  }

  put(key: string, terms: string[] = [], ttlSeconds = 0): void {
    const meta = { labels: { n: String(this.#proposals) }, fields: {}, terms, tag };
    this.propose([{ type: 'put', key, value: new Uint8Array(8), meta, ttlSeconds }]);
  }

  run(step: Step): void {
    if (step.type === 'put') this.put(step.key, step.terms, step.ttlSeconds);
    else if (step.type === 'delete') this.propose([{ type: 'delete', key: step.key }]);
    else if (step.type === 'work') this.#work(step.item, step.ifTerm);
    else if (step.type === 'fail') this.propose([], KEYS[0]);
    else if (step.type === 'done') this.propose([{ type: 'done', id: this.first.work(1)[0]?.id ?? 1 }]);
    else if (step.type === 'wait') this.time += step.ms;
    else if (step.type === 'expire') this.#expire(step.rewritten);
    else if (step.type === 'compact') this.apply(KIND.compact, encodeCompact(this.first.scalars.revision, 0));
    else {
      for (const state of this.states) state.flush();
      if (step.type === 'restart') this.states = this.storages.map((storage) => new StateMachine(storage));
    }
  }

  #work(item: string, ifTerm: string | undefined): void {
    const work = [{ loop: 'garbage-collector' as const, item, ...(ifTerm !== undefined && { ifTerm }) }];
    this.propose([{ type: 'delete', key: `${PREFIX}none`, work }]);
  }

  /** What is due and was not rewritten goes, and nothing else. */
  #expire(rewritten: string | undefined): void {
    const due = this.first.due(this.time, 100);
    for (const state of this.states.slice(1)) expect(state.due(this.time, 100)).toEqual(due);
    if (rewritten !== undefined) this.put(rewritten);
    const before = KEYS.map((key) => this.first.get(key));
    this.apply(KIND.expire, encodeExpire(due));
    KEYS.forEach((key, i) => {
      const version = before[i];
      const late = version !== undefined && version.expires > 0 && version.expires <= this.time;
      expect(this.first.get(key)).toEqual(late ? undefined : version);
    });
  }
}

/** Everything that a store answers; sets in an order of their own are sorted. */
function contents(storage: Storage, time: number) {
  const range = rangeOf(PREFIX);
  const inner = rangeOf(`${PREFIX}a/`);
  const { compacted, revision } = storage.scalars();
  const answers = Array.from(storage.answers(), ({ id, answer }) => `${id} ${JSON.stringify(answer)}`);
  return {
    scalars: storage.scalars(),
    newest: KEYS.map((key) => storage.newest(key)),
    scan: [...storage.scan(range)],
    inner: [...storage.scan(inner)],
    terms: ['t:1', 't:2'].map((each) => [[...storage.scan(range, each)], [...storage.termKeys(each)].sort()]),
    counts: [storage.count(range), storage.count(inner)],
    history: [...storage.history(compacted, range)],
    innerHistory: [...storage.history(compacted, inner)],
    before: Array.from({ length: revision - compacted + 1 }, (_, i) => {
      return [...storage.stateBefore(compacted + i, range)].sort(([a], [b]) => (a < b ? -1 : 1));
    }),
    due: [storage.due(time, 1), storage.due(time + 3_000, 10), storage.nextExpiry()],
    work: storage.work(10),
    answers: [...new Set(answers)].sort(),
  };
}

describe('the store in memory', () => {
  it('answers as the one in SQLite does', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const twins = new Twins([new SqlStorage(memorySql()), new MapStorage()]);
        for (const each of steps) twins.run(each);
        twins.run({ type: 'flush' });
        const [stored, mapped] = twins.storages.map((storage) => contents(storage, twins.time));
        // What is too old to be asked for may be forgotten at different times.
        expect({ ...mapped, answers: [] }).toEqual({ ...stored, answers: [] });
        expect(mapped!.answers).toEqual(expect.arrayContaining(stored!.answers));
      }),
      { numRuns: 300 },
    );
  });
});

describe('pages at a fixed revision', () => {
  it('show one state, whatever is written and compacted between them', () => {
    const writes = fc.array(fc.array(step, { maxLength: 3 }), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 20 }),
        writes,
        fc.integer({ min: 1, max: 3 }),
        (before, between, limit) => {
          const twins = new Twins([new SqlStorage(memorySql())]);
          for (const each of before) twins.run(each);
          const query = {
            prefix: PREFIX,
            after: undefined,
            limit: 0,
            selector: undefined,
            term: undefined,
            keysOnly: false,
          };
          const { revision } = twins.first.scalars;
          const whole = listPage(twins.first, { ...query, revision }).records.map(decodeRecord);
          const paged: typeof whole = [];
          let after: string | undefined;
          for (const writes of between) {
            const page = listPage(twins.first, { ...query, revision, limit, after });
            paged.push(...page.records.map(decodeRecord));
            expect(page.more).toBe(paged.length < whole.length);
            if (page.more) expect(page.remaining).toBe(whole.length - paged.length);
            if (!page.more) break;
            after = page.lastKey;
            for (const each of writes) if (each.type !== 'compact') twins.run(each);
            const floor = encodeCompact(revision, 0);
            twins.apply(KIND.compact, floor);
          }
          const plain = (records: typeof whole) =>
            records.map(({ key, modRevision, createRevision, meta }) => ({
              key,
              modRevision,
              createRevision,
              labels: meta.labels,
            }));
          expect(plain(paged)).toEqual(plain(whole));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('history', () => {
  it('is kept for its time, its number and its bytes, and goes when any is exceeded', () => {
    const limits = { ms: 60_000, revisions: 50, bytes: 10_000 };
    const write = fc.record({ ms: fc.nat(8_000), bytes: fc.nat(600) });
    fc.assert(
      fc.property(fc.array(write, { minLength: 1, maxLength: 150 }), (writes) => {
        const retention = new Retention(limits);
        const made: { time: number; bytes: number }[] = [];
        let time = 0;
        let compacted = 0;
        for (const { ms, bytes } of writes) {
          time += ms;
          made.push({ time, bytes });
          retention.note(time, made.length, bytes);
          compacted = Math.max(compacted, retention.take(time));
          const kept = made.slice(compacted);
          // Marks are five seconds apart, so that much more may be kept, and never less.
          for (const { time: at } of kept.slice(0, -1)) expect(at).toBeGreaterThan(time - limits.ms - 15_000);
          const gone = made[compacted - 1];
          if (gone === undefined) continue;
          const sum = made.slice(compacted - 1).reduce((total, each) => total + each.bytes, 0);
          const full = made.length - compacted + 1 > limits.revisions || sum > limits.bytes;
          expect(full || gone.time <= time - limits.ms || evicted(made, compacted, limits)).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** Whether what is gone had to go at some earlier moment already. */
function evicted(
  made: { time: number; bytes: number }[],
  compacted: number,
  limits: { ms: number; revisions: number; bytes: number },
): boolean {
  for (let now = compacted; now <= made.length; now++) {
    const since = made.slice(compacted - 1, now);
    const bytes = since.reduce((total, each) => total + each.bytes, 0);
    const late = made[compacted - 1]!.time <= made[now - 1]!.time - limits.ms;
    if (late || since.length > limits.revisions || bytes > limits.bytes) return true;
  }
  return false;
}

describe('a proposal of 3 MiB', () => {
  it('is kept whole in rows under 2 MB, in the log and in the state', () => {
    const sql = memorySql();
    const log = new RaftLog(sql, [1]);
    const state = new StateMachine(new SqlStorage(sql));
    const value = new Uint8Array(3 << 20).map((_, i) => i % 253);
    const meta = { labels: {}, fields: {}, terms: [], tag };
    const operations: Operation[] = [{ type: 'put', key: KEYS[0]!, value, meta }];
    const payload = encodeProposal(proposalId(1_000, new Uint8Array(8)), { conditions: [], operations }, undefined);
    const data = encodeEntry(KIND.batch, 1_000, payload);
    log.append([{ index: 1, term: 1, type: 'normal', data }]);
    state.apply(1, data);
    state.flush();
    for (const [table, column] of [
      ['log', 'data'],
      ['log_parts', 'data'],
      ['versions', 'record'],
      ['version_parts', 'record'],
    ]) {
      const [[longest]] = [...sql.exec(`SELECT max(length(${column})) FROM ${table}`).raw()] as [[number]];
      expect(longest).toBeGreaterThan(1_000_000);
      expect(longest).toBeLessThan(1_990_000);
    }
    const again = new RaftLog(sql, []).entries(1, 2, 1)[0]!.data;
    expect(Buffer.compare(again, data)).toBe(0);
    const stored = new StateMachine(new SqlStorage(sql)).get(KEYS[0]!)!;
    expect(Buffer.compare(decodeRecord(stored.record).value, value)).toBe(0);
  });
});

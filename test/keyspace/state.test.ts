import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listPage } from '../../durable-objects/keyspace/list.ts';
import { StateMachine } from '../../durable-objects/keyspace/state.ts';
import { rangeOf, type Storage } from '../../durable-objects/keyspace/storage.ts';
import { SqlStorage } from '../../durable-objects/replica/sql-storage.ts';
import type { Batch, Condition } from '../../src/keyspace/types.ts';
import { encodeCompact, encodeEntry, encodeProposal, KIND, proposalId } from '../../src/protocol/commands.ts';
import { decodeRecord } from '../../src/protocol/records.ts';
import { MapStorage } from '../support/map-storage.ts';
import { memorySql } from '../support/sqlite.ts';

const PREFIX = '/registry/pods/';
const KEYS = ['a/x', 'a/y', 'b/x', 'c/z'].map((name) => PREFIX + name);
const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 2 };

type Step =
  | { type: 'put'; key: string; value: number; if: 'any' | 'absent' | 'same'; repeat: boolean }
  | { type: 'delete'; key: string }
  | { type: 'pair'; keys: string[]; value: number }
  | { type: 'compact'; back: number }
  | { type: 'flush' }
  | { type: 'restart' };

const key = fc.constantFrom(...KEYS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('put' as const),
      key,
      value: fc.nat(99),
      if: fc.constantFrom('any' as const, 'absent' as const, 'same' as const),
      repeat: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('pair' as const),
      keys: fc.array(key, { minLength: 2, maxLength: 3 }),
      value: fc.nat(99),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('compact' as const), back: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.constant({ type: 'flush' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'restart' as const }) },
);

/** The obvious version: every state that there ever was, and every event. */
class Naive {
  states: Map<string, { value: number; mod: number; create: number }>[] = [new Map()];
  compacted = 0;

  get revision() {
    return this.states.length - 1;
  }

  get now() {
    return this.states[this.revision]!;
  }

  put(key: string, value: number) {
    const create = this.now.get(key)?.create ?? this.revision + 1;
    this.states.push(new Map(this.now).set(key, { value, mod: this.revision + 1, create }));
  }

  delete(key: string) {
    if (!this.now.has(key)) return;
    const next = new Map(this.now);
    next.delete(key);
    this.states.push(next);
  }
}

class Subject {
  state: StateMachine;
  readonly storage: Storage;
  index = 0;
  #proposals = 0;

  constructor(storage: Storage) {
    this.storage = storage;
    this.state = new StateMachine(storage);
  }

  propose(batch: Batch, times = 1) {
    const random = new Uint8Array(8);
    new DataView(random.buffer).setUint32(0, ++this.#proposals);
    const id = proposalId(this.index, random);
    const entry = encodeEntry(KIND.batch, this.index, encodeProposal(id, batch, undefined));
    const outcomes = Array.from({ length: times }, () => this.state.apply(++this.index, entry));
    for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0]);
    return outcomes[0]!;
  }

  restart() {
    this.state.flush();
    this.state = new StateMachine(this.storage);
  }
}

const put = (key: string, value: number) => {
  const labels = { v: String(value % 3) };
  const meta = { labels, fields: {}, terms: [`t:${value % 3}`], tag };
  return { type: 'put' as const, key, value: new Uint8Array([value]), meta };
};

function run(naive: Naive, subject: Subject, step: Step): void {
  if (step.type === 'flush') subject.state.flush();
  else if (step.type === 'restart') subject.restart();
  else if (step.type === 'compact') {
    naive.compacted = Math.max(naive.compacted, naive.revision - step.back);
    subject.state.apply(++subject.index, encodeEntry(KIND.compact, subject.index, encodeCompact(naive.compacted, 0)));
    subject.state.flush();
  } else if (step.type === 'pair') {
    subject.propose({ conditions: [], operations: step.keys.map((key) => put(key, step.value)) }, 2);
    for (const key of step.keys) naive.put(key, step.value);
  } else if (step.type === 'delete') {
    const before = naive.now.get(step.key);
    const outcome = subject.propose({ conditions: [], operations: [{ type: 'delete', key: step.key }] });
    expect(outcome.type === 'done' && outcome.previous[0]?.revision).toEqual(before?.mod);
    naive.delete(step.key);
  } else {
    const current = naive.now.get(step.key);
    const conditions: Condition[] = [];
    if (step.if === 'absent') conditions.push({ type: 'absent', key: step.key });
    if (step.if === 'same') conditions.push({ type: 'revision', key: step.key, revision: current?.mod ?? 0 });
    const holds = step.if === 'any' || (step.if === 'absent') === (current === undefined);
    const outcome = subject.propose({ conditions, operations: [put(step.key, step.value)] }, step.repeat ? 2 : 1);
    expect(outcome.type).toBe(holds ? 'done' : 'failed');
    if (holds) naive.put(step.key, step.value);
  }
}

function compare(naive: Naive, subject: Subject): void {
  const { state } = subject;
  expect(state.scalars.revision).toBe(naive.revision);
  for (const key of KEYS) expect(state.get(key)?.revision).toBe(naive.now.get(key)?.mod);
  const query = { prefix: PREFIX, after: undefined, limit: 0, selector: undefined, term: undefined, keysOnly: false };
  for (let revision = naive.compacted; revision <= naive.revision; revision++) {
    const expected = [...naive.states[revision]!].sort(([a], [b]) => (a < b ? -1 : 1));
    const page = listPage(state, { ...query, revision });
    const found = page.records.map(decodeRecord);
    expect(found.map((r) => [r.key, { value: r.value[0], mod: r.modRevision, create: r.createRevision }])).toEqual(
      expected,
    );
    const first = listPage(state, { ...query, revision, limit: 1 });
    expect(first.records.length + (first.remaining ?? 0)).toBe(expected.length);
    const one = listPage(state, { ...query, revision, term: 't:1' }).records.map((r) => decodeRecord(r).key);
    expect(one).toEqual(expected.filter(([, { value }]) => value % 3 === 1).map(([k]) => k));
    const labels = [{ op: 'in' as const, key: 'v', values: ['2'] }];
    const two = listPage(state, { ...query, revision, selector: { labels, fields: [] } }).records;
    expect(two.map((r) => decodeRecord(r).key)).toEqual(
      expected.filter(([, { value }]) => value % 3 === 2).map(([k]) => k),
    );
  }
  const history = [...state.history(naive.compacted, rangeOf(PREFIX))];
  expect(history.map((version) => version.revision)).toEqual(
    Array.from({ length: naive.revision - naive.compacted }, (_, i) => naive.compacted + 1 + i),
  );
  for (const { key, revision, previous } of history)
    expect(previous).toBe(naive.states[revision - 1]!.get(key)?.mod ?? 0);
}

describe.each([
  ['maps', () => new MapStorage()],
  ['SQLite', () => new SqlStorage(memorySql())],
])('state machine over %s', (_, storage) => {
  it('agrees with a list of all states', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const naive = new Naive();
        const subject = new Subject(storage());
        for (const each of steps) run(naive, subject, each);
        compare(naive, subject);
        subject.restart();
        compare(naive, subject);
      }),
      { numRuns: 150 },
    );
  });

  it('keeps values that are larger than a row', () => {
    const subject = new Subject(storage());
    const value = new Uint8Array(4_500_000).map((_, i) => i % 251);
    subject.propose({ conditions: [], operations: [{ ...put(KEYS[0]!, 1), value }] });
    subject.restart();
    const found = decodeRecord(subject.state.get(KEYS[0]!)!.record).value;
    expect(Buffer.compare(found, value)).toBe(0);
  });
});

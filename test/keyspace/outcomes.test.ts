import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Outcome, StateMachine } from '../../durable-objects/keyspace/state.ts';
import type { Storage } from '../../durable-objects/keyspace/storage.ts';
import { SqlStorage } from '../../durable-objects/replica/sql-storage.ts';
import type { Batch } from '../../src/keyspace/types.ts';
import {
  encodeCompact,
  encodeEntry,
  encodeProposal,
  KIND,
  PROPOSAL_AHEAD_MS,
  PROPOSAL_WINDOW_MS,
  proposalId,
} from '../../src/protocol/commands.ts';
import { MapStorage } from '../support/map-storage.ts';
import { memorySql } from '../support/sqlite.ts';

const KEYS = ['/registry/pods/a', '/registry/pods/b'] as const;
const meta = {
  labels: {},
  fields: {},
  terms: [],
  tag: { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 2 },
};

type Change = { key: string; delete: boolean };
type Step =
  | { type: 'propose'; changes: Change[]; absent: string | undefined; skewMs: number }
  /** Sends an earlier proposal again. */
  | { type: 'repeat'; which: number }
  | { type: 'wait'; ms: number }
  | { type: 'compact' | 'flush' | 'restart' };

const key = fc.constantFrom(...KEYS);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('propose' as const),
      changes: fc.array(fc.record({ key, delete: fc.boolean() }), { maxLength: 3 }),
      absent: fc.option(key, { nil: undefined }),
      skewMs: fc.constantFrom(0, 0, 0, -4_000, 30_000, PROPOSAL_AHEAD_MS + 1_000, -PROPOSAL_WINDOW_MS - 2_000),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('repeat' as const), which: fc.nat(30) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.constantFrom(10, 20_000, 100_000, 301_000) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constantFrom('compact' as const, 'flush' as const, 'restart' as const) }),
  },
);

interface Sent {
  payload: Uint8Array;
  stamp: number;
  first: Outcome;
}

class Subject {
  readonly storage: Storage;
  readonly sent: Sent[] = [];
  state: StateMachine;
  time = 1_000_000_000;
  compacted = false;
  #index = 0;

  constructor(storage: Storage) {
    this.storage = storage;
    this.state = new StateMachine(storage);
  }

  run(step: Step): void {
    if (step.type === 'propose') this.#propose(step);
    else if (step.type === 'repeat') this.#repeat(this.sent[step.which % (this.sent.length || 1)]);
    else if (step.type === 'wait') this.time += step.ms;
    else if (step.type === 'flush') this.state.flush();
    else if (step.type === 'compact') {
      this.compacted = true;
      this.apply(encodeCompact(this.state.scalars.revision, 0), KIND.compact);
      this.state.flush();
    } else {
      this.state.flush();
      this.state = new StateMachine(this.storage);
    }
  }

  apply(payload: Uint8Array, kind: number = KIND.batch): Outcome {
    return this.state.apply(++this.#index, encodeEntry(kind, this.time, payload))!;
  }

  /** A proposal is carried out once if its stamp is of this time, and not at all if it is not. */
  #propose({ changes, absent, skewMs }: Extract<Step, { type: 'propose' }>): void {
    const random = new Uint8Array(8);
    random[0] = this.sent.length;
    const stamp = Math.floor((this.time + skewMs) / 1000) * 1000;
    const batch: Batch = {
      conditions: absent === undefined ? [] : [{ type: 'absent', key: absent }],
      operations: changes.map(({ key, delete: gone }) =>
        gone ? { type: 'delete', key } : { type: 'put', key, value: new Uint8Array(5), meta },
      ),
    };
    const payload = encodeProposal(proposalId(stamp, random), batch, undefined);
    const held = absent === undefined || this.state.get(absent) === undefined;
    const first = this.apply(payload);
    const timely = stamp >= this.time - PROPOSAL_WINDOW_MS && stamp <= this.time + PROPOSAL_AHEAD_MS;
    expect(first.type).toBe(timely ? (held ? 'done' : 'failed') : 'expired');
    if (timely) this.sent.push({ payload, stamp, first });
  }

  /** The first answer again, or none when it is too late or records are gone; in no case a second effect. */
  #repeat(sent: Sent | undefined): void {
    if (sent === undefined) return;
    const { revision } = this.state.scalars;
    const outcome = this.apply(sent.payload);
    expect(this.state.scalars.revision).toBe(revision);
    const late = sent.stamp < this.time - PROPOSAL_WINDOW_MS;
    if (late || (this.compacted && outcome.type === 'expired'))
      expect(outcome).toEqual({ type: 'expired', time: this.time });
    else expect(outcome).toEqual(sent.first);
  }
}

const STORES: [string, () => Storage][] = [
  ['maps', () => new MapStorage()],
  ['SQLite', () => new SqlStorage(memorySql())],
];

describe.each(STORES)('a repeated proposal over %s', (_, storage) => {
  it('has the first outcome or none, and never a second effect', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const subject = new Subject(storage());
        for (const each of steps) subject.run(each);
      }),
      { numRuns: 300 },
    );
  });

  it('does not take a later revision of another for its own', () => {
    const subject = new Subject(storage());
    const change = (key: string, gone: boolean) => ({ key, delete: gone });
    const propose = (...changes: Change[]) => subject.run({ type: 'propose', changes, absent: undefined, skewMs: 0 });
    propose(change(KEYS[0], false), change(KEYS[1], true));
    propose(change(KEYS[1], false));
    propose(change(KEYS[1], true));
    subject.run({ type: 'restart' });
    for (let which = 0; which < 3; which++) subject.run({ type: 'repeat', which });
    expect(subject.state.scalars.revision).toBe(3);
  });

  it('is remembered beyond compaction', () => {
    const subject = new Subject(storage());
    subject.run({ type: 'propose', changes: [{ key: KEYS[0], delete: false }], absent: KEYS[0], skewMs: 0 });
    subject.run({ type: 'propose', changes: [{ key: KEYS[1], delete: false }], absent: KEYS[0], skewMs: 0 });
    for (const type of ['compact', 'restart'] as const) subject.run({ type });
    const outcomes = subject.sent.map(({ payload }) => subject.apply(payload));
    expect(outcomes).toEqual(subject.sent.map(({ first }) => first));
  });
});

describe('answers in SQLite', () => {
  it('cost no row when a version carries them, and one row a flush otherwise', () => {
    const sql = memorySql();
    const subject = new Subject(new SqlStorage(sql));
    const rows = () => [...sql.exec('SELECT count(*) FROM answers').raw()][0]![0];
    for (let i = 0; i < 5; i++)
      subject.run({ type: 'propose', changes: [{ key: KEYS[0], delete: false }], absent: undefined, skewMs: 0 });
    subject.run({ type: 'flush' });
    expect(rows()).toBe(0);
    for (let i = 0; i < 5; i++) subject.run({ type: 'propose', changes: [], absent: KEYS[0], skewMs: 0 });
    subject.run({ type: 'flush' });
    expect(rows()).toBe(1);
    subject.run({ type: 'wait', ms: 2 * PROPOSAL_WINDOW_MS });
    subject.run({ type: 'propose', changes: [], absent: KEYS[0], skewMs: 0 });
    subject.run({ type: 'flush' });
    expect(rows()).toBe(1);
  });
});

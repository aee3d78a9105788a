import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StateMachine } from '../../durable-objects/keyspace/state.ts';
import type { Storage, Version } from '../../durable-objects/keyspace/storage.ts';
import { decodeChunk, decodeStateRequest, encodeStateRequest } from '../../durable-objects/replica/chunks.ts';
import type { Sql } from '../../durable-objects/replica/sql.ts';
import { SqlStaging, STATE_TABLES } from '../../durable-objects/replica/sql-staging.ts';
import { SqlStorage } from '../../durable-objects/replica/sql-storage.ts';
import { StateSink } from '../../durable-objects/replica/state-sink.ts';
import { StateSource } from '../../durable-objects/replica/state-source.ts';
import type { Operation } from '../../src/keyspace/types.ts';
import { encodeCompact, encodeEntry, encodeProposal, KIND, proposalId } from '../../src/protocol/commands.ts';
import { memorySql } from '../support/sqlite.ts';

const MEMBERSHIP = { voters: [1, 2, 3], learners: [4], votersOutgoing: [], learnersNext: [], autoLeave: false };
const ALL = { from: '', end: '\u{10ffff}' };
const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };

/** A replica that applies entries and gives its state away. */
class Giver {
  readonly sql = memorySql();
  readonly storage: Storage = new SqlStorage(this.sql);
  readonly state = new StateMachine(this.storage);
  readonly log: Uint8Array[] = [];
  now = 0;
  readonly source = new StateSource({
    now: () => this.now,
    storage: () => this.storage,
    head: () => {
      this.state.flush();
      const scalars = { ...this.state.scalars };
      return { index: scalars.applied, term: 1, membership: MEMBERSHIP, highestId: 4, scalars };
    },
  });

  apply(entry: Uint8Array): void {
    this.log.push(entry);
    this.state.pinned = this.source.pinned;
    this.state.apply(this.log.length, entry);
  }

  propose(operations: Operation[], absent?: string): void {
    const random = new Uint8Array(8);
    new DataView(random.buffer).setUint32(0, this.log.length);
    const conditions = absent === undefined ? [] : [{ type: 'absent' as const, key: absent }];
    const id = proposalId(this.log.length, random);
    this.apply(encodeEntry(KIND.batch, this.log.length, encodeProposal(id, { conditions, operations }, undefined)));
  }

  put(key: string, size: number, term: string, ttlSeconds = 0): void {
    const value = new Uint8Array(size).fill(this.log.length);
    const meta = { labels: { a: term }, fields: {}, terms: [`t:${term}`], tag };
    const work = [{ loop: 'namespace' as const, item: key }];
    this.propose([{ type: 'put', key, value, meta, ttlSeconds, work }]);
  }

  compact(back: number): void {
    const revision = this.state.scalars.revision - back;
    if (revision > 0) this.apply(encodeEntry(KIND.compact, this.log.length, encodeCompact(revision, 0)));
  }

  /** What the wire carries for a request. */
  chunk(request: Uint8Array): Uint8Array {
    const chunk = this.source.serve(4, decodeStateRequest(request));
    expect(chunk.length).toBeLessThan(1_000_000);
    return chunk;
  }
}

class Taker {
  readonly sql: Sql = memorySql();
  sink = this.open();

  /** As after a restart: what is not on disk is forgotten. */
  open(): StateSink {
    this.sink = new StateSink(new SqlStaging(this.sql), (write) => write());
    return this.sink;
  }

  /** Takes one chunk; the state machine once the state is complete and put in place. */
  step(giver: Giver): { state: StateMachine; storage: Storage } | undefined {
    const head = this.sink.take(decodeChunk(giver.chunk(encodeStateRequest(this.sink.request))));
    if (head === undefined) return undefined;
    const storage = this.sink.install(head);
    return { state: new StateMachine(storage), storage };
  }
}

/** All that a store can be asked for that the state depends on. */
function contents(storage: Storage, state: StateMachine) {
  state.flush();
  const { compacted } = state.scalars;
  return {
    scalars: storage.scalars(),
    live: Array.from(storage.scan(ALL), brief),
    history: Array.from(storage.history(compacted, ALL), brief),
    terms: ['t:a', 't:b'].map((term) => [...storage.termKeys(term)].sort()),
    due: storage.due(Number.MAX_SAFE_INTEGER, 1_000),
    work: storage.work(1_000),
    answers: new Map(Array.from(storage.answers(), ({ id, answer }) => [id, answer])),
  };
}

/** A version with a checksum for its bytes: large arrays are compared slowly. */
function brief({ record, ...version }: Version) {
  return { ...version, record: `${record.length} ${crc32(record)}` };
}

function complete(giver: Giver, taker: Taker) {
  for (let steps = 0; steps < 10_000; steps++) {
    const taken = taker.step(giver);
    if (taken !== undefined) return taken;
  }
  throw new Error('the transfer does not end');
}

describe('transfer of a state', { timeout: 60_000 }, () => {
  it('gives a record that is larger than a chunk in slices', () => {
    const giver = new Giver();
    giver.put('/registry/a/x', 2_900_000, 'a');
    giver.put('/registry/a/y', 10, 'b');
    const taker = new Taker();
    for (let step = 0; step < 3; step++) expect(taker.step(giver)).toBeUndefined();
    const { state, storage } = complete(giver, taker);
    expect(contents(storage, state)).toEqual(contents(giver.storage, giver.state));
  });

  it('refuses a chunk that was damaged on the way', () => {
    const giver = new Giver();
    giver.put('/registry/a/x', 100, 'a');
    const taker = new Taker();
    const chunk = giver.chunk(encodeStateRequest(taker.sink.request)).slice();
    chunk[chunk.length - 3]! ^= 1;
    expect(() => decodeChunk(chunk)).toThrow(RangeError);
  });

  it('goes on where it stopped, also from another replica', () => {
    const [one, two] = [new Giver(), new Giver()];
    for (let n = 0; n < 40; n++) one.put(`/registry/a/${n % 30}`, 100_000, n % 2 ? 'a' : 'b');
    for (const entry of one.log) two.apply(entry);
    const taker = new Taker();
    for (let step = 0; step < 4; step++) expect(taker.step(one)).toBeUndefined();
    const before = taker.sink.request.from.revision;
    expect(before).toBeGreaterThan(10);
    taker.open();
    expect(taker.sink.request.from.revision).toBe(before);
    two.put('/registry/a/3', 10, 'a');
    const { state, storage } = complete(two, taker);
    expect(contents(storage, state)).toEqual(contents(two.storage, two.state));
  });

  it('begins again with a sender that knows less than was staged', () => {
    const [one, two] = [new Giver(), new Giver()];
    for (let n = 0; n < 20; n++) one.put(`/registry/a/${n}`, 100_000, 'a');
    for (const entry of one.log.slice(0, 3)) two.apply(entry);
    const taker = new Taker();
    for (let step = 0; step < 3; step++) expect(taker.step(one)).toBeUndefined();
    const { state, storage } = complete(two, taker);
    expect(contents(storage, state)).toEqual(contents(two.storage, two.state));
  });

  it('lets history go once nobody has asked for a minute, or the receiver has caught up', () => {
    const giver = new Giver();
    giver.put('/registry/a/x', 10, 'a');
    giver.chunk(encodeStateRequest(new Taker().sink.request));
    expect([giver.source.pinned, giver.source.floor]).toEqual([true, 1]);
    giver.source.reached(4, 1);
    expect(giver.source.pinned).toBe(false);
    giver.chunk(encodeStateRequest(new Taker().sink.request));
    giver.now += 61_000;
    expect([giver.source.pinned, giver.source.floor]).toEqual([false, Number.POSITIVE_INFINITY]);
  });

  it('covers every table of the database but those of Raft and of this replica alone', () => {
    const names = Array.from(memorySql().exec("SELECT name FROM sqlite_master WHERE type = 'table'").raw(), String);
    const others = ['damage', 'identity', 'log', 'log_parts', 'migrations', 'raft', 'watches'];
    expect(names.sort()).toEqual([...STATE_TABLES, ...others].sort());
  });

  const key = fc.constantFrom('/registry/a/1', '/registry/a/2', '/registry/b/1', '/registry/b/2');
  const change = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ type: fc.constant('put' as const), key, size: fc.constantFrom(1, 9, 300_000) }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('claim' as const), key }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('compact' as const), back: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('flush' as const) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('done' as const), id: fc.nat(20) }) },
  );
  type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

  function make(giver: Giver, made: Change): void {
    if (made.type === 'put') giver.put(made.key, made.size, made.size > 1 ? 'a' : 'b', made.size === 9 ? 1_000 : 0);
    else if (made.type === 'delete') giver.propose([{ type: 'delete', key: made.key }]);
    else if (made.type === 'claim') giver.propose([{ type: 'delete', key: made.key }], made.key);
    else if (made.type === 'compact') giver.compact(made.back);
    else if (made.type === 'done') giver.propose([{ type: 'done', id: made.id % giver.state.scalars.nextWork }]);
    else giver.state.flush();
  }

  it('gives the state as of its index while writes go on; the log after it leads to the same state', () => {
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 30 }),
        fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 8 }),
        fc.nat(9),
        (before, meanwhile, restartAt) => {
          const giver = new Giver();
          for (const made of before) make(giver, made);
          const taker = new Taker();
          let taken: ReturnType<Taker['step']>;
          for (const [step, changes] of meanwhile.entries()) {
            taken ??= taker.step(giver);
            if (step === restartAt && taken === undefined) taker.open();
            for (const made of changes) make(giver, made);
          }
          const { state, storage } = taken ?? complete(giver, taker);
          for (let index = state.scalars.applied; index < giver.log.length; index++) {
            state.apply(index + 1, giver.log[index]!);
          }
          giver.source.reached(4, Number.POSITIVE_INFINITY);
          expect(contents(storage, state)).toEqual(contents(giver.storage, giver.state));
        },
      ),
      { numRuns: 100 },
    );
  });
});

import fc, { type Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InTurn, type Lines, type Platform } from '../../src/keyspace/in-turn.ts';
import { type Batch, type Keyspace, OutcomeUnknownError, type ProposeResult } from '../../src/keyspace/types.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';

const KEY = '/registry/configmaps/n/words';
const meta = {
  labels: {},
  fields: {},
  terms: [],
  tag: { storageVersion: 'v1', schema: 0, typeMetaEnd: 0, resourceVersionAt: 0 },
};
const put = (words: readonly string[]) => {
  return { type: 'put' as const, key: KEY, value: new TextEncoder().encode(words.join(' ')), meta: { ...meta } };
};
const wordsOf = (value: Uint8Array) => new TextDecoder().decode(value).split(' ');

type Fault = 'none' | 'lostBefore' | 'lostAfter' | 'policyMoved';

/** One record in a shard whose answers come in the scheduler's order, with a fault for each proposal in turn. */
class Shard {
  readonly memory = memoryKeyspace();
  readonly lines: Lines = new Map();
  /** What was committed, by revision. */
  readonly history = new Map<number, string[]>();
  proposals = 0;
  readonly #scheduler: Scheduler;
  readonly #faults: Fault[];

  readonly #fires: (ms: number) => boolean;

  /** `fires`: which timeouts may end, at any moment. */
  constructor(scheduler: Scheduler, faults: readonly Fault[], fires: (ms: number) => boolean) {
    this.#scheduler = scheduler;
    this.#fires = fires;
    this.#faults = [...faults];
  }

  async start(): Promise<void> {
    await this.#commit({ conditions: [], operations: [put(['start'])] });
  }

  client(): InTurn {
    const platform: Platform = {
      keep: (work) => void work.catch(() => undefined),
      timeout: (ms, callback) => {
        if (!this.#fires(ms)) return () => undefined;
        let stopped = false;
        const fire = () => {
          if (!stopped) callback();
        };
        this.#scheduler.schedule(Promise.resolve(), 'timeout').then(fire, fire);
        return () => {
          stopped = true;
        };
      },
    };
    const inner: Keyspace = {
      ...this.memory,
      get: async (keys, consistency) => {
        await this.#scheduler.schedule(Promise.resolve(), 'get');
        return this.memory.get(keys, consistency.type === 'turn' ? { type: 'leader' } : consistency);
      },
      propose: (batch) => this.#propose(batch),
    };
    return new InTurn(inner, inner, this.lines, platform);
  }

  /** Changes the record with a version of its own, past all lines. */
  async overtake(word: string): Promise<void> {
    const record = (await this.memory.get([KEY], { type: 'leader' })).records[0]!;
    const conditions = [{ type: 'revision' as const, key: KEY, revision: record.modRevision }];
    await this.#commit({ conditions, operations: [put([...wordsOf(record.value), word])] });
  }

  async #propose(batch: Batch): Promise<ProposeResult> {
    this.proposals++;
    const fault = this.#faults.shift() ?? 'none';
    await this.#scheduler.schedule(Promise.resolve(), 'propose');
    if (fault === 'policyMoved') return { ok: false, policyMoved: true, policyRevision: 1 };
    if (fault === 'lostBefore') throw new OutcomeUnknownError('lost');
    const result = await this.#commit(batch);
    await this.#scheduler.schedule(Promise.resolve(), 'answer');
    if (fault === 'lostAfter') throw new OutcomeUnknownError('lost');
    return result;
  }

  async #commit(batch: Batch): Promise<ProposeResult> {
    const result = await this.memory.propose(batch);
    if (!result.ok) return result;
    for (const [i, operation] of batch.operations.entries()) {
      if (operation.type === 'put') this.history.set(result.revisions[i]!, wordsOf(operation.value));
    }
    return result;
  }
}

/** Adds a word as a change without a version does; gives the revision that did, undefined when the outcome is unknown. */
async function add(client: InTurn, word: string): Promise<number | undefined> {
  for (;;) {
    const record = (await client.get([KEY], { type: 'turn' })).records[0]!;
    const conditions = [{ type: 'revision' as const, key: KEY, revision: record.modRevision }];
    const batch: Batch = { conditions, operations: [put([...wordsOf(record.value), word])] };
    try {
      let result = await client.propose(batch);
      for (let i = 0; i < 5 && !result.ok && 'policyMoved' in result; i++) result = await client.propose(batch);
      if (result.ok) return result.revisions[0];
    } catch (error) {
      if (error instanceof OutcomeUnknownError) return undefined;
      throw error;
    }
  }
}

const fault = fc.constantFrom<Fault>('none', 'none', 'none', 'lostBefore', 'lostAfter', 'policyMoved');

describe('changes in turn', () => {
  it('each acknowledged change is there once, under its own revision, on top of the one before', async () => {
    const run = async (scheduler: Scheduler, clients: number, overtakes: number, faults: readonly Fault[]) => {
      const shard = new Shard(scheduler, faults, (ms) => ms <= 1_000 || faults.length > 0);
      await shard.start();
      const changes = Array.from({ length: clients }, (_, i) => add(shard.client(), `w${i}`));
      const others = Array.from({ length: overtakes }, async (_, i) => {
        await scheduler.schedule(Promise.resolve(), 'overtake');
        await shard.overtake(`o${i}`);
      });
      await scheduler.waitFor(Promise.all([...changes, ...others]));
      const revisions = await Promise.all(changes);
      const final = [...shard.history].sort(([a], [b]) => a - b);
      for (const [i, [, words]] of final.entries()) {
        if (i > 0) expect(words.slice(0, -1)).toEqual(final[i - 1]![1]);
        expect(new Set(words).size).toBe(words.length);
      }
      for (const [i, revision] of revisions.entries()) {
        if (revision !== undefined) expect(shard.history.get(revision)?.at(-1)).toBe(`w${i}`);
      }
      if (faults.length === 0) expect(revisions).not.toContain(undefined);
      await scheduler.waitIdle();
      expect(shard.lines.size).toBe(0);
    };
    const numbers = [fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 4 })] as const;
    await fc.assert(fc.asyncProperty(fc.scheduler(), ...numbers, fc.array(fault, { maxLength: 8 }), run), {
      numRuns: 300,
    });
  });

  it('commits the changes of all who wait as one batch', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const shard = new Shard(scheduler, [], () => false);
        await shard.start();
        const turns = Array.from({ length: 30 }, () => shard.client());
        const changes = turns.map((client, i) => add(client, `w${i}`));
        await scheduler.waitFor(Promise.all(changes));
        expect(shard.proposals).toBeLessThan(30);
      }),
      { numRuns: 20 },
    );
  });
});

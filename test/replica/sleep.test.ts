import { describe, expect, it } from 'vitest';
import { Driver } from '../../durable-objects/replica/driver.ts';
import type { Host } from '../../durable-objects/replica/host.ts';
import { RaftLog } from '../../durable-objects/replica/raft-log.ts';
import { SqlStorage } from '../../durable-objects/replica/sql-storage.ts';
import type { Operation } from '../../src/keyspace/types.ts';
import { encodeProposal, proposalId } from '../../src/protocol/commands.ts';
import { memorySql } from '../support/sqlite.ts';

const LIMITS = { ms: 300_000, revisions: 1_000, bytes: 1 << 20 };
const NO_SINK = { send: () => undefined, end: () => undefined, wake: () => undefined };

/** Replica `id` of a group over a database that outlives it, on a clock that the test moves. */
class Bench {
  readonly sql = memorySql();
  now = 1_000_000;
  timer: number | undefined;
  alarm: number | undefined;
  driver: Driver;
  readonly #id: number;
  readonly #voters: number[];
  sent: string[] = [];

  constructor(id: number, voters: number[]) {
    this.#id = id;
    this.#voters = voters;
    this.driver = this.load();
  }

  /** Builds the driver from what is on disk, as after an eviction. */
  load(): Driver {
    this.alarm = undefined;
    const host: Host = {
      id: this.#id,
      now: () => this.now,
      random: () => 0.5,
      send: (messages) => this.sent.push(...messages.map(({ type, to }) => `${type} to ${to}`)),
      yieldTask: () => Promise.resolve(),
      transaction: (write) => write(),
      setTimer: (at) => {
        this.timer = at;
      },
      sleep: (alarm) => {
        this.alarm = alarm;
      },
      fetchState: () => Promise.reject(new Error('nobody there')),
      forward: () => Promise.reject(new Error('not reachable')),
      orphaned: () => undefined,
      pokeLoops: () => undefined,
      fail: (error) => {
        throw error;
      },
    };
    this.driver = new Driver(host, new RaftLog(this.sql, this.#voters), new SqlStorage(this.sql), NO_SINK, LIMITS);
    return this.driver;
  }

  /** Lets time pass until a moment, firing every timer on the way. */
  async until(time: number): Promise<void> {
    while (this.timer !== undefined && this.timer <= time) {
      this.now = Math.max(this.now, this.timer);
      this.timer = undefined;
      this.driver.tick();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.now = Math.max(this.now, time);
  }

  async put(key: string): Promise<void> {
    const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };
    const meta = { labels: {}, fields: {}, terms: [], tag };
    const operation = { type: 'put', key, value: new Uint8Array(10), meta } satisfies Operation;
    const batch = { conditions: [], operations: [operation] };
    await this.driver.propose(
      encodeProposal(proposalId(this.now, crypto.getRandomValues(new Uint8Array(8))), batch, undefined),
      0,
    );
  }
}

describe('a replica that sleeps', () => {
  it('runs no timer when quiet, and wants to be woken when its history is old enough to go', async () => {
    const bench = new Bench(1, [1]);
    await bench.put('/registry/a/1');
    await bench.until(bench.now + 10_000);
    expect(bench.timer).toBeUndefined();
    expect(bench.driver.asleep).toBe(true);
    expect(bench.alarm).toBeGreaterThan(1_000_000 + LIMITS.ms);
  });

  it('compacts history that it had before it was evicted, when its alarm wakes it', async () => {
    const bench = new Bench(1, [1]);
    await bench.put('/registry/a/1');
    await bench.put('/registry/a/1');
    const { revision } = bench.driver.state.scalars;
    await bench.until(bench.now + 10_000);
    const due = bench.alarm!;
    bench.now = due;
    await bench.load().wake();
    await bench.until(due + 10_000);
    expect(bench.driver.state.scalars.compacted).toBe(revision);
    expect(bench.alarm).toBeUndefined();
  });

  it('compacts on time although it is evicted and woken again and again before', async () => {
    const bench = new Bench(1, [1]);
    await bench.put('/registry/a/1');
    const { revision } = bench.driver.state.scalars;
    for (let wakes = 0; wakes < 10; wakes++) {
      await bench.until(bench.now + 20_000);
      bench.load();
      await bench.driver.reading.readable({ type: 'linearizable' }, 0);
    }
    expect(bench.driver.state.scalars.compacted).toBeLessThan(revision);
    await bench.until(bench.now + 10_000);
    bench.now = bench.alarm!;
    await bench.load().wake();
    await bench.until(bench.now + 10_000);
    expect(bench.driver.state.scalars.compacted).toBe(revision);
  });
});

describe('a replica that is woken and knows no leader', () => {
  it('starts an election at once when it is the first of its group', () => {
    const bench = new Bench(1, [1, 2, 3]);
    bench.driver.reading.readable({ type: 'linearizable' }, 0).catch(() => undefined);
    expect(bench.driver.status().role).not.toBe('follower');
  });

  it('starts one a moment later when it is another, long before its election timeout', async () => {
    const bench = new Bench(3, [1, 2, 3]);
    bench.driver.reading.readable({ type: 'linearizable' }, 0).catch(() => undefined);
    expect(bench.driver.status().role).toBe('follower');
    await bench.until(bench.now + 100);
    expect(bench.sent).toContain('pre-vote to 1');
  });

  it('starts one for its alarm too', async () => {
    const bench = new Bench(2, [1, 2, 3]);
    bench.driver.wake().catch(() => undefined);
    await bench.until(bench.now + 100);
    expect(bench.sent).toContain('pre-vote to 1');
  });
});

import { decodeFrame, encodeFrame } from '../../../durable-objects/raft/codec.ts';
import type { Message } from '../../../durable-objects/raft/types.ts';
import { Driver } from '../../../durable-objects/replica/driver.ts';
import type { Host } from '../../../durable-objects/replica/host.ts';
import { RaftLog } from '../../../durable-objects/replica/raft-log.ts';
import type { Refusal } from '../../../durable-objects/replica/refusal.ts';
import type { Sql } from '../../../durable-objects/replica/sql.ts';
import { SqlStaging } from '../../../durable-objects/replica/sql-staging.ts';
import { SqlStorage } from '../../../durable-objects/replica/sql-storage.ts';
import type { Operation } from '../../../src/keyspace/types.ts';
import { encodeProposal, proposalId } from '../../../src/protocol/commands.ts';
import { emptySql, memorySql } from '../../support/sqlite.ts';

/** Small, so that a replica is soon too far behind for the log. */
const LOG_LIMITS = { entries: 1_000, bytes: 4 << 20 };
const NO_SINK = { send: () => undefined, end: () => undefined, wake: () => undefined };

export interface Member {
  id: number;
  sql: Sql;
  /** Undefined while it is down. */
  driver: Driver | undefined;
  timer: number | undefined;
  failure: unknown;
  /** Chunks of state that it was given. */
  chunks: number;
  /** Throws in the next transactions, as a full disk does. */
  diskFull: boolean;
  /** Counts its starts and stops. */
  life: number;
}

/** Replicas with the real driver over SQLite in memory, on one clock that the test moves; messages arrive at once. */
export class Group {
  readonly members = new Map<number, Member>();
  readonly cut = new Set<number>();
  now = 1_000_000;
  /** What is done to chunks of state on their way. */
  tamper: (chunk: Uint8Array) => Uint8Array = (chunk) => chunk;
  #proposals = 0;

  constructor(voters: readonly number[]) {
    for (const id of voters) this.add(id, voters);
  }

  /** A replica on an empty disk; without voters it learns them from a leader. */
  add(id: number, voters: readonly number[] = []): void {
    this.disk(id, memorySql());
    this.start(id, voters);
  }

  /** The place of a replica, which may not be one yet. */
  disk(id: number, sql = emptySql()): Member {
    const known = this.members.get(id);
    if (known !== undefined) return known;
    const member: Member = {
      id,
      sql,
      driver: undefined,
      timer: undefined,
      failure: undefined,
      chunks: 0,
      diskFull: false,
      life: 0,
    };
    this.members.set(id, member);
    return member;
  }

  /** Builds the driver from what is on disk. */
  start(id: number, voters: readonly number[] = []): void {
    const member = this.member(id);
    const { sql } = member;
    const log = new RaftLog(sql, voters, LOG_LIMITS);
    const staging = new SqlStaging(sql);
    member.driver = new Driver(this.#host(member), log, new SqlStorage(sql), NO_SINK, undefined, staging);
  }

  stop(id: number): void {
    const member = this.member(id);
    member.life++;
    member.driver?.stop();
    member.driver = undefined;
    member.timer = undefined;
  }

  member(id: number): Member {
    return this.members.get(id)!;
  }

  driver(id: number): Driver {
    return this.member(id).driver!;
  }

  get leader(): Driver | undefined {
    return [...this.members.values()].find(({ driver, id }) => driver?.isLeader && !this.cut.has(id))?.driver;
  }

  /** Lets time pass in small steps, timers firing on the way, until something holds. */
  async until(holds: () => boolean, limitMs = 20_000): Promise<void> {
    const end = this.now + limitMs;
    while (!holds()) {
      if (this.now > end) throw new Error('it did not come to that');
      await this.pass(10);
    }
  }

  async pass(ms: number): Promise<void> {
    this.now += ms;
    for (const member of this.members.values()) {
      if (member.timer === undefined || member.timer > this.now) continue;
      member.timer = undefined;
      member.driver?.tick();
    }
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  async elect(): Promise<Driver> {
    await this.until(() => this.leader !== undefined);
    return this.leader!;
  }

  /** The proposal of a put, as a Worker encodes it. */
  proposal(key: string, size = 10): Uint8Array {
    const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };
    const meta = { labels: {}, fields: {}, terms: [], tag };
    const operation: Operation = { type: 'put', key, value: new Uint8Array(size), meta };
    const random = new Uint8Array(8);
    new DataView(random.buffer).setUint32(0, ++this.#proposals);
    const batch = { conditions: [], operations: [operation] };
    return encodeProposal(proposalId(this.now, random), batch, undefined).slice();
  }

  /** Puts a value at the leader; resolves with the outcome or the status of the refusal. */
  async put(key: string, size = 10, driver = this.leader!): Promise<string> {
    let settled: string | undefined;
    const proposal = driver.propose(this.proposal(key, size), 0).then(
      ({ type }) => {
        settled = type;
      },
      (refusal: Refusal) => {
        settled = refusal.status;
      },
    );
    await this.until(() => settled !== undefined);
    await proposal;
    return settled!;
  }

  keys(id: number): string[] {
    return Array.from(this.driver(id).state.scan({ from: '', end: '\u{10ffff}' }), ({ key }) => key);
  }

  /** What a driver that was stopped still tries leads nowhere. */
  #host(member: Member): Host {
    const { id } = member;
    const life = ++member.life;
    const over = () => member.life !== life;
    return {
      id,
      now: () => this.now,
      random: () => (id % 10) / 10,
      send: (messages) => {
        if (!over()) this.#post(messages);
      },
      yieldTask: () => new Promise((resolve) => setImmediate(resolve)),
      transaction: (write) => {
        if (over()) throw new Error('the process is gone');
        if (member.diskFull) throw new Error('database or disk is full');
        member.sql.exec('BEGIN');
        write();
        member.sql.exec('COMMIT');
      },
      setTimer: (at) => {
        if (!over()) member.timer = at;
      },
      sleep: () => undefined,
      fetchState: async (peer, request) => {
        const source = this.#reachable(id, peer);
        if (source === undefined || over()) throw new Error('not reachable');
        member.chunks++;
        await new Promise((resolve) => setImmediate(resolve));
        return this.tamper(source.transfer.serve(id, request).slice());
      },
      forward: () => Promise.reject(new Error('not reachable')),
      orphaned: () => undefined,
      pokeLoops: () => undefined,
      fail: (error) => {
        if (over()) return;
        member.failure = error;
        this.stop(id);
      },
    };
  }

  #reachable(from: number, to: number): Driver | undefined {
    return this.cut.has(from) || this.cut.has(to) ? undefined : this.members.get(to)?.driver;
  }

  #post(messages: readonly Message[]): void {
    const byReceiver = Map.groupBy(decodeFrame(encodeFrame(messages)), ({ to }) => to);
    for (const [to, batch] of byReceiver) {
      setImmediate(() => {
        const driver = this.#reachable(batch[0]!.from, to);
        if (driver === undefined) this.members.get(batch[0]!.from)?.driver?.unreachable(to);
        else driver.step(batch).catch(() => undefined);
      });
    }
  }
}

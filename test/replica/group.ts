import { Driver } from '../../durable-objects/replica/driver.ts';
import type { Host } from '../../durable-objects/replica/host.ts';
import { OPERATIONS } from '../../durable-objects/replica/operations.ts';
import { RaftLog } from '../../durable-objects/replica/raft-log.ts';
import type { Sql } from '../../durable-objects/replica/sql.ts';
import { SqlStorage } from '../../durable-objects/replica/sql-storage.ts';
import { Transport } from '../../durable-objects/replica/transport.ts';
import type { Batch, Operation } from '../../src/keyspace/types.ts';
import { encodeProposal, type Format, proposalId } from '../../src/protocol/commands.ts';
import { memorySql } from '../support/sqlite.ts';

const NO_SINK = { send: () => undefined, end: () => undefined, wake: () => undefined };
const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Member {
  driver: Driver;
  transport: Transport;
  timer: number | undefined;
}

/** A group of replicas in one process, over databases that outlive them, on a clock that the test moves. */
export class Group {
  readonly disks: ReadonlyMap<number, Sql>;
  readonly members = new Map<number, Member>();
  /** Why replicas stopped, the last time that they did. */
  readonly failures = new Map<number, unknown>();
  now = 1_000_000_000;
  #random = 1;

  constructor(ids: readonly number[], format?: (id: number) => Format) {
    this.disks = new Map(ids.map((id) => [id, memorySql()]));
    for (const id of ids) this.start(id, format?.(id));
  }

  /** Starts a replica from its disk, with code that knows a format; throws what its driver throws. */
  start(id: number, format?: Format): void {
    const sql = this.disks.get(id)!;
    this.members.delete(id);
    const member: Omit<Member, 'driver' | 'transport'> & Partial<Member> = { timer: undefined };
    const host: Host = {
      id,
      now: () => this.now,
      random: () => this.#next(),
      send: (messages) => member.transport?.send(messages),
      yieldTask: turn as () => Promise<void>,
      transaction: (write) => write(),
      setTimer: (at) => {
        member.timer = at;
      },
      sleep: () => undefined,
      fetchState: () => Promise.reject(new Error('not reachable')),
      forward: async (leader, proposal) => {
        const other = this.members.get(leader);
        if (other === undefined) throw new Error('not reachable');
        return OPERATIONS.get('propose')!(other.driver, proposal, 0);
      },
      orphaned: () => undefined,
      pokeLoops: () => undefined,
      fail: (error) => {
        this.failures.set(id, error);
        this.members.delete(id);
      },
    };
    if (format !== undefined) host.format = format;
    const driver = new Driver(host, new RaftLog(sql, [...this.disks.keys()]), new SqlStorage(sql), NO_SINK);
    member.driver = driver;
    member.transport = new Transport({
      post: async (peer, frame) => {
        const other = this.members.get(peer);
        if (other === undefined || this.members.get(id) !== member) throw new Error('not reachable');
        return other.transport.serve(id, frame);
      },
      report: () => driver.report(),
      heard: (peer, report) => driver.heard(peer, report),
      step: (messages) => driver.step(messages),
      unreachable: (peer) => driver.unreachable(peer),
    });
    this.members.set(id, member as Member);
  }

  /** Lets that many ms pass, firing every timer on the way. */
  async pass(ms: number): Promise<void> {
    for (const end = this.now + ms; this.now < end; this.now += 10) {
      for (const { timer, driver } of [...this.members.values()])
        if (timer !== undefined && timer <= this.now) driver.tick();
      for (let i = 0; i < 4; i++) await turn();
    }
  }

  /** The leader; waits for one. */
  async leader(): Promise<Driver> {
    for (;;) {
      for (const { driver } of this.members.values()) if (driver.isLeader) return driver;
      await this.pass(100);
    }
  }

  /** Writes a key through the leader. */
  async put(key: string): Promise<void> {
    await this.propose(putBatch(key));
  }

  async propose(batch: Batch): Promise<void> {
    const done = (await this.leader()).propose(this.encode(batch), 0);
    await Promise.all([done, this.pass(20)]);
  }

  /** A batch as a Worker sends it. */
  encode(batch: Batch): Uint8Array {
    return encodeProposal(proposalId(this.now, crypto.getRandomValues(new Uint8Array(8))), batch, undefined);
  }

  #next(): number {
    this.#random = (this.#random * 48271) % 2147483647;
    return this.#random / 2147483647;
  }
}

/** A batch that writes one key. */
export function putBatch(key: string): Batch {
  const meta = {
    labels: {},
    fields: {},
    terms: [],
    tag: { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 },
  };
  const operations: Operation[] = [{ type: 'put', key, value: new Uint8Array(10), meta }];
  return { conditions: [], operations };
}

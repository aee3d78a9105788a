import { Client } from '../../src/keyspace/client.ts';
import {
  type Batch,
  CompactedError,
  type Condition,
  type Consistency,
  FutureRevisionError,
  type ListPage,
  OutcomeUnknownError,
  OverloadedError,
  type StoredRecord,
  UnavailableError,
  type Operation as Write,
} from '../../src/keyspace/types.ts';
import type { Listing, Operation, Outcome, Precondition, Request, Shown } from '../support/history/index.ts';
import type { Network, Place } from './network.ts';
import type { ReplicaObject } from './replica-object.ts';
import { routeOf } from './route.ts';
import { Watching } from './watcher.ts';
import { draw, type Weighted } from './weighted.ts';
import { Actor, type World } from './world.ts';

const TAG = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };
export const PODS = '/registry/pods/';
const NAMESPACES = ['a', 'b'];
const NAMES = 6;
const EVENTS = '/registry/events/';
const LOCK = '/registry/leases/a/lock';
const COLORS = ['red', 'green', 'blue'];

/** All that clients did and saw. */
export interface Record {
  operations: Operation[];
  lists: Listing[];
  watches: Watching[];
  /** Operations begun; the run ends when there were enough. */
  begun: number;
}

export interface Plan {
  operations: number;
  /** Milliseconds between two operations of a client, on average. */
  pause: number;
  /** Until when nobody asks anything. */
  quietUntil: number;
}

/** What a client may do next, with its weight. */
const ACTIONS: Weighted<(client: SimulatedClient) => Promise<void>> = [
  ['get', 22, (client) => client.get({ type: 'linearizable' })],
  ['relaxed get', 4, (client) => client.get({ type: 'any' })],
  ['put', 12, (client) => client.put()],
  ['create', 10, (client) => client.create()],
  ['update', 16, (client) => client.update({ type: 'linearizable' })],
  ['update in turn', 8, (client) => client.update({ type: 'turn' })],
  ['delete', 9, (client) => client.remove()],
  ['batch', 8, (client) => client.batch()],
  ['list', 5, (client) => client.list({ type: 'linearizable' })],
  ['relaxed list', 2, (client) => client.list({ type: 'any' })],
  ['paged list', 2, (client) => client.pagedList()],
  ['event', 3, (client) => client.event()],
  ['lock', 4, (client) => client.lock()],
  ['policy', 0.5, (client) => client.policy()],
  ['work', 1, (client) => client.work()],
];

/** A Worker's isolate with users: the real client of the keyspace over the simulated network. */
export class SimulatedClient implements Place {
  readonly name: string;
  readonly world: World;
  readonly keyspace: Client;
  readonly #actor: Actor;
  readonly #record: Record;
  readonly #plan: Plan;
  /** What it has last seen of each key. */
  readonly #known = new Map<string, number>();
  #values = 0;
  #policy = 0;
  idle = true;

  /** `isolate`: number of the isolate that it runs in; no two clients share one. */
  constructor(
    isolate: number,
    world: World,
    network: Network,
    objects: readonly ReplicaObject[],
    record: Record,
    plan: Plan,
  ) {
    this.name = `client-${isolate}`;
    this.world = world;
    this.#actor = new Actor(this.name);
    this.#record = record;
    this.#plan = plan;
    const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
    this.keyspace = new Client(routeOf(this, isolate, world, network, objects), {
      now: () => world.clock(),
      random: world.random,
      sleep,
    });
  }

  actor(): Actor {
    return this.#actor;
  }

  gate(run: () => void): void {
    run();
  }

  /** Works until the plan is done. */
  start(): void {
    this.idle = false;
    this.world.after(this.world.between(0, 50), this.#actor, () => {
      this.#work()
        .catch((error) => this.world.fail(error))
        .finally(() => {
          this.idle = true;
        });
    });
  }

  async #work(): Promise<void> {
    const { world } = this;
    while (this.#record.begun < this.#plan.operations) {
      const [name, , act] = draw(world.random, ACTIONS);
      this.#record.begun++;
      if (world.now < this.#plan.quietUntil) await this.#sleep(this.#plan.quietUntil - world.now);
      await act(this);
      world.count(`operation: ${name}`);
      await this.#sleep(-this.#plan.pause * Math.log(1 - world.random()));
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.world.after(ms, this.#actor, resolve);
    });
  }

  #key(): string {
    const { world } = this;
    return `${PODS}${world.pick(NAMESPACES)}/${Math.floor(world.random() * NAMES)}`;
  }

  #write(key: string, extra: { ttlSeconds?: number } = {}): Write & { type: 'put' } {
    const value = `${this.name}-${++this.#values}`;
    const labels = { color: this.world.pick(COLORS) };
    const meta = { labels, fields: { 'metadata.name': key }, terms: [`color:${labels.color}`], tag: TAG };
    return { type: 'put', key, value: new TextEncoder().encode(value), meta, ...extra };
  }

  async get(consistency: Consistency): Promise<void> {
    const key = this.#key();
    const start = this.world.now;
    const found = await this.#answered(this.keyspace.get([key], consistency));
    if (found === undefined) return;
    const record = shown(found.records[0]);
    if (record !== undefined) this.#known.set(key, record.revision);
    if (consistency.type !== 'linearizable') {
      this.#listed(PODS_OF(key), found.revision, found.records, start, false);
      return;
    }
    this.#note(key, start, { type: 'get' }, { type: 'read', record });
  }

  put(): Promise<void> {
    return this.propose([], [this.#write(this.#key())]);
  }

  create(): Promise<void> {
    const key = this.#key();
    return this.propose([{ type: 'absent', key }], [this.#write(key)]);
  }

  /** Changes a record as it was read, or as it was once known. */
  async update(consistency: Consistency): Promise<void> {
    const key = this.#key();
    let revision = this.#known.get(key);
    if (revision === undefined || this.world.chance(0.7)) {
      const start = this.world.now;
      const found = await this.#answered(this.keyspace.get([key], consistency));
      if (found === undefined) return;
      const record = shown(found.records[0]);
      if (consistency.type === 'linearizable') this.#note(key, start, { type: 'get' }, { type: 'read', record });
      revision = record?.revision;
    }
    if (revision === undefined) return;
    await this.propose([{ type: 'revision', key, revision }], [this.#write(key)]);
  }

  async remove(): Promise<void> {
    const key = this.#key();
    const revision = this.#known.get(key);
    const conditions: Condition[] =
      revision !== undefined && this.world.chance(0.5)
        ? [{ type: 'revision', key, revision }]
        : this.world.chance(0.5)
          ? [{ type: 'exists', key }]
          : [];
    await this.propose(conditions, [{ type: 'delete', key }]);
  }

  /** Several keys at once. */
  batch(): Promise<void> {
    const keys = [...new Set([this.#key(), this.#key(), this.#key()])];
    const writes = keys.map((key): Write => (this.world.chance(0.2) ? { type: 'delete', key } : this.#write(key)));
    const conditions: Condition[] = this.world.chance(0.5) ? [{ type: 'exists', key: keys[0]! }] : [];
    return this.propose(conditions, writes);
  }

  event(): Promise<void> {
    const key = `${EVENTS}a/${Math.floor(this.world.random() * 20)}`;
    const ttlSeconds = Math.ceil(this.world.between(1, 30));
    return this.propose([], [this.#write(key, { ttlSeconds })]);
  }

  /** Takes the lock if nobody has it and gives it back; two holders at once would show in the order of its key. */
  async lock(): Promise<void> {
    const write = this.#write(LOCK);
    await this.propose([{ type: 'absent', key: LOCK }], [write]);
    const revision = this.#known.get(LOCK);
    if (revision === undefined) return;
    await this.#sleep(this.world.between(0, 20));
    await this.propose([{ type: 'revision', key: LOCK, revision }], [{ type: 'delete', key: LOCK }]);
    this.#known.delete(LOCK);
  }

  /** Moves the policy revision; writes that were decided under an older one are refused. */
  async policy(): Promise<void> {
    await this.propose([], [this.#write(`/registry/roles/a/${Math.floor(this.world.random() * 3)}`)]);
  }

  /** Does what the outbox asks for. */
  async work(): Promise<void> {
    const rows = await this.#answered(this.keyspace.work(10));
    const ids = (rows ?? []).map(({ id }) => id);
    const done = ids.map((id): Write => ({ type: 'done', id }));
    const item = { loop: 'garbage-collector', item: this.name } as const;
    await this.propose([], [...done, { ...this.#write(this.#key()), work: [item] }]);
  }

  /** Proposes a batch and notes what it means for each of its keys. */
  async propose(conditions: Condition[], operations: Write[]): Promise<void> {
    const start = this.world.now;
    const batch: Batch = { conditions, operations };
    const underPolicy = this.world.chance(0.1) ? this.#policy : undefined;
    let result: Awaited<ReturnType<Client['propose']>>;
    try {
      result = await this.keyspace.propose(batch, underPolicy);
    } catch (error) {
      if (error instanceof OverloadedError || error instanceof UnavailableError) return;
      if (!(error instanceof OutcomeUnknownError)) throw error;
      this.world.count('outcome: unknown');
      for (const operation of operations) this.#noteWrite(operation, conditions, start, { type: 'unknown' });
      return;
    }
    this.#policy = Math.max(this.#policy, result.policyRevision);
    this.world.count(`outcome: ${result.ok ? 'done' : 'policyMoved' in result ? 'policy moved' : 'failed'}`);
    if (result.ok) {
      const { revisions, previous } = result;
      operations.forEach((operation, at) => {
        const replaced = shown(previous[at]) ?? null;
        this.#noteWrite(operation, conditions, start, { type: 'done', revision: revisions[at]!, replaced });
      });
    } else if (!('policyMoved' in result)) {
      const { key } = conditions[result.failed]!;
      const current = shown(result.current) ?? null;
      const own = operations.find((operation) => operation.type !== 'done' && operation.key === key);
      if (current !== null) this.#known.set(key, current.revision);
      if (own !== undefined) this.#noteWrite(own, conditions, start, { type: 'failed', current });
    }
  }

  #noteWrite(operation: Write, conditions: readonly Condition[], start: number, outcome: Outcome): void {
    // What expires by itself is no register.
    if (operation.type === 'done' || operation.key.startsWith(EVENTS)) return;
    const { key } = operation;
    const found = conditions.find((condition) => condition.key === key);
    const condition = found === undefined || found.type === 'field' ? undefined : preconditionOf(found);
    const base: Request =
      operation.type === 'put' ? { type: 'put', value: new TextDecoder().decode(operation.value) } : { type: 'delete' };
    this.#note(key, start, condition === undefined ? base : { ...base, condition }, outcome);
    if (outcome.type !== 'done') return;
    if (operation.type === 'put') this.#known.set(key, outcome.revision!);
    else this.#known.delete(key);
  }

  #note(key: string, start: number, request: Request, outcome: Outcome): void {
    const end = outcome.type === 'unknown' ? Number.POSITIVE_INFINITY : this.world.now;
    this.#record.operations.push({ client: this.name, key, start, end, request, outcome });
    this.world.tell(() => `${this.name}: ${JSON.stringify(request)} of ${key}: ${JSON.stringify(outcome)}`);
  }

  async list(consistency: Consistency): Promise<void> {
    const { world } = this;
    const prefix = world.pick([PODS, `${PODS}a/`, EVENTS]);
    const color = world.chance(0.4) ? world.pick(COLORS) : undefined;
    const start = world.now;
    const page = await this.#answered(this.keyspace.list({ ...asked(prefix, color), limit: 0, consistency }));
    if (page !== undefined)
      this.#listed({ prefix, color }, page.revision, page.records, start, consistency.type === 'linearizable');
  }

  /** A list in pages of one state. */
  async pagedList(): Promise<void> {
    const start = this.world.now;
    const records: StoredRecord[] = [];
    let page: ListPage | undefined = await this.#answered(
      this.keyspace.list({ prefix: PODS, limit: 3, consistency: { type: 'linearizable' } }),
    );
    const revision = page?.revision;
    for (; page !== undefined; page = await this.#nextPage(page)) {
      records.push(...page.records);
      if (!page.more) {
        this.#listed({ prefix: PODS }, revision!, records, start, true);
        return;
      }
      await this.#sleep(this.world.between(0, 30));
    }
  }

  #nextPage({ revision, records }: ListPage): Promise<ListPage | undefined> {
    const after = records.at(-1)!.key;
    return this.#answered(
      this.keyspace.list({ prefix: PODS, after, limit: 3, consistency: { type: 'exact', revision } }),
    );
  }

  #listed(
    { prefix, color }: { prefix: string; color?: string | undefined },
    revision: number,
    found: readonly (StoredRecord | undefined)[],
    start: number,
    linearizable: boolean,
  ): void {
    const records = found.flatMap((record) => {
      return record === undefined ? [] : [{ key: record.key, ...shown(record)! }];
    });
    const base: Listing = {
      client: this.name,
      prefix,
      revision,
      records,
      start,
      end: this.world.now,
      linearizable,
    };
    this.#record.lists.push(color === undefined ? base : { ...base, label: ['color', color] });
  }

  /** Opens a watch that lives until the run ends or its history is compacted. */
  watch(slow: boolean): void {
    const { world } = this;
    const prefix = world.pick([PODS, PODS, `${PODS}a/`, `${PODS}b/2`, EVENTS, '/registry/']);
    const color = world.chance(0.4) ? world.pick(COLORS) : undefined;
    const from = world.chance(0.5) ? Math.max(0, ...this.#known.values()) : undefined;
    const watching = new Watching(this, `${this.name}-${this.#record.watches.length}`, prefix, color, from, slow);
    this.#record.watches.push(watching);
    watching.start();
  }

  /** What an operation without effect answers; undefined when it could not be answered. */
  async #answered<T>(asked: Promise<T>): Promise<T | undefined> {
    try {
      return await asked;
    } catch (error) {
      const expected = [UnavailableError, OverloadedError, CompactedError, FutureRevisionError];
      if (!expected.some((type) => error instanceof type)) throw error;
      this.world.count(`refused: ${(error as Error).constructor.name}`);
      return undefined;
    }
  }
}

const PODS_OF = (key: string) => ({ prefix: key });

/** The selector of a list or watch for one colour. */
export function asked(prefix: string, color: string | undefined) {
  if (color === undefined) return { prefix };
  return { prefix, selector: { labels: [{ op: 'in' as const, key: 'color', values: [color] }], fields: [] } };
}

/** A record as the checks compare it. */
export function shown(record: StoredRecord | undefined): Shown | undefined {
  return record && { value: new TextDecoder().decode(record.value), revision: record.modRevision };
}

function preconditionOf(condition: Exclude<Condition, { type: 'field' }>): Precondition {
  return condition.type === 'revision' ? { type: 'revision', revision: condition.revision } : { type: condition.type };
}

/** The Worker's side of a shard: finds the replica to ask, retries what may be retried, and turns answers into results. */

import type { Bindings } from '../config.ts';
import { Writer } from '../protocol/bytes.ts';
import { encodeProposal, proposalId } from '../protocol/commands.ts';
import {
  type Answer,
  decodeAnswer,
  decodeGetAnswer,
  decodeListAnswer,
  decodeProposeAnswer,
  decodeWorkAnswer,
  encodeGet,
  encodeList,
  type Status,
} from '../protocol/messages.ts';
import { InTurn, type Platform } from './in-turn.ts';
import { ShardMembers } from './members.ts';
import { type Route, routeTo } from './route.ts';
import { ShardedKeyspace } from './sharded.ts';
import { MAIN, type ShardSpec } from './shards.ts';
import { SharedLists } from './shared-lists.ts';
import { SharedWatches } from './shared-watches.ts';
import {
  type Batch,
  CompactedError,
  type Consistency,
  FutureRevisionError,
  type GetResult,
  type Keyspace,
  type ListPage,
  type ListRequest,
  OutcomeUnknownError,
  OverloadedError,
  type ProposeResult,
  type Revision,
  TooLargeError,
  UnavailableError,
  type WatchRequest,
  type WatchStream,
} from './types.ts';
import { openWatch } from './watch.ts';

/** Largest value of a record in bytes. */
export const MAX_VALUE = 3 << 20;
const DEADLINE_MS = 6_000;
/** One attempt; longer for reads that wait at the replica. */
const ATTEMPT_MS = 2_000;
const WAITING_ATTEMPT_MS = 4_000;
const BACKOFF_MS = 15;
const MAX_BACKOFF_MS = 250;

/** What the client takes from its surroundings, so that tests may replace it. */
export interface Surroundings {
  now(): number;
  random(): number;
  sleep(ms: number): Promise<void>;
}

const WORKER: Surroundings = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** A tenant's shards; `replicas` are the first members of `main`. */
export interface ShardedTenant {
  uid: string;
  replicas: readonly number[];
  shards: readonly ShardSpec[];
}

/** The route to a tenant's shard; undefined where it has none of that name. */
function routeOf(env: Bindings, { uid, replicas, shards }: ShardedTenant, name: string): Route | undefined {
  const members = name === MAIN ? replicas : shards.find((spec) => spec.name === name)?.replicas;
  return members && routeTo(env, uid, name, members);
}

/**
 * The keyspace of a tenant. Cheap: made anew for each request.
 * `keep` is the runtime's `waitUntil`.
 */
export function keyspaceClient(env: Bindings, tenant: ShardedTenant, keep: Platform['keep']): Keyspace {
  const platform = { keep, timeout };
  const open = (name: string) => {
    const route = routeOf(env, tenant, name)!;
    const { lines, floor, readings, feeds } = route.memory;
    const client = new Client(route, WORKER);
    const lists = new SharedLists(client, readings, platform);
    const watches = new SharedWatches(client, lists, feeds, WORKER);
    const shared: Pick<Keyspace, 'list' | 'watch'> = {
      list: (request) => lists.list(request),
      watch: (request, signal) => watches.watch(request, signal),
    };
    return { keyspace: new InTurn(client, shared, lines, platform), floor };
  };
  return tenant.shards.length === 0 ? open(MAIN).keyspace : new ShardedKeyspace(tenant.shards, open);
}

/** The members of a tenant's shard, to be changed; undefined where there is no such shard. */
export function membersClient(env: Bindings, tenant: ShardedTenant, shard: string): ShardMembers | undefined {
  const route = routeOf(env, tenant, shard);
  return route && new ShardMembers(route, WORKER);
}

function timeout(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

interface Call {
  operation: string;
  body: Uint8Array;
  first: number;
  attemptMs: number;
  /** Whether an attempt without an answer may have had an effect. */
  writes: boolean;
}

/** Where one call stands between its attempts. */
interface Progress {
  target: number;
  suspect: number;
  mayBeDone: boolean;
  failures: number;
}

/** The keyspace behind a route. */
export class Client implements Keyspace {
  readonly #route: Route;
  readonly #surroundings: Surroundings;

  constructor(route: Route, surroundings: Surroundings) {
    this.#route = route;
    this.#surroundings = surroundings;
  }

  async get(keys: string[], consistency: Consistency): Promise<GetResult> {
    const payload = await this.#read('get', (fresh) => encodeGet({ keys, consistency: fresh }), consistency);
    return this.#seen(decodeGetAnswer(payload));
  }

  async list(request: ListRequest): Promise<ListPage> {
    const encode = (consistency: Consistency) => encodeList({ ...request, consistency });
    const page = decodeListAnswer(await this.#read('list', encode, request.consistency));
    return request.consistency.type === 'exact' ? page : this.#seen(page);
  }

  async propose(batch: Batch, policyRevision?: Revision): Promise<ProposeResult> {
    for (const operation of batch.operations) {
      if (operation.type === 'put' && operation.value.length > MAX_VALUE) throw new TooLargeError('value is too large');
    }
    const { memory } = this.#route;
    for (let tries = 1; ; tries++) {
      const { now } = this.#surroundings;
      const id = proposalId(now() + memory.ahead, crypto.getRandomValues(new Uint8Array(8)));
      const body = encodeProposal(id, batch, policyRevision);
      const call = { operation: 'propose', body, first: this.#leader(), attemptMs: ATTEMPT_MS, writes: true };
      const { payload, mayBeDone } = await this.#call(call);
      const result = decodeProposeAnswer(payload);
      if ('ok' in result) {
        if (result.ok) this.#seen({ revision: result.revisions.at(-1) ?? 0 });
        return result;
      }
      // The log's clock is far from ours. A first attempt was certainly not applied; what came before a repeated one is open.
      memory.ahead = result.expired - now();
      if (mayBeDone) throw new OutcomeUnknownError('the write may have happened');
      if (tries > 1) throw new UnavailableError('the clock of the shard moves');
    }
  }

  watch(request: WatchRequest, signal: AbortSignal): Promise<WatchStream> {
    return openWatch(this.#route, this.#surroundings, request, signal);
  }

  async policyRevision(): Promise<Revision> {
    return (await this.get([], { type: 'linearizable' })).policyRevision;
  }

  async work(limit: number) {
    const body = new Writer(8).varint(limit).finish();
    const first = this.#leader();
    const call = { operation: 'work', body, first, attemptMs: ATTEMPT_MS, writes: false };
    return decodeWorkAnswer((await this.#call(call)).payload);
  }

  async #read(
    operation: string,
    encode: (fresh: Consistency) => Uint8Array,
    consistency: Consistency,
  ): Promise<Uint8Array> {
    const relaxed = consistency.type === 'any';
    const { seen } = this.#route.memory;
    const body = encode(relaxed && seen > 0 ? { type: 'notOlderThan', revision: seen } : consistency);
    const first = relaxed ? this.#nearest() : this.#leader();
    const waits = consistency.type === 'notOlderThan' || consistency.type === 'exact' || relaxed;
    const attemptMs = waits ? WAITING_ATTEMPT_MS : ATTEMPT_MS;
    return (await this.#call({ operation, body, first, attemptMs, writes: false })).payload;
  }

  #leader(): number {
    return this.#route.memory.leader || Math.min(...this.#route.members);
  }

  #nearest(): number {
    const { now, random } = this.#surroundings;
    return this.#route.spread(now(), random)[0]!;
  }

  #seen<T extends { revision: Revision }>(result: T): T {
    const { memory } = this.#route;
    if (result.revision > memory.seen) memory.seen = result.revision;
    return result;
  }

  /** The payload of the answer, and whether an earlier attempt may have had an effect. */
  async #call(call: Call): Promise<{ payload: Uint8Array; mayBeDone: boolean }> {
    const { now } = this.#surroundings;
    const deadline = now() + DEADLINE_MS;
    const progress: Progress = { target: call.first, suspect: 0, mayBeDone: false, failures: 0 };
    for (;;) {
      const answer = await this.#attempt(call, progress, deadline - now());
      if (answer?.status === 'ok') return { payload: answer.payload, mayBeDone: progress.mayBeDone };
      if (answer !== undefined) throwFinal(answer, progress);
      if (now() >= deadline) break;
      const before = progress.target;
      await this.#next(progress, answer);
      const redirected =
        answer?.status === 'notLeader' && progress.target === answer.leader && progress.target !== before;
      if (!redirected || progress.failures > 3) await this.#backOff(progress.failures);
      progress.failures++;
    }
    if (progress.mayBeDone)
      throw new OutcomeUnknownError('the shard did not answer in time; the write may have happened');
    throw new UnavailableError('no replica of the shard could answer in time');
  }

  /** One attempt; undefined when there was no answer of a replica. */
  async #attempt(call: Call, progress: Progress, left: number): Promise<Answer | undefined> {
    const operation = progress.suspect === 0 ? call.operation : `${call.operation}?suspect=${progress.suspect}`;
    try {
      const timeout = Math.max(1, Math.min(call.attemptMs, left));
      const answer = decodeAnswer(await this.#route.link(progress.target).call(operation, call.body, timeout));
      if (answer.leader !== 0 && answer.leader !== progress.suspect) this.#route.memory.leader = answer.leader;
      if (answer.status === 'unknown') progress.mayBeDone ||= call.writes;
      return answer;
    } catch {
      // Not reached, timed out, or its process died meanwhile: all of them leave the outcome open.
    }
    progress.mayBeDone ||= call.writes;
    progress.suspect = progress.target;
    this.#route.failed(progress.target, this.#surroundings.now());
    return undefined;
  }

  /** Chooses the next replica to ask: the leader that the answer names, else the one after the last. */
  async #next(progress: Progress, answer: Answer | undefined): Promise<void> {
    const now = this.#surroundings.now();
    if (answer?.status === 'notReplica') {
      if (await this.#route.join()) return;
      this.#route.failed(progress.target, now);
    }
    if (answer === undefined || answer.status === 'notReplica') await this.#route.learn(now);
    const { members } = this.#route;
    const named = answer?.leader ?? 0;
    if (named !== 0 && named !== progress.target && named !== progress.suspect) {
      progress.target = named;
      return;
    }
    const at = members.indexOf(progress.target);
    progress.target = members[(at + 1) % members.length]!;
  }

  #backOff(failures: number): Promise<void> {
    const { random, sleep } = this.#surroundings;
    const ceiling = Math.min(MAX_BACKOFF_MS, BACKOFF_MS * 2 ** failures);
    return sleep(ceiling / 2 + (random() * ceiling) / 2);
  }
}

/** Throws for answers that no other replica would better. */
function throwFinal(answer: Answer, progress: Progress): void {
  const final = FINAL[answer.status];
  if (final !== undefined) throw final(answer, progress);
}

const FINAL: Partial<Record<Status, (answer: Answer, progress: Progress) => Error>> = {
  compacted: ({ revision }) => new CompactedError(revision),
  future: ({ revision }) => new FutureRevisionError(revision, revision),
  tooLarge: () => new TooLargeError('the request is too large'),
  malformed: () => new TypeError('the replica could not read the request'),
  overloaded: (_, { mayBeDone }) =>
    mayBeDone ? new OutcomeUnknownError('the write may have happened') : new OverloadedError('the shard is overloaded'),
};

import { type Basis, type Clock, type Group, Line, NOT_COMMITTED, revisionOf } from './line.ts';
import {
  type Batch,
  type Consistency,
  type GetResult,
  type Keyspace,
  type ListPage,
  type ListRequest,
  type Operation,
  OutcomeUnknownError,
  type ProposeResult,
  type Revision,
  type StoredRecord,
  type WatchRequest,
  type WatchStream,
} from './types.ts';

const DEADLINE_MS = 8_000;

/** What the turns of an isolate need of the platform. */
export interface Platform extends Clock {
  /** Keeps work going when the request that does it is over. */
  keep(work: Promise<void>): void;
}

/** Lines of one shard's records in this isolate, by key. */
export type Lines = Map<string, Line>;

/**
 * A request's view of the keyspace in which changes that name no version take turns within the isolate: each is decided
 * on the record that the one before made, committed or not, and all that come together commit as one batch. Every change
 * is conditioned on the one before it, so what is answered was committed, and nothing is decided on what was not.
 */
export class InTurn implements Keyspace {
  readonly #inner: Keyspace;
  readonly #shared: Pick<Keyspace, 'list' | 'watch'>;
  readonly #lines: Lines;
  readonly #platform: Platform;
  #held: { key: string; line: Line } | undefined;
  #read: { record: StoredRecord; basis: Basis | undefined } | undefined;

  /** `shared`: lists and watches, which requests have in common where they ask for the same. */
  constructor(inner: Keyspace, shared: Pick<Keyspace, 'list' | 'watch'>, lines: Lines, platform: Platform) {
    this.#inner = inner;
    this.#shared = shared;
    this.#lines = lines;
    this.#platform = platform;
  }

  async get(keys: string[], consistency: Consistency): Promise<GetResult> {
    if (consistency.type === 'turn') return this.#turn(keys[0] ?? '');
    if (this.#held !== undefined && keys.includes(this.#held.key)) this.#leave();
    return this.#inner.get(keys, consistency);
  }

  async propose(batch: Batch, policyRevision?: Revision): Promise<ProposeResult> {
    const held = this.#held;
    const put = held && this.#read && soleChange(batch, this.#read.record);
    if (held !== undefined && put !== undefined) {
      const record = await this.#current();
      const joined = record && held.line.join(this, record, put, policyRevision);
      if (joined !== undefined) {
        this.#held = undefined;
        return this.#deliver(held.line, joined.group, joined.outcome);
      }
    }
    try {
      const rebased = await this.#rebase(batch);
      return rebased === undefined ? NOT_COMMITTED : await this.#inner.propose(rebased, policyRevision);
    } finally {
      this.#leave();
    }
  }

  list(request: ListRequest): Promise<ListPage> {
    return this.#shared.list(request);
  }

  watch(request: WatchRequest, signal: AbortSignal): Promise<WatchStream> {
    return this.#shared.watch(request, signal);
  }

  policyRevision(): Promise<Revision> {
    return this.#inner.policyRevision();
  }

  work(limit: number) {
    return this.#inner.work(limit);
  }

  async #turn(key: string): Promise<GetResult> {
    this.#leave();
    const line = this.#lineOf(key);
    const { record, basis } = await line.enter(this);
    this.#held = { key, line };
    if (record !== undefined) {
      this.#read = { record, basis };
      return { records: [record], revision: 0, policyRevision: 0 };
    }
    try {
      const result = await this.#inner.get([key], { type: 'turn' });
      const found = result.records[0];
      this.#read = found && { record: found, basis: undefined };
      return result;
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  #lineOf(key: string): Line {
    const known = this.#lines.get(key);
    if (known !== undefined) return known;
    const line = new Line(this.#platform, () => {
      if (this.#lines.get(key) === line) this.#lines.delete(key);
    });
    this.#lines.set(key, line);
    return line;
  }

  /** The record that was read, under its own revision where that is known by now; undefined when it was never committed. */
  async #current(): Promise<StoredRecord | undefined> {
    const { record, basis } = this.#read!;
    if (basis?.group.result === undefined) return record;
    const modRevision = await revisionOf(basis);
    return modRevision === undefined ? undefined : { ...record, modRevision };
  }

  /** A batch under real revisions; undefined when what it was decided on was never committed. */
  async #rebase(batch: Batch): Promise<Batch | undefined> {
    if (this.#read?.basis === undefined) return batch;
    const { record, basis } = this.#read;
    if (
      !batch.conditions.some((condition) => condition.type === 'revision' && condition.revision === record.modRevision)
    )
      return batch;
    const revision = await revisionOf(basis);
    if (revision === undefined) return undefined;
    const conditions = batch.conditions.map((condition) =>
      condition.type === 'revision' && condition.revision === record.modRevision
        ? { ...condition, revision }
        : condition,
    );
    return { ...batch, conditions };
  }

  /** Sees a change through: waits for its group's turn, sends the group if nobody else does, and waits for the outcome. */
  async #deliver(line: Line, group: Group, outcome: Promise<ProposeResult>): Promise<ProposeResult> {
    const stop = this.#platform.timeout(DEADLINE_MS, () =>
      group.fail(new OutcomeUnknownError('the shard did not answer in time; the write may have happened')),
    );
    try {
      await Promise.race([Promise.all([group.base, group.ripe]), outcome]);
      if (line.take(group)) {
        const { key } = group.changes[0]!.put;
        const send = (base: Revision, operations: Operation[], policyRevision: Revision | undefined) =>
          this.#inner.propose({ conditions: [{ type: 'revision', key, revision: base }], operations }, policyRevision);
        this.#platform.keep(group.commit(send));
      }
      return await outcome;
    } finally {
      stop();
    }
  }

  #leave(): void {
    this.#held?.line.leave(this);
    this.#held = undefined;
  }
}

/** The only put of a batch that changes one record and rests on nothing else. */
function soleChange({ conditions, operations }: Batch, { key, modRevision }: StoredRecord) {
  const [condition, operation] = [conditions[0], operations[0]];
  if (conditions.length !== 1 || operations.length !== 1) return undefined;
  if (condition?.type !== 'revision' || condition.key !== key || condition.revision !== modRevision) return undefined;
  return operation?.type === 'put' && operation.key === key ? operation : undefined;
}

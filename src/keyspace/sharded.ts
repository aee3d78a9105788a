import { MAIN, Placement, prefixesOf, type ShardSpec } from './shards.ts';
import { type Floor, openNamespace, SideShard } from './side-shard.ts';
import {
  type Batch,
  type Condition,
  type Consistency,
  type GetResult,
  isPolicyKey,
  type Keyspace,
  type ListPage,
  type ListRequest,
  type Operation,
  OverloadedError,
  type ProposeResult,
  type Revision,
  type StoredRecord,
  type WatchRequest,
  type WatchStream,
  type WorkItem,
} from './types.ts';

const NAMESPACES = '/registry/namespaces/';
/** Index of `main` among a tenant's shards. */
const HOME = 0;

type Refused = Extract<ProposeResult, { ok: false }>;
type Committed = Extract<ProposeResult, { ok: true }>;

/** The part of a batch that belongs to one shard, with the places of its members in the whole. */
interface Part {
  shard: number;
  batch: Batch;
  conditionsAt: number[];
  operationsAt: number[];
}

/**
 * The keyspace of a tenant with several shards, as one. Every resource lives in one shard, so lists, watches and revisions
 * are as with one; revisions of different shards have nothing to do with each other, as in kube-apiserver with an etcd
 * per resource. What crosses shards:
 *
 * - policy: a change of it in `main` raises the floor of every other shard before it is answered;
 * - a namespace: a write into another shard is conditioned on the namespace in `main` by reading it, and fenced by its uid
 *   once the namespace is removed;
 * - the outbox: the rows of all shards are one list, and a row that depends on records elsewhere is always written;
 * - quota: it is charged in `main` first, and given back where the write fails. A Worker lost between leaves a charge too
 *   many, until the next recount.
 */
export class ShardedKeyspace implements Keyspace {
  readonly #main: Keyspace;
  readonly #sides: readonly SideShard[];
  readonly #placement: Placement;
  readonly #count: number;

  /** `open` gives the client of a shard with the isolate's memory of its floor. */
  constructor(shards: readonly ShardSpec[], open: (name: string) => { keyspace: Keyspace; floor: Floor }) {
    this.#main = open(MAIN).keyspace;
    this.#sides = shards.map((spec) => {
      const { keyspace, floor } = open(spec.name);
      return new SideShard(keyspace, floor, prefixesOf(spec));
    });
    this.#placement = new Placement(shards);
    this.#count = shards.length + 1;
  }

  async get(keys: string[], consistency: Consistency): Promise<GetResult> {
    const homes = keys.map((key) => this.#placement.of(key));
    const shards = [...new Set(homes)];
    if (shards.length < 2) return this.#getFrom(shards[0] ?? HOME, keys, consistency);
    const answers = await Promise.all(
      shards.map((shard) =>
        this.#getFrom(
          shard,
          keys.filter((_, i) => homes[i] === shard),
          consistency,
        ),
      ),
    );
    const rest = answers.map(({ records }) => [...records]);
    const records = homes.map((home) => rest[shards.indexOf(home)]!.shift());
    const policyRevision = Math.max(...answers.map((answer) => answer.policyRevision));
    return { records, revision: answers[0]!.revision, policyRevision };
  }

  #getFrom(shard: number, keys: string[], consistency: Consistency): Promise<GetResult> {
    if (shard === HOME) return this.#main.get(keys, consistency);
    const side = this.#side(shard);
    return side.translated(side.bare.get(keys, consistency));
  }

  /** A prefix that spans shards is read shard by shard: its pages are no snapshot, and there is none of an exact revision. */
  async list(request: ListRequest): Promise<ListPage> {
    const shards = this.#placement.below(request.prefix);
    if (shards.length === 1) return this.#listIn(shards[0]!, request);
    if (request.consistency.type === 'exact') throw new TypeError(`${request.prefix} spans shards`);
    const pages = await Promise.all(shards.map((shard) => this.#listIn(shard, request)));
    const unfinished = pages.filter((page) => page.more).map((page) => page.records.at(-1)?.key ?? '');
    const end = unfinished.sort()[0];
    const records = pages.flatMap((page) => page.records).sort((a, b) => (a.key < b.key ? -1 : 1));
    const kept = end === undefined ? records : records.filter(({ key }) => key <= end);
    const policyRevision = Math.max(...pages.map((page) => page.policyRevision));
    return { records: kept, revision: pages[0]!.revision, policyRevision, more: end !== undefined };
  }

  #listIn(shard: number, request: ListRequest): Promise<ListPage> {
    return shard === HOME ? this.#main.list(request) : this.#side(shard).list(request);
  }

  watch(request: WatchRequest, signal: AbortSignal): Promise<WatchStream> {
    const [shard, other] = this.#placement.below(request.prefix);
    if (other !== undefined) throw new TypeError(`${request.prefix} spans shards`);
    return (shard === HOME ? this.#main : this.#side(shard!).bare).watch(request, signal);
  }

  policyRevision(): Promise<Revision> {
    return this.#main.policyRevision();
  }

  /** Ids are made unique among the shards. */
  async work(limit: number) {
    const lists = await Promise.all([this.#main, ...this.#sides.map(({ bare }) => bare)].map((k) => k.work(limit)));
    return lists.flatMap((rows, shard) => rows.map((row) => ({ ...row, id: row.id * this.#count + shard })));
  }

  async propose(batch: Batch, policyRevision?: Revision): Promise<ProposeResult> {
    const parts = await this.#split(batch);
    const result = await this.#proposeParts(batch, parts, policyRevision);
    const policy = result.ok && batch.operations.some((operation) => 'key' in operation && isPolicyKey(operation.key));
    if (policy) await Promise.all(this.#sides.map((side) => side.raise(result.policyRevision)));
    return result;
  }

  async #proposeParts(batch: Batch, parts: Part[], policyRevision: Revision | undefined): Promise<ProposeResult> {
    const whole: Committed = { ok: true, revisions: [], previous: [], policyRevision: 0 };
    let committed: { part: Part; result: Committed } | undefined;
    let fences: Condition[] = [];
    for (const part of parts) {
      const isBase = part.shard === HOME && parts.length > 1;
      const onlyChecked = isBase && part.operationsAt.length === 0;
      const base = isBase ? await this.#base(part, policyRevision) : undefined;
      if (base !== undefined) ({ fences } = base);
      const result = onlyChecked ? base!.result : await this.#proposePart(part, fences, policyRevision);
      if (!result.ok) {
        if (committed !== undefined) await this.#takeBack(committed.part, committed.result);
        return 'policyMoved' in result ? result : this.#refusal(batch, part, result);
      }
      if (part.shard === HOME && !onlyChecked) committed = { part, result };
      for (const [i, at] of part.operationsAt.entries()) {
        whole.revisions[at] = result.revisions[i]!;
        whole.previous[at] = result.previous[i];
      }
      whole.policyRevision = Math.max(whole.policyRevision, result.policyRevision);
    }
    return whole;
  }

  /** The batch by shards, `main` first: a condition there is the base of what the others do. */
  async #split({ conditions, operations }: Batch): Promise<Part[]> {
    const parts = new Map<number, Part>();
    const partOf = (shard: number): Part => {
      const known = parts.get(shard);
      if (known !== undefined) return known;
      const made = { shard, batch: { conditions: [], operations: [] }, conditionsAt: [], operationsAt: [] };
      parts.set(shard, made);
      return made;
    };
    for (const [i, condition] of conditions.entries()) {
      const part = partOf(this.#placement.of(condition.key));
      part.batch.conditions.push(condition);
      part.conditionsAt.push(i);
    }
    for (const [i, operation] of operations.entries()) {
      const part = partOf(operation.type === 'done' ? operation.id % this.#count : this.#placement.of(operation.key));
      part.batch.operations.push(await this.#placed(operation, part.shard));
      part.operationsAt.push(i);
    }
    if (parts.size === 0) partOf(HOME);
    return [...parts.values()].sort((a, b) => a.shard - b.shard);
  }

  /** The operation as its shard is to carry it out. */
  async #placed(operation: Operation, shard: number): Promise<Operation> {
    if (operation.type === 'done') return { type: 'done', id: Math.floor(operation.id / this.#count) };
    if (operation.work === undefined) return operation;
    return { ...operation, work: await Promise.all(operation.work.map((item) => this.#workIn(item, shard))) };
  }

  /**
   * A shard knows only of its own records that carry a term. An owner in `main` may have dependents anywhere, which the
   * control loop will look for; one elsewhere (an event, a lease) hardly has any, so `main` is asked.
   */
  async #workIn(item: WorkItem, shard: number): Promise<WorkItem> {
    const { ifTerm: term, ...always } = item;
    if (term === undefined) return item;
    if (shard === HOME) return item.loop === 'garbage-collector' ? always : item;
    const consistency = { type: 'linearizable' } as const;
    const page = await this.#main.list({ prefix: '/registry/', term, limit: 1, keysOnly: true, consistency });
    return page.records.length > 0 ? always : item;
  }

  async #proposePart({ shard, batch }: Part, fences: Condition[], policyRevision?: Revision): Promise<ProposeResult> {
    if (shard !== HOME) {
      const fenced = { ...batch, conditions: [...batch.conditions, ...fences] };
      return this.#side(shard).propose(fenced, policyRevision);
    }
    for (const operation of batch.operations) {
      if (operation.type === 'delete' && operation.key.startsWith(NAMESPACES)) await this.#close(operation.key);
    }
    return this.#main.propose(batch, policyRevision);
  }

  /**
   * What a write elsewhere rests on: how the conditions in `main` are decided by a read, and the conditions by which the
   * other shard refuses a write into a namespace that has been removed since.
   */
  async #base(
    { batch }: Part,
    policyRevision: Revision | undefined,
  ): Promise<{ result: ProposeResult; fences: Condition[] }> {
    const { conditions } = batch;
    const keys = conditions.map(({ key }) => key);
    const { records, policyRevision: policy } = await this.#main.get(keys, { type: 'linearizable' });
    const namespaces = records.filter((record) => record?.key.startsWith(NAMESPACES));
    const fences = namespaces.flatMap(openNamespace);
    if (policyRevision !== undefined && policy > policyRevision)
      return { result: { ok: false, policyMoved: true, policyRevision: policy }, fences };
    const failed = conditions.findIndex((condition, i) => !holds(condition, records[i]));
    if (failed < 0) return { result: { ok: true, revisions: [], previous: [], policyRevision: policy }, fences };
    return { result: { ok: false, failed, current: records[failed], policyRevision: policy }, fences };
  }

  /** The refusal in terms of the whole batch. A fence that failed is the namespace's condition, as it stands by now. */
  async #refusal(batch: Batch, part: Part, result: Exclude<Refused, { policyMoved: true }>): Promise<ProposeResult> {
    const failed = part.conditionsAt[result.failed];
    if (failed !== undefined) return { ...result, failed };
    const at = batch.conditions.findIndex(({ key }) => key.startsWith(NAMESPACES));
    const [current] = (await this.#main.get([batch.conditions[at]!.key], { type: 'linearizable' })).records;
    if (holds(batch.conditions[at]!, current)) throw new OverloadedError('the namespace is being replaced');
    return { ...result, failed: at, current };
  }

  /** Restores what a part of the batch changed in `main`, where nobody has changed it since. */
  async #takeBack({ batch }: Part, { revisions, previous }: Committed): Promise<void> {
    const conditions: Condition[] = [];
    const operations: Operation[] = [];
    for (const [i, operation] of batch.operations.entries()) {
      const before = previous[i];
      if (operation.type !== 'put' || before === undefined) continue;
      conditions.push({ type: 'revision', key: operation.key, revision: revisions[i]! });
      operations.push({ type: 'put', key: operation.key, value: before.value, meta: before.meta });
    }
    if (operations.length > 0) await this.#main.propose({ conditions, operations });
  }

  async #close(key: string): Promise<void> {
    const [record] = (await this.#main.get([key], { type: 'linearizable' })).records;
    if (record === undefined) return;
    await Promise.all(this.#sides.map((side) => side.close(record, key.slice(NAMESPACES.length))));
  }

  #side(shard: number): SideShard {
    return this.#sides[shard - 1]!;
  }
}

/** Whether a condition holds for the record at its key. */
function holds(condition: Condition, current: StoredRecord | undefined): boolean {
  if (condition.type === 'absent') return current === undefined;
  if (current === undefined) return false;
  if (condition.type === 'revision') return current.modRevision === condition.revision;
  if (condition.type === 'field') return (current.meta.fields[condition.field] ?? '') === condition.value;
  return true;
}

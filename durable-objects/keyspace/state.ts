/**
 * The state machine of a shard: a multi-version map from keys to records, driven by log entries. Deterministic: the same
 * entries give the same state on every replica. Changes are held in memory over the store until {@link flush}; every
 * answer includes them.
 */

import type { Condition, Revision, WorkItem } from '../../src/keyspace/types.ts';
import { isPolicyKey } from '../../src/keyspace/types.ts';
import {
  type BatchCommand,
  type Command,
  type ExpireCommand,
  FORMAT,
  type Format,
} from '../../src/protocol/commands.ts';
import { createRevisionOf, metaOf, stampRecord, termsOf } from '../../src/protocol/records.ts';
import { RecordCache } from './cache.ts';
import { Checkpoints } from './checkpoints.ts';
import { checksum, minus, plus, shareOf } from './checksum.ts';
import { type Answer, Outcomes } from './outcomes.ts';
import { RangeCache } from './ranges.ts';
import { Recent } from './recent.ts';
import type { Range, Scalars, Storage, Version, WorkRow } from './storage.ts';
import { Unwritten } from './unwritten.ts';

/** What became of a proposal. */
export type Outcome =
  | { type: 'done'; revisions: Revision[]; previous: (Version | undefined)[] }
  | { type: 'failed'; failed: number; current: Version | undefined }
  | { type: 'policyMoved' }
  /** Too old to tell whether it was applied before, or stamped in the future; `time` is the log's. */
  | { type: 'expired'; time: number };

/** A version just applied with the live version that it replaced. */
export interface Change {
  version: Version;
  replaced: Version | undefined;
}

/** Bytes of live records kept in memory for point reads and conditions. */
const CACHE_BYTES = 4 << 20;
/** Bytes of live records kept in memory as whole lists. */
const RANGES_BYTES = 4 << 20;
/** Bytes of recent history kept in memory for watchers that lag a little. */
const RECENT_BYTES = 2 << 20;

export class StateMachine {
  readonly #storage: Storage;
  /** While true nothing is swept away: somebody copies the history. */
  pinned = false;
  readonly #scalars: Scalars;
  #unwritten = new Unwritten();
  #unflushed = false;
  #nextExpiry: number | undefined;
  readonly #cache = new RecordCache(CACHE_BYTES);
  readonly #ranges = new RangeCache(RANGES_BYTES);
  readonly #recent = new Recent(RECENT_BYTES);
  readonly #outcomes = new Outcomes();
  #fresh: Change[] = [];
  #wroteWork = false;

  /** Digests of the state at certain log indexes, to be compared with other replicas'. */
  readonly checkpoints = new Checkpoints();
  readonly #format: Format;

  /** Throws RangeError when the group has gone on to a feature level that `format` does not know. */
  constructor(storage: Storage, format = FORMAT) {
    this.#storage = storage;
    this.#format = format;
    this.#scalars = storage.scalars();
    this.#checkLevel(this.#scalars.level);
    for (const answered of storage.answers()) {
      if (Outcomes.accepts(answered.id, this.#scalars.time)) this.#outcomes.set(answered);
    }
    this.#nextExpiry = storage.nextExpiry();
  }

  get scalars(): Readonly<Scalars> {
    return this.#scalars;
  }

  /** Whether {@link flush} has something to write. */
  get unflushed(): boolean {
    return this.#unflushed;
  }

  /** Size of the records that {@link flush} has to write. */
  get unflushedBytes(): number {
    return this.#unwritten.bytes;
  }

  /** Log time of the earliest expiry, a lower bound; none when no record expires. */
  get nextExpiry(): number | undefined {
    return this.#nextExpiry;
  }

  /**
   * Applies the log entry at `index`, which must be the next one; an empty one only moves the index. Returns what became
   * of a proposal. The entry may be reused by the caller afterwards. Throws RangeError, before anything changes, for an
   * entry that this code does not know: the replica must stop.
   */
  apply(index: number, entry: Uint8Array): Outcome | undefined {
    const command = entry.length === 0 ? undefined : this.#format.decode(entry);
    this.#scalars.applied = index;
    this.#unflushed = true;
    const outcome = command && this.#execute(command);
    this.checkpoints.note(this.#scalars);
    return outcome;
  }

  #execute(command: Command): Outcome | undefined {
    this.#scalars.time = Math.max(this.#scalars.time, command.time);
    if (command.kind === 'batch') return this.#batch(command);
    if (command.kind === 'expire') this.#expire(command);
    else if (command.kind === 'compact') this.#compact(command.revision, command.logFloor);
    else {
      this.#checkLevel(command.level);
      this.#scalars.level = Math.max(this.#scalars.level, command.level);
    }
    return undefined;
  }

  #checkLevel(level: number): void {
    if (level <= this.#format.level) return;
    throw new RangeError(`the group has feature level ${level}, this code knows ${this.#format.level}`);
  }

  /** Versions made since the last call, in revision order. */
  takeFresh(): Change[] {
    const fresh = this.#fresh;
    if (fresh.length > 0) this.#fresh = [];
    return fresh;
  }

  /** Whether outbox rows were written since the last call. */
  takeWork(): boolean {
    const wrote = this.#wroteWork;
    this.#wroteWork = false;
    return wrote;
  }

  /** Writes what {@link apply} changed; call it inside the transaction that makes it durable. */
  flush(): void {
    if (!this.#unflushed) return;
    const unwritten = this.#unwritten;
    this.#storage.write({ scalars: { ...this.#scalars }, ...unwritten });
    if (!this.pinned) this.#storage.sweep(this.#scalars);
    this.#unwritten = new Unwritten();
    if (unwritten.expiries.length > 0) this.#nextExpiry = this.#storage.nextExpiry();
    this.#unflushed = false;
  }

  /** The live version of a key. */
  get(key: string): Version | undefined {
    const dirty = this.#unwritten.live.get(key);
    if (dirty !== undefined) return dirty.deleted ? undefined : dirty;
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    const stored = this.#storage.newest(key);
    if (stored !== undefined) this.#cache.set(stored);
    return stored;
  }

  /** A version of history by its revision; undefined once swept away. */
  version(revision: Revision): Version | undefined {
    return this.#unwritten.version(revision) ?? this.#recent.get(revision) ?? this.#storage.version(revision);
  }

  /** Live versions in key order. */
  scan(range: Range, term?: string): Iterable<Version> {
    const known = term === undefined ? this.#ranges.get(range) : undefined;
    if (known !== undefined) return known;
    this.#flushFor(range);
    const stored = this.#storage.scan(range, term);
    return term === undefined ? this.#ranges.remember(range, stored) : stored;
  }

  /** The state at a revision at or after the compaction point, in key order. */
  *scanAt(revision: Revision, range: Range, term?: string): Iterable<Version> {
    this.#flushFor(range);
    if (revision >= this.#scalars.revision) {
      yield* this.#storage.scan(range, term);
      return;
    }
    const changed = this.#storage.stateBefore(revision, range);
    const before: Version[] = [];
    for (const [, then] of [...changed].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const version = then === 0 ? undefined : this.version(then);
      if (version !== undefined && (term === undefined || termsOf(version.record).includes(term))) before.push(version);
    }
    let next = 0;
    for (const live of this.#storage.scan(range, term)) {
      if (changed.has(live.key)) continue;
      for (; next < before.length && before[next]!.key < live.key; next++) yield before[next]!;
      yield live;
    }
    yield* before.slice(next);
  }

  /** Number of live keys in a range. */
  count(range: Range): number {
    this.#flushFor(range);
    return this.#storage.count(range);
  }

  /** History after a revision in a range of keys, in revision order. */
  *history(after: Revision, range: Range): Iterable<Version> {
    const recent = this.#recent.after(after, range);
    if (recent !== undefined) {
      yield* recent;
      return;
    }
    if (after >= this.#scalars.revision) return;
    this.flush();
    yield* this.#storage.history(after, range);
  }

  /** Outbox rows, oldest first. */
  work(limit: number): WorkRow[] {
    this.flush();
    return this.#storage.work(limit);
  }

  /** What the leader should expire at `time`: keys with the revisions that carry the expiry. */
  due(time: number, limit: number): ExpireCommand['items'] {
    if (this.#nextExpiry === undefined || this.#nextExpiry > time) return [];
    this.flush();
    return this.#storage.due(time, limit).flatMap(({ key }) => {
      const version = this.get(key);
      return version === undefined ? [] : [{ key, revision: version.revision }];
    });
  }

  #flushFor(range: Range): void {
    if (this.#unwritten.touches(range)) this.flush();
  }

  #batch(command: BatchCommand): Outcome {
    const { proposal } = command;
    if (proposal === '') return this.#decide(command);
    const { time } = this.#scalars;
    this.#outcomes.forget(time);
    if (!Outcomes.accepts(proposal, time)) return { type: 'expired', time };
    const first = this.#outcomes.get(proposal);
    return first === undefined ? this.#decide(command) : (this.#repeat(command, first) ?? { type: 'expired', time });
  }

  /** A refusal by policy needs no memory: policy only moves on, so a repeated proposal is refused again. */
  #decide(command: BatchCommand): Outcome {
    if (command.policyRevision !== undefined && command.policyRevision < this.#scalars.policy)
      return { type: 'policyMoved' };
    for (let i = 0; i < command.conditions.length; i++) {
      const condition = command.conditions[i]!;
      const current = this.get(condition.key);
      if (holds(condition, current)) continue;
      this.#remember(command, { type: 'failed', failed: i, revision: current?.revision ?? 0 });
      return { type: 'failed', failed: i, current };
    }
    return this.#carryOut(command);
  }

  #carryOut(command: BatchCommand): Outcome {
    const before = this.#scalars.revision;
    const { versions } = this.#unwritten;
    const first = versions.length;
    const revisions: Revision[] = [];
    const previous: (Version | undefined)[] = [];
    for (const operation of command.operations) {
      let replaced: Version | undefined;
      if (operation.type === 'done') this.#unwritten.done.push(operation.id);
      else if (operation.type === 'delete') replaced = this.#delete(operation.key);
      else replaced = this.#put(operation.key, operation.body, this.#deadline(operation.ttlSeconds));
      revisions.push(this.#scalars.revision);
      previous.push(replaced);
    }
    for (const operation of command.operations) if (operation.type !== 'done') this.#addWork(operation.work);
    const made = this.#scalars.revision - before;
    this.#remember(command, { type: 'done', first: before + 1, made }, versions[first]);
    return { type: 'done', revisions, previous };
  }

  /** Keeps the answer to a proposal: on the first version that it made, where there is one. */
  #remember({ proposal }: BatchCommand, answer: Answer, carrier?: Version): void {
    if (proposal === '') return;
    this.#outcomes.set({ id: proposal, answer });
    if (carrier === undefined || answer.type === 'failed') this.#unwritten.answers.push({ id: proposal, answer });
    else {
      carrier.proposal = proposal;
      carrier.made = answer.made;
    }
  }

  /** The first answer to a proposal once more; undefined when records that belong to it are gone from history. */
  #repeat(command: BatchCommand, first: Answer): Outcome | undefined {
    if (first.type === 'failed') {
      const current = first.revision === 0 ? undefined : this.version(first.revision);
      if (current === undefined && first.revision > 0) return undefined;
      return { type: 'failed', failed: first.failed, current };
    }
    const revisions: Revision[] = [];
    const previous: (Version | undefined)[] = [];
    let revision = first.first - 1;
    for (const operation of command.operations) {
      const made = revision + 1 < first.first + first.made ? this.version(revision + 1) : undefined;
      const deletes = operation.type === 'delete';
      const mine = operation.type !== 'done' && made?.key === operation.key && made.deleted === deletes;
      if (operation.type === 'put' && !mine) return undefined;
      const replaced = mine && made.previous > 0 ? this.version(made.previous) : undefined;
      if (mine && made.previous > 0 && replaced === undefined) return undefined;
      if (mine) revision++;
      revisions.push(revision);
      previous.push(replaced);
    }
    return revision + 1 < first.first + first.made ? undefined : { type: 'done', revisions, previous };
  }

  #deadline(ttlSeconds: number): number {
    return ttlSeconds === 0 ? 0 : this.#scalars.time + ttlSeconds * 1000;
  }

  #put(key: string, body: Uint8Array, expires: number): Version | undefined {
    const replaced = this.get(key);
    const revision = ++this.#scalars.revision;
    const created = replaced === undefined ? revision : createRevisionOf(replaced.record);
    const record = stampRecord(body, created, revision);
    const previous = replaced?.revision ?? 0;
    const put = { deleted: false, expires, proposal: '', made: 0, record, checksum: checksum(record) };
    this.#record({ revision, key, previous, ...put }, replaced);
    return replaced;
  }

  #delete(key: string): Version | undefined {
    const replaced = this.get(key);
    if (replaced === undefined) return undefined;
    const revision = ++this.#scalars.revision;
    const tombstone = { deleted: true, expires: 0, proposal: '', made: 0, record: new Uint8Array(0), checksum: 0 };
    this.#record({ revision, key, previous: replaced.revision, ...tombstone }, replaced);
    return replaced;
  }

  #record(version: Version, replaced: Version | undefined): void {
    const { key, revision, expires, record } = version;
    if (replaced !== undefined) this.#scalars.digest = minus(this.#scalars.digest, shareOf(replaced));
    if (!version.deleted) this.#scalars.digest = plus(this.#scalars.digest, shareOf(version));
    this.#index(key, replaced, record);
    this.#unwritten.add(version, replaced);
    if (expires > 0) this.#nextExpiry = Math.min(this.#nextExpiry ?? expires, expires);
    if (isPolicyKey(key)) this.#scalars.policy = revision;
    this.#fresh.push({ version, replaced });
    this.#ranges.apply(version);
    if (version.deleted) this.#cache.delete(key);
    else this.#cache.set(version);
    this.#recent.push(version);
  }

  #index(key: string, replaced: Version | undefined, record: Uint8Array): void {
    const before = replaced === undefined ? [] : termsOf(replaced.record);
    const after = termsOf(record);
    for (const term of before) if (!after.includes(term)) this.#unwritten.setTerm(term, key, false);
    for (const term of after) if (!before.includes(term)) this.#unwritten.setTerm(term, key, true);
  }

  #hasTerm(term: string): boolean {
    const changed = this.#unwritten.terms.get(term);
    if (changed !== undefined) for (const present of changed.values()) if (present) return true;
    for (const key of this.#storage.termKeys(term)) if (changed?.get(key) !== false) return true;
    return false;
  }

  #addWork(items: readonly WorkItem[]): void {
    for (const { loop, item, ifTerm } of items) {
      if (ifTerm !== undefined && !this.#hasTerm(ifTerm)) continue;
      this.#unwritten.work.push({ id: this.#scalars.nextWork++, loop, item });
      this.#wroteWork = true;
    }
  }

  #expire(command: ExpireCommand): void {
    for (const { key, revision } of command.items) if (this.get(key)?.revision === revision) this.#delete(key);
  }

  #compact(revision: Revision, logFloor: number): void {
    this.#scalars.compacted = Math.max(this.#scalars.compacted, Math.min(revision, this.#scalars.revision));
    this.#scalars.logFloor = Math.max(this.#scalars.logFloor, logFloor);
  }
}

function holds(condition: Condition, current: Version | undefined): boolean {
  if (condition.type === 'absent') return current === undefined;
  if (current === undefined) return false;
  if (condition.type === 'revision') return current.revision === condition.revision;
  if (condition.type === 'field') {
    const { fields } = metaOf(current.record);
    return (Object.hasOwn(fields, condition.field) ? fields[condition.field] : '') === condition.value;
  }
  return true;
}

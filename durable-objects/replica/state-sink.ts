import { termsOf } from '../../src/protocol/records.ts';
import type { Answered } from '../keyspace/outcomes.ts';
import { type Changes, FIRST_SCALARS, type Storage, type Version, type WorkRow } from '../keyspace/storage.ts';
import { type Position, START, type StateChunk, type StateHead, type StateRequest, type VersionRow } from './chunks.ts';

/** Where a state is built beside the live one. What a broken-off transfer has written is there again after a restart. */
export interface Staging {
  /** The store to build in, empty at first. */
  open(): Storage;
  /** Drops it. */
  discard(): void;
  /** Puts it in the place of the live store, within a transaction of the caller's; the new live store. */
  install(): Storage;
}

/** Answers that are written as one row of the store. */
const ANSWERS_AT_ONCE = 10_000;

type Draft = Omit<Changes, 'terms'> & {
  versions: Version[];
  live: Map<string, Version>;
  terms: Map<string, Map<string, boolean>>;
};

/** Takes a state in, chunk by chunk, and builds live keys, terms and expiries anew from its versions. */
export class StateSink {
  readonly #staging: Staging;
  readonly #transaction: (write: () => void) => void;
  #staged: Storage;
  #index = 0;
  #position: Position;
  /** The slices so far of the record that the position is in the middle of. */
  #slices: Uint8Array[] = [];
  #work: WorkRow[] = [];
  #answers: Answered[] = [];

  constructor(staging: Staging, transaction: (write: () => void) => void) {
    this.#staging = staging;
    this.#transaction = transaction;
    this.#staged = staging.open();
    this.#position = { ...START, revision: this.#staged.scalars().revision };
  }

  /** What to ask for next. */
  get request(): StateRequest {
    return { index: this.#index, from: this.#position };
  }

  /** Takes in the chunk that was asked for. Returns the head once all is there, for {@link install}. */
  take(chunk: StateChunk): StateHead | undefined {
    const { head, from, next, last } = chunk;
    if (head.index !== this.#index) this.#restart(head.index);
    if (head.scalars.revision < this.#position.revision) {
      // The sender is behind what was staged already, which is of no use then.
      this.discard();
      return undefined;
    }
    const { revision, offset, rest } = this.#position;
    if (from.revision !== revision || from.offset !== offset || from.rest !== rest) throw new RangeError('wrong chunk');
    this.#transaction(() => this.#write(chunk));
    this.#position = next;
    return last ? head : undefined;
  }

  /** Completes the state and puts it in the live one's place, within a transaction of the caller's. */
  install(head: StateHead): Storage {
    this.#staged.write({ ...draft({ ...head.scalars }), work: this.#work });
    for (let at = 0; at < this.#answers.length; at += ANSWERS_AT_ONCE) {
      this.#staged.write({ ...draft({ ...head.scalars }), answers: this.#answers.slice(at, at + ANSWERS_AT_ONCE) });
    }
    return this.#staging.install();
  }

  discard(): void {
    this.#transaction(() => this.#staging.discard());
    this.#staged = this.#staging.open();
    this.#position = START;
    this.#restart(0);
  }

  /** Another state than before: versions stay what they were, what follows them does not. */
  #restart(index: number): void {
    this.#index = index;
    this.#position = { ...this.#position, rest: 0 };
    this.#work = [];
    this.#answers = [];
  }

  #write({ rows, next }: StateChunk): void {
    const changes = draft({ ...FIRST_SCALARS, revision: next.revision });
    for (const row of rows) {
      if (row.type === 'work') this.#work.push(row.row);
      else if (row.type === 'answer') this.#answers.push(row.answered);
      else this.#addSlice(changes, row);
    }
    this.#staged.write(changes);
  }

  #addSlice(changes: Draft, { version, offset, length }: VersionRow): void {
    if (offset === 0) this.#slices = [];
    this.#slices.push(version.record);
    if (offset + version.record.length < length) return;
    this.#add(changes, {
      ...version,
      record: this.#slices.length === 1 ? version.record : joined(this.#slices, length),
    });
    this.#slices = [];
  }

  #add(changes: Draft, version: Version): void {
    const { key, previous, deleted, expires, record } = version;
    const replaced = previous === 0 ? undefined : this.#known(changes, previous);
    const expiries = changes.expiries as Changes['expiries'][number][];
    if (replaced !== undefined && !replaced.deleted) {
      for (const term of termsOf(replaced.record)) setTerm(changes, term, key, false);
      if (replaced.expires > 0) expiries.push({ at: replaced.expires, key, present: false });
    }
    if (!deleted) {
      for (const term of termsOf(record)) setTerm(changes, term, key, true);
      if (expires > 0) expiries.push({ at: expires, key, present: true });
    }
    changes.versions.push(version);
    changes.live.set(key, version);
  }

  #known(changes: Draft, revision: number): Version | undefined {
    return changes.versions.findLast((version) => version.revision === revision) ?? this.#staged.version(revision);
  }
}

function draft(scalars: Changes['scalars']): Draft {
  const empty = { live: new Map(), terms: new Map(), expiries: [], work: [], done: [], answers: [] };
  return { scalars, versions: [], ...empty };
}

function setTerm(changes: Draft, term: string, key: string, present: boolean): void {
  const keys = changes.terms.get(term) ?? new Map<string, boolean>();
  keys.set(key, present);
  changes.terms.set(term, keys);
}

function joined(slices: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const slice of slices) {
    whole.set(slice, at);
    at += slice.length;
  }
  return whole;
}

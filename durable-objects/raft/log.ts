import { InvariantError, invariant } from './invariant.ts';
import type { Entry, Index, LogStorage, SnapshotMetadata, Term } from './types.ts';

/** A position in a log. */
export interface LogPosition {
  index: Index;
  term: Term;
}

/** Bytes of data in `entries`. */
export function dataSize(entries: readonly Entry[]): number {
  let size = 0;
  for (const entry of entries) size += entry.data.length;
  return size;
}

/**
 * The whole log of a replica: what is stored, and in memory a tail of entries that are not yet both stored and
 * applied. Always applied ≤ handedOut ≤ committed ≤ lastIndex, and stable ≤ lastIndex.
 *
 *     stored     |1 2 3 4 5 6 7|
 *     tail             |4 5 6 7 8 9|     stable = 7, applied = 3
 */
export class RaftLog {
  readonly #storage: LogStorage;
  #tail: Entry[] = [];
  /** Index that the first entry of the tail has, or would have. */
  #tailStart: Index;
  /** Everything up to here is acknowledged to be durable. */
  #stable: Index;
  #committed: Index;
  #handedOut: Index;
  #applied: Index;

  constructor(storage: LogStorage, committed: Index, applied: Index) {
    this.#storage = storage;
    const first = storage.firstIndex();
    this.#stable = storage.lastIndex();
    this.#tailStart = this.#stable + 1;
    this.#committed = Math.max(committed, applied, first - 1);
    this.#applied = applied;
    this.#handedOut = applied;
    if (applied < first - 1 || this.#committed > this.#stable) {
      throw new InvariantError(
        `log ${first}..${this.#stable} does not reach from applied ${applied} to committed ${this.#committed}`,
      );
    }
  }

  get committed(): Index {
    return this.#committed;
  }

  get applied(): Index {
    return this.#applied;
  }

  get stable(): Index {
    return this.#stable;
  }

  get firstIndex(): Index {
    return this.#storage.firstIndex();
  }

  get lastIndex(): Index {
    return this.#tailStart + this.#tail.length - 1;
  }

  get lastTerm(): Term {
    return this.term(this.lastIndex) ?? 0;
  }

  /** Term of the entry at `index`, or undefined if the log does not hold it (any more). */
  term(index: Index): Term | undefined {
    if (index >= this.#tailStart) return this.#tail[index - this.#tailStart]?.term;
    return index === 0 ? 0 : this.#storage.term(index);
  }

  matches(index: Index, term: Term): boolean {
    return this.term(index) === term;
  }

  /** Whether a candidate with that last entry may lead this replica: its log is not behind (Raft §5.4.1). */
  isUpToDate(lastIndex: Index, lastTerm: Term): boolean {
    const own = this.lastTerm;
    return lastTerm > own || (lastTerm === own && lastIndex >= this.lastIndex);
  }

  /** Appends entries that follow lastIndex without a gap. */
  append(entries: readonly Entry[]): void {
    invariant(
      entries.length === 0 || entries[0]!.index === this.lastIndex + 1,
      () => `entry ${entries[0]!.index} does not follow the last index ${this.lastIndex}`,
    );
    for (const entry of entries) this.#tail.push(entry);
  }

  /**
   * Takes in entries that a leader sent to follow `prev`. Returns the index up to which the log now equals the
   * leader's, or undefined if it does not hold `prev`. Entries that are there already stay; a conflicting suffix goes.
   */
  tryAppend(prev: LogPosition, entries: readonly Entry[]): Index | undefined {
    if (!this.matches(prev.index, prev.term)) return undefined;
    const fresh = entries.findIndex((entry) => !this.matches(entry.index, entry.term));
    if (fresh >= 0) {
      this.#truncateFrom(entries[fresh]!.index);
      this.append(fresh === 0 ? entries : entries.slice(fresh));
    }
    return prev.index + entries.length;
  }

  #truncateFrom(index: Index): void {
    invariant(
      index > this.#committed,
      () => `entry ${index} conflicts with the committed log up to ${this.#committed}`,
    );
    if (index > this.lastIndex) return;
    if (index <= this.#tailStart) {
      this.#tail = [];
      this.#tailStart = index;
    } else {
      this.#tail.length = index - this.#tailStart;
    }
    this.#stable = Math.min(this.#stable, index - 1);
  }

  /**
   * The highest position at or below `index` whose term is not above `term`: where a log that holds `term` at `index`
   * may still agree with this one. Skips a whole diverging term at a time. Term 0 if compacted away.
   */
  lastNotAbove(index: Index, term: Term): LogPosition {
    for (let at = Math.min(index, this.lastIndex); at > 0; at--) {
      const own = this.term(at);
      if (own === undefined) return { index: at, term: 0 };
      if (own <= term) return { index: at, term: own };
    }
    return { index: 0, term: 0 };
  }

  /** Raises the commit index, which never goes down. */
  commitTo(index: Index): boolean {
    if (index <= this.#committed) return false;
    invariant(index <= this.lastIndex, () => `commit ${index} is beyond the last index ${this.lastIndex}`);
    this.#committed = index;
    return true;
  }

  /** Entries of lo ≤ index < hi within the log, as many as fit in maxBytes of data but at least one. */
  slice(lo: Index, hi: Index, maxBytes: number): Entry[] {
    if (lo >= hi) return [];
    if (lo >= this.#tailStart) return this.#tailSlice(lo, hi, maxBytes);
    const storedEnd = Math.min(hi, this.#tailStart);
    const stored = this.#storage.entries(lo, storedEnd, maxBytes);
    invariant(stored[0]?.index === lo, () => `the stored log has no entry ${lo}`);
    const left = maxBytes - dataSize(stored);
    if (stored.length < storedEnd - lo || left <= 0) return stored;
    const rest = this.#tailSlice(storedEnd, hi, left);
    return dataSize(rest) > left ? stored : stored.concat(rest);
  }

  #tailSlice(lo: Index, hi: Index, maxBytes: number): Entry[] {
    const from = lo - this.#tailStart;
    const limit = hi - this.#tailStart;
    let to = from;
    for (let size = 0; to < limit; to++) {
      size += this.#tail[to]!.data.length;
      if (size > maxBytes && to > from) break;
    }
    return this.#tail.slice(from, to);
  }

  get hasUnstable(): boolean {
    return this.#stable < this.lastIndex;
  }

  /** The entries that are not acknowledged to be durable. */
  unstable(): Entry[] {
    return this.#tail.slice(this.#stable + 1 - this.#tailStart);
  }

  /**
   * The log up to `last` is durable. Ignored if that entry has been replaced meanwhile: the replacement is still to be
   * stored.
   */
  stableTo(last: LogPosition): void {
    if (last.index <= this.#stable || !this.matches(last.index, last.term)) return;
    this.#stable = last.index;
    this.#trim();
  }

  get hasCommittedToApply(): boolean {
    return this.#handedOut < this.#committed;
  }

  /** The next committed entries to apply; the following call goes on after them. */
  takeCommitted(maxBytes: number): Entry[] {
    const entries = this.slice(this.#handedOut + 1, this.#committed + 1, maxBytes);
    this.#handedOut += entries.length;
    return entries;
  }

  appliedTo(index: Index): void {
    invariant(
      index >= this.#applied && index <= this.#handedOut,
      () => `applied ${index} is not within ${this.#applied}..${this.#handedOut}`,
    );
    this.#applied = index;
    this.#trim();
  }

  /** Drops from memory what is stored and applied: nobody but a follower far behind asks for it again. */
  #trim(): void {
    const done = Math.min(this.#stable, this.#applied) + 1 - this.#tailStart;
    if (done <= 0) return;
    this.#tail.splice(0, done);
    this.#tailStart += done;
  }

  /** Starts over after a state that the driver has installed: the stored log is empty and begins after it. */
  restore(snapshot: SnapshotMetadata): void {
    const { index } = snapshot;
    invariant(index > this.#committed, () => `state ${index} is not ahead of the committed ${this.#committed}`);
    this.#tail = [];
    this.#tailStart = index + 1;
    this.#stable = index;
    this.#committed = index;
    this.#handedOut = index;
    this.#applied = index;
  }
}

import type { Revision } from '../../src/keyspace/types.ts';
import { PROPOSAL_AHEAD_MS, PROPOSAL_WINDOW_MS, stampOf } from '../../src/protocol/commands.ts';

/**
 * What a proposal came to. `done`: it made `made` revisions from `first` on (none: `first` is one above the revision it
 * was applied at). `failed`: which condition did not hold, and the revision of the record at its key then (0: none).
 */
export type Answer =
  | { type: 'done'; first: Revision; made: number }
  | { type: 'failed'; failed: number; revision: Revision };

/** An answer with the id of its proposal. */
export interface Answered {
  id: string;
  answer: Answer;
}

/** Stamps are grouped by this many ms, to forget whole groups. */
const BUCKET_MS = 10_000;

/**
 * The answers to the proposals of the last {@link PROPOSAL_WINDOW_MS} of log time, by id. An id names the time that it
 * was made at, so one that is too old to be remembered is known from the id alone, and is never taken for a new one.
 */
export class Outcomes {
  /** By stamp, then by id; an answer of one revision is that revision, to save memory. */
  readonly #buckets = new Map<number, Map<string, Answer | Revision>>();
  #oldest = Number.POSITIVE_INFINITY;

  /** Whether a proposal may be applied at a log time: its id is neither too old to be remembered nor from the future. */
  static accepts(id: string, time: number): boolean {
    const stamp = stampOf(id);
    return stamp >= time - PROPOSAL_WINDOW_MS && stamp <= time + PROPOSAL_AHEAD_MS;
  }

  get(id: string): Answer | undefined {
    const known = this.#buckets.get(bucketOf(id))?.get(id);
    return typeof known === 'number' ? { type: 'done', first: known, made: 1 } : known;
  }

  set({ id, answer }: Answered): void {
    const number = bucketOf(id);
    let bucket = this.#buckets.get(number);
    if (bucket === undefined) {
      bucket = new Map();
      this.#buckets.set(number, bucket);
      this.#oldest = Math.min(this.#oldest, number);
    }
    bucket.set(id, answer.type === 'done' && answer.made === 1 ? answer.first : answer);
  }

  /** Forgets what {@link accepts} refuses at a log time. */
  forget(time: number): void {
    const horizon = Math.floor((time - PROPOSAL_WINDOW_MS) / BUCKET_MS);
    if (this.#oldest >= horizon) return;
    for (const number of this.#buckets.keys()) if (number < horizon) this.#buckets.delete(number);
    this.#oldest = Math.min(...this.#buckets.keys());
  }
}

function bucketOf(id: string): number {
  return Math.floor(stampOf(id) / BUCKET_MS);
}

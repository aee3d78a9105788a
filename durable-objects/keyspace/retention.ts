import type { Revision } from '../../src/keyspace/types.ts';

/** How much history is kept for watches to resume and pages to stay consistent. */
export interface RetentionLimits {
  /** Milliseconds of log time. */
  ms: number;
  revisions: number;
  bytes: number;
}

export const RETENTION: RetentionLimits = { ms: 300_000, revisions: 200_000, bytes: 256 << 20 };

/** Log time between two marks; history ends on a mark. */
const MARK_MS = 5_000;

interface Mark {
  time: number;
  /** Newest revision and bytes written by then. */
  revision: Revision;
  bytes: number;
}

/** Remembers when revisions were made, roughly, to tell where history may end. Not part of the replicated state. */
export class Retention {
  readonly #limits: RetentionLimits;
  #marks: Mark[] = [];
  #bytes = 0;

  constructor(limits = RETENTION) {
    this.#limits = limits;
  }

  /** Notes that `revision` was made at a log time and added that many bytes. */
  note(time: number, revision: Revision, bytes: number): void {
    this.#bytes += bytes;
    const last = this.#marks.at(-1);
    if (last === undefined || time - last.time >= MARK_MS) this.#marks.push({ time, revision, bytes: this.#bytes });
    else {
      last.revision = revision;
      last.bytes = this.#bytes;
    }
  }

  /** The highest revision that may be compacted at a time; 0 for none. Forgets it: the caller compacts or asks later. */
  take(time: number): Revision {
    let target = 0;
    const newest = this.#marks.at(-1)?.revision ?? 0;
    for (let first = this.#marks[0]; first !== undefined; first = this.#marks[0]) {
      const old = first.time + MARK_MS + this.#limits.ms <= time;
      const many = newest - first.revision > this.#limits.revisions;
      if (!old && !many && this.#bytes - first.bytes <= this.#limits.bytes) break;
      target = first.revision;
      this.#marks.shift();
    }
    return target;
  }

  /** Log time at which {@link take} answers for all of the history, if nothing more is written; undefined without one. */
  get due(): number | undefined {
    const last = this.#marks.at(-1);
    return last && last.time + MARK_MS + this.#limits.ms;
  }
}

import { checksum } from './checksum.ts';
import type { Scalars } from './storage.ts';

/** A digest of the state is taken at every log index that is a multiple of this. */
const INTERVAL = 16;
/** Digests remembered: replicas that are further apart compare nothing. */
const KEPT = 512;

/** What the replicated state is at a log index, in one number. */
export interface Checkpoint {
  index: number;
  digest: number;
}

/** Digests of the state at the last multiples of {@link INTERVAL}: every replica must have the same. */
export class Checkpoints {
  readonly #digests = new Map<number, number>();
  #latest: Checkpoint | undefined;

  /** The newest one. */
  get latest(): Checkpoint | undefined {
    return this.#latest;
  }

  /** The digest at an index; undefined where none was taken, or none is remembered. */
  at(index: number): number | undefined {
    return this.#digests.get(index);
  }

  /** To be called after every entry, in order. */
  note(scalars: Readonly<Scalars>): void {
    if (scalars.applied % INTERVAL !== 0) return;
    const { applied: index, revision, compacted, policy, time, nextWork, logFloor, level, digest } = scalars;
    const all = checksum([revision, compacted, policy, time, nextWork, logFloor, level, digest].join());
    this.#latest = { index, digest: all };
    this.#digests.set(index, all);
    this.#digests.delete(index - KEPT * INTERVAL);
  }
}

import type { Index } from './types.ts';

/** The unanswered appends to one follower, oldest first, bounded in number and bytes. */
export class Inflights {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  #queue: { index: Index; bytes: number }[] = [];
  #bytes = 0;

  constructor(maxCount: number, maxBytes: number) {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
  }

  get count(): number {
    return this.#queue.length;
  }

  /** True when nothing more may be sent. One append may overshoot the byte limit, so that any append can be sent. */
  get full(): boolean {
    return this.#queue.length >= this.#maxCount || this.#bytes >= this.#maxBytes;
  }

  /** Notes an append whose last entry is `index`; indexes must not go down. */
  add(index: Index, bytes: number): void {
    this.#queue.push({ index, bytes });
    this.#bytes += bytes;
  }

  /** Forgets the appends whose last entry is at or below `index`: the follower has them. */
  freeTo(index: Index): void {
    let freed = 0;
    while (freed < this.#queue.length && this.#queue[freed]!.index <= index) {
      this.#bytes -= this.#queue[freed]!.bytes;
      freed++;
    }
    if (freed > 0) this.#queue.splice(0, freed);
  }

  clear(): void {
    this.#queue = [];
    this.#bytes = 0;
  }
}

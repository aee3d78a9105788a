/** How long a turn lasts, and how long a read waits for one, at most. */
const TURN_MS = 1_000;
/** Reads that may wait for their turn on one key; more go ahead without one. */
const MAX_WAITING = 1_000;

interface Line {
  heldUntil: number;
  waiting: { resolve: () => void; deadline: number }[];
}

/**
 * Turns on keys: reads for a change without a version of its own are let through one after another, each once the one
 * before has proposed, so that concurrent changes of one record are not all but one in vain. Advisory: the condition of
 * the proposal still decides, and a turn that nobody gives back ends by itself.
 */
export class Turns {
  readonly #lines = new Map<string, Line>();

  /** When {@link settle} has something to do; `undefined` while nobody holds a turn. */
  get deadline(): number | undefined {
    let first: number | undefined;
    for (const { heldUntil } of this.#lines.values()) if (first === undefined || heldUntil < first) first = heldUntil;
    return first;
  }

  /** Resolves when it is this read's turn on the key. */
  take(key: string, now: number): Promise<void> {
    const line = this.#lines.get(key);
    if (line === undefined) {
      this.#lines.set(key, { heldUntil: now + TURN_MS, waiting: [] });
      return Promise.resolve();
    }
    if (line.waiting.length >= MAX_WAITING) return Promise.resolve();
    return new Promise((resolve) => {
      line.waiting.push({ resolve, deadline: now + TURN_MS });
    });
  }

  /** The holder is done: the next read's turn. */
  release(key: string, now: number): void {
    const line = this.#lines.get(key);
    if (line === undefined) return;
    const next = line.waiting.shift();
    if (next === undefined) {
      this.#lines.delete(key);
      return;
    }
    line.heldUntil = now + TURN_MS;
    next.resolve();
  }

  /** Ends the turns and the waits whose time is over. */
  settle(now: number): void {
    for (const [key, line] of this.#lines) {
      if (line.heldUntil <= now) this.release(key, now);
      while ((line.waiting[0]?.deadline ?? now + 1) <= now) line.waiting.shift()?.resolve();
    }
  }

  /** Lets everybody go: this replica does not lead any more. */
  releaseAll(): void {
    for (const { waiting } of this.#lines.values()) for (const { resolve } of waiting) resolve();
    this.#lines.clear();
  }
}

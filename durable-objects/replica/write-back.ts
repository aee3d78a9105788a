import type { Core } from './core.ts';

/**
 * Applied changes stay in memory for so long, and go to disk with an append where one comes along: many together touch far
 * fewer pages than each alone, and the log already has them. A restart applies them again.
 */
const FLUSH_MS = 100;
/** More bytes of applied changes than this do not wait. */
const FLUSH_BYTES = 2 << 20;
/** Log entries that are dropped at once. */
const TRUNCATE_BATCH = 2_000;

/** Writes what was applied to disk, later and together, and then drops the log entries that it came from. */
export class WriteBack {
  readonly #core: Core;
  readonly #transaction: (write: () => void) => void;
  #dueAt: number | undefined;

  constructor(core: Core, transaction: (write: () => void) => void) {
    this.#core = core;
    this.#transaction = transaction;
  }

  /** When to write; undefined while all is written. Begins to count at the first call after a change. */
  deadline(now: number): number | undefined {
    if (this.#core.state().unflushed) this.#dueAt ??= now + FLUSH_MS;
    return this.#dueAt;
  }

  get isDue(): boolean {
    return (
      (this.#dueAt ?? Number.POSITIVE_INFINITY) <= this.#core.now() || this.#core.state().unflushedBytes > FLUSH_BYTES
    );
  }

  /** Writes all of it in a transaction of its own. */
  flush(): void {
    this.#transaction(() => this.write());
  }

  /** Writes all of it within a transaction. */
  write(): void {
    const { log, transfer } = this.#core;
    const state = this.#core.state();
    this.#dueAt = undefined;
    state.pinned = transfer.pinned;
    state.flush();
    const { logFloor, applied } = state.scalars;
    log.truncate(Math.min(logFloor, applied, transfer.floor), TRUNCATE_BATCH);
  }
}

import { stringifyJson } from '../codec/json.ts';
import type { AuditEvent } from './event.ts';

/** Where finished events go, as their JSON texts. Rejects when they were not taken. */
export interface AuditBackend {
  /** Upstream's name of it, in metrics. */
  name: 'log' | 'webhook';
  send(events: readonly string[]): Promise<void>;
}

/** How events are put together. */
export interface Batching {
  /** Events that wait at most; what comes on top is dropped and counted. */
  bufferSize: number;
  /** Events that are sent together at most. */
  maxSize: number;
  /** How long events gather before they are sent together, where fewer than `maxSize` do. */
  maxWaitMilliseconds: number;
  /** Pause before the second try for one batch; each later one is four times as long. */
  initialBackoffMilliseconds: number;
}

/** Batches for a log beside this server. */
export const LOG_BATCHING: Batching = {
  bufferSize: 10_000,
  maxSize: 10_000,
  maxWaitMilliseconds: 50,
  initialBackoffMilliseconds: 50,
};

/** A sending that has not ended by so long after what it may take was cut off with its request. */
const STUCK_MS = 15_000;
/** Tries for one batch. */
const TRIES = 3;

/** What the sink needs of the runtime. */
export interface SinkRuntime {
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Keeps work going when the request that does it is over. */
  keep(work: Promise<void>): void;
}

/** Told how many events were lost, and by what: upstream's name of a backend, or `buffered` where the buffer was full. */
export interface SinkCounts {
  auditErrors(plugin: string, count: number): void;
}

/**
 * Gathers the events of an isolate for one backend and sends them in batches, one after another. A request never waits for
 * it, and no event is lost without being counted.
 */
export class AuditSink {
  readonly #backend: AuditBackend;
  readonly #batching: Batching;
  readonly #runtime: SinkRuntime;
  readonly #counts: SinkCounts;
  #waiting: string[] = [];
  #sendingSince: number | undefined;
  #full: (() => void) | undefined;

  constructor(backend: AuditBackend, batching: Batching, runtime: SinkRuntime, counts: SinkCounts) {
    this.#backend = backend;
    this.#batching = batching;
    this.#runtime = runtime;
    this.#counts = counts;
  }

  write(event: AuditEvent): void {
    const { bufferSize, maxSize, maxWaitMilliseconds } = this.#batching;
    if (this.#waiting.length >= bufferSize) {
      this.#counts.auditErrors('buffered', 1);
      return;
    }
    this.#waiting.push(stringifyJson(event));
    if (this.#waiting.length >= maxSize) this.#full?.();
    const now = this.#runtime.now();
    if (this.#sendingSince !== undefined && now - this.#sendingSince < STUCK_MS + maxWaitMilliseconds) return;
    this.#sendingSince = now;
    this.#runtime.keep(this.#send());
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gathered();
      const batch = this.#waiting.splice(0, this.#batching.maxSize);
      this.#sendingSince = this.#runtime.now();
      if (!(await this.#try(batch))) this.#counts.auditErrors(this.#backend.name, batch.length);
    }
    this.#sendingSince = undefined;
  }

  /** Resolves when a batch is full, or has waited long enough. */
  async #gathered(): Promise<void> {
    const { maxSize, maxWaitMilliseconds } = this.#batching;
    if (this.#waiting.length >= maxSize) return;
    const full = new Promise<void>((resolve) => {
      this.#full = resolve;
    });
    await Promise.race([full, this.#runtime.sleep(maxWaitMilliseconds)]);
    this.#full = undefined;
  }

  async #try(batch: readonly string[]): Promise<boolean> {
    for (let i = 0; i < TRIES; i++) {
      try {
        await this.#backend.send(batch);
        return true;
      } catch {
        if (i + 1 < TRIES) await this.#runtime.sleep(this.#batching.initialBackoffMilliseconds * 4 ** i);
      }
    }
    return false;
  }
}

import { stringifyJson } from '../codec/json.ts';
import type { AuditEvent } from './event.ts';

/** Where finished events go: a line each. Rejects when they were not taken. */
export type AuditBackend = (lines: string) => Promise<void>;

/** Events that wait at most; what comes on top is dropped and counted (upstream's buffer size). */
const BUFFER = 10_000;
/** How long events gather before they are sent together. */
const GATHER_MS = 50;
/** A sending that has not ended by then was cut off with its request. */
const STUCK_MS = 15_000;
/** Tries for one set of events. */
const TRIES = 3;

/** What the sink needs of the runtime. */
export interface SinkRuntime {
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Keeps work going when the request that does it is over. */
  keep(work: Promise<void>): void;
}

/** Told how many events were made, and how many were lost. */
export interface SinkCounts {
  auditEvents(count: number): void;
  auditErrors(count: number): void;
}

/**
 * Gathers the events of an isolate and sends them in batches. A request never waits for it, and no event is lost without
 * being counted.
 */
export class AuditSink {
  readonly #backend: AuditBackend;
  readonly #runtime: SinkRuntime;
  readonly #counts: SinkCounts;
  #waiting: string[] = [];
  #sendingSince: number | undefined;

  constructor(backend: AuditBackend, runtime: SinkRuntime, counts: SinkCounts) {
    this.#backend = backend;
    this.#runtime = runtime;
    this.#counts = counts;
  }

  write(event: AuditEvent): void {
    this.#counts.auditEvents(1);
    if (this.#waiting.length >= BUFFER) {
      this.#counts.auditErrors(1);
      return;
    }
    this.#waiting.push(stringifyJson(event));
    const now = this.#runtime.now();
    if (this.#sendingSince !== undefined && now - this.#sendingSince < STUCK_MS) return;
    this.#sendingSince = now;
    this.#runtime.keep(this.#send());
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#runtime.sleep(GATHER_MS);
      const lines = this.#waiting;
      this.#waiting = [];
      this.#sendingSince = this.#runtime.now();
      if (!(await this.#try(`${lines.join('\n')}\n`))) this.#counts.auditErrors(lines.length);
    }
    this.#sendingSince = undefined;
  }

  async #try(lines: string): Promise<boolean> {
    for (let i = 0; i < TRIES; i++) {
      try {
        await this.#backend(lines);
        return true;
      } catch {
        await this.#runtime.sleep(GATHER_MS * 4 ** i);
      }
    }
    return false;
  }
}

import type { Revision } from '../../src/keyspace/types.ts';
import type { RawNode } from '../raft/node.ts';
import type { ReadState } from '../raft/types.ts';
import { Refusal } from './refusal.ts';

interface Waiter {
  resolve: () => void;
  reject: (reason: Refusal) => void;
}

/** Reads that may wait at once, of both kinds. */
const MAX_READS = 20_000;

/** Reads on their way through ReadIndex: all that arrive before a turn of the core share one question to it. */
export class Reads {
  readonly #node: RawNode;
  #arrived: Waiter[] = [];
  #asked = new Map<number, Waiter[]>();
  #confirmed: { index: number; waiters: Waiter[] }[] = [];
  #lastContext = 0;
  #count = 0;

  constructor(node: RawNode) {
    this.#node = node;
  }

  get pending(): boolean {
    return this.#count > 0;
  }

  /** Resolves when the state machine may answer a linearizable read that arrived now. Run a turn of the core after it. */
  add(): Promise<void> {
    if (this.#count >= MAX_READS) return Promise.reject(new Refusal('overloaded'));
    this.#count++;
    return new Promise((resolve, reject) => {
      this.#arrived.push({ resolve, reject });
    });
  }

  /** Puts what has arrived to the core. */
  ask(now: number): void {
    if (this.#arrived.length === 0) return;
    const waiters = this.#arrived;
    this.#arrived = [];
    const context = ++this.#lastContext;
    if (this.#node.readIndex(context, now).ok) this.#asked.set(context, waiters);
    else this.#refuse(waiters);
  }

  /** Takes the core's answers in and lets go what is applied. */
  settle(confirmed: readonly ReadState[], dropped: readonly number[], applied: number): void {
    for (const { context, index } of confirmed) this.#confirmed.push({ index, waiters: this.#take(context) });
    for (const context of dropped) this.#refuse(this.#take(context));
    if (this.#confirmed.length === 0) return;
    this.#confirmed = this.#confirmed.filter(({ index, waiters }) => {
      if (index > applied) return true;
      this.#count -= waiters.length;
      for (const { resolve } of waiters) resolve();
      return false;
    });
  }

  /** Gives up every read that waits: a message may have been lost. */
  refuseAll(): void {
    for (const context of [...this.#asked.keys()]) this.#refuse(this.#take(context));
    for (const { waiters } of this.#confirmed.splice(0)) this.#refuse(waiters);
    this.#refuse(this.#arrived.splice(0));
  }

  #take(context: number): Waiter[] {
    const waiters = this.#asked.get(context) ?? [];
    this.#asked.delete(context);
    return waiters;
  }

  #refuse(waiters: Waiter[]): void {
    this.#count -= waiters.length;
    for (const { reject } of waiters) reject(new Refusal('unavailable'));
  }
}

/** Reads that wait for a revision to be applied. */
export class RevisionWaits {
  #waits: { revision: Revision; waiter: Waiter; deadline: number }[] = [];

  get pending(): boolean {
    return this.#waits.length > 0;
  }

  /** When the first wait ends in vain. */
  get deadline(): number | undefined {
    return this.#waits[0]?.deadline;
  }

  /** Resolves once `revision` is applied; refused as `future` when {@link settle} sees the deadline pass. */
  add(revision: Revision, deadline: number): Promise<void> {
    if (this.#waits.length >= MAX_READS) return Promise.reject(new Refusal('overloaded'));
    return new Promise((resolve, reject) => {
      this.#waits.push({ revision, deadline, waiter: { resolve, reject } });
    });
  }

  /** Gives up all of them. */
  refuseAll(): void {
    for (const { waiter } of this.#waits.splice(0)) waiter.reject(new Refusal('unavailable'));
  }

  settle(revision: Revision, now: number): void {
    if (this.#waits.length === 0) return;
    this.#waits = this.#waits.filter((wait) => {
      if (wait.revision <= revision) wait.waiter.resolve();
      else if (wait.deadline <= now) wait.waiter.reject(new Refusal('future', revision));
      else return true;
      return false;
    });
  }
}

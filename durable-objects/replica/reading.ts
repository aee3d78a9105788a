import type { Consistency, Revision } from '../../src/keyspace/types.ts';
import type { Ready } from '../raft/types.ts';
import type { Core } from './core.ts';
import { Reads, RevisionWaits } from './reads.ts';
import { Refusal } from './refusal.ts';
import { Turns } from './turns.ts';

const FUTURE_WAIT_MS = 3_000;

/** When the state may be read, and whose turn it is to read what is to be changed. */
export class Reading {
  readonly #core: Core;
  readonly #reads: Reads;
  readonly #waits = new RevisionWaits();
  readonly #turns = new Turns();
  /** Whether a leader's own commit has shown how far this replica had answered before it was restarted. */
  #current = false;

  constructor(core: Core) {
    this.#core = core;
    this.#reads = new Reads(core.node);
  }

  /** Whether anybody waits for something to be applied. */
  get pending(): boolean {
    return this.#reads.pending || this.#waits.pending;
  }

  /** When {@link tick} is due; undefined while nobody waits. */
  get deadline(): number | undefined {
    const [wait, turn] = [this.#waits.deadline, this.#turns.deadline];
    return wait === undefined || turn === undefined ? (wait ?? turn) : Math.min(wait, turn);
  }

  /** Resolves when the state may be read as fresh as asked; refuses otherwise. */
  async readable(consistency: Consistency, suspect: number): Promise<void> {
    const { node } = this.#core;
    this.#core.touch(this.#core.now());
    if (consistency.type === 'any' && this.#current) return;
    await this.#core.findLeader(suspect);
    const unconfirmed = consistency.type === 'leader' || consistency.type === 'turn';
    if (unconfirmed && !node.isLeader) throw new Refusal('notLeader');
    if (unconfirmed && this.#current) return;
    if (consistency.type === 'linearizable' || !this.#current) await this.linearizable();
    if (consistency.type !== 'notOlderThan' && consistency.type !== 'exact') return;
    await this.reached(consistency.revision);
    const { compacted } = this.#core.state().scalars;
    if (consistency.type === 'exact' && consistency.revision < compacted) throw new Refusal('compacted', compacted);
  }

  /** Resolves once everything committed before the call is applied. */
  linearizable(): Promise<void> {
    const read = this.#reads.add();
    this.#core.turnSoon();
    return read;
  }

  /** Resolves when a revision is applied; refuses with `future` after 3 s. */
  async reached(revision: Revision): Promise<void> {
    if (revision <= this.#core.state().scalars.revision) return;
    const wait = this.#waits.add(revision, this.#core.now() + FUTURE_WAIT_MS);
    this.#core.arm();
    await wait;
  }

  /** Resolves when it is this read's turn on the key. */
  async turnOn(key: string): Promise<void> {
    const turn = this.#turns.take(key, this.#core.now());
    this.#core.arm();
    await turn;
  }

  /** A read shows that the holder of the key's turn is done. */
  turnDone(key: string): void {
    this.#turns.release(key, this.#core.now());
  }

  /** Lets time pass. */
  tick(now: number): void {
    this.applied(now);
    this.#turns.settle(now);
  }

  /** The state has come further, or time has. */
  applied(now: number): void {
    this.#waits.settle(this.#core.state().scalars.revision, now);
  }

  /** Puts the reads that have arrived to the core. */
  ask(now: number): void {
    this.#reads.ask(now);
  }

  /** A turn of the core has been carried out: lets the reads go that it answered. */
  settle({ readStates, droppedReads }: Ready): void {
    const { node, log } = this.#core;
    this.#current ||= node.leader !== 0 && log.term(node.commit) === node.term;
    this.#reads.settle(readStates, droppedReads, this.#core.state().scalars.applied);
    if (!node.isLeader) this.#turns.releaseAll();
  }

  /** The leader was not reached: what was asked of it may be lost. */
  refuseQuestions(): void {
    this.#reads.refuseAll();
  }

  /** Gives up all that waits. */
  stop(): void {
    this.#reads.refuseAll();
    this.#waits.refuseAll();
    this.#turns.releaseAll();
  }
}

import { encodeCompact, encodeExpire, encodeLevel, KIND } from '../../src/protocol/commands.ts';
import { Retention, type RetentionLimits } from '../keyspace/retention.ts';
import type { Core } from './core.ts';

const INTERVAL_MS = 5_000;
/** How soon compaction is looked at again while a new leader does not know yet what a living member holds. */
const MEETING_MS = 100;
/** How soon expiry is proposed again where the proposal was lost. */
const EXPIRY_MS = 1_000;
/** Records that expire by one entry. */
const EXPIRE_BATCH = 500;
/** Entries that must have become superfluous before a compaction is proposed for the log's sake alone. */
const LOG_SLACK = 5_000;

/**
 * What a leader proposes by itself: expiry of records, compaction of history and log, the feature level. All of it goes
 * through the log, so that it happens at the same index on every replica.
 */
export class Housekeeping {
  readonly #core: Core;
  readonly #retention: Retention;
  #dueAt: number;
  #askedExpiry = 0;
  #meetingSince: number | undefined;
  #raisedAt = Number.NEGATIVE_INFINITY;

  constructor(core: Core, limits?: RetentionLimits) {
    this.#core = core;
    this.#retention = new Retention(limits);
    this.#dueAt = core.now() + INTERVAL_MS;
    const { revision, compacted } = core.state().scalars;
    if (revision > compacted) this.inherited();
  }

  /** The history on disk is another's, or was made before a restart: when is not known, only that it was by then. */
  inherited(): void {
    const { time, revision } = this.#core.state().scalars;
    this.#retention.note(time, revision, 0);
  }

  /** Notes that history has grown by so many bytes. */
  grown(bytes: number): void {
    const { time, revision } = this.#core.state().scalars;
    this.#retention.note(time, revision, bytes);
  }

  /** When a leader that is awake next has something to do. */
  get deadline(): number {
    const { nextExpiry } = this.#core.state();
    if (nextExpiry === undefined) return this.#dueAt;
    return Math.min(this.#dueAt, Math.max(nextExpiry, this.#askedExpiry + EXPIRY_MS));
  }

  /** When a leader that sleeps must be woken. */
  get alarm(): number | undefined {
    const { nextExpiry } = this.#core.state();
    const { due } = this.#retention;
    return nextExpiry === undefined || due === undefined ? (nextExpiry ?? due) : Math.min(nextExpiry, due);
  }

  /** Whether {@link run} has something to do, on a leader. */
  isDue(now: number): boolean {
    return now >= this.#dueAt || this.#expiryDue(now);
  }

  /** Expires records and compacts history and log, as far as due; only a leader does. `time` is the log's. */
  run(now: number, time: number): void {
    this.#dueAt = now + INTERVAL_MS;
    const { node, log } = this.#core;
    if (!node.isLeader) return;
    if (this.#expiryDue(now)) {
      this.#askedExpiry = now;
      const due = this.#core.state().due(time, EXPIRE_BATCH);
      if (due.length > 0) this.#core.propose(KIND.expire, encodeExpire(due), now);
    }
    if (this.#isMeeting(now)) {
      this.#dueAt = now + MEETING_MS;
      return;
    }
    const { compacted, logFloor } = this.#core.state().scalars;
    const floor = this.#unneeded();
    const target = Math.max(this.#retention.take(time), compacted);
    const superfluous = floor - logFloor >= (log.overfull ? 1 : LOG_SLACK);
    if (target === compacted && !superfluous) return;
    this.#core.propose(KIND.compact, encodeCompact(target, floor), now);
  }

  /** Proposes the feature level that all members know, where it is higher than the one in force. */
  raiseLevel(level: number, now: number): void {
    if (level <= this.#core.state().scalars.level || now - this.#raisedAt < INTERVAL_MS) return;
    this.#raisedAt = now;
    this.#core.propose(KIND.level, encodeLevel(level), now);
  }

  #expiryDue(now: number): boolean {
    const { nextExpiry } = this.#core.state();
    if (nextExpiry === undefined || nextExpiry > now) return false;
    return this.#core.node.isLeader && now - this.#askedExpiry >= EXPIRY_MS;
  }

  /**
   * Whether a member that lives has not yet told what it holds of the log, as right after an election: the log would be
   * kept for it. Not for longer than an interval.
   */
  #isMeeting(now: number): boolean {
    const { peers } = this.#core.node.status();
    const unknown = peers.some(({ state, recentlyActive }) => state === 'probe' && recentlyActive);
    this.#meetingSince = unknown ? (this.#meetingSince ?? now) : undefined;
    return now - (this.#meetingSince ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS;
  }

  /** Index up to which no member needs the log: each holds it, or is so far behind that it is given the state. */
  #unneeded(): number {
    const { node, log, transfer } = this.#core;
    const { peers, applied } = node.status();
    transfer.note(peers);
    const everywhere = peers.reduce((least, { match }) => Math.min(least, match), applied);
    return Math.max(everywhere, Math.min(applied, log.keptAfter));
  }
}

import { Inflights } from './inflights.ts';
import { quorumReached, quorumVote, type VoteResult } from './quorum.ts';
import type { Index, Membership, NodeId, PeerStatus, ProgressState, Time } from './types.ts';

/** Bounds on the unanswered appends to one follower. */
export interface InflightLimits {
  count: number;
  bytes: number;
}

/**
 * What a leader knows of one member's log, itself included. Always match < next.
 *
 * - `probe`: where the logs meet is not known; one append is sent, then nothing until an answer or a heartbeat's answer.
 * - `replicate`: appends are sent as entries come, up to the inflight limits; `next` runs ahead of the answers.
 * - `snapshot`: the follower is being given a state as of `pendingSnapshot`; no appends.
 */
export class Progress {
  state: ProgressState = 'probe';
  /** Highest index known to be durable in the member's log and equal to the leader's. */
  match: Index = 0;
  /** The next index to send. */
  next: Index;
  /** In state snapshot, the index of the state being given, and when that was last announced. */
  pendingSnapshot: Index = 0;
  snapshotSentAt: Time = 0;
  /** In state probe: the one allowed append is out. */
  probeSent = false;
  /** An append is owed even if it is empty: to find out where the logs meet, or that an earlier one was lost. */
  appendOwed = false;
  /** Highest commit index that the member has said to know. */
  commit: Index = 0;
  /** Highest commit index that the member was told in an append. */
  sentCommit: Index = 0;
  /** Whether it has answered anything since the last quorum check. */
  recentlyActive = false;
  /** Highest confirmation round that it has answered in this term. */
  ackedRound = 0;
  learner: boolean;
  readonly inflights: Inflights;

  constructor(next: Index, learner: boolean, limits: InflightLimits) {
    this.next = next;
    this.learner = learner;
    this.inflights = new Inflights(limits.count, limits.bytes);
  }

  /** Sends one append at a time from now on, beginning after what is known to match (or after the given state). */
  becomeProbe(): void {
    const after = this.state === 'snapshot' ? Math.max(this.match, this.pendingSnapshot) : this.match;
    this.#enter('probe');
    this.next = after + 1;
    this.sentCommit = Math.min(this.sentCommit, after);
  }

  /** The logs meet at `match`: sends without waiting for answers. */
  becomeReplicate(): void {
    this.#enter('replicate');
    this.next = this.match + 1;
  }

  becomeSnapshot(index: Index, now: Time): void {
    this.#enter('snapshot');
    this.snapshotSentAt = now;
    this.pendingSnapshot = index;
    this.next = index + 1;
    this.sentCommit = index;
  }

  /** The giving of a state has failed, or is taken to have. */
  abandonSnapshot(): void {
    this.pendingSnapshot = 0;
    this.becomeProbe();
  }

  #enter(state: ProgressState): void {
    this.state = state;
    this.probeSent = false;
    this.appendOwed = false;
    this.pendingSnapshot = 0;
    this.inflights.clear();
  }

  /** Whether no entries may be sent now. */
  get paused(): boolean {
    if (this.state === 'probe') return this.probeSent;
    return this.state === 'snapshot' || this.inflights.full;
  }

  /** The member's log reaches `index` at least. False if that was known. */
  accept(index: Index): boolean {
    if (index <= this.match) return false;
    this.match = index;
    this.next = Math.max(this.next, index + 1);
    return true;
  }

  /**
   * The member refused an append whose previous entry was `refused`; the logs may agree at `hint`. False if the
   * refusal is stale, that is, answers an append that later knowledge has overtaken.
   */
  refuse(refused: Index, hint: Index): boolean {
    if (this.state === 'replicate') {
      if (refused <= this.match) return false;
      this.becomeProbe();
      return true;
    }
    if (this.state === 'snapshot' || this.next - 1 !== refused) return false;
    this.next = Math.max(Math.min(refused, hint + 1), this.match + 1);
    this.probeSent = false;
    return true;
  }

  /** Notes that `count` entries with `bytes` of data leave for the member, which begin at `next`. */
  sent(count: number, bytes: number, commit: Index): void {
    if (this.state === 'probe') {
      this.probeSent = true;
    } else if (count > 0) {
      this.next += count;
      this.inflights.add(this.next - 1, bytes);
    }
    this.sentCommit = Math.max(this.sentCommit, commit);
    this.appendOwed = false;
  }
}

/** The membership in force, and on a leader the progress of each member. */
export class Tracker {
  membership: Membership = { voters: [], learners: [], votersOutgoing: [], learnersNext: [], autoLeave: false };
  readonly #limits: InflightLimits;
  #progress = new Map<NodeId, Progress>();
  #votes = new Map<NodeId, boolean>();

  constructor(limits: InflightLimits) {
    this.#limits = limits;
  }

  /** Puts `membership` into force. Members that stay keep their progress; new ones are probed from `next` on. */
  setMembership(membership: Membership, next: Index): void {
    this.membership = membership;
    const progress = new Map<NodeId, Progress>();
    for (const id of this.members()) {
      const learner = !this.isVoter(id);
      const kept = this.#progress.get(id) ?? this.#newProgress(next, learner);
      kept.learner = learner;
      progress.set(id, kept);
    }
    this.#progress = progress;
  }

  /** Forgets all progress and votes, as at the start of a term. */
  reset(next: Index): void {
    this.#votes.clear();
    for (const id of this.#progress.keys()) this.#progress.set(id, this.#newProgress(next, !this.isVoter(id)));
  }

  #newProgress(next: Index, learner: boolean): Progress {
    const progress = new Progress(next, learner, this.#limits);
    // A member that joins a moment before the quorum check must not count as dead.
    progress.recentlyActive = true;
    progress.appendOwed = true;
    return progress;
  }

  /** All members in id order. */
  members(): NodeId[] {
    const { voters, votersOutgoing, learners } = this.membership;
    return [...new Set([...voters, ...votersOutgoing, ...learners])].sort((a, b) => a - b);
  }

  /** All who vote, in either half of a joint membership, in id order. */
  voters(): NodeId[] {
    const { voters, votersOutgoing } = this.membership;
    return [...new Set([...voters, ...votersOutgoing])].sort((a, b) => a - b);
  }

  isVoter(id: NodeId): boolean {
    return this.membership.voters.includes(id) || this.membership.votersOutgoing.includes(id);
  }

  /** Whether there is any member but `id`. */
  hasPeers(id: NodeId): boolean {
    return this.#progress.size > (this.#progress.has(id) ? 1 : 0);
  }

  /** Whether `id` alone is a quorum. */
  isSoleVoter(id: NodeId): boolean {
    const voters = this.voters();
    return voters.length === 1 && voters[0] === id;
  }

  get isJoint(): boolean {
    return this.membership.votersOutgoing.length > 0;
  }

  get(id: NodeId): Progress | undefined {
    return this.#progress.get(id);
  }

  /** Progress of all members in id order. */
  entries(): IterableIterator<[NodeId, Progress]> {
    return this.#progress.entries();
  }

  /** The highest index that a quorum holds durably. */
  quorumMatch(): Index {
    return quorumReached(this.membership, (id) => this.#progress.get(id)?.match ?? 0);
  }

  /** The highest commit index that a quorum knows, where `self` knows `own`. */
  quorumCommit(self: NodeId, own: Index): Index {
    return quorumReached(this.membership, (id) => (id === self ? own : (this.#progress.get(id)?.commit ?? 0)));
  }

  /** The highest confirmation round that a quorum has answered, where `self` has answered all. */
  quorumRound(self: NodeId): number {
    return quorumReached(this.membership, (id) =>
      id === self ? Number.POSITIVE_INFINITY : (this.#progress.get(id)?.ackedRound ?? 0),
    );
  }

  /** Whether a quorum has been active since the last call; starts the next period. `self` always is. */
  checkQuorum(self: NodeId): boolean {
    const active = quorumVote(this.membership, (id) => id === self || this.#progress.get(id)?.recentlyActive === true);
    for (const [id, progress] of this.#progress) progress.recentlyActive = id === self;
    return active === 'won';
  }

  clearVotes(): void {
    this.#votes.clear();
  }

  /** Counts a vote; the first of each voter stands. */
  recordVote(id: NodeId, granted: boolean): VoteResult {
    if (!this.#votes.has(id)) this.#votes.set(id, granted);
    return quorumVote(this.membership, (voter) => this.#votes.get(voter));
  }

  status(): PeerStatus[] {
    return [...this.#progress].map(([id, { state, match, next, learner, recentlyActive }]) => {
      return { id, state, match, next, learner, recentlyActive };
    });
  }
}

import { decodeMembership } from './codec.ts';
import { resolveConfig } from './config.ts';
import { campaign, ownVoteDurable } from './election.ts';
import { sendAccepted, wantsSnapshot } from './follower.ts';
import { invariant } from './invariant.ts';
import * as leading from './leader.ts';
import { nextDeadline, step, tick, wake } from './raft.ts';
import { readRoundDue, requestRead, startReadRound } from './reads.ts';
import { advanceCommit, appendsOwed, flushAppends, ownLogDurable } from './replication.ts';
import { RaftState } from './state.ts';
import type {
  Config,
  Entry,
  HardState,
  Index,
  Membership,
  MembershipChange,
  Message,
  NodeId,
  ProposeResult,
  ReadIndexResult,
  Ready,
  SnapshotMetadata,
  SoftState,
  Status,
  Term,
  Time,
  TransferResult,
} from './types.ts';
import { NONE } from './types.ts';

/**
 * One replica of one Raft group, as a synchronous machine. Inputs (`tick`, `step`, `propose`, …) never do I/O; after
 * them, while `hasReady()`, the driver takes a Ready, carries it out and acknowledges it with `advance`. Inputs may
 * arrive between `ready()` and `advance()`; a second `ready()` may not.
 *
 * Every input takes the present time; timers fire in `tick` only, which the driver owes at `nextDeadline()`.
 *
 * Any method throws InvariantError when the algorithm's assumptions are broken (a disk that lost what it acknowledged,
 * two leaders in a term): the replica must then stop and may be built anew from its disk.
 */
export class RawNode {
  readonly #raft: RaftState;
  #softState: SoftState;
  /** What the disk holds, as far as acknowledged. */
  #durable: HardState;
  #outstanding: Ready | undefined;

  /** Throws RangeError if the configuration is not sound, InvariantError if the storage contradicts itself. */
  constructor(config: Config) {
    this.#raft = new RaftState(resolveConfig(config));
    this.#softState = { role: this.#raft.role, leader: this.#raft.leader };
    this.#durable = { ...config.storage.initialState().hardState };
  }

  /** Lets time pass: elections, heartbeats, check-quorum, held appends. Harmless when called early or twice. */
  tick(now: Time): void {
    this.#raft.advanceClock(now);
    tick(this.#raft);
  }

  /** When `tick` is next needed; undefined if only an input can change anything (quiescent, or no peers to watch). */
  nextDeadline(): Time | undefined {
    return nextDeadline(this.#raft);
  }

  /** Takes in a message from a peer. Stale and foreign ones are ignored. */
  step(message: Message, now: Time): void {
    this.#raft.advanceClock(now);
    step(this.#raft, message);
  }

  /** Appends bytes to the log of a leader; elsewhere refuses and names the leader. */
  propose(data: Uint8Array, now: Time): ProposeResult {
    this.#wake(now);
    return leading.propose(this.#raft, 'normal', data);
  }

  /** As `propose`, for a change of membership; one at a time. Throws RangeError if it does not fit the membership. */
  proposeMembership(change: MembershipChange, now: Time): ProposeResult {
    this.#wake(now);
    return leading.proposeMembership(this.#raft, change);
  }

  /**
   * Asks for an index that is not older than any commit before this call. `context` is the driver's own number for
   * the read, unique on this node since its start. A follower passes the question on to the leader.
   */
  readIndex(context: number, now: Time): ReadIndexResult {
    this.#wake(now);
    return requestRead(this.#raft, context);
  }

  /** On a leader: lets `id` catch up, then campaign. Proposals are refused until that succeeded or a timeout has passed. */
  transferLeadership(id: NodeId, now: Time): TransferResult {
    this.#wake(now);
    return leading.transferLeadership(this.#raft, id);
  }

  /** Starts an election now (pre-vote first), without waiting for a timeout. Ignored on a leader. */
  campaign(now: Time): void {
    this.#wake(now);
    campaign(this.#raft, false);
  }

  /** The last message to `id` was not delivered, or may not have been: appends go one at a time until it answers. */
  reportUnreachable(id: NodeId): void {
    const progress = this.#raft.tracker.get(id);
    if (this.#raft.role === 'leader' && progress?.state === 'replicate') progress.becomeProbe();
  }

  /**
   * The transfer of state that a `snapshot` message announced has ended. Not owed: an installed state tells itself, and
   * one that never comes is announced again after an election timeout, as long as the follower answers.
   */
  reportSnapshot(id: NodeId, ok: boolean): void {
    const progress = this.#raft.tracker.get(id);
    if (this.#raft.role !== 'leader' || progress?.state !== 'snapshot') return;
    if (ok) progress.becomeProbe();
    else progress.abandonSnapshot();
    // The next append waits for a sign of life: the follower is busy installing, or was not reachable.
    progress.probeSent = true;
  }

  /** On a follower: whether `snapshot` is ahead of the log, hence worth installing. Ask right before the transaction. */
  wantsSnapshot(snapshot: SnapshotMetadata): boolean {
    return wantsSnapshot(this.#raft, snapshot);
  }

  /**
   * The driver has durably replaced its state machine by `snapshot`, emptied its log so that it starts after
   * snapshot.index (term(snapshot.index) = snapshot.term) and stored its membership. Not between ready and advance.
   */
  restore(snapshot: SnapshotMetadata, now: Time): void {
    const raft = this.#raft;
    invariant(this.#outstanding === undefined, () => 'a state was installed before the last Ready was acknowledged');
    invariant(raft.role !== 'leader', () => 'a leader cannot install a state');
    this.#wake(now);
    raft.log.restore(snapshot);
    raft.tracker.setMembership(snapshot.membership, snapshot.index + 1);
    raft.held.clear();
    raft.wantedSnapshot = undefined;
    raft.messagesAfterPersist = raft.messagesAfterPersist.filter(({ type }) => type !== 'append-response');
    if (raft.leader !== NONE) sendAccepted(raft, raft.leader, snapshot.index);
  }

  hasReady(): boolean {
    const raft = this.#raft;
    if (this.#outstanding !== undefined) return false;
    return (
      raft.messages.length > 0 ||
      raft.messagesAfterPersist.length > 0 ||
      raft.readStates.length > 0 ||
      raft.droppedReads.length > 0 ||
      raft.wantedSnapshot !== undefined ||
      raft.log.hasUnstable ||
      raft.log.hasCommittedToApply ||
      this.#changedHardState() !== undefined ||
      this.#changedSoftState() !== undefined ||
      (raft.role === 'leader' && (appendsOwed(raft) || readRoundDue(raft)))
    );
  }

  /** The next batch of work. Throws InvariantError if the one before was not acknowledged. */
  ready(): Ready {
    invariant(this.#outstanding === undefined, () => 'the last Ready was not acknowledged');
    const raft = this.#raft;
    if (raft.role === 'leader') {
      if (readRoundDue(raft)) startReadRound(raft);
      flushAppends(raft);
    }
    const softState = this.#changedSoftState();
    const hardState = this.#changedHardState();
    const entries = raft.log.unstable();
    const committedEntries = raft.log.takeCommitted(raft.settings.maxApplyBytes);
    const { term, vote } = this.#durable;
    const ready: Ready = {
      ...(softState && { softState }),
      ...(hardState && { hardState }),
      entries,
      mustSync: entries.length > 0 || raft.term !== term || raft.vote !== vote,
      messages: raft.messages,
      messagesAfterPersist: raft.messagesAfterPersist,
      committedEntries,
      readStates: raft.readStates,
      droppedReads: raft.droppedReads,
    };
    const membership = lastMembership(committedEntries);
    if (membership !== undefined) ready.membership = membership;
    if (raft.wantedSnapshot !== undefined) ready.wantedSnapshot = raft.wantedSnapshot;
    raft.messages = [];
    raft.messagesAfterPersist = [];
    raft.readStates = [];
    raft.droppedReads = [];
    raft.wantedSnapshot = undefined;
    if (softState !== undefined) this.#softState = softState;
    this.#outstanding = ready;
    return ready;
  }

  /** Everything in `ready` is durable and its committed entries are applied. */
  advance(ready: Ready): void {
    invariant(ready === this.#outstanding, () => 'advance without its Ready');
    this.#outstanding = undefined;
    const raft = this.#raft;
    if (ready.hardState !== undefined) this.#durable = ready.hardState;
    const lastStored = ready.entries.at(-1);
    if (lastStored !== undefined) raft.log.stableTo(lastStored);
    const lastApplied = ready.committedEntries.at(-1);
    if (lastApplied !== undefined) raft.log.appliedTo(lastApplied.index);
    if (ready.membership !== undefined) this.#enterMembership(ready.membership);
    if (raft.role === 'leader') {
      ownLogDurable(raft);
      leading.settleMembership(raft);
    } else if (raft.role === 'candidate' && this.#durable.term === raft.term && this.#durable.vote === raft.id) {
      ownVoteDurable(raft);
    }
  }

  /** True on a leader when every voter has the whole log, all of it committed, and nothing is pending anywhere. */
  canQuiesce(): boolean {
    return !this.hasReady() && this.#outstanding === undefined && leading.canQuiesce(this.#raft);
  }

  /** Falls silent, if `canQuiesce()`: tells the followers and stops all timers until the next input. */
  quiesce(): void {
    if (this.canQuiesce()) leading.quiesce(this.#raft);
  }

  get isQuiescent(): boolean {
    return this.#raft.quiescent;
  }

  get id(): NodeId {
    return this.#raft.id;
  }

  get isLeader(): boolean {
    return this.#raft.role === 'leader';
  }

  /** The leader of the current term, or NONE. */
  get leader(): NodeId {
    return this.#raft.leader;
  }

  get term(): Term {
    return this.#raft.term;
  }

  get commit(): Index {
    return this.#raft.log.committed;
  }

  get applied(): Index {
    return this.#raft.log.applied;
  }

  status(): Status {
    const { id, role, leader, term, vote, log, tracker, quiescent, transferee } = this.#raft;
    const { committed: commit, applied, lastIndex } = log;
    const peers = role === 'leader' ? tracker.status() : [];
    const { membership } = tracker;
    return { id, role, leader, term, vote, commit, applied, lastIndex, membership, quiescent, transferee, peers };
  }

  #wake(now: Time): void {
    this.#raft.advanceClock(now);
    wake(this.#raft);
  }

  #changedHardState(): HardState | undefined {
    const { term, vote, commit } = this.#durable;
    const present = this.#raft.hardState;
    const same = present.term === term && present.vote === vote && present.commit === commit;
    return same ? undefined : present;
  }

  #changedSoftState(): SoftState | undefined {
    const { role, leader } = this.#raft;
    return role === this.#softState.role && leader === this.#softState.leader ? undefined : { role, leader };
  }

  #enterMembership(membership: Membership): void {
    const raft = this.#raft;
    raft.tracker.setMembership(membership, raft.log.lastIndex + 1);
    if (raft.role === 'leader') advanceCommit(raft);
    if (raft.transferee !== NONE && !membership.voters.includes(raft.transferee)) raft.transferee = NONE;
  }
}

function lastMembership(committed: readonly Entry[]): Membership | undefined {
  const entry = committed.findLast(({ type }) => type === 'membership');
  return entry && decodeMembership(entry.data);
}

import type { Settings } from './config.ts';
import { invariant } from './invariant.ts';
import { RaftLog } from './log.ts';
import { Tracker } from './tracker.ts';
import type {
  Append,
  HardState,
  Index,
  Message,
  NodeId,
  ReadState,
  Role,
  SnapshotMetadata,
  Term,
  Time,
} from './types.ts';
import { NONE } from './types.ts';

/** A read that the leader has to confirm, for itself or for a follower. */
export interface PendingRead {
  context: number;
  from: NodeId;
  /** Commit index when its round began. */
  index: Index;
  round: number;
}

/** A message without what `send` fills in. */
export type Outgoing = Message extends infer M
  ? M extends Message
    ? Omit<M, 'from' | 'term'> & { term?: Term }
    : never
  : never;

/** How many times longer than a voter a replica without a vote waits before it campaigns. */
const NON_VOTER_PATIENCE = 4;

const NEVER: Time = Number.NEGATIVE_INFINITY;

/** Answers speak for the log, the term or the vote of the sender, and requests for a vote for its term: both wait. */
const AFTER_PERSIST: ReadonlySet<Message['type']> = new Set([
  'vote',
  'vote-response',
  'pre-vote-response',
  'append-response',
  'heartbeat-response',
]);

/**
 * The state of one replica and the transitions that every part of the algorithm shares. The parts (election, leader,
 * follower, replication, reads) are functions over it; only they and the node write to it.
 */
export class RaftState {
  readonly id: NodeId;
  readonly settings: Settings;
  readonly log: RaftLog;
  readonly tracker: Tracker;

  term: Term;
  vote: NodeId;
  role: Role = 'follower';
  leader: NodeId = NONE;
  now: Time;

  /** Follower and candidates: when to campaign. Leader: when to check that a quorum has been active. */
  electionDeadline: Time;
  heartbeatDeadline: Time = NEVER;
  /** When a leader was last known to be in charge; peers that ask for a vote soon after are refused. */
  leaderHeardAt: Time = NEVER;
  quiescent = false;

  /** Leader: target of a transfer under way, given up at the deadline. */
  transferee: NodeId = NONE;
  transferDeadline: Time = NEVER;
  /** Candidate: the leader asked for this election. */
  campaignIsTransfer = false;
  /** Leader: own first index; a commit at or above it proves that all before is committed too. */
  termStart: Index = 0;
  /** Leader: bytes of own entries that are not committed. */
  uncommittedBytes = 0;
  /** Leader: no further membership change before this index is applied. */
  membershipIndex: Index = 0;

  /** Number of the last confirmation round begun, rising for as long as the node lives. */
  round = 0;
  /** Reads that wait for a round to begin. */
  waitingReads: PendingRead[] = [];
  /** Reads whose round is not confirmed, in order of rounds. */
  roundReads: PendingRead[] = [];
  /** Contexts of reads that were passed on to the leader. */
  forwardedReads = new Set<number>();

  /** Follower: appends that came before their predecessors, by prevIndex, and when to refuse them. */
  held = new Map<Index, Append>();
  holdDeadline: Time = NEVER;

  /** What the next Ready gives out. */
  messages: Message[] = [];
  messagesAfterPersist: Message[] = [];
  readStates: ReadState[] = [];
  droppedReads: number[] = [];
  wantedSnapshot: (SnapshotMetadata & { from: NodeId }) | undefined;

  constructor(settings: Settings) {
    const { hardState, membership } = settings.storage.initialState();
    this.id = settings.id;
    this.settings = settings;
    this.now = settings.now;
    this.term = hardState.term;
    this.vote = hardState.vote;
    this.log = new RaftLog(settings.storage, hardState.commit, settings.applied);
    this.tracker = new Tracker({ count: settings.maxInflightAppends, bytes: settings.maxInflightBytes });
    this.tracker.setMembership(membership, this.log.lastIndex + 1);
    this.electionDeadline = this.now;
    if (!this.tracker.isSoleVoter(this.id)) this.restartElectionTimer();
  }

  get hardState(): HardState {
    return { term: this.term, vote: this.vote, commit: this.log.committed };
  }

  /** Queues a message for a peer, in the right queue, with the present term unless it brings one. */
  send(message: Outgoing): void {
    invariant(message.to !== this.id, () => `${message.type} to itself`);
    const complete = { ...message, from: this.id, term: message.term ?? this.term } as Message;
    (AFTER_PERSIST.has(message.type) ? this.messagesAfterPersist : this.messages).push(complete);
  }

  /** Moves the clock on; it never goes back. */
  advanceClock(now: Time): void {
    if (now > this.now) this.now = now;
  }

  restartElectionTimer(): void {
    const base = this.settings.electionTimeoutMs * (this.isVoter ? 1 : NON_VOTER_PATIENCE);
    this.electionDeadline = this.now + base + Math.floor(this.settings.random() * base);
  }

  /** Whether a leader is in charge as far as this replica knows: it then refuses to help in replacing it. */
  get inLease(): boolean {
    return this.leader !== NONE && this.now - this.leaderHeardAt < this.settings.electionTimeoutMs;
  }

  get isVoter(): boolean {
    return this.tracker.isVoter(this.id);
  }

  /**
   * Whether there is somebody to ask for votes. Who does not vote itself campaigns too, late: a replica that learnt of
   * its own removal may hold entries that the remaining voters lack, so that they need it to get on (thesis §4.2.2).
   */
  get mayCampaign(): boolean {
    return this.tracker.membership.voters.length > 0;
  }

  /** The leader spoke: restarts the timer and the period in which other candidates are refused. */
  heardLeader(): void {
    this.leaderHeardAt = this.now;
    this.restartElectionTimer();
  }

  becomeFollower(term: Term, leader: NodeId): void {
    this.#leaveRole(term, leader);
    this.role = 'follower';
    this.restartElectionTimer();
  }

  /** Asks around without raising the term. */
  becomePreCandidate(): void {
    invariant(this.role !== 'leader', () => 'a leader cannot campaign');
    this.#setLeader(NONE);
    this.tracker.clearVotes();
    this.role = 'pre-candidate';
    this.restartElectionTimer();
  }

  becomeCandidate(transfer: boolean): void {
    invariant(this.role !== 'leader', () => 'a leader cannot campaign');
    this.#leaveRole(this.term + 1, NONE);
    this.role = 'candidate';
    this.vote = this.id;
    this.campaignIsTransfer = transfer;
    this.restartElectionTimer();
  }

  becomeLeader(): void {
    invariant(this.role === 'candidate', () => `a ${this.role} cannot become leader`);
    this.#leaveRole(this.term, this.id);
    this.role = 'leader';
    this.leaderHeardAt = this.now;
    this.electionDeadline = this.now + this.settings.electionTimeoutMs;
    this.heartbeatDeadline = this.now + this.settings.heartbeatIntervalMs;
    this.termStart = this.log.lastIndex + 1;
    // Entries of earlier terms may change the membership; until they are applied nobody knows.
    this.membershipIndex = this.log.lastIndex;
  }

  #leaveRole(term: Term, leader: NodeId): void {
    invariant(term >= this.term, () => `term ${term} is below ${this.term}`);
    if (term > this.term) {
      this.term = term;
      this.vote = NONE;
      this.held.clear();
    }
    this.#dropOwnReads();
    this.#setLeader(leader);
    this.quiescent = false;
    this.transferee = NONE;
    this.campaignIsTransfer = false;
    this.uncommittedBytes = 0;
    this.tracker.reset(this.log.lastIndex + 1);
  }

  #setLeader(leader: NodeId): void {
    if (leader === this.leader) return;
    this.leader = leader;
    this.held.clear();
    this.droppedReads.push(...this.forwardedReads);
    this.forwardedReads.clear();
  }

  /** A leader that steps down cannot confirm what it was asked; its followers notice the change of leader themselves. */
  #dropOwnReads(): void {
    for (const read of [...this.roundReads, ...this.waitingReads]) {
      if (read.from === this.id) this.droppedReads.push(read.context);
    }
    this.roundReads = [];
    this.waitingReads = [];
  }
}

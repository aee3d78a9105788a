/**
 * The vocabulary of the Raft core: what is stored, what is sent, and what one turn of the core hands to its driver.
 * Every value is plain data; byte arrays are shared, never copied, and must not be changed by anyone.
 */

/** Permanent id of a replica in its group: a positive integer below 2^53 that is never reused. */
export type NodeId = number;

/** A term: an integer that only rises; 0 before the first election. */
export type Term = number;

/** Position in the log: the first entry has index 1; 0 means "before the log". */
export type Index = number;

/** Milliseconds on one clock of the driver. Only differences matter; a value below an earlier one counts as the earlier. */
export type Time = number;

/** "No node": the vote of who has not voted, the leader of who knows none. */
export const NONE: NodeId = 0;

/** `normal` carries the driver's bytes (empty: a new leader's no-op); `membership` the encoded new Membership. */
export type EntryType = 'normal' | 'membership';

export interface Entry {
  index: Index;
  term: Term;
  type: EntryType;
  data: Uint8Array;
}

/** What must be durable before any message that depends on it leaves. */
export interface HardState {
  term: Term;
  vote: NodeId;
  /** Highest index known to be committed. May be older on disk than in memory: it is learnt again. */
  commit: Index;
}

/** Who belongs to the group. All lists are sorted. Joint while `votersOutgoing` is not empty. */
export interface Membership {
  voters: NodeId[];
  learners: NodeId[];
  /** The old voters, whose majority is also needed while a joint change is under way. */
  votersOutgoing: NodeId[];
  /** Old voters that become learners when the joint change ends. */
  learnersNext: NodeId[];
  /** The leader proposes the end of the joint change by itself. */
  autoLeave: boolean;
}

export interface MembershipStep {
  type: 'add-voter' | 'add-learner' | 'remove';
  id: NodeId;
}

/** A change of membership. Without steps it ends a joint change. More than one voter at once goes through joint consensus. */
export interface MembershipChange {
  steps: MembershipStep[];
  /** False: a joint membership stays until a change without steps is proposed. Default true: the leader ends it. */
  autoLeave?: boolean;
}

/** The state machine as of `index`, without its content (moving that is the driver's work). */
export interface SnapshotMetadata {
  index: Index;
  /** Term of the entry at `index`. */
  term: Term;
  membership: Membership;
}

interface Header {
  from: NodeId;
  to: NodeId;
  /** Sender's term, except in `pre-vote` and its granting answer, where it is the term asked for. */
  term: Term;
}

/** `pre-vote`: would you vote for me in that term? Changes nothing at the receiver. */
export interface PreVote extends Header {
  type: 'pre-vote';
  lastIndex: Index;
  lastTerm: Term;
}

export interface PreVoteResponse extends Header {
  type: 'pre-vote-response';
  granted: boolean;
}

export interface Vote extends Header {
  type: 'vote';
  lastIndex: Index;
  lastTerm: Term;
  /** The leader asked for this election: receivers that hear a leader answer all the same. */
  transfer: boolean;
}

export interface VoteResponse extends Header {
  type: 'vote-response';
  granted: boolean;
}

export interface Append extends Header {
  type: 'append';
  /** The entry right before `entries`. */
  prevIndex: Index;
  prevTerm: Term;
  entries: Entry[];
  commit: Index;
  /**
   * The entries up to `prevIndex` were sent before and may still be under way, since calls overtake one another: a
   * receiver that lacks them holds this append for a moment before it refuses.
   */
  pipelined: boolean;
}

export interface AppendResponse extends Header {
  type: 'append-response';
  /** Accepted: the log is durable and equal to the leader's up to here. Refused: the `prevIndex` that did not match. */
  index: Index;
  rejected: boolean;
  /** Refused: the highest index, not above `index`, at which the logs may agree, and the receiver's term there. */
  hintIndex: Index;
  hintTerm: Term;
  /** What the sender knows to be committed. */
  commit: Index;
}

export interface Heartbeat extends Header {
  type: 'heartbeat';
  commit: Index;
  /** Number of the confirmation round; the answer repeats it. */
  round: number;
  /** The leader falls silent now; a receiver that has all and knows all committed stops its timers. Not answered. */
  quiesce: boolean;
}

export interface HeartbeatResponse extends Header {
  type: 'heartbeat-response';
  round: number;
  /** What the sender knows to be committed. */
  commit: Index;
}

/** The receiver lacks entries that the leader's log no longer has. */
export interface Snapshot extends Header {
  type: 'snapshot';
  snapshot: SnapshotMetadata;
}

/** Leadership transfer: campaign now. */
export interface TimeoutNow extends Header {
  type: 'timeout-now';
}

/** A follower's read, passed on to the leader. */
export interface ReadIndex extends Header {
  type: 'read-index';
  context: number;
}

export interface ReadIndexResponse extends Header {
  type: 'read-index-response';
  context: number;
  index: Index;
  /** The receiver of the request was no leader (any more). */
  rejected: boolean;
}

export type Message =
  | PreVote
  | PreVoteResponse
  | Vote
  | VoteResponse
  | Append
  | AppendResponse
  | Heartbeat
  | HeartbeatResponse
  | Snapshot
  | TimeoutNow
  | ReadIndex
  | ReadIndexResponse;

export type MessageType = Message['type'];

export type MessageOf<T extends MessageType> = Extract<Message, { type: T }>;

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader';

export interface SoftState {
  role: Role;
  /** NONE while no leader of the current term is known. */
  leader: NodeId;
}

/** A confirmed read: it may be answered from the state machine once that has applied `index`. */
export interface ReadState {
  context: number;
  index: Index;
}

/**
 * One turn's output. The driver, in this order:
 * 1. may send `messages` at once, before anything is written (entries of a leader travel while it persists them);
 * 2. writes `hardState`, `entries` and the effects of `committedEntries` (with `membership` and the applied index) in
 *    one transaction;
 * 3. when that is durable, calls `advance(ready)` and sends `messagesAfterPersist`;
 * 4. serves `readStates` whose index it has applied, and gives up `droppedReads`.
 */
export interface Ready {
  /** Role or leader, if either changed. */
  softState?: SoftState;
  /** To persist, if it changed. */
  hardState?: HardState;
  /** To append to the stored log. Stored entries from `entries[0].index` on are replaced, all of them. */
  entries: Entry[];
  /** True if `entries` or a changed term or vote must be durable; a new commit index alone need not be. */
  mustSync: boolean;
  messages: Message[];
  messagesAfterPersist: Message[];
  /** To apply, in order and without a gap after those of the Ready before. May be among `entries`: write those first. */
  committedEntries: Entry[];
  /** The membership after `committedEntries`, if they change it. To be stored together with the applied index. */
  membership?: Membership;
  /**
   * The leader's log no longer reaches back to this replica: fetch this state (or a later one), then call `restore`.
   * Comes again every election timeout until that is done; one that comes while a fetch is under way is to be ignored.
   */
  wantedSnapshot?: SnapshotMetadata & { from: NodeId };
  readStates: ReadState[];
  /** Contexts of reads that will not be confirmed any more since the leader changed; a new try is safe. */
  droppedReads: number[];
}

/**
 * What the core reads of the stored log. All methods are synchronous and see everything that an acknowledged Ready
 * asked to persist. The log holds `firstIndex()..lastIndex()`, empty if lastIndex = firstIndex - 1.
 */
export interface LogStorage {
  /** Read once, at construction. A new group starts with term 0, vote NONE, commit 0 and the first members. */
  initialState(): { hardState: HardState; membership: Membership };
  /** Entries of lo ≤ index < hi, as many as fit in maxBytes of data but at least one. The range is always stored. */
  entries(lo: Index, hi: Index, maxBytes: number): Entry[];
  /** Term of the entry at `index`, for firstIndex() - 1 ≤ index ≤ lastIndex(); undefined outside. */
  term(index: Index): Term | undefined;
  firstIndex(): Index;
  lastIndex(): Index;
  /** The state that the driver can hand to a follower now: at least firstIndex() - 1, at most the applied index. */
  snapshotMetadata(): SnapshotMetadata;
}

/** Everything the core needs from outside. */
export interface Config {
  id: NodeId;
  storage: LogStorage;
  /** Highest index whose effects the state machine holds durably; by default firstIndex() - 1. */
  applied?: Index;
  /** Uniform in [0, 1). Its only use is to spread election timeouts. */
  random: () => number;
  /** Time of construction. */
  now: Time;
  /** A follower campaigns after this plus up to as much again of silence. Default 1000. */
  electionTimeoutMs?: number;
  /** Default 150. */
  heartbeatIntervalMs?: number;
  /** Bytes of entry data in one append (one entry may be larger). Default 1 MiB. */
  maxAppendBytes?: number;
  /** Unanswered appends to one follower, in messages and in bytes. Default 64 and 8 MiB. */
  maxInflightAppends?: number;
  maxInflightBytes?: number;
  /** Bytes of own proposals that are not committed yet; above it proposals are refused. Default 16 MiB. */
  maxUncommittedBytes?: number;
  /** Bytes of committed entries in one Ready. Default 4 MiB. */
  maxApplyBytes?: number;
}

export type ProposeResult =
  /** In the log; committed if and when an entry with this index *and* term is among the committed entries. */
  | { ok: true; index: Index; term: Term }
  /** Certainly not in the log. `leader` is whom to ask, or NONE. */
  | { ok: false; reason: 'not-leader' | 'transferring' | 'overloaded' | 'membership-pending'; leader: NodeId };

export type ReadIndexResult =
  /** Answered by `readStates` or `droppedReads` of a later Ready, or never if a message is lost: set a timeout. */
  { ok: true } | { ok: false; reason: 'no-leader'; leader: NodeId };

export type TransferResult = { ok: true } | { ok: false; reason: 'not-leader' | 'not-a-voter'; leader: NodeId };

export type ProgressState = 'probe' | 'replicate' | 'snapshot';

/** What the leader knows of a peer. */
export interface PeerStatus {
  id: NodeId;
  state: ProgressState;
  match: Index;
  next: Index;
  learner: boolean;
  recentlyActive: boolean;
}

export interface Status {
  id: NodeId;
  role: Role;
  leader: NodeId;
  term: Term;
  vote: NodeId;
  commit: Index;
  applied: Index;
  lastIndex: Index;
  membership: Membership;
  quiescent: boolean;
  /** Target of a transfer under way, or NONE. */
  transferee: NodeId;
  /** On a leader, every member in id order; else empty. */
  peers: PeerStatus[];
}

/**
 * Drives one replica: the Raft core, its log, the state machine and the watchers. Everything that decides or writes runs
 * in synchronous stretches; the one `await` is between sending a leader's entries and persisting them.
 */
import type { Consistency, Revision } from '../../src/keyspace/types.ts';
import {
  encodeCompact,
  encodeEntry,
  encodeExpire,
  encodeLevel,
  FORMAT,
  type Format,
  KIND,
} from '../../src/protocol/commands.ts';
import { Retention, type RetentionLimits } from '../keyspace/retention.ts';
import { type Outcome, StateMachine } from '../keyspace/state.ts';
import type { Storage } from '../keyspace/storage.ts';
import { Hub, type HubSink } from '../keyspace/watch.ts';
import { RawNode } from '../raft/node.ts';
import type { Entry, Membership, MembershipChange, Message, ProposeResult, Ready } from '../raft/types.ts';
import type { StateHead } from './chunks.ts';
import { DamagedError } from './damage.ts';
import type { RaftLog } from './raft-log.ts';
import { Reads, RevisionWaits } from './reads.ts';
import { Refusal } from './refusal.ts';
import { type Report, Reports } from './reports.ts';
import type { Staging } from './state-sink.ts';
import { StateTransfer, type TransferOwner } from './transfer.ts';
import { Turns } from './turns.ts';

/** What the driver needs of the Durable Object. */
export interface Host {
  id: number;
  now(): number;
  random(): number;
  /** Passes messages on to their receivers. */
  send(messages: readonly Message[]): void;
  /** Resolves in a later macrotask, so that what was sent leaves before the next write. */
  yieldTask(): Promise<void>;
  /** Runs writes as one transaction. */
  transaction(write: () => void): void;
  /** Asks for {@link Driver.tick} at a time; undefined: no timer is needed. */
  setTimer(at: number | undefined): void;
  /** The replica falls silent: what must survive sleep is to be kept, and it wants to be woken at `alarm`. */
  sleep(alarm: number | undefined): void;
  /** No leader has been known for a while: watchers would hear nothing here, so they should go on elsewhere. */
  orphaned(): void;
  /** The leader wrote outbox rows. */
  pokeLoops(): void;
  /** The format of entries that this code knows, where it is not the present one. */
  format?: Format;
  /** Asks a peer's {@link Driver.transfer} for a chunk of state; rejects when it does not answer in time. */
  fetchState(peer: number, request: Uint8Array): Promise<Uint8Array>;
  /** The core's assumptions are broken: build everything anew from disk. */
  fail(error: unknown): void;
}

const NO_DATA = new Uint8Array(0);
/**
 * Applied changes stay in memory for so long, and go to disk with an append where one comes along: many together touch far
 * fewer pages than each alone, and the log already has them. A restart applies them again.
 */
const FLUSH_MS = 100;
/** More bytes of applied changes than this do not wait. */
const FLUSH_BYTES = 2 << 20;
/** A leader that nobody asked anything for so long falls silent. */
const QUIET_MS = 3_000;
/** How long a replica without a leader keeps its watchers. */
const ORPHANED_MS = 3_000;
const HOUSEKEEPING_MS = 5_000;
const FUTURE_WAIT_MS = 3_000;
/** How often a replica that knows no leader starts an election because it is asked something. */
const CAMPAIGN_MS = 200;
/** How much longer each further replica of a group waits with that, so that those woken together do not compete. */
const CAMPAIGN_STEP_MS = 40;
/** How long an operation waits for an election. */
const LEADER_WAIT_MS = 600;
/** Operations that may wait for an election. */
const MAX_WAITS = 10_000;
const MAX_PROPOSALS = 4_096;
const MAX_PROPOSAL_BYTES = 12 << 20;
const EXPIRE_BATCH = 500;
const TRUNCATE_BATCH = 2_000;
/** Entries that must have become superfluous before a compaction is proposed for the log's sake alone. */
const LOG_SLACK = 5_000;

interface Proposal {
  term: number;
  resolve: (outcome: Outcome) => void;
  reject: (reason: Refusal) => void;
}

export class Driver {
  /** Both are made anew when another replica's state takes the place of this one's. */
  state: StateMachine;
  hub: Hub;
  readonly #host: Host;
  readonly #log: RaftLog;
  readonly #node: RawNode;
  readonly #reads: Reads;
  readonly transfer: StateTransfer;
  readonly #sink: HubSink;
  #storage: Storage;
  readonly #waits = new RevisionWaits();
  /** Whose turn it is to change a record. */
  readonly #turns = new Turns();
  readonly #retention: Retention;
  readonly #reports = new Reports();
  readonly #format: Format;
  readonly #proposals = new Map<number, Proposal>();
  #leaderWaits: { resolve: () => void; deadline: number }[] = [];
  #running = Promise.resolve();
  #busy = false;
  #stopped = false;
  #asleep = false;
  #soon = false;
  /** Whether a leader's own commit has shown how far this replica had answered before it was restarted. */
  #current = false;
  #activeAt: number;
  #leaderlessSince: number | undefined;
  #triedRestAt = Number.NEGATIVE_INFINITY;
  #campaignedAt = Number.NEGATIVE_INFINITY;
  /** When to start the election that somebody waits for. */
  #campaignAt: number | undefined;
  #flushAt: number | undefined;
  #housekeepingAt: number;
  #askedExpiry = 0;
  #raisedAt = Number.NEGATIVE_INFINITY;

  /**
   * `limits`: how much history is kept, see {@link Retention}. `staging`: where another replica's state can be built;
   * without one this replica takes in none.
   */
  constructor(host: Host, log: RaftLog, storage: Storage, sink: HubSink, limits?: RetentionLimits, staging?: Staging) {
    const now = host.now();
    this.#host = host;
    this.#format = host.format ?? FORMAT;
    this.#log = log;
    this.#storage = storage;
    this.#sink = sink;
    this.state = new StateMachine(storage, this.#format);
    this.hub = new Hub(this.state, sink);
    const { applied, revision, compacted, time } = this.state.scalars;
    this.#retention = new Retention(limits);
    // When the history on disk was made is not known any more, only that it was by then.
    if (revision > compacted) this.#retention.note(time, revision, 0);
    this.#node = new RawNode({ id: host.id, storage: log, applied, random: () => host.random(), now });
    this.#reads = new Reads(this.#node);
    this.transfer = new StateTransfer(host, this.#transferOwner(), staging);
    this.#activeAt = now;
    this.#housekeepingAt = now + HOUSEKEEPING_MS;
    this.#arm();
  }

  get leader(): number {
    return this.#node.leader;
  }

  get isLeader(): boolean {
    return this.#node.isLeader;
  }

  /** Whether no timer runs: until the next input nothing changes, and the replica may be evicted. */
  get asleep(): boolean {
    return this.#asleep;
  }

  /** The log entry at an index; undefined when it is not stored. */
  entry(index: number): Entry | undefined {
    if (index < this.#log.firstIndex() || index > this.#log.lastIndex()) return undefined;
    return this.#log.entries(index, index + 1, Number.POSITIVE_INFINITY)[0];
  }

  /** What goes to peers with every frame of messages. */
  report(): Report {
    const { confirmed } = this.#reports;
    return { level: this.#format.level, checkpoint: this.state.checkpoints.latest, confirmed };
  }

  /** Takes in a peer's report. A replica whose state is not that of the others stops. */
  heard(peer: number, report: Report): void {
    const verdict = this.#reports.heard(peer, report, this.state.checkpoints, this.#members());
    if (verdict?.type === 'outvoted')
      this.#host.fail(new DamagedError('state', verdict.index, 'diverged from the majority'));
    else if (verdict !== undefined && verdict.peer === this.#node.leader)
      this.#host.fail(new Error(`the state differs from that of the leader, ${verdict.peer}`));
  }

  /** Proposes the highest feature level that all members know. */
  #raiseLevel(now: number): void {
    const level = this.#reports.level(this.#members(), this.#host.id, this.#format.level);
    if (level <= this.state.scalars.level || now - this.#raisedAt < HOUSEKEEPING_MS) return;
    this.#raisedAt = now;
    this.#node.propose(this.#encode(KIND.level, encodeLevel(level)), now);
  }

  #members(): number[] {
    const { voters, learners, votersOutgoing } = this.#log.membership;
    return [...new Set([...voters, ...learners, ...votersOutgoing])];
  }

  status() {
    const { highestId } = this.#log;
    const firstIndex = this.#log.firstIndex();
    return { ...this.#node.status(), firstIndex, highestId, scalars: this.state.scalars, watchers: this.hub.size };
  }

  /** Takes in messages of a peer; resolves when what they caused is written and its answers are with the host. */
  async step(messages: readonly Message[]): Promise<void> {
    const now = this.#host.now();
    for (const message of messages) this.#node.step(message, now);
    this.turn();
    await this.#running;
  }

  /** The last messages to a peer may have been lost. */
  unreachable(peer: number): void {
    this.#node.reportUnreachable(peer);
    if (peer === this.#node.leader) this.#reads.refuseAll();
  }

  /** Lets time pass. */
  tick(): void {
    const now = this.#host.now();
    this.#node.tick(now);
    this.#waits.settle(this.state.scalars.revision, now);
    this.#turns.settle(now);
    while ((this.#leaderWaits[0]?.deadline ?? now + 1) <= now) this.#leaderWaits.shift()?.resolve();
    if (this.#flushDue()) this.#flush();
    if (now >= this.#housekeepingAt || this.#expiryDue(now)) this.housekeeping();
    if (this.#node.isLeader) this.#raiseLevel(now);
    if (now >= this.#quietAt()) this.#rest(now);
    this.#checkLeader(now);
    this.#campaignIfDue(now);
    this.turn();
  }

  #checkLeader(now: number): void {
    if (this.#node.leader !== 0) this.#leaderlessSince = undefined;
    else this.#leaderlessSince ??= now;
    if (now - (this.#leaderlessSince ?? now) < ORPHANED_MS) return;
    this.#leaderlessSince = now;
    this.#host.orphaned();
  }

  /**
   * Proposes a batch as the Worker encoded it. Resolves with what became of it. Refuses with `notLeader`, `overloaded` or
   * `malformed` when it is certainly not in the log.
   */
  async propose(payload: Uint8Array, suspect: number): Promise<Outcome> {
    await this.#findLeader(suspect);
    const entry = this.#encode(KIND.batch, payload);
    const keys = conditionKeys(entry, this.#format);
    if (!this.#node.isLeader) throw new Refusal('notLeader');
    try {
      if (this.#proposals.size >= MAX_PROPOSALS) throw new Refusal('overloaded');
      return await this.#append(entry);
    } finally {
      for (const key of keys) this.turnDone(key);
    }
  }

  /** Resolves when the state may be read as fresh as asked; refuses otherwise. */
  async readable(consistency: Consistency, suspect: number): Promise<void> {
    const now = this.#host.now();
    this.#activeAt = now;
    if (consistency.type === 'any' && this.#current) return;
    await this.#findLeader(suspect);
    const unconfirmed = consistency.type === 'leader' || consistency.type === 'turn';
    if (unconfirmed && !this.#node.isLeader) throw new Refusal('notLeader');
    if (unconfirmed && this.#current) return;
    if (consistency.type === 'linearizable' || !this.#current) await this.#linearizable();
    if (consistency.type !== 'notOlderThan' && consistency.type !== 'exact') return;
    await this.reached(consistency.revision);
    const { compacted } = this.state.scalars;
    if (consistency.type === 'exact' && consistency.revision < compacted) throw new Refusal('compacted', compacted);
  }

  /** Resolves when it is this read's turn on the key. */
  async turnOn(key: string): Promise<void> {
    const turn = this.#turns.take(key, this.#host.now());
    this.#arm();
    await turn;
  }

  /** A read shows that the holder of the key's turn is done. */
  turnDone(key: string): void {
    this.#turns.release(key, this.#host.now());
  }

  /** Resolves when a revision is applied; refuses with `future` after 3 s. */
  async reached(revision: Revision): Promise<void> {
    if (revision <= this.state.scalars.revision) return;
    const wait = this.#waits.add(revision, this.#host.now() + FUTURE_WAIT_MS);
    this.#arm();
    await wait;
  }

  /** Resolves once everything committed before the call is applied. */
  #linearizable(): Promise<void> {
    const read = this.#reads.add();
    this.#turnSoon();
    return read;
  }

  /**
   * Expires records and compacts history and log, as far as due; only a leader does. Also called by the alarm, on a
   * replica that may have slept.
   */
  housekeeping(): void {
    const now = this.#host.now();
    this.#housekeepingAt = now + HOUSEKEEPING_MS;
    if (!this.#node.isLeader) return;
    const time = this.#logTime();
    if (this.#expiryDue(now)) {
      this.#askedExpiry = now;
      const due = this.state.due(time, EXPIRE_BATCH);
      if (due.length > 0) this.#node.propose(this.#encode(KIND.expire, encodeExpire(due)), now);
    }
    const { compacted, logFloor } = this.state.scalars;
    const floor = this.#unneeded();
    const target = Math.max(this.#retention.take(time), compacted);
    const superfluous = floor - logFloor >= (this.#log.overfull ? 1 : LOG_SLACK);
    if (target === compacted && !superfluous) return;
    this.#node.propose(this.#encode(KIND.compact, encodeCompact(target, floor)), now);
  }

  /**
   * Proposes a change of membership; {@link status} shows when it is in force. Refuses with `notLeader`, `unavailable`
   * while another is under way, `malformed` when it makes no sense.
   */
  changeMembership(change: MembershipChange): void {
    const now = this.#host.now();
    this.#activeAt = now;
    let result: ProposeResult;
    try {
      result = this.#node.proposeMembership(change, now);
    } catch (error) {
      if (error instanceof RangeError) throw new Refusal('malformed');
      throw error;
    }
    if (!result.ok) throw new Refusal(result.reason === 'not-leader' ? 'notLeader' : 'unavailable');
    this.#turnSoon();
  }

  /** Begins to hand leadership to a voter; refuses with `notLeader` or `malformed`. */
  transferLeadership(to: number): void {
    const now = this.#host.now();
    this.#activeAt = now;
    const result = this.#node.transferLeadership(to, now);
    if (!result.ok) throw new Refusal(result.reason === 'not-leader' ? 'notLeader' : 'malformed');
    this.#turnSoon();
  }

  /** Wakes a sleeping replica for its alarm. */
  async wake(): Promise<void> {
    this.#activeAt = this.#host.now();
    await this.#findLeader(0);
    if (this.#node.isLeader) await this.#linearizable();
    this.housekeeping();
    this.turn();
  }

  /** Carries out what the core wants, until it wants nothing more. One at a time: the one under way takes all in. */
  turn(): void {
    if (this.#busy) return;
    this.#running = this.#run().catch((error) => this.#host.fail(error));
  }

  async #run(): Promise<void> {
    this.#busy = true;
    this.#reads.ask(this.#host.now());
    while (this.#node.hasReady()) {
      const ready = this.#node.ready();
      this.#host.send(ready.messages);
      if (ready.entries.length > 0 && ready.messages.length > 0 && this.#node.isLeader) await this.#host.yieldTask();
      this.#carryOut(ready);
      this.#reads.ask(this.#host.now());
    }
    this.#busy = false;
    this.#arm();
  }

  /** A turn in the next macrotask: all that arrives before it shares it. */
  #turnSoon(): void {
    if (this.#soon || this.#busy) return;
    this.#soon = true;
    this.#host
      .yieldTask()
      .then(() => {
        this.#soon = false;
        this.turn();
      })
      .catch((error) => this.#host.fail(error));
  }

  /**
   * Durability: the platform's output gate holds every message and answer back until earlier writes are on disk, so
   * what is told to the core as durable right after the transaction can be seen by nobody before it is.
   */
  #carryOut(ready: Ready): void {
    if (ready.hardState !== undefined) this.#log.noteHardState(ready.hardState);
    if (ready.mustSync) {
      this.#host.transaction(() => {
        this.#log.append(ready.entries);
        this.#log.writeHardState();
        if (this.#flushDue()) this.#flushState();
      });
    }
    this.#apply(ready.committedEntries, ready.membership);
    this.#node.advance(ready);
    this.#host.send(ready.messagesAfterPersist);
    this.#current ||= this.#node.leader !== 0 && this.#log.term(this.#node.commit) === this.#node.term;
    this.#reads.settle(ready.readStates, ready.droppedReads, this.state.scalars.applied);
    if (!this.#node.isLeader) this.#turns.releaseAll();
    if (this.#node.leader !== 0) this.#leaderFound();
    if (ready.wantedSnapshot !== undefined) this.transfer.receive(ready.wantedSnapshot.from);
  }

  #transferOwner(): TransferOwner {
    return {
      node: this.#node,
      storage: () => this.#storage,
      head: () => {
        this.#flush();
        const { membership, highestId } = this.#log;
        const scalars = { ...this.state.scalars };
        const index = scalars.applied;
        return { index, term: this.#log.term(index)!, membership, highestId, scalars };
      },
      idle: async () => {
        while (this.#busy) await this.#running;
      },
      replace: (head, install) => this.#replace(head, install),
      fail: (error) => this.#host.fail(error),
    };
  }

  /** Takes another replica's state for its own. Watchers go on elsewhere; what waits here is given up. */
  #replace(head: StateHead, install: () => Storage): void {
    this.#host.orphaned();
    this.#host.transaction(() => {
      this.#storage = install();
      this.#log.install(head, head.highestId);
    });
    this.state = new StateMachine(this.#storage, this.#format);
    this.hub = new Hub(this.state, this.#sink);
    const { time, revision } = this.state.scalars;
    this.#retention.note(time, revision, 0);
    this.#giveUpProposals();
    this.#node.restore(head, this.#host.now());
    this.#waits.settle(revision, this.#host.now());
    this.turn();
  }

  /** Gives up all that waits, and does nothing from now on. What was proposed may still commit, through other replicas. */
  stop(): void {
    this.#stopped = true;
    this.#busy = true;
    this.#giveUpProposals();
    this.#reads.refuseAll();
    this.#waits.refuseAll();
    this.#turns.releaseAll();
    this.#leaderFound();
  }

  #giveUpProposals(): void {
    for (const { reject } of this.#proposals.values()) reject(new Refusal('unknown'));
    this.#proposals.clear();
  }

  #leaderFound(): void {
    this.#campaignAt = undefined;
    for (const { resolve } of this.#leaderWaits.splice(0)) resolve();
  }

  /** Applies entries; a membership that they bring is written at once, together with how far they are applied. */
  #apply(entries: readonly Entry[], membership: Membership | undefined): void {
    if (entries.length === 0) return;
    const compacted = this.state.scalars.compacted;
    for (const { index, term, type, data } of entries) {
      const outcome = this.state.apply(index, type === 'normal' ? data : NO_DATA);
      const proposal = this.#proposals.get(index);
      if (proposal === undefined) continue;
      this.#proposals.delete(index);
      if (proposal.term === term && outcome !== undefined) proposal.resolve(outcome);
      else proposal.reject(new Refusal('notLeader'));
    }
    if (membership !== undefined) {
      this.#host.transaction(() => {
        this.#log.setMembership(membership);
        this.#flushState();
      });
    }
    const changes = this.state.takeFresh();
    this.hub.publish(changes);
    const { revision, time, compacted: compactedNow } = this.state.scalars;
    if (compactedNow > compacted) this.hub.progressBelow(compactedNow);
    if (changes.length > 0) {
      const bytes = changes.reduce((sum, { version }) => sum + version.record.length, 0);
      this.#retention.note(time, revision, bytes);
      this.#waits.settle(revision, this.#host.now());
    }
    if (this.state.takeWork() && this.#node.isLeader) this.#host.pokeLoops();
  }

  #append(entry: Uint8Array): Promise<Outcome> {
    const now = this.#host.now();
    this.#activeAt = now;
    const result = this.#node.propose(entry, now);
    if (!result.ok) throw new Refusal(result.reason === 'overloaded' ? 'overloaded' : 'notLeader');
    const { index, term } = result;
    this.#turnSoon();
    return new Promise((resolve, reject) => {
      this.#proposals.set(index, { term, resolve, reject });
    });
  }

  /** Starts an election where one is due, and waits a moment for a leader. */
  async #findLeader(suspect: number): Promise<void> {
    if (this.#stopped) throw new Refusal('unavailable');
    const node = this.#node;
    const now = this.#host.now();
    const lost = node.isQuiescent && node.leader === suspect && !node.isLeader;
    if (node.leader !== 0 && !lost) return;
    this.#activeAt = now;
    const rank = node.status().membership.voters.filter((id) => id < node.id && id !== suspect).length;
    const at = Math.max(now + (lost ? 0 : rank * CAMPAIGN_STEP_MS), this.#campaignedAt + CAMPAIGN_MS);
    this.#campaignAt = Math.min(at, this.#campaignAt ?? at);
    this.#campaignIfDue(now);
    if (this.#leaderWaits.length >= MAX_WAITS) throw new Refusal('overloaded');
    const wait = new Promise<void>((resolve) => {
      this.#leaderWaits.push({ resolve, deadline: now + LEADER_WAIT_MS });
    });
    this.#arm();
    await wait;
    if (this.#stopped) throw new Refusal('unavailable');
  }

  #campaignIfDue(now: number): void {
    if (this.#campaignAt === undefined || now < this.#campaignAt) return;
    this.#campaignAt = undefined;
    this.#campaignedAt = now;
    this.#node.campaign(now);
    this.#turnSoon();
  }

  /** Makes an entry as all members read it. */
  #encode(kind: number, payload: Uint8Array): Uint8Array {
    return encodeEntry(kind, this.#logTime(), payload, this.state.scalars.level);
  }

  #logTime(): number {
    return Math.max(this.#host.now(), this.state.scalars.time);
  }

  #expiryDue(now: number): boolean {
    const { nextExpiry } = this.state;
    return nextExpiry !== undefined && nextExpiry <= now && this.#node.isLeader && now - this.#askedExpiry >= 1_000;
  }

  /** Index up to which no member needs the log: each holds it, or is so far behind that it is given the state. */
  #unneeded(): number {
    const { peers, applied } = this.#node.status();
    this.transfer.note(peers);
    const everywhere = peers.reduce((least, { match }) => Math.min(least, match), applied);
    return Math.max(everywhere, Math.min(applied, this.#log.keptAfter));
  }

  /** When a leader that nobody asks anything should try to fall silent; it may have to wait for a follower that is away. */
  #quietAt(): number {
    return Math.max(this.#activeAt, this.#triedRestAt) + QUIET_MS;
  }

  #rest(now: number): void {
    this.#triedRestAt = now;
    const waiting = this.#proposals.size > 0 || this.#reads.pending || this.#waits.pending || this.state.unflushed;
    if (!waiting) this.#node.quiesce();
  }

  #flushDue(): boolean {
    return (this.#flushAt ?? Number.POSITIVE_INFINITY) <= this.#host.now() || this.state.unflushedBytes > FLUSH_BYTES;
  }

  #flush(): void {
    this.#host.transaction(() => this.#flushState());
  }

  #flushState(): void {
    this.#flushAt = undefined;
    this.state.pinned = this.transfer.pinned;
    this.state.flush();
    const { logFloor, applied } = this.state.scalars;
    this.#log.truncate(Math.min(logFloor, applied, this.transfer.floor), TRUNCATE_BATCH);
  }

  /** Sets the timer for whatever comes first; sleeps when nothing will. */
  #arm(): void {
    const now = this.#host.now();
    if (this.state.unflushed) this.#flushAt ??= now + FLUSH_MS;
    const deadlines = [
      this.#node.nextDeadline(),
      this.#flushAt,
      this.#waits.deadline,
      this.#turns.deadline,
      this.#leaderWaits[0]?.deadline,
      this.#campaignAt,
    ];
    const awake = !this.#node.isQuiescent;
    if (this.#node.isLeader && awake) {
      const { nextExpiry } = this.state;
      deadlines.push(this.#housekeepingAt, this.#quietAt());
      if (nextExpiry !== undefined) deadlines.push(Math.max(nextExpiry, this.#askedExpiry + 1_000));
    }
    const next = deadlines.reduce<number | undefined>(earliest, undefined);
    this.#host.setTimer(next);
    this.#asleep = next === undefined;
    if (next === undefined) this.#host.sleep(this.#alarm());
  }

  #alarm(): number | undefined {
    return this.#node.isLeader ? earliest(this.state.nextExpiry, this.#retention.due) : undefined;
  }
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/**
 * The keys of the records that a batch was decided on. Refuses a payload that cannot be decoded: it must not get into the
 * log, where it would stop every replica.
 */
function conditionKeys(entry: Uint8Array, format: Format): string[] {
  if (entry.length > MAX_PROPOSAL_BYTES) throw new Refusal('tooLarge');
  try {
    const command = format.decode(entry);
    return command.kind === 'batch' ? command.conditions.map(({ key }) => key) : [];
  } catch {
    throw new Refusal('malformed');
  }
}

/**
 * Drives one replica: the Raft core, its log, the state machine and the watchers.
 *
 * What it relies on of the platform: JavaScript runs to the end of a synchronous stretch, so all that decides or writes is
 * one (nothing of another request comes between); whatever is sent, messages and answers alike, is held back until the
 * writes before it are on disk (the output gate); an object may end at any `await`, so what memory alone knows is lost
 * with its callers' answers and with nothing that was acknowledged; an alarm comes at least once, and never again after
 * six failures, so waking is idempotent and any request does what a lost alarm would have done.
 */
import { encodeEntry, FORMAT, type Format, KIND } from '../../src/protocol/commands.ts';
import type { RetentionLimits } from '../keyspace/retention.ts';
import { type Outcome, StateMachine } from '../keyspace/state.ts';
import type { Storage } from '../keyspace/storage.ts';
import { Hub, type HubSink } from '../keyspace/watch.ts';
import { RawNode } from '../raft/node.ts';
import type { Entry, Membership as Members, Message, Ready } from '../raft/types.ts';
import type { StateHead } from './chunks.ts';
import type { Core } from './core.ts';
import { DamagedError } from './damage.ts';
import type { Host } from './host.ts';
import { Housekeeping } from './housekeeping.ts';
import { LeaderSearch } from './leader-search.ts';
import { Membership } from './members.ts';
import { conditionKeys, Proposals } from './proposals.ts';
import type { RaftLog } from './raft-log.ts';
import { Reading } from './reading.ts';
import { Refusal } from './refusal.ts';
import { type Report, Reports } from './reports.ts';
import type { Staging } from './state-sink.ts';
import { StateTransfer, type TransferOwner } from './transfer.ts';
import { WriteBack } from './write-back.ts';

const NO_DATA = new Uint8Array(0);
/** A leader that nobody asked anything for so long falls silent. */
const QUIET_MS = 3_000;

export class Driver {
  /** Both are made anew when another replica's state takes the place of this one's. */
  state: StateMachine;
  hub: Hub;
  readonly #host: Host;
  readonly #log: RaftLog;
  readonly #node: RawNode;
  readonly reading: Reading;
  readonly membership: Membership;
  readonly transfer: StateTransfer;
  readonly #sink: HubSink;
  #storage: Storage;
  readonly #search: LeaderSearch;
  readonly #housekeeping: Housekeeping;
  readonly #writeBack: WriteBack;
  readonly #reports = new Reports();
  readonly #format: Format;
  readonly #proposals = new Proposals();
  #running = Promise.resolve();
  #busy = false;
  #stopped = false;
  #asleep = false;
  #soon = false;
  #activeAt: number;
  #triedRestAt = Number.NEGATIVE_INFINITY;

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
    const { applied } = this.state.scalars;
    this.#node = new RawNode({ id: host.id, storage: log, applied, random: () => host.random(), now });
    this.transfer = new StateTransfer(host, this.#transferOwner(), staging);
    this.#search = new LeaderSearch(this.#node, () => this.#turnSoon());
    const core = this.#core();
    this.reading = new Reading(core);
    this.membership = new Membership(core);
    this.#housekeeping = new Housekeeping(core, limits);
    this.#writeBack = new WriteBack(core, (write) => host.transaction(write));
    this.#activeAt = now;
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
    if (peer === this.#node.leader) this.reading.refuseQuestions();
  }

  /** Lets time pass. */
  tick(): void {
    const now = this.#host.now();
    this.#node.tick(now);
    this.reading.tick(now);
    if (this.#writeBack.isDue) this.#writeBack.flush();
    if (this.#housekeeping.isDue(now)) this.#keepHouse(now);
    const level = this.#reports.level(this.#members(), this.#host.id, this.#format.level);
    if (this.#node.isLeader) this.#housekeeping.raiseLevel(level, now);
    if (now >= this.#quietAt()) this.#rest(now);
    if (this.#search.orphaned(now)) this.#host.orphaned();
    this.#search.tick(now);
    this.turn();
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
      if (this.#proposals.full) throw new Refusal('overloaded');
      return await this.#append(entry);
    } finally {
      for (const key of keys) this.reading.turnDone(key);
    }
  }

  /**
   * Passes a proposal on to the leader, for a Worker that could not reach it; undefined when this replica follows nobody or
   * another. Resolves with the leader's encoded answer. Refuses with `unknown` when there is none: the leader may have
   * taken the proposal, whose id keeps it from committing twice.
   */
  forward(suspect: number, payload: Uint8Array): Promise<Uint8Array> | undefined {
    return this.#search.follows(suspect) ? this.#host.forward(suspect, payload).catch(refuseUnknown) : undefined;
  }

  #keepHouse(now: number): void {
    this.#housekeeping.run(now, this.#logTime());
  }

  /** Wakes a sleeping replica for its alarm. */
  async wake(): Promise<void> {
    this.#activeAt = this.#host.now();
    await this.#findLeader(0);
    if (this.#node.isLeader) await this.reading.linearizable();
    this.#keepHouse(this.#host.now());
    this.turn();
  }

  /** Carries out what the core wants, until it wants nothing more. One at a time: the one under way takes all in. */
  turn(): void {
    if (this.#busy) return;
    this.#running = this.#run().catch((error) => this.#host.fail(error));
  }

  async #run(): Promise<void> {
    this.#busy = true;
    this.reading.ask(this.#host.now());
    while (this.#node.hasReady()) {
      // Messages that rest on nothing unwritten go first. A leader's entries leave before it writes them itself: it counts
      // itself only afterwards, so the two may overlap, and the output gate lets go what was sent a macrotask before.
      const ready = this.#node.ready();
      this.#host.send(ready.messages);
      if (ready.entries.length > 0 && ready.messages.length > 0 && this.#node.isLeader) await this.#host.yieldTask();
      this.#carryOut(ready);
      this.reading.ask(this.#host.now());
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
   * Persist, apply, acknowledge, in one synchronous stretch: no other event sees half of it (input gates are not needed).
   * The transaction is whole or not there after a crash. It need not be on disk when the core is told that it is: the
   * output gate holds back whatever is sent from here on until it is, and if it never gets there the object ends with all
   * that it would have said.
   */
  #carryOut(ready: Ready): void {
    if (ready.hardState !== undefined) this.#log.noteHardState(ready.hardState);
    if (ready.mustSync) {
      this.#host.transaction(() => {
        this.#log.append(ready.entries);
        this.#log.writeHardState();
        if (this.#writeBack.isDue) this.#writeBack.write();
      });
    }
    this.#apply(ready.committedEntries, ready.membership);
    this.#node.advance(ready);
    this.#host.send(ready.messagesAfterPersist);
    this.reading.settle(ready);
    if (this.#node.leader !== 0) this.#search.end();
    if (ready.wantedSnapshot !== undefined) this.transfer.receive(ready.wantedSnapshot.from);
  }

  #transferOwner(): TransferOwner {
    return {
      node: this.#node,
      storage: () => this.#storage,
      head: () => {
        this.#writeBack.flush();
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

  #core(): Core {
    return {
      node: this.#node,
      log: this.#log,
      transfer: this.transfer,
      now: () => this.#host.now(),
      state: () => this.state,
      findLeader: (suspect) => this.#findLeader(suspect),
      propose: (kind, payload, now) => void this.#node.propose(this.#encode(kind, payload), now),
      touch: (now) => {
        this.#activeAt = now;
      },
      turnSoon: () => this.#turnSoon(),
      arm: () => this.#arm(),
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
    this.#housekeeping.inherited();
    this.#proposals.giveUp();
    this.#node.restore(head, this.#host.now());
    this.reading.applied(this.#host.now());
    this.turn();
  }

  /** Gives up all that waits, and does nothing from now on. What was proposed may still commit, through other replicas. */
  stop(): void {
    this.#stopped = true;
    this.#busy = true;
    this.#proposals.giveUp();
    this.reading.stop();
    this.#search.end();
  }

  /** Applies entries; a membership that they bring is written at once, together with how far they are applied. */
  #apply(entries: readonly Entry[], membership: Members | undefined): void {
    if (entries.length === 0) return;
    const compacted = this.state.scalars.compacted;
    for (const entry of entries)
      this.#proposals.applied(entry, this.state.apply(entry.index, entry.type === 'normal' ? entry.data : NO_DATA));
    if (membership !== undefined) {
      this.#host.transaction(() => {
        this.#log.setMembership(membership);
        this.#writeBack.write();
      });
    }
    const changes = this.state.takeFresh();
    this.hub.publish(changes);
    const { compacted: compactedNow } = this.state.scalars;
    if (compactedNow > compacted) this.hub.progressBelow(compactedNow);
    if (changes.length > 0) {
      const bytes = changes.reduce((sum, { version }) => sum + version.record.length, 0);
      this.#housekeeping.grown(bytes);
      this.reading.applied(this.#host.now());
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
    return this.#proposals.add(index, term);
  }

  /** Waits a moment for a leader where none is known, the suspect aside. */
  async #findLeader(suspect: number): Promise<void> {
    if (this.#stopped) throw new Refusal('unavailable');
    const now = this.#host.now();
    const found = this.#search.find(suspect, now);
    if (found === undefined) return;
    this.#activeAt = now;
    this.#arm();
    await found;
    if (this.#stopped) throw new Refusal('unavailable');
  }

  /** Makes an entry as all members read it. */
  #encode(kind: number, payload: Uint8Array): Uint8Array {
    return encodeEntry(kind, this.#logTime(), payload, this.state.scalars.level);
  }

  #logTime(): number {
    return Math.max(this.#host.now(), this.state.scalars.time);
  }

  /** When a leader that nobody asks anything should try to fall silent; it may have to wait for a follower that is away. */
  #quietAt(): number {
    return Math.max(this.#activeAt, this.#triedRestAt) + QUIET_MS;
  }

  #rest(now: number): void {
    this.#triedRestAt = now;
    const waiting = this.#proposals.pending || this.reading.pending || this.state.unflushed;
    if (!waiting) this.#node.quiesce();
  }

  /** Sets the timer for whatever comes first; sleeps when nothing will. */
  #arm(): void {
    const now = this.#host.now();
    const deadlines = [
      this.#node.nextDeadline(),
      this.#writeBack.deadline(now),
      this.reading.deadline,
      this.#search.deadline,
    ];
    const awake = !this.#node.isQuiescent;
    if (this.#node.isLeader && awake) deadlines.push(this.#housekeeping.deadline, this.#quietAt());
    const next = deadlines.reduce<number | undefined>(earliest, undefined);
    this.#host.setTimer(next);
    this.#asleep = next === undefined;
    if (next === undefined) this.#host.sleep(this.#node.isLeader ? this.#housekeeping.alarm : undefined);
  }
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

function refuseUnknown(): never {
  throw new Refusal('unknown');
}

import { describeEntry, describeStatus } from '../../../durable-objects/raft/describe.ts';
import type { Entry, Index, Message, NodeId, Ready, Term } from '../../../durable-objects/raft/types.ts';
import { Cluster, type Replica } from './cluster.ts';
import { seededRandom } from './random.ts';

interface PendingRead {
  context: number;
  /** Nothing older may be read: the highest index applied anywhere when the read was asked for. */
  floor: Index;
}

/** What a run did, to show that it was worth running. */
export interface Summary {
  leaders: number;
  committed: number;
  reads: number;
  crashes: number;
  snapshots: number;
}

/**
 * A cluster under a seeded adversary: messages are lost, doubled and reordered, replicas crash between any two steps
 * and lose what they had not persisted, links are cut, logs compacted, leadership and membership moved. The safety
 * properties of Raft (figure 3 of the paper) are checked at every step.
 */
export class Simulation {
  readonly #random: () => number;
  readonly #cluster: Cluster;
  readonly #leaders = new Map<Term, NodeId>();
  readonly #applied: Entry[] = [];
  readonly #reads = new Map<NodeId, PendingRead[]>();
  /** Replicas whose timers stand still, as in a stalled process. */
  readonly #stalled = new Set<NodeId>();
  readonly #wanted = new Map<NodeId, NodeId>();
  readonly #summary: Summary = { leaders: 0, committed: 0, reads: 0, crashes: 0, snapshots: 0 };
  #proposals = 0;
  #contexts = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    const options = {
      electionTimeoutMs: 100,
      heartbeatIntervalMs: 15,
      maxAppendBytes: 24,
      maxInflightAppends: 3,
      maxInflightBytes: 1 << 10,
      maxUncommittedBytes: 1 << 10,
      maxApplyBytes: 32,
    };
    this.#cluster = new Cluster(options, () => this.#random);
    const size = [1, 2, 3, 3, 3, 5][seed % 6]!;
    this.#cluster.addMembers(Array.from({ length: size }, (_, at) => at + 1));
  }

  /** Plays `steps` random steps, then heals everything and requires that all replicas end up equal. */
  run(steps: number): Summary {
    for (let step = 0; step < steps; step++) this.#act();
    this.#settle();
    return this.#summary;
  }

  #act(): void {
    const draw = this.#random() * TOTAL_WEIGHT;
    let sum = 0;
    for (const [name, weight] of ACTIONS) {
      sum += weight;
      if (draw < sum) {
        this.#actions[name]();
        return;
      }
    }
  }

  readonly #actions: Record<ActionName, () => void> = {
    deliver: () => this.#deliver(),
    work: () => this.#withRunning((replica) => this.#work(replica)),
    time: () => this.#passTime(Math.floor(this.#random() * 40)),
    propose: () => this.#withLeader(({ id }) => this.#propose(id)),
    // A deposed leader that does not know it yet is the one that may answer wrongly.
    read: () => (this.#random() < 0.5 ? this.#withLeader : this.#withRunning).call(this, ({ id }) => this.#read(id)),
    install: () => this.#install(),
    crash: () => this.#withRunning(({ id }) => this.#crash(id)),
    restart: () => this.#restartOne(),
    cut: () => this.#withRunning(({ id }) => this.#cluster.cut.add(id)),
    isolate: () => this.#withLeader(({ id }) => this.#isolate(id)),
    heal: () => this.#cluster.cut.clear(),
    stall: () => this.#withRunning(({ id }) => this.#stalled.add(id)),
    resume: () => this.#stalled.clear(),
    transfer: () => this.#withLeader(({ node }) => node!.transferLeadership(this.#anyone(), this.#cluster.now)),
    compact: () => this.#withRunning(({ storage }) => storage.compact(Math.floor(storage.applied * this.#random()))),
    quiesce: () => this.#withLeader(({ node }) => node!.quiesce()),
    change: () => this.#withLeader(({ id }) => this.#change(id)),
  };

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }

  #withRunning(act: (replica: Replica) => void): void {
    const replica = this.#pick(this.#cluster.running());
    if (replica !== undefined) act(replica);
  }

  #withLeader(act: (replica: Replica) => void): void {
    const replica = this.#pick(this.#cluster.running().filter(({ node }) => node!.isLeader));
    if (replica !== undefined) act(replica);
  }

  #anyone(): NodeId {
    return this.#pick([...this.#cluster.replicas.keys()])!;
  }

  #deliver(): void {
    const { inFlight } = this.#cluster;
    if (inFlight.length === 0) return;
    // Mostly the oldest, so that something gets done; often enough any.
    const at = this.#random() < 0.6 ? 0 : Math.floor(this.#random() * inFlight.length);
    const [message] = inFlight.splice(at, 1) as [Message];
    const fate = this.#random();
    if (fate < 0.04) {
      this.#lose(message);
      return;
    }
    if (fate < 0.08) inFlight.push(message);
    this.#receive(message);
  }

  #receive(message: Message): void {
    const { node } = this.#cluster.replica(message.to);
    if (node === undefined) this.#lose(message);
    else node.step(message, this.#cluster.now);
  }

  #lose({ from, to }: Message): void {
    if (this.#random() < 0.5) this.#cluster.replica(from).node?.reportUnreachable(to);
  }

  /** Takes a Ready, or carries out the one that was taken: a crash may come in between. */
  #work(replica: Replica): void {
    if (replica.taken !== undefined) this.#finish(replica, replica.taken);
    else if (replica.node!.hasReady()) this.#take(replica);
  }

  #take({ id }: Replica): void {
    const ready = this.#cluster.take(id);
    if (ready.wantedSnapshot) this.#wanted.set(id, ready.wantedSnapshot.from);
    const reads = this.#reads.get(id) ?? [];
    for (const { context, index } of ready.readStates) {
      const read = reads.find((pending) => pending.context === context);
      if (read === undefined) throw new Error(`node ${id} confirmed a read ${context} that it was not asked`);
      if (index < read.floor) throw new Error(`node ${id} read at ${index}, but ${read.floor} was applied before`);
      this.#summary.reads++;
    }
  }

  #finish(replica: Replica, ready: Ready): void {
    this.#cluster.finish(replica.id);
    for (const entry of ready.committedEntries) this.#checkApplied(replica.id, entry);
    this.#checkLeader(replica);
  }

  /** State machine safety: nobody ever applies something else at the same index. */
  #checkApplied(id: NodeId, entry: Entry): void {
    const known = this.#applied[entry.index - 1];
    if (known === undefined) {
      this.#applied.push(entry);
      if (this.#applied.length !== entry.index) throw new Error(`entry ${entry.index} was applied with a gap before`);
    } else if (describeEntry(known) !== describeEntry(entry)) {
      throw new Error(`node ${id} applied ${describeEntry(entry)}, another ${describeEntry(known)}`);
    }
  }

  /** Election safety: one leader in a term. Leader completeness: it holds all that anybody applied. */
  #checkLeader({ id, node, storage }: Replica): void {
    if (!node!.isLeader || storage.term(storage.lastIndex()) !== node!.term) return;
    const other = this.#leaders.get(node!.term);
    if (other === undefined) this.#leaders.set(node!.term, id);
    else if (other !== id) throw new Error(`nodes ${other} and ${id} both lead in term ${node!.term}`);
    if (other !== undefined) return;
    for (const { index, term } of this.#applied) {
      if (index > storage.start.index && storage.term(index) !== term) {
        throw new Error(`leader ${id} of term ${node!.term} lacks ${index}/${term}`);
      }
    }
  }

  /** Log matching: logs that agree at a position agree below it. */
  #checkLogs(): void {
    const disks = [...this.#cluster.replicas.values()].map(({ storage }) => storage);
    for (const a of disks) {
      for (const b of disks) {
        let agreed = false;
        const lowest = Math.max(a.firstIndex(), b.firstIndex());
        for (let index = Math.min(a.lastIndex(), b.lastIndex()); index >= lowest; index--) {
          const one = a.log[index - a.firstIndex()]!;
          const two = b.log[index - b.firstIndex()]!;
          agreed ||= one.term === two.term;
          if (agreed && describeEntry(one) !== describeEntry(two)) {
            throw new Error(`logs differ below a position where they agree: ${index}`);
          }
        }
      }
    }
  }

  #passTime(ms: number): void {
    this.#cluster.now += ms;
    for (const { id, node } of this.#cluster.running()) {
      if (this.#stalled.has(id)) continue;
      if ((node!.nextDeadline() ?? Number.POSITIVE_INFINITY) <= this.#cluster.now) node!.tick(this.#cluster.now);
    }
  }

  #propose(id: NodeId): void {
    const data = new TextEncoder().encode(`p${++this.#proposals}`.padEnd(2 + Math.floor(this.#random() * 20), '.'));
    this.#cluster.node(id).propose(data, this.#cluster.now);
  }

  #read(id: NodeId): void {
    const context = ++this.#contexts;
    const floor = this.#applied.length;
    if (!this.#cluster.node(id).readIndex(context, this.#cluster.now).ok) return;
    this.#reads.set(id, [...(this.#reads.get(id) ?? []), { context, floor }]);
  }

  #install(): void {
    const next = [...this.#wanted].find(([to]) => this.#cluster.replica(to).taken === undefined);
    if (next === undefined) return;
    const [to, from] = next;
    this.#wanted.delete(to);
    const ok = this.#bothRun(from, to) && this.#random() < 0.8 && this.#cluster.installSnapshot(from, to);
    if (ok) this.#summary.snapshots++;
    if (this.#random() < 0.5) this.#cluster.replica(from).node?.reportSnapshot(to, ok);
  }

  #bothRun(a: NodeId, b: NodeId): boolean {
    return this.#cluster.replica(a).node !== undefined && this.#cluster.replica(b).node?.isLeader === false;
  }

  #crash(id: NodeId): void {
    this.#cluster.crash(id);
    this.#reads.delete(id);
    this.#wanted.delete(id);
    this.#summary.crashes++;
  }

  /** A leader that neither hears that it was deposed nor notices that it hears nobody. */
  #isolate(leader: NodeId): void {
    this.#cluster.cut.add(leader);
    this.#stalled.add(leader);
  }

  #restartOne(): void {
    const down = this.#pick([...this.#cluster.replicas.values()].filter(({ node }) => node === undefined));
    if (down !== undefined) this.#cluster.start(down.id);
  }

  #change(leader: NodeId): void {
    const node = this.#cluster.node(leader);
    const spare = this.#cluster.replicas.size < 6 && this.#random() < 0.3 ? this.#cluster.replicas.size + 1 : undefined;
    if (spare !== undefined) this.#cluster.add(spare);
    const types = ['add-voter', 'add-learner', 'remove'] as const;
    const ids = new Set([spare ?? this.#anyone(), this.#anyone()]);
    const steps = [...ids].map((id) => ({ type: this.#pick(types)!, id }));
    try {
      node.proposeMembership({ steps }, this.#cluster.now);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }

  /** Everything works again: within ten seconds there is a leader, and all members have applied the same. */
  #settle(): void {
    const cluster = this.#cluster;
    cluster.cut.clear();
    this.#stalled.clear();
    for (const { id, node } of cluster.replicas.values()) if (node === undefined) cluster.start(id);
    const end = cluster.now + 10_000;
    let proposedIn: Term = 0;
    while (cluster.now < end) {
      this.#drain();
      this.#checkLogs();
      const leader = cluster.running().find(({ node }) => node!.isLeader && node!.commit > 0);
      if (leader !== undefined && proposedIn !== leader.node!.term) {
        const result = leader.node!.propose(new TextEncoder().encode('last'), cluster.now);
        if (result.ok) proposedIn = result.term;
      } else if (leader !== undefined && this.#settled(leader)) {
        this.#summary.leaders = this.#leaders.size;
        this.#summary.committed = this.#applied.length;
        return;
      }
      this.#passTime(5);
    }
    const lines = cluster.running().map(({ node }) => describeStatus(node!.status()));
    throw new Error(`not settled:\n${lines.join('\n')}`);
  }

  /** Works and delivers until nothing is left to do, which must come to an end. */
  #drain(): void {
    const cluster = this.#cluster;
    for (let turns = 0; turns < 10_000; turns++) {
      const busy = cluster.running().filter(({ taken, node }) => taken !== undefined || node!.hasReady());
      for (const replica of busy) this.#work(replica);
      this.#install();
      const messages = cluster.pick(() => true);
      for (const message of messages) this.#receive(message);
      if (busy.length === 0 && messages.length === 0 && this.#wanted.size === 0) return;
    }
    throw new Error('the work never ends');
  }

  #settled(leader: Replica): boolean {
    const { membership } = leader.node!.status();
    const members = [...membership.voters, ...membership.votersOutgoing, ...membership.learners];
    const states = members.map((id) => this.#cluster.replica(id).storage);
    const done = leader.storage.state.at(-1) === 'last' && membership.votersOutgoing.length === 0;
    if (!done || states.some(({ applied }) => applied !== leader.storage.applied)) return false;
    const expected = leader.storage.state.join('\n');
    if (states.some(({ state }) => state.join('\n') !== expected)) throw new Error('state machines differ');
    return true;
  }
}

const ACTIONS = [
  ['deliver', 45],
  ['work', 35],
  ['time', 5],
  ['propose', 5],
  ['read', 5],
  ['install', 2],
  ['crash', 0.5],
  ['restart', 1.6],
  ['cut', 0.3],
  ['isolate', 0.2],
  ['heal', 0.6],
  ['stall', 0.3],
  ['resume', 0.6],
  ['transfer', 0.3],
  ['compact', 1],
  ['quiesce', 0.5],
  ['change', 0.5],
] as const;

type ActionName = (typeof ACTIONS)[number][0];

const TOTAL_WEIGHT = ACTIONS.reduce((sum, [, weight]) => sum + weight, 0);

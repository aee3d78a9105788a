import {
  describeEntries,
  describeHardState,
  describeMembership,
  describeMessage,
  describePeer,
  describeReady,
  describeStatus,
} from '../../../durable-objects/raft/describe.ts';
import type { MembershipStep, Message, NodeId } from '../../../durable-objects/raft/types.ts';
import { Cluster } from './cluster.ts';
import { Arguments } from './script.ts';

/** The cluster that a transcript talks to. Election timeouts are 1000 ms, and 100 ms more for each id above 1. */
export class Environment {
  #cluster = newCluster(new Arguments(''));
  #muted = false;
  #output: string[] = [];

  /** Runs one command; its output, or why it failed. */
  run(command: string): string[] {
    const args = new Arguments(command);
    this.#output = [];
    try {
      const run = COMMANDS[args.name];
      if (run === undefined) throw new Error(`unknown command ${args.name}`);
      run(this, args);
    } catch (error) {
      return [...this.#output, String(error)];
    }
    if (this.#muted || this.#output.length === 0) return ['ok'];
    return this.#output;
  }

  get cluster(): Cluster {
    return this.#cluster;
  }

  print(...lines: string[]): void {
    this.#output.push(...lines);
  }

  mute(muted: boolean): void {
    this.#muted = muted;
  }

  create(args: Arguments): void {
    this.#cluster = newCluster(args);
  }

  ready(id: NodeId): void {
    const lines = describeReady(this.#cluster.take(id));
    this.#cluster.finish(id);
    this.print(`> ${id} ready`, ...lines.map((line) => `  ${line}`));
  }

  deliver(id: NodeId, messages: readonly Message[]): void {
    if (messages.length === 0) return;
    this.print(`> ${id} receives`, ...messages.map((message) => `  ${describeMessage(message)}`));
    for (const message of messages) this.#cluster.node(id).step(message, this.#cluster.now);
  }

  /** Ticks every running replica whose deadline is reached, in order of id. */
  tick(): void {
    for (const { node } of this.#cluster.running()) {
      const deadline = node!.nextDeadline();
      if (deadline === undefined || deadline > this.#cluster.now) continue;
      node!.tick(this.#cluster.now);
      this.print(`> ${node!.id} ticks`);
    }
  }

  /** Lets `ms` pass from deadline to deadline; at each the running replicas work and talk until nothing is left to do. */
  pass(ms: number): void {
    const end = this.#cluster.now + ms;
    for (;;) {
      const running = this.#cluster.running();
      this.stabilize(running.map(({ id }) => id));
      const next = Math.min(...running.map(({ node }) => node!.nextDeadline() ?? Number.POSITIVE_INFINITY));
      if (next > end) break;
      this.#cluster.now = Math.max(next, this.#cluster.now);
      this.tick();
    }
    this.#cluster.now = end;
  }

  /** Lets the replicas `ids` work and talk until nothing is left to do. */
  stabilize(ids: readonly NodeId[]): void {
    for (let busy = true; busy; ) {
      busy = false;
      for (const id of ids) {
        while (this.#cluster.node(id).hasReady()) {
          this.ready(id);
          busy = true;
        }
      }
      for (const id of ids) {
        const messages = this.#cluster.pick(({ to }) => to === id);
        this.deliver(id, messages);
        busy ||= messages.length > 0;
      }
    }
  }
}

function newCluster(args: Arguments): Cluster {
  const options = {
    electionTimeoutMs: 1000,
    heartbeatIntervalMs: 150,
    maxAppendBytes: args.optional('append-bytes') ?? 1024,
    maxInflightAppends: args.optional('inflight') ?? 16,
    maxInflightBytes: 1 << 20,
    maxUncommittedBytes: args.optional('uncommitted-bytes') ?? 1 << 20,
    maxApplyBytes: 1024,
  };
  return new Cluster(options, (id) => () => (id - 1) / 10);
}

type Command = (env: Environment, args: Arguments) => void;

function outcome(result: { ok: boolean; reason?: string; leader?: NodeId }): string[] {
  return result.ok ? [] : [`refused: ${result.reason} leader=${result.leader}`];
}

function parseStep(word: string): MembershipStep {
  const [type, id] = word.split(':');
  return { type: type as MembershipStep['type'], id: Number(id) };
}

/** Every command of the transcripts, each with an example. */
const COMMANDS: Record<string, Command | undefined> = {
  // cluster voters=1,2,3 learners=4 inflight=2: a new cluster, all running, time 0.
  cluster(env, args) {
    env.create(args);
    env.cluster.addMembers(args.list('voters'), args.list('learners'));
  },
  // add 4: a replica that knows of no members yet.
  add: (env, args) => env.cluster.add(args.number(0)),
  // output off: later commands only say ok; "output on" ends that.
  output: (env, args) => env.mute(args.has('off')),
  // wait 150: lets time pass at one stroke; every running replica whose deadline is reached ticks once.
  wait(env, args) {
    env.cluster.now += args.number(0);
    env.tick();
  },
  // pass 1500: lets time pass from deadline to deadline, and everybody work and talk at each.
  pass: (env, args) => env.pass(args.number(0)),
  // deadline 1: how long until it needs a tick.
  deadline(env, args) {
    const deadline = env.cluster.node(args.number(0)).nextDeadline();
    env.print(deadline === undefined ? 'none' : `in ${deadline - env.cluster.now} ms`);
  },
  // campaign 1
  campaign: (env, args) => env.cluster.node(args.number(0)).campaign(env.cluster.now),
  // propose 1 one two: each word is an entry.
  propose(env, args) {
    const node = env.cluster.node(args.number(0));
    for (const word of args.words.slice(1)) {
      env.print(...outcome(node.propose(new TextEncoder().encode(word), env.cluster.now)));
    }
  },
  // read 1 7 8: each number is the context of a read.
  read(env, args) {
    const node = env.cluster.node(args.number(0));
    for (const context of args.words.slice(1)) env.print(...outcome(node.readIndex(Number(context), env.cluster.now)));
  },
  // transfer 1 to=2
  transfer(env, args) {
    env.print(...outcome(env.cluster.node(args.number(0)).transferLeadership(args.required('to'), env.cluster.now)));
  },
  // change 1 add-voter:4 remove:2 explicit: "explicit" leaves a joint membership to a later "change 1".
  change(env, args) {
    const steps = args.words
      .slice(1)
      .filter((word) => word !== 'explicit')
      .map(parseStep);
    const change = { steps, autoLeave: !args.has('explicit') };
    env.print(...outcome(env.cluster.node(args.number(0)).proposeMembership(change, env.cluster.now)));
  },
  // stabilize 1 2: these (by default all that run) work and talk until nothing is left to do.
  stabilize(env, args) {
    const ids = args.words.map(Number);
    env.stabilize(ids.length > 0 ? ids : env.cluster.running().map(({ id }) => id));
  },
  // ready 1: takes one Ready and carries it out.
  ready: (env, args) => env.ready(args.number(0)),
  // take 1: takes a Ready, sends what need not wait, and leaves the rest undone until finish or crash.
  take(env, args) {
    env.print(...describeReady(env.cluster.take(args.number(0))));
  },
  // finish 1: persists and applies the taken Ready, acknowledges it, sends what waited.
  finish: (env, args) => env.cluster.finish(args.number(0)),
  // deliver 2 from=1 reverse copy: what is under way to 2 (from 1), the last first; it stays under way to come again.
  deliver(env, args) {
    const to = args.number(0);
    const from = args.optional('from');
    const messages = env.cluster.pick((message) => message.to === to && (from ?? message.from) === message.from);
    if (args.has('copy')) env.cluster.post(messages);
    env.deliver(to, args.has('reverse') ? messages.reverse() : messages);
  },
  // drop 2 from=1: what is under way to 2 (from 1) is lost.
  drop(env, args) {
    const to = args.number(0);
    const from = args.optional('from');
    const lost = env.cluster.pick((message) => message.to === to && (from ?? message.from) === message.from);
    env.print(...lost.map((message) => `lost: ${describeMessage(message)}`));
  },
  // cut 3: from now on nothing reaches or leaves it; "heal 3" ends that.
  cut: (env, args) => void env.cluster.cut.add(args.number(0)),
  heal: (env, args) => void env.cluster.cut.delete(args.number(0)),
  // unreachable 1 peer=2: the driver of 1 reports that a message to 2 failed.
  unreachable: (env, args) => env.cluster.node(args.number(0)).reportUnreachable(args.required('peer')),
  // crash 3, restart 3: what was not persisted is lost.
  crash: (env, args) => env.cluster.crash(args.number(0)),
  restart: (env, args) => env.cluster.start(args.number(0)),
  // compact 1 to=5: its disk forgets the log up to there.
  compact: (env, args) => env.cluster.replica(args.number(0)).storage.compact(args.required('to')),
  // install 3 from=1: the state of 1 is moved to 3, or that fails; 1 is told how it went.
  install(env, args) {
    const to = args.number(0);
    const from = args.required('from');
    const ok = !args.has('fails') && env.cluster.installSnapshot(from, to);
    env.cluster.node(from).reportSnapshot(to, ok);
    env.print(ok ? `${to} holds the state of ${from}` : 'nothing installed');
  },
  // quiesce 1
  quiesce(env, args) {
    const node = env.cluster.node(args.number(0));
    if (node.canQuiesce()) node.quiesce();
    else env.print('not now');
  },
  // status: one line for each running replica; "status 1" also shows what the leader 1 knows of its peers.
  status(env, args) {
    const { cluster } = env;
    if (args.words.length === 0) {
      env.print(...cluster.running().map(({ node }) => describeStatus(node!.status())));
      return;
    }
    const status = cluster.node(args.number(0)).status();
    env.print(describeStatus(status), describeMembership(status.membership), ...status.peers.map(describePeer));
  },
  // disk 1: what is durable.
  disk(env, args) {
    const { hardState, start, log, state } = env.cluster.replica(args.number(0)).storage;
    env.print(describeHardState(hardState), `log after ${start.index}/${start.term}: ${describeEntries(log)}`);
    env.print(`state: ${state.join(' ')}`);
  },
};

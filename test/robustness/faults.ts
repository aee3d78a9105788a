import { setTimeout as sleep } from 'node:timers/promises';
import type { StartedCluster } from '../support/local-cluster.ts';
import type { Random } from './random.ts';

const REPLICAS = ['replica-1', 'replica-2', 'replica-3'];
const RESTART_MS = 20_000;

/** What can be done to the processes of a cluster. */
export interface Fault {
  kind: string;
  /** Whether a quorum is left and the API answers: writes must go on meanwhile. */
  harmless: boolean;
  run(): Promise<void>;
}

/** SIGKILL and SIGSTOP, at random and alone or in pairs, against processes that the cluster's launcher started. */
export class Faults {
  readonly #cluster: StartedCluster;
  readonly #random: Random;
  /** Processes that are stopped now. */
  readonly #stopped = new Set<number>();
  readonly counts = new Map<string, number>();

  constructor(cluster: StartedCluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  /** The next fault. */
  next(): Fault {
    const random = this.#random;
    const [one, other] = shuffled(REPLICAS, random) as [string, string];
    const ms = 300 + random.below(5_000);
    const { harmless, kind, run } = random.weighted<Fault>([
      [6, { kind: 'kill one', harmless: true, run: () => this.#kill([one]) }],
      [6, { kind: 'stop one', harmless: true, run: () => this.#stop([one], ms) }],
      [2, { kind: 'kill two', harmless: false, run: () => this.#kill([one, other]) }],
      [2, { kind: 'stop two', harmless: false, run: () => this.#stop([one, other], ms) }],
      [2, { kind: 'stop one, kill another', harmless: false, run: () => this.#stopAndKill(one, other, ms) }],
      [1, { kind: 'kill all three', harmless: false, run: () => this.#kill(REPLICAS) }],
      [2, { kind: 'kill the API', harmless: false, run: () => this.#kill(['api']) }],
      [1, { kind: 'stop the API', harmless: false, run: () => this.#stop(['api'], ms) }],
    ]);
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    return { kind, harmless, run };
  }

  /** Resolves when every process runs. */
  async settled(): Promise<void> {
    for (const role of [...REPLICAS, 'api']) await this.#restarted(role, undefined);
  }

  /** Lets everything go on that is stopped. */
  release(): void {
    for (const pid of this.#stopped) signal(pid, 'SIGCONT');
    this.#stopped.clear();
  }

  async #kill(roles: readonly string[]): Promise<void> {
    const pids = roles.map((role) => this.#pid(role));
    for (const pid of pids) if (pid !== undefined) signal(pid, 'SIGKILL');
    await Promise.all(roles.map((role, i) => this.#restarted(role, pids[i])));
  }

  async #stop(roles: readonly string[], ms: number): Promise<void> {
    for (const role of roles) this.#freeze(role);
    await sleep(ms);
    this.release();
  }

  async #stopAndKill(stopped: string, killed: string, ms: number): Promise<void> {
    this.#freeze(stopped);
    await this.#kill([killed]);
    await sleep(ms);
    this.release();
  }

  #freeze(role: string): void {
    const pid = this.#pid(role);
    if (pid === undefined) return;
    signal(pid, 'SIGSTOP');
    this.#stopped.add(pid);
  }

  #pid(role: string): number | undefined {
    return this.#cluster.run().processes[role];
  }

  async #restarted(role: string, before: number | undefined): Promise<void> {
    for (const deadline = Date.now() + RESTART_MS; Date.now() < deadline; await sleep(20)) {
      const pid = this.#pid(role);
      if (pid !== undefined && pid !== before) return;
    }
    throw new Error(`${role} did not come back`);
  }
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** Signals a process of the cluster; one that is gone already is as good. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone.
  }
}

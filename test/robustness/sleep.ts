// A cluster that nobody asks anything: its replicas run no timer, workerd evicts them while their watch sockets stay
// open, and the next write, an alarm or a control loop's poke wakes them without a watcher's noticing.
// usage: sleep.ts
import { setTimeout as sleep } from 'node:timers/promises';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';
import { type ReplicaStatus, replicaStatus } from '../support/replica-status.ts';
import { ApiClient } from './client.ts';

const NAMESPACE = 'sleep-test';
const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const EVENTS = `/api/v1/namespaces/${NAMESPACE}/events`;
/** A control loop's own, whenever it gets to it. */
const PUBLISHED = 'kube-root-ca.crt';
const IDS = [1, 2, 3];
const WATCHERS = 20;
/** Selections among them; watches of one selection share a socket. */
const SELECTIONS = 10;
/** workerd evicts an object that was idle for 10 s. */
const EVICTED_MS = 13_000;
/** Well above the time until eviction, also on a busy machine. */
const EVENT_TTL_S = 30;
const HISTORY_S = 35;
/** Too long for a socket's attachment: such a watch is kept in SQL. */
const LONG_SELECTOR = `name notin (${Array.from({ length: 230 }, (_, i) => `x${i}`.padEnd(60, 'x')).join(',')})`;

let passed = 0;
let failed = 0;

function verify(title: string, found: string[]): void {
  if (found.length === 0) passed++;
  else failed++;
  console.log(`${found.length === 0 ? 'ok  ' : 'FAIL'} ${title}`);
  for (const fault of found.slice(0, 10)) console.log(`     ${fault}`);
}

/** A watch whose events are kept as `TYPE name`. */
class Watcher {
  readonly seen: string[] = [];
  readonly ended: Promise<void>;

  constructor(client: ApiClient, path: string, signal: AbortSignal) {
    this.ended = this.#follow(client, path, signal);
  }

  async sees(event: string, timeoutMs: number): Promise<boolean> {
    const deadline = Date.now() + timeoutMs;
    while (!this.seen.includes(event) && Date.now() < deadline) await sleep(5);
    return this.seen.includes(event);
  }

  async #follow(client: ApiClient, path: string, signal: AbortSignal): Promise<void> {
    try {
      for await (const { type, object } of client.watch(path, signal)) {
        const name = object.metadata?.name ?? JSON.stringify(object);
        if (type !== 'BOOKMARK' && name !== PUBLISHED) this.seen.push(`${type} ${name}`);
      }
      this.seen.push('END');
    } catch (error) {
      if (!signal.aborted) this.seen.push(`BROKEN ${String(error)}`);
    }
  }
}

/** One cluster with its client, its watchers and what they should have seen. */
class Sleeper {
  readonly name: string;
  readonly cluster: StartedCluster;
  readonly client: ApiClient;
  readonly stop = new AbortController();
  readonly watchers: Watcher[] = [];
  readonly expected: string[] = [];

  constructor(name: string, cluster: StartedCluster) {
    this.name = name;
    this.cluster = cluster;
    this.client = new ApiClient(cluster.run().kubeconfig);
  }

  verify(title: string, found: string[]): void {
    verify(`${this.name}: ${title}`, found);
  }

  watch(path: string): Watcher {
    return new Watcher(this.client, path, this.stop.signal);
  }

  /** Creates a ConfigMap; milliseconds until it was answered. */
  async create(name: string): Promise<number> {
    const started = performance.now();
    const { status, body } = await this.client.call('POST', COLLECTION, { metadata: { name, labels: { name } } });
    if (status !== 201) throw new Error(`create ${name}: ${status} ${body.slice(0, 300)}`);
    this.expected.push(`ADDED ${name}`);
    return performance.now() - started;
  }

  /** Every watcher has seen every object once, in order, and is still open. */
  async verifyWatchers(title: string): Promise<void> {
    const last = this.expected.at(-1)!;
    for (const watcher of this.watchers) await watcher.sees(last, 5_000);
    await sleep(200);
    const wrong = this.watchers.filter(({ seen }) => seen.join() !== this.expected.join());
    this.verify(
      title,
      wrong.map(({ seen }) => `seen ${seen.join()}, expected ${this.expected.join()}`),
    );
  }

  statuses(): Promise<ReplicaStatus[]> {
    return Promise.all(IDS.map((id) => replicaStatus(this.cluster, id)));
  }

  /** Waits until all replicas are quiet, asking them (which does not wake a group whose members are in memory). */
  async quiet(): Promise<ReplicaStatus[]> {
    let statuses: ReplicaStatus[] = [];
    for (let tries = 0; tries < 60; tries++) {
      statuses = await this.statuses();
      if (statuses.every(({ quiescent }) => quiescent)) break;
      await sleep(500);
    }
    await sleep(500);
    return this.statuses();
  }

  async close(): Promise<void> {
    this.stop.abort();
    this.client.close();
    await this.cluster.stop();
  }
}

async function start(name: string, args: string[]): Promise<Sleeper> {
  const sleeper = new Sleeper(name, await startLocalCluster(args));
  await sleeper.client.call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  return sleeper;
}

/** Watches of every kind of start: at a revision, initial events, selectors short and long; two of each selection. */
async function openWatches(sleeper: Sleeper): Promise<void> {
  await sleeper.create('first');
  const queries = [
    'resourceVersion=0',
    '',
    'resourceVersion=0&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan',
    'resourceVersion=0&allowWatchBookmarks=true',
    'resourceVersion=0',
  ];
  for (let i = 0; i < WATCHERS; i++) {
    const query = queries[i % queries.length];
    const selection = i % SELECTIONS;
    const selector = `${selection % 5 === 4 ? LONG_SELECTOR : 'name'},name!=y-${selection}`;
    sleeper.watchers.push(
      sleeper.watch(`${COLLECTION}?watch=1&${query}&labelSelector=${encodeURIComponent(selector)}`),
    );
  }
  await sleeper.verifyWatchers('every watch starts with what is there');
}

/** One sleep and the write that ends it; milliseconds until the write was answered and until every watcher had it. */
async function sleepAndWrite(sleeper: Sleeper, name: string): Promise<{ answered: number; delivered: number }> {
  await sleep(EVICTED_MS);
  const started = performance.now();
  const answered = await sleeper.create(name);
  for (const watcher of sleeper.watchers) await watcher.sees(`ADDED ${name}`, 10_000);
  return { answered, delivered: performance.now() - started };
}

function verifyEvicted(sleeper: Sleeper, title: string, after: ReplicaStatus[], from: number): void {
  const awake = after.filter(({ startedAt }) => startedAt < from);
  sleeper.verify(
    title,
    awake.map(({ id, startedAt }) => `replica ${id} is in memory since ${from - startedAt} ms before`),
  );
}

/** Quiet, evicted, woken by a write. */
async function wakes(sleeper: Sleeper): Promise<void> {
  await openWatches(sleeper);
  const before = await sleeper.quiet();
  sleeper.verify(
    'nothing is pending in a quiet replica: no timer, no call',
    before
      .filter(({ pending }) => pending.timers + pending.calls > 0)
      .map(({ id, pending }) => `replica ${id}: ${JSON.stringify(pending)}`),
  );
  // A watch that begins at a replica that has fallen silent already must not begin anew when it is woken.
  sleeper.watchers.push(sleeper.watch(`${COLLECTION}?watch=1&resourceVersion=0`));
  await sleeper.verifyWatchers('a watch at a quiet replica starts');
  const processes = JSON.stringify(sleeper.cluster.run().processes);
  const { answered, delivered } = await sleepAndWrite(sleeper, 'second');
  console.log(
    `     ${sleeper.name}: answered after ${answered.toFixed(0)} ms, at every watcher ${delivered.toFixed(0)} ms`,
  );
  const after = await sleeper.statuses();
  verifyEvicted(sleeper, 'a write wakes replicas that had been evicted', after, Date.now() - EVICTED_MS + 1_000);
  sleeper.verify(
    'no process was restarted meanwhile',
    processes === JSON.stringify(sleeper.cluster.run().processes) ? [] : ['run.json names other processes'],
  );
  const watching = (statuses: ReplicaStatus[]) => statuses.reduce((sum, { watchers }) => sum + watchers, 0);
  sleeper.verify(
    'the sockets outlived the sleep',
    watching(after) < SELECTIONS ? [`${watching(after)} of ${SELECTIONS} sockets at least`] : [],
  );
  await sleeper.verifyWatchers('every watcher sees the write once, and nothing twice');
}

/** Event expiry, compaction and truncation by alarm, and a control loop poked after a sleep. */
async function alarms(sleeper: Sleeper): Promise<void> {
  const events = sleeper.watch(`${EVENTS}?watch=1`);
  const written = await sleeper.client.call('POST', EVENTS, {
    metadata: { name: 'passing' },
    involvedObject: { kind: 'ConfigMap', namespace: NAMESPACE, name: 'first' },
    reason: 'Tested',
    type: 'Normal',
  });
  const { resourceVersion } = (JSON.parse(written.body) as { metadata: { resourceVersion: string } }).metadata;
  const gone = await events.sees('DELETED passing', (EVENT_TTL_S + 20) * 1_000);
  sleeper.verify('an event expires by alarm while nobody asks', gone ? [] : [`seen ${events.seen.join()}`]);
  const expired = await sleeper.statuses();
  const written0 = Date.now() - EVENT_TTL_S * 1_000;
  verifyEvicted(sleeper, 'the alarm woke replicas that had been evicted', expired, written0 + 8_000);

  await sleep((HISTORY_S + 20) * 1_000);
  const compacted = await sleeper.statuses();
  const faults = compacted
    .filter(({ scalars }) => scalars.compacted <= Number(resourceVersion))
    .map(({ id, scalars }) => `replica ${id} keeps history since ${scalars.compacted}`);
  sleeper.verify('history is compacted by alarm while nobody asks', faults);
  const untruncated = compacted
    .filter(({ firstIndex, scalars }) => firstIndex <= 1 || firstIndex !== scalars.logFloor + 1)
    .map(({ id, firstIndex, scalars }) => `replica ${id}: log from ${firstIndex}, floor ${scalars.logFloor}`);
  sleeper.verify('the log is truncated with it', untruncated);
  const old = await sleeper.client.call(
    'GET',
    `${COLLECTION}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`,
  );
  sleeper.verify('a list at a compacted revision is 410', old.status === 410 ? [] : [`status ${old.status}`]);
  await sleeper.create('third');
  await sleeper.verifyWatchers('the watchers go on behind the compaction');
}

async function poked(sleeper: Sleeper): Promise<void> {
  const namespaces = sleeper.watch('/api/v1/namespaces?watch=1');
  await namespaces.sees(`ADDED ${NAMESPACE}`, 5_000);
  await sleep(EVICTED_MS + 4_000);
  await sleeper.client.call('DELETE', `/api/v1/namespaces/${NAMESPACE}`);
  const gone = await namespaces.sees(`DELETED ${NAMESPACE}`, 20_000);
  sleeper.verify(
    'the control loops are poked by a leader that has just been woken',
    gone ? [] : [`seen ${namespaces.seen.join()}`],
  );
}

const SHORT = ['--event-ttl', `${EVENT_TTL_S}s`, '--etcd-compaction-interval', `${HISTORY_S}s`];

/** The wake time as a user of the default layout has it. */
async function defaultLayout(): Promise<void> {
  const sleeper = await start('one process', []);
  try {
    await openWatches(sleeper);
    await sleep(4_000);
    const answers: number[] = [];
    const deliveries: number[] = [];
    for (let round = 0; round < 4; round++) {
      const { answered, delivered } = await sleepAndWrite(sleeper, `round-${round}`);
      answers.push(answered);
      deliveries.push(delivered);
      await sleep(4_000);
    }
    const warm = await sleeper.create('warm').then(() => sleeper.create('warmer'));
    const list = (times: number[]) => times.map((time) => time.toFixed(0)).join(', ');
    console.log(`     one process: a write that wakes: ${list(answers)} ms (one that does not: ${warm.toFixed(0)} ms)`);
    console.log(`     one process: until ${WATCHERS} watchers had it: ${list(deliveries)} ms`);
    await sleeper.verifyWatchers('every watcher sees every write once');
  } finally {
    await sleeper.close();
  }
  sleeper.cluster.remove();
}

async function layout(name: string, args: string[], more: (sleeper: Sleeper) => Promise<void>): Promise<void> {
  const sleeper = await start(name, args);
  try {
    await wakes(sleeper);
    await more(sleeper);
  } finally {
    await sleeper.close();
  }
  sleeper.cluster.remove();
}

const runs = await Promise.allSettled([
  defaultLayout(),
  layout('replicas in one process', ['--processes', '2'], async () => undefined),
  layout('a process per replica', ['--processes', '3', ...SHORT], async (sleeper) => {
    await alarms(sleeper);
    await poked(sleeper);
  }),
]);
for (const run of runs) {
  if (run.status === 'fulfilled') continue;
  failed++;
  console.log(run.reason);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

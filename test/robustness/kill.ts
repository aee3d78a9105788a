// Three replica processes and one for the API are killed, and stopped for a while, at random, under clients that create,
// update, patch, delete, get, list, page and watch. What they saw is checked for linearizability and against every
// guarantee of a watch; beside them, writers keep a record of their own in a file, which the server must agree with.
// usage: kill.ts [--seconds N] [--seed N]
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startLocalCluster } from '../support/local-cluster.ts';
import { checkHistory } from './check.ts';
import { ApiClient } from './client.ts';
import { type Fault, Faults } from './faults.ts';
import { History, PREFIX } from './history.ts';
import { Random } from './random.ts';
import { Recorded } from './recorded.ts';
import { Tally } from './tally.ts';
import { KeptWatch, watchAtRandom } from './watching.ts';
import { Workload } from './workload.ts';

const NAMESPACE = 'kill-test';
const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const CLIENTS = 10;
const WATCHERS = 8;
/** A write must be acknowledged within this time of a fault that leaves a quorum. */
const PROGRESS_MS = 8_000;
/** Between two faults, at most. */
const PAUSE_MS = 2_500;
const KEPT_SECONDS = 30;

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '120' }, seed: { type: 'string' } } });
const seed = values.seed === undefined ? randomInt(2 ** 32) : Number(values.seed);
const random = new Random(seed);
const tally = new Tally();
const { verify } = tally;

console.log(`seed ${seed} (faults and requests are the same with --seed ${seed}; how they interleave is not)`);
const cluster = await startLocalCluster([
  ...['--processes', '3', '--control-loops', 'none'],
  ...['--etcd-compaction-interval', '1h'],
]);
const api = new ApiClient(cluster.run().kubeconfig);
const faults = new Faults(cluster, random.fork());
const recorded = new Recorded(api, join(cluster.folder, 'writes.jsonl'));
try {
  await scenario();
} catch (error) {
  verify('the run itself', [String((error as Error).stack)]);
} finally {
  faults.release();
  api.close();
  await cluster.stop();
}
if (tally.failures === 0) cluster.remove();
else console.log(`seed ${seed}; the data is kept in ${cluster.folder}`);
tally.end();

async function scenario(): Promise<void> {
  await api.call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  const first = await api.call('GET', COLLECTION);
  const from = Number((JSON.parse(first.body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
  await recorded.start();

  const history = new History();
  const workload = new Workload(api, COLLECTION, history);
  const working = new AbortController();
  const watching = new AbortController();
  const recent = () => {
    const last = history.operations.findLast(
      ({ outcome }) => outcome.type === 'done' && outcome.revision !== undefined,
    );
    const revision = last?.outcome.type === 'done' ? last.outcome.revision : undefined;
    return { revision: revision ?? from, name: random.pick(workload.names()) };
  };
  const kept = [
    new KeptWatch(api, COLLECTION, { name: 'kept', prefix: PREFIX, start: { type: 'after', revision: from } }),
    new KeptWatch(api, COLLECTION, { name: 'kept from its state', prefix: PREFIX, start: { type: 'initial' } }),
  ];
  const watches = [
    ...kept.map((watch) => watch.run(KEPT_SECONDS, watching.signal)),
    ...Array.from({ length: WATCHERS }, (_, i) =>
      watchAtRandom(`watcher-${i}`, api, COLLECTION, history, recent, random.fork(), working.signal),
    ),
  ];
  const clients = Array.from({ length: CLIENTS }, (_, i) => workload.run(`client-${i}`, random.fork(), working.signal));
  // A client that throws must not go unheard until the end.
  const broken = Promise.all([...clients, ...watches]).then(() => undefined);
  await Promise.race([shake(history), broken]);
  await recorded.stop();
  verify(...(await recorded.lossOfQuorum(cluster)));
  await faults.settled();
  await recorded.writable();
  working.abort();
  await Promise.all(clients);

  history.watches.push(...kept);
  console.log(`     ${history.operations.length} requests: ${history.tally()}`);
  console.log(`     ${history.lists.length} lists, ${history.watches.length} watches`);
  console.log(`     faults: ${[...faults.counts].map(([kind, count]) => `${kind} ${count}`).join(', ')}`);
  for (const [title, found] of await checkHistory(api, COLLECTION, history, from, kept)) verify(title, found);
  for (const [title, found] of await recorded.compare()) verify(title, found);
  watching.abort();
  await Promise.all(watches);
  verify(
    'no watch was answered with anything but events',
    history.watches.flatMap((watch) => (watch as KeptWatch).faults),
  );
}

/** Faults, one after another, until the time is over; what must go on meanwhile does. */
async function shake(history: History): Promise<void> {
  await sleep(1_000);
  const stuck: string[] = [];
  for (const end = Date.now() + Number(values.seconds) * 1_000; Date.now() < end; ) {
    const fault = faults.next();
    if (fault.harmless) stuck.push(...(await withProgress(history, fault)));
    else await fault.run();
    await sleep(random.below(PAUSE_MS));
  }
  verify('writes go on while one replica is lost', stuck);
}

/** Runs a fault; a write that began after it must be acknowledged before long. */
async function withProgress(history: History, fault: Fault): Promise<string[]> {
  const from = history.now();
  const done = fault.run();
  const acknowledged = () =>
    history.operations
      .slice(-2_000)
      .some(({ request, outcome, start }) => request.type === 'put' && outcome.type === 'done' && start > from);
  while (!acknowledged() && history.now() < from + PROGRESS_MS) await sleep(20);
  const faults = acknowledged() ? [] : [`${fault.kind}: no write was acknowledged in ${PROGRESS_MS} ms`];
  await done;
  return faults;
}

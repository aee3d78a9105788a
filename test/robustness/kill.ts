// A writer and a watcher run while each of three replica processes is killed and comes back in turn; then two are down
// at once. The client's own record of its writes is compared with what the server shows afterwards.
// usage: kill.ts [--seconds N]
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';
import { ApiClient, type ApiObject } from './client.ts';
import { WriteLog } from './record.ts';
import { agreement, completeness, order, type Sighting } from './validate.ts';

const NAMESPACE = 'kill-test';
const COLLECTION = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const WRITERS = 4;
const ROUND_MS = 3000;
const REQUEST_TIMEOUT_S = 8;

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '30' } } });
const faults: string[] = [];
let checks = 0;
/** Ends the watcher, after everything else. */
const watching = new AbortController();

function verify(title: string, found: string[]): void {
  checks++;
  console.log(`${found.length === 0 ? 'ok  ' : 'FAIL'} ${title}`);
  for (const fault of found.slice(0, 10)) console.log(`     ${fault}`);
  faults.push(...found.slice(0, 1));
}

const cluster = await startLocalCluster(['--processes', '3', '--control-loops', 'none']);
const client = new ApiClient(cluster.run().kubeconfig);
try {
  await scenario();
} catch (error) {
  faults.push(String(error));
  console.log(error);
} finally {
  client.close();
  await cluster.stop();
}
if (faults.length === 0) cluster.remove();
else console.log(`the data is kept in ${cluster.folder}`);
console.log(`${checks - Math.min(faults.length, checks)} passed, ${faults.length} failed`);
process.exit(faults.length > 0 ? 1 : 0);

async function scenario(): Promise<void> {
  await client.call('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  const start = await list('');
  mkdirSync(cluster.folder, { recursive: true });
  const log = new WriteLog(join(cluster.folder, 'writes.jsonl'));
  const stop = new AbortController();
  const watched: Sighting[] = [];
  const watcher = follow(start.resourceVersion, watched, stop.signal);
  const writers = Array.from({ length: WRITERS }, (_, id) => write(id, log, stop.signal));

  const rounds = Math.max(1, Math.round((Number(values.seconds) * 1000) / (3 * ROUND_MS)));
  for (let round = 0; round < rounds; round++) {
    for (const id of [1, 2, 3]) await killOne(id, log);
  }
  stop.abort();
  await Promise.all(writers);
  await lossOfQuorum(log);
  await compare(log, watched, start.resourceVersion);
  watching.abort();
  await watcher;
}

/** Kills one replica process: with two of three left, writes go on. */
async function killOne(id: number, log: WriteLog): Promise<void> {
  const pid = cluster.run().processes[`replica-${id}`];
  const before = log.read().filter(({ outcome }) => outcome === 'acknowledged').length;
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  await sleep(ROUND_MS);
  const after = log.read().filter(({ outcome }) => outcome === 'acknowledged').length;
  verify(
    `writes go on while replica ${id} is lost (${after - before} in ${ROUND_MS} ms)`,
    after > before ? [] : ['no write was acknowledged'],
  );
  await restarted(cluster, `replica-${id}`);
}

async function restarted(started: StartedCluster, role: string): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (started.run().processes[role] !== undefined) return;
    await sleep(50);
  }
  throw new Error(`${role} did not come back`);
}

/** Stops two replicas: a write must fail in time, in a way that no client repeats silently. */
async function lossOfQuorum(log: WriteLog): Promise<void> {
  const pids = [1, 2].map((id) => cluster.run().processes[`replica-${id}`]!);
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  const started = Date.now();
  const name = 'without-quorum';
  const answer = await client.call('POST', `${COLLECTION}?timeout=${REQUEST_TIMEOUT_S}s`, { metadata: { name } });
  const seconds = (Date.now() - started) / 1000;
  log.add({ name, outcome: answer.status === 201 ? 'acknowledged' : 'unknown', detail: String(answer.status) });
  const found: string[] = [];
  if (answer.status !== 500 && answer.status !== 504)
    found.push(`status ${answer.status}: ${answer.body.slice(0, 200)}`);
  if (answer.headers['retry-after'] !== undefined) found.push(`Retry-After: ${answer.headers['retry-after']}`);
  if (seconds > REQUEST_TIMEOUT_S + 2) found.push(`it took ${seconds} s`);
  verify(`with two replicas down a write fails (${answer.status} after ${seconds.toFixed(1)} s)`, found);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  for (const id of [1, 2]) await restarted(cluster, `replica-${id}`);
  await writable(log);
}

async function writable(log: WriteLog): Promise<void> {
  for (let tries = 0; tries < 60; tries++) {
    const name = `after-quorum-${tries}`;
    const outcome = await create(name);
    log.add({ name, ...outcome });
    if (outcome.outcome === 'acknowledged') return;
    await sleep(500);
  }
  throw new Error('no write succeeded after the replicas came back');
}

async function create(name: string): Promise<{ outcome: 'acknowledged' | 'unknown'; detail: string }> {
  try {
    const { status, body } = await client.call('POST', COLLECTION, { metadata: { name }, data: { name } });
    return status === 201
      ? { outcome: 'acknowledged', detail: '' }
      : { outcome: 'unknown', detail: `${status} ${body.slice(0, 200)}` };
  } catch (error) {
    return { outcome: 'unknown', detail: String(error) };
  }
}

async function write(writer: number, log: WriteLog, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const name = `w${writer}-${n}`;
    const outcome = await create(name);
    log.add({ name, ...outcome });
    if (outcome.outcome === 'unknown') await sleep(50);
  }
}

/** Follows the collection, resuming at the last resource version whenever a watch ends. */
async function follow(from: string, seen: Sighting[], stop: AbortSignal): Promise<void> {
  let cursor = from;
  while (!watching.signal.aborted) {
    try {
      const path = `${COLLECTION}?watch=1&allowWatchBookmarks=true&resourceVersion=${cursor}`;
      for await (const { type, object } of client.watch(path, watching.signal)) {
        if (type === 'ADDED')
          seen.push({ name: object.metadata.name, resourceVersion: object.metadata.resourceVersion });
        else if (type !== 'BOOKMARK') faults.push(`the watch sent ${type}: ${JSON.stringify(object).slice(0, 200)}`);
        if (object.metadata?.resourceVersion) cursor = object.metadata.resourceVersion;
      }
      if (!stop.aborted) console.log('     the watch ended and is resumed');
    } catch (error) {
      if (watching.signal.aborted) return;
      console.log(`     the watch broke and is resumed: ${String(error)}`);
    }
    await sleep(100);
  }
}

async function list(query: string): Promise<{ resourceVersion: string; items: Sighting[] }> {
  const { status, body } = await client.call('GET', `${COLLECTION}${query}`);
  if (status !== 200) throw new Error(`list: ${status} ${body.slice(0, 300)}`);
  const parsed = JSON.parse(body) as { metadata: { resourceVersion: string }; items: ApiObject[] };
  return { resourceVersion: parsed.metadata.resourceVersion, items: parsed.items.map(({ metadata }) => metadata) };
}

async function compare(log: WriteLog, watched: Sighting[], start: string): Promise<void> {
  const records = log.read();
  const unknown = records.filter(({ outcome }) => outcome === 'unknown');
  console.log(`     ${records.length} writes, ${unknown.length} of unknown outcome`);
  const latest = await list('');
  verify('a list has every acknowledged write once', completeness('list', records, latest.items));
  const exact = await list(`?resourceVersion=${latest.resourceVersion}&resourceVersionMatch=Exact`);
  verify('an exact list has every acknowledged write once', completeness('exact list', records, exact.items));
  const again = await replay(start, latest);
  verify(
    'a watch from the start has every acknowledged write once',
    completeness('watch from the start', records, again),
  );
  verify('a watch from the start is in order', order('watch from the start', again));
  verify('a watch from the start shows what the list shows', agreement('watch and list', again, latest.items));
  for (let tries = 0; tries < 100 && watched.length < again.length; tries++) await sleep(100);
  verify('the watcher saw every acknowledged write once', completeness('watcher', records, watched));
  verify('the watcher saw them in order', order('watcher', watched));
}

/** The ADDED events of a new watch from `start` up to the list's revision. */
async function replay(start: string, latest: { resourceVersion: string; items: Sighting[] }): Promise<Sighting[]> {
  const seen: Sighting[] = [];
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 20_000);
  try {
    for await (const { type, object } of client.watch(`${COLLECTION}?watch=1&resourceVersion=${start}`, stop.signal)) {
      if (type === 'ADDED') seen.push({ name: object.metadata.name, resourceVersion: object.metadata.resourceVersion });
      if (seen.length >= latest.items.length) break;
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
  clearTimeout(timer);
  stop.abort();
  return seen;
}

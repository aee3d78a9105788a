// Resident memory of every process: empty, and 30 s after 10,000 objects of 10 KB were created under 1,000 watchers.
// usage: memory.ts [--processes N] [--objects N] [--bytes N] [--watchers N] [--workers N] [--limit MIB]
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '3' },
    objects: { type: 'string', default: '10000' },
    bytes: { type: 'string', default: '10240' },
    watchers: { type: 'string', default: '1000' },
    workers: { type: 'string', default: '16' },
    /** What a replica's process may grow by, in MiB; the run fails beyond it. */
    limit: { type: 'string', default: '64' },
  },
});
const [objects, bytes, watchers, workers] = [values.objects, values.bytes, values.watchers, values.workers].map(
  Number,
) as [number, number, number, number];
const SETTLE_MS = 30_000;
const COLLECTION = '/api/v1/namespaces/default/configmaps';
/** Streams of one connection. */
const STREAMS = 100;

const cluster = await startLocalCluster(['--processes', values.processes]);
let failed = true;
try {
  failed = !(await measure(cluster));
} finally {
  await cluster.stop();
  cluster.remove();
}
console.log(failed ? '0 passed, 1 failed' : '1 passed, 0 failed');
process.exit(failed ? 1 : 0);

async function measure(cluster: StartedCluster): Promise<boolean> {
  const { processes, kubeconfig } = cluster.run();
  const sessions = Array.from({ length: Math.ceil(watchers / STREAMS) + 1 }, () => open(kubeconfig));
  await request(sessions[0]!, 'GET', COLLECTION);
  await sleep(5_000);
  const empty = residents(processes);
  const streams = await watchAll(sessions.slice(1));
  const watching = residents(processes);
  const started = Date.now();
  let next = 0;
  const work = async () => {
    while (next < objects) await create(sessions[0]!, next++);
  };
  await Promise.all(Array.from({ length: workers }, work));
  const loaded = residents(processes);
  console.log(`${objects} objects of ${bytes} bytes under ${watchers} watchers in ${Date.now() - started} ms`);
  await sleep(SETTLE_MS);
  const settled = residents(processes);
  for (const stream of streams) stream.close();
  for (const session of sessions) session.destroy();
  console.log(
    `${'process'.padEnd(12)} ${['empty', 'watchers', 'loaded', 'settled', 'growth'].map((title) => title.padStart(9)).join('')}  MiB`,
  );
  for (const role of Object.keys(processes)) {
    const row = [empty, watching, loaded, settled].map((all) => all[role]!);
    console.log(`${role.padEnd(12)} ${[...row, row[3]! - row[0]!].map((mib) => mib.toFixed(1).padStart(9)).join('')}`);
  }
  const growth = Object.keys(processes)
    .filter((role) => role.startsWith('replica'))
    .map((role) => settled[role]! - empty[role]!);
  return growth.every((mib) => mib < Number(values.limit));
}

function open(kubeconfig: string): ClientHttp2Session {
  const config = parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const { cluster } = config.clusters[0]!;
  const { user } = config.users[0]!;
  const data = (text: string | undefined) => Buffer.from(text ?? '', 'base64');
  return connect(cluster.server!, {
    ca: data(cluster['certificate-authority-data']),
    cert: data(user['client-certificate-data']),
    key: data(user['client-key-data']),
  });
}

async function request(session: ClientHttp2Session, method: string, path: string, body?: string): Promise<number> {
  const stream = session.request({ ':method': method, ':path': path, 'content-type': 'application/json' });
  stream.end(body);
  return new Promise<number>((resolve, reject) => {
    let status = 0;
    stream.on('response', (headers) => {
      status = Number(headers[':status']);
    });
    stream.on('error', reject);
    stream.on('end', () => resolve(status));
    stream.resume();
  });
}

async function create(session: ClientHttp2Session, number: number): Promise<void> {
  const metadata = { name: `object-${number}`, labels: { number: String(number) } };
  const text = Array.from({ length: Math.ceil(bytes / 8) }, (_, i) =>
    ((number * 7919 + i * 104729) % 0xffffffff).toString(16).padStart(8, '0'),
  );
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: text.join('').slice(0, bytes) } };
  const status = await request(session, 'POST', COLLECTION, JSON.stringify(body));
  if (status !== 201) throw new Error(`object ${number} was answered with ${status}`);
}

/** Each watcher waits for one object, as a kubelet does for what its pods mount. */
async function watchAll(sessions: readonly ClientHttp2Session[]): Promise<ClientHttp2Stream[]> {
  const streams: ClientHttp2Stream[] = [];
  for (let i = 0; i < watchers; i++) {
    const selector = encodeURIComponent(`metadata.name=object-${i}`);
    const stream = sessions[Math.floor(i / STREAMS)]!.request({
      ':path': `${COLLECTION}?watch=1&fieldSelector=${selector}`,
    });
    stream.on('error', () => undefined);
    stream.resume();
    streams.push(stream);
    await new Promise((resolve) => stream.once('response', resolve));
  }
  return streams;
}

/** Resident memory of each process in MiB. */
function residents(processes: Record<string, number>): Record<string, number> {
  const read = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  return Object.fromEntries(Object.entries(processes).map(([role, pid]) => [role, read(pid)]));
}

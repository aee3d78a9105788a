// A replica's disk is lost for good while writers write and a watcher watches: it is replaced, then the leader is, and
// then another replica is lost, so that the new ones must carry the group. Nothing that was acknowledged may be missing,
// neither then nor after a restart of everything.
// usage: replace.ts
import { spawn } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';
import { replicaStatus } from '../support/replica-status.ts';
import { ApiClient } from './client.ts';
import { Recorded } from './recorded.ts';
import { Tally } from './tally.ts';

const LAUNCHER = join(import.meta.dirname, '../../src/local/start.mjs');
const ARGS = ['--processes', '3', '--control-loops', 'none'];
/** Objects that a new replica must be given before it can vote. */
const BALLAST = 100;
const BALLAST_BYTES = 50_000;
const WRITE_MS = 1_500;

const tally = new Tally();
const { verify } = tally;

/** `npm run replicas`: exit code and what it printed. */
async function replicas(cluster: StartedCluster, ...args: string[]): Promise<{ code: number; output: string }> {
  const data = join(cluster.folder, 'data');
  const child = spawn(process.execPath, [LAUNCHER, 'replicas', '--data', data, ...args]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? 1)));
  return { code, output };
}

/** The voters, and who leads, as the command lists them. */
async function listed(cluster: StartedCluster): Promise<{ voters: number[]; leader: number }> {
  const { output } = await replicas(cluster, 'list');
  const rows = [...output.matchAll(/^(\d+)\t(leader|follower)$/gm)].map(([, id, role]) => ({ id: Number(id), role }));
  return { voters: rows.map(({ id }) => id), leader: rows.find(({ role }) => role === 'leader')?.id ?? 0 };
}

/** The process that owns a replica: ids are spread over three places. */
const roleOf = (id: number) => `replica-${((id - 1) % 3) + 1}`;

/** Everything that the process of a replica has on disk goes, and the process with it. */
function loseDisk(cluster: StartedCluster, id: number): void {
  const pid = cluster.run().processes[roleOf(id)]!;
  const disk = join(cluster.folder, 'data', roleOf(id));
  process.kill(pid, 'SIGSTOP');
  for (const name of readdirSync(disk)) rmSync(join(disk, name), { recursive: true, force: true });
  process.kill(pid, 'SIGKILL');
}

/** Replaces a replica; the list must then show its successor among three voters. */
async function replace(cluster: StartedCluster, old: number, title: string): Promise<number> {
  const started = performance.now();
  const { code, output } = await replicas(cluster, 'replace', String(old));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const { voters } = await listed(cluster);
  const id = Number(/^Replica (\d+) has taken the place/m.exec(output)?.[1] ?? 0);
  const right = code === 0 && voters.length === 3 && voters.includes(id) && !voters.includes(old) && id > 3;
  verify(`${title}: ${id} for ${old} in ${seconds} s`, right ? [] : [`exit code ${code}, voters ${voters}: ${output}`]);
  return id;
}

async function fill(api: ApiClient): Promise<void> {
  await api.call('POST', '/api/v1/namespaces', { metadata: { name: 'ballast' } });
  const value = 'x'.repeat(BALLAST_BYTES);
  for (let n = 0; n < BALLAST; n++) {
    const answer = await api.call('POST', '/api/v1/namespaces/ballast/configmaps', {
      metadata: { name: `ballast-${n}` },
      data: { value },
    });
    if (answer.status !== 201) throw new Error(`ballast: ${answer.status} ${answer.body}`);
  }
}

async function verifyApplied(cluster: StartedCluster, id: number): Promise<void> {
  const { leader } = await listed(cluster);
  const floor = (await replicaStatus(cluster, leader)).scalars.revision;
  let reached = 0;
  for (let tries = 0; tries < 100 && reached < floor; tries++) {
    reached = (await replicaStatus(cluster, id)).scalars.revision;
    await sleep(50);
  }
  verify(`replica ${id} has the state`, reached >= floor ? [] : [`revision ${reached} of ${floor}`]);
}

async function scenario(cluster: StartedCluster): Promise<void> {
  const api = new ApiClient(cluster.run().kubeconfig);
  const recorded = new Recorded(api, join(cluster.folder, 'writes.jsonl'));
  try {
    await fill(api);
    await recorded.start();
    const before = await listed(cluster);
    verify('a new group has the replicas 1, 2, 3', before.voters.join() === '1,2,3' ? [] : [before.voters.join()]);
    const lost = before.leader === 2 ? 3 : 2;
    loseDisk(cluster, lost);
    await sleep(WRITE_MS);
    const second = await replace(cluster, lost, 'a replica whose disk is lost is replaced');
    await verifyApplied(cluster, second);

    const { leader, voters } = await listed(cluster);
    const moved = await replace(cluster, leader, 'the leader is replaced');
    await verifyApplied(cluster, moved);
    await sleep(WRITE_MS);

    const third = voters.find((id) => id !== leader && id !== second)!;
    loseDisk(cluster, third);
    await sleep(WRITE_MS);
    await recorded.writable();
    const nonsense = await replicas(cluster, 'replace', '99');
    verify('a replica that never was is not replaced', nonsense.code === 1 ? [] : [nonsense.output]);
    await replace(cluster, third, 'the last of the first replicas is replaced');
    await sleep(WRITE_MS);
    await recorded.stop();
    for (const [title, found] of await recorded.compare()) verify(title, found);
  } finally {
    api.close();
  }
}

/** Started again, the cluster finds its present replicas and everything in them. */
async function restarted(folder: string): Promise<void> {
  const cluster = await startLocalCluster(ARGS, folder);
  try {
    const api = new ApiClient(cluster.run().kubeconfig);
    const { voters } = await listed(cluster);
    verify('after a restart the group is the same', voters.every((id) => id > 3) ? [] : [voters.join()]);
    const { body } = await api.call('GET', '/api/v1/namespaces/ballast/configmaps?limit=500');
    const { items } = JSON.parse(body) as { items: unknown[] };
    verify('after a restart everything is there', items.length === BALLAST ? [] : [`${items.length} objects`]);
    api.close();
  } finally {
    await cluster.stop();
  }
}

const cluster = await startLocalCluster(ARGS);
try {
  await scenario(cluster);
} catch (error) {
  verify('the run itself', [String((error as Error).stack), cluster.output().slice(-2_000)]);
} finally {
  await cluster.stop();
}
if (tally.failures === 0) await restarted(cluster.folder);
if (tally.failures === 0) cluster.remove();
else console.log(`the data is kept in ${cluster.folder}`);
tally.end();

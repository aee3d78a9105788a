// Runs the load of ../shared/bench side by side against this project and against kube-apiserver over three etcd members.
// usage: compare.ts [--seconds N] [--rounds N] [--processes N] [--only WORKLOAD,…] [--json FILE]
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startLocalCluster } from '../support/local-cluster.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '1' },
    processes: { type: 'string' },
    only: { type: 'string' },
    json: { type: 'string' },
  },
});
const bench = join(import.meta.dirname, '../../../shared/bench');
if (!existsSync(bench)) {
  console.error('bench: ../shared/bench is not there');
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'gunwale-bench-'));
const reference = join(folder, 'reference');
const REFERENCE_PORT = 26443;
execFileSync('go', ['build', '-o', join(folder, 'apibench'), '.'], { cwd: bench, stdio: 'inherit' });
const cluster = await startLocalCluster(values.processes ? ['--processes', values.processes] : []);
let status: number | null = 1;
try {
  execFileSync('bash', [join(bench, 'reference.sh'), 'up', reference, String(REFERENCE_PORT), '3'], {
    stdio: 'inherit',
  });
  status = spawnSync(join(folder, 'apibench'), benchArguments(), { stdio: 'inherit' }).status;
} finally {
  await endReference();
  await cluster.stop();
  cluster.remove();
}
rmSync(folder, { recursive: true, force: true });
console.log(status === 0 ? '1 passed, 0 failed' : '0 passed, 1 failed');
process.exit(status === 0 ? 0 : 1);

/** kube-apiserver waits long on SIGTERM when its etcd is gone first: what is left after two seconds is killed. */
async function endReference(): Promise<void> {
  const file = join(reference, 'pids');
  const pids = existsSync(file) ? readFileSync(file, 'utf8').trim().split(',').map(Number) : [];
  spawnSync('bash', [join(bench, 'reference.sh'), 'down', reference], { stdio: 'inherit' });
  await sleep(2000);
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}

function benchArguments(): string[] {
  const { kubeconfig } = cluster.run();
  return [
    ...['-a', kubeconfig, '-a-pids', String(cluster.child.pid)],
    ...['-b', join(reference, 'admin.kubeconfig'), '-b-pids', readFileSync(join(reference, 'pids'), 'utf8').trim()],
    ...['-d', `${values.seconds}s`, '-rounds', values.rounds],
    ...(values.only ? ['-only', values.only] : []),
    ...(values.json ? ['-json', values.json] : []),
  ];
}

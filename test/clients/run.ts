// Clients that others wrote, each as its users use it, against a cluster of this project: client-go, an operator
// of controller-runtime, Kubernetes' JavaScript and Python clients. A toolchain that is not there is skipped, and that is said.
// usage: run.ts [NAME…]
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startLocalCluster } from '../support/local-cluster.ts';

interface Tally {
  passed: number;
  failed: number;
}

/** One client: what it needs on PATH, and how it is run with KUBECONFIG set. */
interface Suite {
  name: string;
  /** Commands that must run, the first that does not is why the suite is skipped. */
  needs: string[][];
  run(environment: NodeJS.ProcessEnv): Promise<Tally>;
}

const here = import.meta.dirname;
const FAILED: Tally = { passed: 0, failed: 1 };

const suites: Suite[] = [
  { name: 'client-node', needs: [], run: (env) => summed(process.execPath, [join(here, 'node/main.ts')], here, env) },
  { name: 'client-go', needs: [['go', 'version']], run: (env) => goTests(join(here, 'go'), env) },
  { name: 'operator', needs: [['go', 'version']], run: (env) => goTests(join(here, 'operator'), env) },
  {
    name: 'python',
    needs: [
      ['python3', '--version'],
      ['python3', '-c', 'import ensurepip, venv'],
    ],
    run: pythonClient,
  },
];

async function goTests(folder: string, env: NodeJS.ProcessEnv): Promise<Tally> {
  const { output, code } = await run('go', ['test', '-count=1', '-timeout=5m', '-v', './...'], folder, env);
  const count = (verdict: string) => output.match(new RegExp(`^--- ${verdict}: `, 'gm'))?.length ?? 0;
  const tally = { passed: count('PASS'), failed: count('FAIL') };
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

async function pythonClient(env: NodeJS.ProcessEnv): Promise<Tally> {
  const folder = join(here, '../../node_modules/.cache/python-client');
  const python = join(folder, 'bin/python');
  if (!existsSync(python) && (await run('python3', ['-m', 'venv', folder], here, env)).code !== 0) return FAILED;
  const install = ['-m', 'pip', 'install', '--quiet', '--requirement', join(here, 'python/requirements.txt')];
  if ((await run(python, install, here, env)).code !== 0) return FAILED;
  return summed(python, [join(here, 'python/main.py')], here, env);
}

/** Runs a program whose last line is `N passed, N failed`. */
async function summed(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Tally> {
  const { output, code } = await run(command, args, cwd, env);
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(output);
  if (counts === null) return FAILED;
  const tally = { passed: Number(counts[1]), failed: Number(counts[2]) };
  return code !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
}

/** Runs a command, shows what it prints and keeps it; code -1 when it cannot be started. */
function run(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv, quiet = false) {
  return new Promise<{ output: string; code: number }>((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text: Buffer) => {
        output += text.toString();
        if (!quiet) process.stdout.write(text);
      });
    }
    child.on('error', () => resolve({ output, code: -1 }));
    child.on('close', (code) => resolve({ output, code: code ?? -1 }));
  });
}

async function missing(suite: Suite): Promise<string | undefined> {
  for (const [command, ...args] of suite.needs) {
    if ((await run(command!, args, here, process.env, true)).code !== 0) return [command, ...args].join(' ');
  }
  return undefined;
}

const wanted = process.argv.slice(2);
const total: Tally = { passed: 0, failed: 0 };
const cluster = await startLocalCluster([]);
const environment = { ...process.env, KUBECONFIG: cluster.run().kubeconfig };
try {
  for (const suite of suites.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    const lacks = await missing(suite);
    if (lacks !== undefined) {
      console.log(`== ${suite.name}: skipped, \`${lacks}\` does not run here`);
      continue;
    }
    console.log(`== ${suite.name}`);
    const { passed, failed } = await suite.run(environment);
    total.passed += passed;
    total.failed += failed;
  }
} finally {
  await cluster.stop();
  cluster.remove();
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);

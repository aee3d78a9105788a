import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** `DIR/run.json` of a running cluster. */
export interface RunFile {
  launcher: number;
  port: number;
  url: string;
  kubeconfig: string;
  /** Folder of the unix sockets. */
  sockets: string;
  processes: Record<string, number>;
}

/** A cluster started as a user starts it, on a free port and a data folder of its own. */
export interface StartedCluster {
  folder: string;
  /** Uid of its tenant. */
  tenant: string;
  child: ChildProcess;
  /** What the launcher printed so far. */
  output(): string;
  run(): RunFile;
  /** Ends it as Ctrl-C does; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Removes its data. */
  remove(): void;
}

const READY_TIMEOUT_MS = 60_000;

/** Starts the project's launcher and waits for its line `Ready`. Rejects with its output when it ends before. */
export async function startLocalCluster(
  args: string[],
  folder = mkdtempSync(join(tmpdir(), 'gunwale-')),
): Promise<StartedCluster> {
  const root = join(import.meta.dirname, '../..');
  const data = join(folder, 'data');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  const [, ...launcher] = scripts.start.split(' ');
  const child = spawn(process.execPath, [...launcher, '--port', '0', '--data', data, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!output.includes('Ready')) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`the cluster did not start: ${output}`);
    await sleep(20);
  }
  return {
    folder,
    tenant: (JSON.parse(readFileSync(join(data, 'cluster.json'), 'utf8')) as { tenant: { uid: string } }).tenant.uid,
    child,
    output: () => output,
    run: () => JSON.parse(readFileSync(join(data, 'run.json'), 'utf8')) as RunFile,
    stop: () => {
      child.kill('SIGINT');
      return exited;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

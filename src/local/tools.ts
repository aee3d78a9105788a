import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { nodeModules, projectFolder } from './project.ts';

/** How many tests of a suite passed and failed. */
export interface Tally {
  passed: number;
  failed: number;
}

/** Runs a command with its output on this terminal; resolves with its exit code. */
export function run(binary: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(binary, args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    cwd: projectFolder,
    env: { ...process.env, ...env },
  });
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => {
      process.off('exit', end);
      resolve(code ?? 1);
    });
  });
}

/** Runs a script of an installed package in this Node.js, as one test. */
export async function runTool(title: string, script: string, args: string[]): Promise<Tally> {
  say(`${title} …`);
  const code = await run(process.execPath, [join(nodeModules, script), ...args]);
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** One line of progress. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

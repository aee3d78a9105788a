import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs `npm ci` when node_modules is missing or older than package-lock.json.
 * Throws when npm cannot be started or fails.
 */
export async function install(root, say) {
  const installed = modified(join(root, 'node_modules/.package-lock.json'));
  if (installed !== undefined && installed >= (modified(join(root, 'package-lock.json')) ?? 0)) return;
  say('Installing dependencies (npm ci) …');
  const code = await new Promise((resolve, reject) => {
    const npm = spawn('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: ['ignore', 2, 2] });
    npm.on('error', reject);
    npm.on('exit', resolve);
  });
  if (code !== 0) throw new Error(`npm ci failed with exit code ${code}.`);
}

function modified(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

import { spawn } from 'node:child_process';

// Reads lines of process ids from the launcher. When the launcher is gone, the ids of the last line are killed.
const SCRIPT = 'while read -r line; do last=$line; done; [ -z "$last" ] || kill -9 $last 2>/dev/null';

/** Makes sure that no child outlives the launcher, not even one killed with SIGKILL. */
export interface Reaper {
  /** Replaces the list of processes to kill. */
  watch(pids: number[]): void;
  /** Ends the reaper; the processes of the last list are killed. */
  end(): void;
}

/** Starts a shell in a session of its own that holds one end of a pipe to this process. */
export function startReaper(): Reaper {
  const shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  return {
    watch: (pids) => {
      shell.stdin.write(`${pids.join(' ')}\n`);
    },
    end: () => {
      shell.stdin.end();
    },
  };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';

/** A workerd process to keep running. */
export interface ProcessSpec {
  role: string;
  binary: string;
  args: string[];
  /** Unix sockets it listens on; left-overs are removed before each start. */
  sockets: string[];
  /** Receives its output; the file of the start before is kept beside it as `.1`. */
  logFile: string;
}

/** Told when the set of running processes changes: `pids` by role. */
export type OnChange = (pids: Map<string, number>) => void;

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5000;
/** A process that lived this long starts its back-off anew. */
const STABLE_MS = 10_000;
/** workerd waits on SIGTERM for open streams to end; after this it is killed. */
const STOP_GRACE_MS = 1000;

interface Slot {
  spec: ProcessSpec;
  child: ChildProcess | undefined;
  backoffMs: number;
  timer: NodeJS.Timeout | undefined;
}

/** Keeps a set of processes running, restarting with back-off each that ends by itself. */
export class Supervisor {
  readonly #slots: Slot[];
  readonly #say: (line: string) => void;
  readonly #onChange: OnChange;
  #stopping = false;

  constructor(specs: ProcessSpec[], say: (line: string) => void, onChange: OnChange) {
    this.#slots = specs.map((spec) => ({ spec, child: undefined, backoffMs: FIRST_BACKOFF_MS, timer: undefined }));
    this.#say = say;
    this.#onChange = onChange;
  }

  /** Starts every process. */
  start(): void {
    for (const slot of this.#slots) this.#launch(slot);
  }

  /** Ends every process: SIGTERM, a short grace, SIGKILL. Resolves when all are gone. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#slots.map((slot) => end(slot)));
  }

  #launch(slot: Slot): void {
    const { spec } = slot;
    for (const path of spec.sockets) rmSync(path, { force: true });
    if (existsSync(spec.logFile)) renameSync(spec.logFile, `${spec.logFile}.1`);
    const log = openSync(spec.logFile, 'w', 0o600);
    const child = spawn(spec.binary, spec.args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    slot.child = child;
    const startedAt = performance.now();
    let ended = false;
    const onEnd = (reason: string) => {
      if (ended) return;
      ended = true;
      slot.child = undefined;
      this.#report();
      if (!this.#stopping) this.#relaunch(slot, reason, performance.now() - startedAt);
    };
    child.on('error', (error) => onEnd(error.message));
    child.on('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`));
    this.#report();
  }

  #relaunch(slot: Slot, reason: string, livedMs: number): void {
    if (livedMs > STABLE_MS) slot.backoffMs = FIRST_BACKOFF_MS;
    this.#say(
      `${slot.spec.role} ended (${reason}), starting it again in ${slot.backoffMs} ms${lastWords(slot.spec.logFile)}`,
    );
    slot.timer = setTimeout(() => this.#launch(slot), slot.backoffMs);
    slot.backoffMs = Math.min(slot.backoffMs * 2, MAX_BACKOFF_MS);
  }

  #report(): void {
    const running = this.#slots.filter((slot) => slot.child?.pid !== undefined);
    this.#onChange(new Map(running.map((slot) => [slot.spec.role, slot.child!.pid!])));
  }
}

async function end(slot: Slot): Promise<void> {
  clearTimeout(slot.timer);
  const { child } = slot;
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const kill = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
  await gone;
  clearTimeout(kill);
}

function lastWords(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n').slice(-3);
  return lines[0] ? `; its last words:\n  ${lines.join('\n  ')}` : '';
}

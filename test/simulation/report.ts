import { FAULT_NAMES } from './adversary.ts';
import type { Outcome } from './run.ts';

/** What a run of many seeds must have seen at least once; beside each fault of the adversary. */
const EXPECTED = [
  ...FAULT_NAMES.map((name) => `fault: ${name}`),
  'fault: message lost',
  'fault: message lost in a partition',
  'fault: message duplicated',
  'fault: message delayed',
  'fault: message overtaken',
  'fault: crash within a write',
  'fault: unsynced writes lost',
  'fault: alarm duplicated',
  'fault: evicted while quiet',
  'fault: woken',
  'fault: slow watcher',
  'role: follower to pre-candidate',
  'role: pre-candidate to candidate',
  'role: candidate to leader',
  'role: candidate to follower',
  'role: leader to follower',
  ...['pre-vote', 'pre-vote-response', 'vote', 'vote-response', 'append', 'append-response'].map(
    (type) => `message: ${type}`,
  ),
  ...['heartbeat', 'heartbeat-response', 'read-index', 'read-index-response'].map((type) => `message: ${type}`),
];

/** Adds up what the seeds of a run counted. */
export class Report {
  readonly failed: Outcome[] = [];
  seeds = 0;
  operations = 0;
  events = 0;
  simulatedMs = 0;
  readonly #counts = new Map<string, number>(EXPECTED.map((what) => [what, 0]));

  add(outcome: Outcome): void {
    this.seeds++;
    this.operations += outcome.operations;
    this.events += outcome.events;
    this.simulatedMs += outcome.simulatedMs;
    for (const [what, times] of outcome.counts) this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
    if (outcome.error !== undefined) this.failed.push(outcome);
  }

  /** What should have come about and did not. */
  missing(): string[] {
    return EXPECTED.filter((what) => this.#counts.get(what) === 0);
  }

  /** Every count, a line each. */
  lines(): string[] {
    const width = Math.max(...[...this.#counts.values()].map((times) => String(times).length));
    return [...this.#counts].sort().map(([what, times]) => `${String(times).padStart(width)} ${what}`);
  }
}

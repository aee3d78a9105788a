import { describe, expect, test } from 'vitest';
import { Simulation, type Summary } from './support/simulation.ts';

/** SEED=7 replays one seed; SEEDS=5000 runs more of them. */
const only = process.env.SEED;
const count = Number(process.env.SEEDS ?? 300);
const STEPS = 3000;

describe('random clusters keep the safety properties of Raft', () => {
  if (only !== undefined) {
    test(`seed ${only}`, () => {
      new Simulation(Number(only)).run(STEPS);
    });
    return;
  }

  test(`${count} seeds`, { timeout: 120_000 }, () => {
    const total: Summary = { leaders: 0, committed: 0, reads: 0, crashes: 0, snapshots: 0 };
    for (let seed = 1; seed <= count; seed++) {
      try {
        const summary = new Simulation(seed).run(STEPS);
        for (const key of Object.keys(total) as (keyof Summary)[]) total[key] += summary[key];
      } catch (error) {
        throw new Error(`SEED=${seed}: ${String(error)}`, { cause: error });
      }
    }
    // The adversary must not have been so strong, or so weak, that nothing happened.
    expect(total.leaders).toBeGreaterThan(2 * count);
    expect(total.committed).toBeGreaterThan(20 * count);
    expect(total.reads).toBeGreaterThan(5 * count);
    expect(total.crashes).toBeGreaterThan(5 * count);
    expect(total.snapshots).toBeGreaterThan(count / 10);
  });
});

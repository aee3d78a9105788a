// Plays simulated clusters, one for each seed, and checks everything that they did. A seed tells the whole run.
// usage: npm run simulate -- [--seeds N] [--seed FIRST] [--operations N] [--seconds N] [--sqlite]
// --seed alone plays that one and tells its story; --seconds: no further seed is begun after so long.
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Report } from './report.ts';
import type { Options, Outcome } from './run.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    seed: { type: 'string' },
    operations: { type: 'string', default: '2000' },
    seconds: { type: 'string' },
    sqlite: { type: 'boolean', default: false },
  },
});
/** Few seeds need not meet every fault; so many must. */
const ENOUGH_SEEDS = 50;
const first = Number(values.seed ?? 1);
const seeds = Number(values.seeds ?? (values.seed === undefined ? (values.sqlite ? 20 : 1_000) : 1));
const operations = Number(values.operations);
const startedAt = performance.now();
const deadline = values.seconds === undefined ? Number.POSITIVE_INFINITY : startedAt + Number(values.seconds) * 1_000;
const report = new Report();
let next = first;

const players = Math.min(seeds, availableParallelism());
await Promise.all(Array.from({ length: players }, () => playOn()));
const seconds = (performance.now() - startedAt) / 1_000;

for (const line of report.lines()) console.log(line);
const pace = `${(report.operations / seconds).toFixed(0)} operations and ${(report.events / seconds).toFixed(0)} events a second`;
const hours = (report.simulatedMs / 3_600_000).toFixed(1);
console.log(`${report.seeds} of ${seeds} seeds, ${report.operations} operations, ${hours} simulated hours; ${pace}`);
const missing = report.seeds >= ENOUGH_SEEDS ? report.missing() : [];
if (missing.length > 0) console.log(`FAIL what never happened: ${missing.join('; ')}`);
for (const failure of report.failed) tell(failure);
const failed = report.failed.length + (missing.length > 0 ? 1 : 0);
console.log(`${report.seeds - report.failed.length} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

/** Has one process play seeds until none is left. */
async function playOn(): Promise<void> {
  const player = fork(join(import.meta.dirname, 'player.ts'), [], { execArgv: ['--no-warnings'] });
  await answer(player);
  while (next < first + seeds && performance.now() < deadline) report.add(await ask(player, next++, false));
  player.disconnect();
}

/** Plays a seed; one that fails is played again for its story. */
async function ask(player: ChildProcess, seed: number, story: boolean): Promise<Outcome> {
  const options: Options = { seed, operations, files: values.sqlite, story: story || seeds === 1 };
  const answered = answer(player);
  player.send(options);
  const outcome = (await answered) as Outcome;
  if (outcome.error === undefined || options.story) return outcome;
  const again = await ask(player, seed, true);
  return again.error === undefined ? { ...again, error: `once, and not when played again: ${outcome.error}` } : again;
}

function answer(player: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a player ended with ${code}`));
    player.once('exit', ended);
    player.once('message', (message) => {
      player.off('exit', ended);
      resolve(message);
    });
  });
}

/** A failure: what broke, the way to it, and the command that plays it again. */
function tell({ seed, error, story }: Outcome): void {
  const file = join(tmpdir(), `gunwale-simulation-${seed}.txt`);
  writeFileSync(file, `${story.join('\n')}\n`);
  console.log(`FAIL seed ${seed}: ${error?.slice(0, 4_000)}`);
  for (const line of story.slice(-25)) console.log(`     ${line.slice(0, 400)}`);
  console.log(`     the whole story: ${file}`);
  const sqlite = values.sqlite ? ' --sqlite' : '';
  console.log(`     again: npm run simulate -- --seed ${seed} --operations ${operations}${sqlite}`);
}

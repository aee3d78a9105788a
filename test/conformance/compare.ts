// Plays the transcripts against a running cluster and compares the failures with the list of steps that are known not
// to agree yet. usage: compare.ts --kubeconfig FILE [--tally FILE] [--shrink] [AREA|AREA/CASE …]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const here = import.meta.dirname;
const listFile = join(here, 'disagreements.txt');
/** A step without an answer in this time has failed. */
const STEP_TIMEOUT_MS = '5000';
/** Cases that failed unexpectedly and get a second try; more than these are no accident. */
const MAX_SECOND_TRIES = 8;
const HEADER =
  '# Steps of the transcripts that do not agree with kube-apiserver yet. This list may only get shorter:\n' +
  '# npm run conformance -- --shrink\n';

interface Step {
  case: string;
  step: string;
  pass: boolean;
  diff: string[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kubeconfig: { type: 'string' }, tally: { type: 'string' }, shrink: { type: 'boolean' } },
});
const known = new Set(
  readFileSync(listFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#')),
);
const name = (step: Step) => `${step.case} · ${step.step}`;
const unexpected = (step: Step) => !step.pass && !known.has(name(step));
const steps = secondTry(replay(values.kubeconfig ?? '', positionals));
const failing = steps.filter((step) => !step.pass);
const surprises = steps.filter(unexpected);
const cured = steps.filter((step) => step.pass && known.has(name(step))).map(name);

for (const step of surprises) console.log(`FAIL ${name(step)}\n     ${step.diff.slice(0, 4).join('\n     ')}`);
if (values.shrink) shrink(cured);
else if (cured.length > 0)
  console.log(`${cured.length} steps of disagreements.txt agree now: npm run conformance -- --shrink`);
const passed = steps.length - failing.length;
console.log(
  `${passed} of ${steps.length} steps agree with kube-apiserver, ${surprises.length} of the others are not on the list`,
);
if (values.tally)
  writeFileSync(values.tally, JSON.stringify({ passed, failed: surprises.length + (steps.length === 0 ? 1 : 0) }));
process.exitCode = surprises.length > 0 || steps.length === 0 ? 1 : 0;

function replay(kubeconfig: string, chosen: string[]): Step[] {
  const folder = mkdtempSync(join(tmpdir(), 'gunwale-replay-'));
  const result = join(folder, 'result.json');
  const args = [
    join(here, 'replay.mjs'),
    '--kubeconfig',
    kubeconfig,
    '--json',
    result,
    '--timeout',
    STEP_TIMEOUT_MS,
    ...chosen,
  ];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 });
  const areas = stdout.split('\n').filter((line) => / of \d+ steps$/.test(line));
  for (const line of areas) console.log(line);
  const { steps: all } = JSON.parse(readFileSync(result, 'utf8')) as { steps: Step[] };
  rmSync(folder, { recursive: true });
  return all;
}

/** Many cases wait a bounded time for what the server does by itself: on a busy machine a few may be played once more. */
function secondTry(first: Step[]): Step[] {
  const cases = new Set(first.filter(unexpected).map((step) => step.case));
  if (cases.size === 0 || cases.size > MAX_SECOND_TRIES) return first;
  console.log(`once more: ${[...cases].join(', ')}`);
  return [...first.filter((step) => !cases.has(step.case)), ...replay(values.kubeconfig ?? '', [...cases])];
}

function shrink(agreeing: string[]): void {
  const rest = [...known].filter((line) => !agreeing.includes(line)).sort();
  writeFileSync(listFile, `${HEADER}${rest.map((line) => `${line}\n`).join('')}`);
  console.log(`${agreeing.length} steps taken off the list, ${rest.length} are left`);
}

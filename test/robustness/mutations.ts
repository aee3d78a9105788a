// Breaks a copy of the tree in one known way after the other, and shows that the tests notice each: a seed of the
// simulation, else a unit test. Which one is in mutations/seeds.json; the same must be green without a mutation.
// usage: npm run test:mutations -- [NAME...] [--find N]
// --find N: looks for the first seed from 1 on that notices, N at most, and writes it down.
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** What the simulation needs of the tree. */
const PARTS = ['durable-objects', 'src', 'test', 'migrations', 'package.json', 'tsconfig.json'];
const UNIT_TESTS = ['test/raft', 'test/keyspace', 'test/replica'];
const OPERATIONS = 1_000;
/** Seeds from the known one on that are tried before a mutation counts as unnoticed: other changes shift what a seed does. */
const TRIES = 6;

/** The test that noticed a mutation: without a seed the name of a unit test. */
interface Notice {
  seed?: number;
  by: string;
}

interface Played {
  code: number | null;
  output: string;
}

const root = join(import.meta.dirname, '../..');
const patches = join(import.meta.dirname, 'mutations');
const seedsFile = join(patches, 'seeds.json');
const { values, positionals } = parseArgs({ options: { find: { type: 'string' } }, allowPositionals: true });
const seeds = JSON.parse(await readFile(seedsFile, 'utf8')) as Record<string, Notice>;
const all = (await readdir(patches)).filter((file) => file.endsWith('.patch')).map((file) => file.slice(0, -6));
const names = all.sort().filter((name) => positionals.length === 0 || positionals.includes(name));
let passed = 0;
let failed = 0;

/** Counts a check and says how it went. */
function verify(ok: boolean, title: string, detail = ''): void {
  if (ok) passed++;
  else failed++;
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${title}${ok ? '' : `\n${detail}`}`);
}

const queue = [...names];
await Promise.all(Array.from({ length: availableParallelism() }, () => mutateOn()));
if (values.find === undefined) await playUnmutated();
else await writeFile(seedsFile, `${JSON.stringify(seeds, Object.keys(seeds).sort().concat('seed', 'by'), 2)}\n`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

async function mutateOn(): Promise<void> {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const copy = await copyOfTree();
    try {
      const applied = await run(copy, 'git', ['apply', join(patches, `${name}.patch`)]);
      if (applied.code !== 0) verify(false, `${name}: the patch applies`, applied.output);
      else await notice(name, copy);
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  }
}

/** Plays seeds on the broken copy until one fails as it should. */
async function notice(name: string, copy: string): Promise<void> {
  const known = seeds[name];
  if (known !== undefined && known.seed === undefined && values.find === undefined)
    return noticeInUnitTests(name, copy);
  const first = values.find === undefined ? (known?.seed ?? 1) : 1;
  const tries = values.find === undefined ? TRIES : Number(values.find);
  for (let seed = first; seed < first + tries; seed++) {
    const { code, output } = await play(copy, seed);
    const by = /^FAIL seed \d+: (.*)$/m.exec(output)?.[1];
    if (code === 0) continue;
    // A copy that does not even start proves nothing.
    verify(by !== undefined, `${name}: noticed by seed ${seed}: ${by?.slice(0, 160)}`, output.slice(-2_000));
    if (by !== undefined) seeds[name] = { seed, by: by.slice(0, by.indexOf(':')) };
    return;
  }
  await noticeInUnitTests(name, copy);
}

async function noticeInUnitTests(name: string, copy: string): Promise<void> {
  const { code, output } = await unitTests(copy);
  const by = /^ *not ok \d+ - (.*?)(?: # time=.*)?$/m.exec(output)?.[1];
  verify(code !== 0 && by !== undefined, `${name}: noticed by the unit tests: ${by}`, output.slice(-2_000));
  if (by !== undefined) seeds[name] = { by };
}

function unitTests(folder: string): Promise<Played> {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  return run(folder, process.execPath, [vitest, 'run', '--root', folder, '--reporter=tap-flat', ...UNIT_TESTS]);
}

/** The tree as it is passes every seed by which a mutation was noticed. */
async function playUnmutated(): Promise<void> {
  const wanted = [...new Set(names.flatMap((name) => seeds[name]?.seed ?? []))];
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      for (let seed = wanted.shift(); seed !== undefined; seed = wanted.shift()) {
        const { code, output } = await play(root, seed);
        verify(code === 0, `no mutation: seed ${seed} is green`, output.slice(-2_000));
      }
    }),
  );
  if (names.every((name) => seeds[name]?.seed !== undefined)) return;
  const { code, output } = await unitTests(root);
  verify(code === 0, 'no mutation: the unit tests are green', output.slice(-2_000));
}

function play(folder: string, seed: number): Promise<Played> {
  const program = join(folder, 'test/simulation/main.ts');
  const args = ['--no-warnings', program, '--seed', String(seed), '--operations', String(OPERATIONS)];
  return run(folder, process.execPath, args);
}

async function copyOfTree(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'gunwale-mutation-'));
  for (const part of PARTS) await cp(join(root, part), join(copy, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function run(cwd: string, command: string, args: readonly string[]): Promise<Played> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

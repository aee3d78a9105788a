import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { makeAdmin } from '../certificates.ts';
import { type LocalCluster, startCluster } from '../cluster.ts';
import { writePrivately } from '../data-folder.ts';
import { kubeconfig } from '../kubeconfig.ts';
import { findKubectl } from '../kubectl.ts';
import { parseOptions } from '../options.ts';
import { cacheFolder, nodeModules, projectFile } from '../project.ts';
import { run, say, type Tally } from '../tools.ts';
import { checks } from './check.ts';

/** A suite of `npm test`; later ones do not run when an earlier one failed. */
type Suite = () => Promise<Tally[]>;

/** `npm test`: everything that needs no Go. Ends with `N passed, N failed`. */
export async function test(): Promise<number> {
  const suites: Suite[] = [
    checks,
    async () => [await vitest('unit tests', UNHURRIED)],
    conformanceSuite,
    () => endToEndSuite(),
  ];
  const total: Tally = { passed: 0, failed: 0 };
  for (const suite of suites) {
    for (const { passed, failed } of await suite()) {
      total.passed += passed;
      total.failed += failed;
    }
    if (total.failed > 0) break;
  }
  say(`${total.passed} passed, ${total.failed} failed`);
  return total.failed > 0 ? 1 : 0;
}

/** `npm run conformance`: all transcripts, or the areas named; `--shrink` takes the steps that agree now off the list. */
export async function conformance(args: string[]): Promise<number> {
  const { passed, failed } = await playTranscripts(args);
  say(`${passed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

/** `npm run e2e`: the tests with kubectl alone; arguments are vitest's, parts of file names for instance. */
export async function endToEnd(args: string[]): Promise<number> {
  const [tally] = await endToEndSuite(args);
  return tally!.failed > 0 ? 1 : 0;
}

/** Its cases wait for policies to take effect, longer than all others together: `npm test` leaves it to `.ci/run`. */
const SLOW_AREA = 'admission';

async function conformanceSuite(): Promise<Tally[]> {
  const areas = readdirSync(projectFile('test/conformance/cases')).filter((area) => area !== SLOW_AREA);
  return [await playTranscripts(areas)];
}

/** Plays transcripts against a cluster of their own. */
async function playTranscripts(args: string[]): Promise<Tally> {
  return withCluster(['--control-loops', 'none'], async (cluster, environment) => {
    say('transcripts of kube-apiserver …');
    const result = join(dirname(cluster.kubeconfig), 'conformance.json');
    const script = projectFile('test/conformance/compare.ts');
    const file = await recordedAdministrator(cluster);
    await run(process.execPath, [script, '--kubeconfig', file, '--tally', result, ...args], environment);
    return readTally(result);
  });
}

/** The kubeconfig of the administrator whom the transcripts were recorded as: some answers name who asked. */
async function recordedAdministrator({ kubeconfig: given, url }: LocalCluster): Promise<string> {
  const folder = dirname(given);
  const read = (name: string) => readFileSync(join(folder, 'pki', name), 'utf8');
  const ca = { cert: read('ca.crt'), key: read('ca.key') };
  const file = join(folder, 'recorded-administrator');
  writePrivately(file, kubeconfig(url, ca.cert, await makeAdmin(ca, 'admin')));
  return file;
}

async function endToEndSuite(args: string[] = []): Promise<Tally[]> {
  return withCluster([], async (cluster, environment) => [
    await vitest('kubectl, end to end', ['--config', 'test/e2e/vitest.config.ts', ...args], {
      ...environment,
      KUBECONFIG: cluster.kubeconfig,
    }),
  ]);
}

/** No test is about time: one that is slow on a busy machine is right. */
const UNHURRIED = ['--testTimeout=60000', '--hookTimeout=60000'];

/** Starts a cluster on a folder of its own and ends it afterwards. */
async function withCluster<T>(
  args: string[],
  use: (cluster: LocalCluster, environment: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'gunwale-test-'));
  const cluster = await startCluster(parseOptions(['--port', '0', '--data', join(folder, 'data'), ...args]), say);
  const kubectl = findKubectl(nodeModules, cacheFolder);
  try {
    return await use(cluster, { KUBECTL: kubectl, PATH: [dirname(kubectl), process.env.PATH].join(delimiter) });
  } finally {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function vitest(title: string, args: string[], environment: NodeJS.ProcessEnv = {}): Promise<Tally> {
  say(`${title} …`);
  const result = join(cacheFolder, 'vitest.json');
  rmSync(result, { force: true });
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${result}`];
  await run(process.execPath, [join(nodeModules, 'vitest/vitest.mjs'), 'run', ...reporters, ...args], environment);
  if (!existsSync(result)) return { passed: 0, failed: 1 };
  const report = JSON.parse(readFileSync(result, 'utf8')) as VitestReport;
  const broken = report.numFailedTestSuites > 0 && report.numFailedTests === 0 ? 1 : 0;
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken };
}

/** The part of vitest's JSON report that is read here. */
interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numFailedTestSuites: number;
}

function readTally(path: string): Tally {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Tally) : { passed: 0, failed: 1 };
}

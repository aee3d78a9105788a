// Suites that others wrote (../shared), each against a fresh cluster of this project: real manifests applied twice,
// Kubernetes' own kubectl suite, its e2e conformance tests. What is not there is skipped, and that is said.
// usage: run.ts [manifests] [kubectl|kubectl=all|kubectl=FUNCTION,…] [e2e|e2e=REGEXP]   (manifests and kubectl)
import { execFileSync, spawn } from 'node:child_process';
import { createPrivateKey, type JsonWebKeyInput } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { findKubectl } from '../../src/local/kubectl.ts';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';

interface Tally {
  passed: number;
  failed: number;
}

const root = join(import.meta.dirname, '../..');
const shared = join(root, '../shared');
const suites = join(shared, 'suites');
const manifests = join(shared, 'manifests');

/** Functions of the kubectl suite that touch most of the API in little time; `kubectl=all` runs those of the ceiling. */
const BRIEF = [
  ...['run_clusterroles_tests', 'run_crd_tests', 'run_kubectl_server_side_apply_tests', 'run_kubectl_get_tests'],
  ...['run_secrets_test', 'run_service_tests', 'run_job_tests', 'run_rc_tests', 'run_persistent_volumes_tests'],
  ...['run_pod_tests', 'run_kubectl_events_tests', 'run_template_output_tests', 'run_certificates_tests'],
  ...['run_retrieve_multiple_tests', 'run_kubectl_explain_tests', 'run_kubectl_debug_tests', 'run_nodes_tests'],
];

/** Runs a program, shows its output and resolves with it. */
function run(command: string, args: string[], environment: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    const end = () => child.kill('SIGTERM');
    process.once('SIGTERM', end);
    let output = '';
    child.stdout.on('data', (text: Buffer) => {
      output += text.toString();
      process.stdout.write(text);
    });
    child.on('error', reject);
    child.on('close', () => {
      process.off('SIGTERM', end);
      resolve(output);
    });
  });
}

const count = (output: string, line: RegExp) => output.match(line)?.length ?? 0;

/** Each file must be answered as kube-apiserver answered it, down to the number of its refusals. */
async function applyManifests(cluster: StartedCluster): Promise<Tally> {
  const kubectl = findKubectl(join(root, 'node_modules'), join(root, 'node_modules/.cache'));
  const path = `${dirname(kubectl)}${delimiter}${process.env.PATH ?? ''}`;
  const environment = { ...process.env, PATH: kubectl === 'kubectl' ? process.env.PATH : path };
  const output = await run('bash', [join(manifests, 'apply-all.sh'), cluster.run().kubeconfig], environment);
  const results = (text: string) => text.split('\n').filter((line) => /^\S+\.yaml: /.test(line));
  const expected = results(readFileSync(join(manifests, 'ceiling.txt'), 'utf8'));
  const found = new Set(results(output));
  const missed = expected.filter((line) => !found.has(line));
  for (const line of missed) console.log(`kube-apiserver: ${line}`);
  return { passed: expected.length - missed.length, failed: missed.length };
}

async function kubectlSuite(cluster: StartedCluster, chosen: string): Promise<Tally> {
  const ceiling = readFileSync(join(suites, 'kubectl-ceiling-rbac.txt'), 'utf8').trim().split('\n');
  const functions = chosen === 'all' ? ceiling : chosen === '' ? BRIEF : chosen.split(',');
  const args = [join(suites, 'kubectl-suite.sh'), '--with-controllers', cluster.run().kubeconfig, ...functions];
  const passed = count(await run('bash', args, process.env), /^pass /gm);
  return { passed, failed: functions.length - passed };
}

/** kube-controller-manager signs tokens with the cluster's own key. */
function serviceAccountKey({ folder }: StartedCluster): string {
  const keys = JSON.parse(readFileSync(join(folder, 'data/pki/service-account.json'), 'utf8')) as {
    privateJwk: JsonWebKeyInput['key'];
  }[];
  const key = createPrivateKey({ key: keys[0]!.privateJwk, format: 'jwk' });
  const path = join(folder, 'service-account.key');
  writeFileSync(path, key.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  return path;
}

async function endToEndSuite(cluster: StartedCluster, focus: string): Promise<Tally> {
  const args = [join(suites, 'e2e-suite.sh'), cluster.run().kubeconfig, ...(focus === '' ? [] : [focus])];
  const output = await run('bash', args, { ...process.env, SERVICE_ACCOUNT_KEY: serviceAccountKey(cluster) });
  const [, passed, total] = /^passed (\d+) of (\d+) /m.exec(output) ?? ['', '0', '1'];
  return { passed: Number(passed), failed: Number(total) - Number(passed) };
}

/** What the suites expect of a server: the real controllers beside it, their token and their authority of clients. */
function flagsOf(folder: string): string[] {
  const go = (...args: string[]) => execFileSync('go', args, { cwd: suites, encoding: 'utf8' }).trim();
  go('mod', 'download', 'k8s.io/kubernetes');
  const authority = join(go('list', '-m', '-f', '{{.Dir}}', 'k8s.io/kubernetes'), 'hack/testdata/ca/ca.crt');
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, 'admin-token,admin,,"system:masters"\n', { mode: 0o600 });
  return ['--control-loops', 'none', '--token-auth-file', tokens, '--client-ca-file', authority];
}

interface Suite {
  /** Whether it needs programs that Go builds. */
  built: boolean;
  run(cluster: StartedCluster, choice: string): Promise<Tally>;
}

const known: Readonly<Record<string, Suite>> = {
  manifests: { built: false, run: applyManifests },
  kubectl: { built: true, run: kubectlSuite },
  e2e: { built: true, run: endToEndSuite },
};

function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function runSuite(suite: Suite, choice: string): Promise<Tally> {
  if (!existsSync(suites) || !existsSync(manifests) || (suite.built && !hasGo())) {
    console.log('skipped: ../shared or Go is not there');
    return { passed: 0, failed: 0 };
  }
  const folder = mkdtempSync(join(tmpdir(), 'gunwale-suite-'));
  const cluster = await startLocalCluster(suite.built ? flagsOf(folder) : [], folder);
  try {
    return await suite.run(cluster, choice);
  } finally {
    await cluster.stop();
    cluster.remove();
  }
}

const wanted = process.argv.slice(2);
const total: Tally = { passed: 0, failed: 0 };
for (const text of wanted.length > 0 ? wanted : ['manifests', 'kubectl']) {
  const [name = '', choice = ''] = text.split('=');
  const suite = known[name];
  if (suite === undefined) throw new Error(`no suite ${name}; there are ${Object.keys(known).join(', ')}`);
  console.log(`== ${text}`);
  const { passed, failed } = await runSuite(suite, choice);
  total.passed += passed;
  total.failed += failed;
}
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);

import { randomBytes, X509Certificate } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAuditPolicy } from '../audit/policy.ts';
import { SERVICE_ACCOUNT_ISSUER } from '../config.ts';
import { auditWebhookOf } from './audit-flags.ts';
import { openAuditLog } from './audit-log.ts';
import { authenticationOf } from './authentication-flags.ts';
import { authorizationOf } from './authorization-flags.ts';
import { type ClusterKeys, clusterKeys, serverNames } from './certificates.ts';
import { openDataFolder, tenantOf, writePrivately } from './data-folder.ts';
import { openEgress } from './egress.ts';
import { readCertificates, readGiven } from './files.ts';
import { type Front, type FrontOptions, startFront } from './front/front.ts';
import { cfBlob } from './front/request-head.ts';
import { identityOf } from './identity-flags.ts';
import { kubeconfig } from './kubeconfig.ts';
import { planProcesses } from './layout.ts';
import { type Options, UsageError } from './options.ts';
import { cacheFolder } from './project.ts';
import { startReaper } from './reaper.ts';
import { type ProcessSpec, Supervisor } from './supervisor.ts';
import { type ClusterWiring, workerdConfig } from './workerd-config.ts';

/** Layout of a new data folder: the fastest one measured on two cores. */
const DEFAULT_PROCESSES = 1;
/** The longest path of a unix socket that every system takes. */
const MAX_SOCKET_PATH = 100;
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 10;

/** A running local cluster. */
export interface LocalCluster {
  kubeconfig: string;
  url: string;
  /** Ends the front and every process. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster on the options' data folder and resolves when it is ready. Throws UsageError for what the user can
 * mend; everything that was started is ended then.
 */
export async function startCluster(options: Options, say: (line: string) => void): Promise<LocalCluster> {
  const record = openDataFolder(options, DEFAULT_PROCESSES);
  const { data } = options;
  await refuseSecondLauncher(data);
  const replicas = Array.from({ length: record.replicas }, (_, i) => i + 1);
  const plans = planProcesses(data, replicas, record.processes);
  const keys = await clusterKeys(
    join(data, 'pki'),
    serverNames(firstAddress(options.serviceClusterIPRange), [options.advertiseAddress]),
  );
  const runFolder = join(data, 'run');
  const socketFolder = prepareFolders(
    runFolder,
    plans.map(({ disk }) => disk),
  );
  const cfBlobHeader = `cf-${randomBytes(16).toString('hex')}`;
  const socket = (name: string) => join(socketFolder, `${name}.sock`);
  const front = await openFront(options, { tls: keys.server, upstream: { path: socket('api') }, cfBlobHeader });
  const config = workerConfig({ ...options, port: front.port }, tenantOf(record), keys);
  const auditLog = logsAudits(options) ? await openAuditLog(options, socket('audit')) : undefined;
  const egressKey = randomBytes(32).toString('hex');
  const egress = await openEgress(socket('egress'), egressKey);
  const wiring: ClusterWiring = { plans, config, cfBlobHeader, egressKey, socket, audits: auditLog !== undefined };
  const kubeconfigFile = join(data, 'kubeconfig');
  const url = `https://127.0.0.1:${front.port}`;
  writePrivately(kubeconfigFile, kubeconfig(url, keys.ca.cert, keys.admin));

  const reaper = startReaper();
  const runFile = join(data, 'run.json');
  const supervisor = new Supervisor(processSpecs(wiring, runFolder), say, (pids) => {
    reaper.watch([...pids.values()]);
    const running = {
      launcher: process.pid,
      port: front.port,
      url,
      sockets: socketFolder,
      kubeconfig: kubeconfigFile,
      processes: Object.fromEntries(pids),
    };
    writePrivately(runFile, `${JSON.stringify(running, null, 2)}\n`);
  });
  const stop = async () => {
    front.close();
    await supervisor.stop();
    auditLog?.close();
    egress.close();
    reaper.watch([]);
    reaper.end();
    rmSync(runFile, { force: true });
    rmSync(runFolder, { recursive: true, force: true });
    if (socketFolder !== runFolder) rmSync(socketFolder, { recursive: true, force: true });
  };
  supervisor.start();
  try {
    const administrator = { [cfBlobHeader]: cfBlob([new X509Certificate(keys.admin.cert).raw]) };
    await ready(wiring.socket('api'), administrator, join(runFolder, 'api.log'));
  } catch (error) {
    await stop();
    throw error;
  }
  return { kubeconfig: kubeconfigFile, url, stop };
}

/** A launcher that still runs on this folder is found by its process id and its open port. */
async function refuseSecondLauncher(data: string): Promise<void> {
  const runFile = join(data, 'run.json');
  if (!existsSync(runFile)) return;
  const { launcher, port } = JSON.parse(readFileSync(runFile, 'utf8')) as { launcher: number; port: number };
  if (alive(launcher) && (await listening(port))) throw new UsageError(`${data} is in use by process ${launcher}.`);
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function listening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

function prepareFolders(runFolder: string, disks: string[]): string {
  rmSync(runFolder, { recursive: true, force: true });
  for (const folder of [runFolder, ...disks]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const longest = join(runFolder, 'replicas.sock  ');
  return Buffer.byteLength(longest) <= MAX_SOCKET_PATH ? runFolder : mkdtempSync(join(tmpdir(), 'gunwale-'));
}

/** JSON text of the Worker's configuration, see src/config.ts. */
export function workerConfig(options: Options, tenant: object, keys: ClusterKeys): string {
  return JSON.stringify({
    tenant,
    clientCA: keys.ca.cert + (options.clientCAFile ? readCertificates('client CA file', options.clientCAFile) : ''),
    serverCA: keys.ca.cert,
    ...identityOf(options.identity, keys),
    auditPolicy: auditPolicyOf(options),
    auditLog: logsAudits(options),
    ...auditWebhookOf(options.auditWebhook),
    staticTokens: options.staticTokenFile ? readGiven('token file', options.staticTokenFile) : '',
    serviceAccountKeys: keys.serviceAccount,
    authentication: authenticationOf(options.authentication, SERVICE_ACCOUNT_ISSUER),
    authorization: authorizationOf(options.authorization),
    serviceClusterIPRange: options.serviceClusterIPRange,
    advertiseAddress: options.advertiseAddress,
    securePort: options.port,
    controlLoops: options.controlLoops,
    maxRequestsInflight: options.maxRequestsInflight,
    maxMutatingRequestsInflight: options.maxMutatingRequestsInflight,
    eventTTLSeconds: options.eventTTLSeconds,
    compactionIntervalSeconds: options.compactionIntervalSeconds,
    admissionPlugins: options.admissionPlugins,
  });
}

/** Whether audit events are logged: also where no path is given, unless they go to a webhook. */
function logsAudits({ auditPolicyFile, auditLogPath, auditWebhook }: Options): boolean {
  if (auditPolicyFile === undefined) return false;
  return auditLogPath !== undefined || auditWebhook['audit-webhook-config-file'] === undefined;
}

/** Text of the audit policy, checked, so that a wrong one fails the start. */
function auditPolicyOf({ auditPolicyFile: path }: Options): string {
  if (path === undefined) return '';
  const text = readGiven('audit policy', path);
  try {
    parseAuditPolicy(text);
  } catch (error) {
    throw new UsageError(`The audit policy ${path} is wrong: ${(error as Error).message}`);
  }
  return text;
}

/** The first usable address of an IPv4 range, which the `kubernetes` Service gets. */
function firstAddress(range: string): string {
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/\d+$/.exec(range)?.slice(1).map(Number);
  if (!parts || parts.some((part) => part > 255))
    throw new UsageError(`--service-cluster-ip-range ${range} is not an IPv4 range such as 10.0.0.0/24.`);
  return [...parts.slice(0, 3), parts[3]! + 1].join('.');
}

type FrontWiring = Pick<FrontOptions, 'tls' | 'upstream' | 'cfBlobHeader'>;

/** Starts the front; throws UsageError when its port cannot be opened. */
export async function openFront(options: Options, wiring: FrontWiring): Promise<Front> {
  try {
    return await startFront({ port: options.port, host: options.bindAddress, ...wiring });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const reasons: Record<string, string> = { EADDRINUSE: 'is taken', EACCES: 'may not be used by this user' };
    throw new UsageError(
      `Port ${options.port} on ${options.bindAddress} ${reasons[String(error.code)] ?? `cannot be opened (${error.message})`}: choose another with --port.`,
    );
  }
}

function processSpecs(wiring: ClusterWiring, runFolder: string): ProcessSpec[] {
  const bundles = cacheFolder;
  const binary = createRequire(import.meta.url)('workerd').default as string;
  return wiring.plans.map((plan) => {
    const bundle = plan.api ? 'worker.js' : 'replica.js';
    if (!existsSync(join(runFolder, bundle))) copyFileSync(join(bundles, bundle), join(runFolder, bundle));
    const file = join(runFolder, `${plan.role}.capnp`);
    writeFileSync(file, workerdConfig(plan, wiring, bundle), { mode: 0o600 });
    return {
      role: plan.role,
      binary,
      args: ['serve', file],
      sockets: plan.api ? [wiring.socket('api'), wiring.socket('loops')] : [wiring.socket(plan.role)],
      logFile: join(runFolder, `${plan.role}.log`),
    };
  });
}

/** Asks `/readyz` of the API process, as the administrator that `headers` show, until it answers 200. */
async function ready(socketPath: string, headers: Record<string, string>, logFile: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if ((await probe(socketPath, headers)) === 200) return;
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
  }
  throw new UsageError(
    `The cluster was not ready within ${READY_TIMEOUT_MS / 1000} s; ${readFileSync(logFile, 'utf8').trim().slice(-500) || 'its log is empty'}`,
  );
}

function probe(socketPath: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve) => {
    const given = { host: 'localhost', ...headers };
    const req = request({ socketPath, path: '/readyz', agent: false, headers: given }, (res) => {
      res.resume();
      resolve(res.statusCode);
    });
    req.setTimeout(2000, () => req.destroy());
    req.on('error', () => resolve(undefined));
    req.end();
  });
}

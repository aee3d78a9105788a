/** Answers of `/healthz`, `/livez` and `/readyz`, whole and check by check. */

/** What the checks stand on. Each throws when it fails; none is called more than once for one request. */
export interface HealthProbes {
  /** A linearizable read of the keyspace works. */
  storage(): Promise<void>;
  /** The objects that a fresh server makes by itself exist. */
  bootstrap(): Promise<void>;
  /** The policy that requests are decided by is loaded. */
  policy(): Promise<void>;
}

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz';
type Probe = keyof HealthProbes | 'alive';

export interface Check {
  name: string;
  probe: Probe;
  /** Endpoints that have the check; absent: all. */
  only?: readonly HealthEndpoint[];
}

const hook = (name: string, probe: Probe): Check => ({ name: `poststarthook/${name}`, probe });

/** Upstream's checks in its order, each tied to what it means here. */
const checks: readonly Check[] = [
  { name: 'ping', probe: 'alive' },
  { name: 'log', probe: 'alive' },
  { name: 'loopback-serving-certificate', probe: 'alive', only: ['healthz', 'livez'] },
  { name: 'etcd', probe: 'storage' },
  { name: 'etcd-readiness', probe: 'storage', only: ['readyz'] },
  { name: 'informer-sync', probe: 'policy', only: ['readyz'] },
  hook('start-apiserver-admission-initializer', 'policy'),
  hook('generic-apiserver-start-informers', 'policy'),
  hook('priority-and-fairness-config-consumer', 'policy'),
  hook('priority-and-fairness-filter', 'alive'),
  hook('storage-object-count-tracker-hook', 'alive'),
  hook('start-apiextensions-informers', 'policy'),
  hook('start-apiextensions-controllers', 'policy'),
  hook('crd-informer-synced', 'policy'),
  hook('start-system-namespaces-controller', 'bootstrap'),
  hook('peer-endpoint-reconciler-controller', 'alive'),
  hook('start-cluster-authentication-info-controller', 'bootstrap'),
  hook('start-kube-apiserver-identity-lease-controller', 'alive'),
  hook('start-kube-apiserver-identity-lease-garbage-collector', 'alive'),
  hook('storage-readiness', 'storage'),
  hook('start-legacy-token-tracking-controller', 'bootstrap'),
  hook('start-service-ip-repair-controllers', 'storage'),
  hook('rbac/bootstrap-roles', 'bootstrap'),
  hook('scheduling/bootstrap-system-priority-classes', 'bootstrap'),
  hook('priority-and-fairness-config-producer', 'bootstrap'),
  hook('bootstrap-controller', 'bootstrap'),
  hook('start-kubernetes-service-cidr-controller', 'bootstrap'),
  hook('start-kube-aggregator-informers', 'policy'),
  hook('apiservice-status-local-available-controller', 'policy'),
  hook('apiservice-status-remote-available-controller', 'policy'),
  hook('apiservice-registration-controller', 'policy'),
  hook('apiservice-discovery-controller', 'policy'),
  hook('kube-apiserver-autoregistration', 'policy'),
  { name: 'autoregister-completion', probe: 'policy' },
  hook('apiservice-openapi-controller', 'alive'),
  hook('apiservice-openapiv3-controller', 'alive'),
  { name: 'shutdown', probe: 'alive', only: ['readyz'] },
];

export const healthEndpoints: readonly HealthEndpoint[] = ['healthz', 'livez', 'readyz'];

/** The checks of an endpoint. */
export const checksOf = (endpoint: HealthEndpoint): readonly Check[] =>
  checks.filter(({ only }) => only === undefined || only.includes(endpoint));

/** The outcome of checks by name: undefined is well, else why not. */
export type Outcomes = ReadonlyMap<string, string | undefined>;

/** Runs the probes that checks need, each once and all at the same time. Never throws. */
export async function runChecks(wanted: readonly Check[], probes: HealthProbes): Promise<Outcomes> {
  const needed = [...new Set(wanted.map(({ probe }) => probe))];
  const reasons = new Map<Probe, string | undefined>();
  await Promise.all(
    needed.map(async (probe) => {
      try {
        if (probe !== 'alive') await probes[probe]();
        reasons.set(probe, undefined);
      } catch (error) {
        reasons.set(probe, error instanceof Error ? error.message : String(error));
      }
    }),
  );
  return new Map(wanted.map(({ name, probe }) => [name, reasons.get(probe)]));
}

const plain = { 'Content-Type': 'text/plain; charset=utf-8' };
const text = (body: string, status = 200) =>
  new Response(body, { status, headers: { ...plain, 'X-Content-Type-Options': 'nosniff' } });

/** The answer of a whole endpoint, with its `verbose` and `exclude` parameters. Reasons of failures are not shown. */
export async function answerHealth(
  endpoint: HealthEndpoint,
  query: URLSearchParams,
  probes: HealthProbes,
): Promise<Response> {
  const all = checksOf(endpoint);
  const excluded = new Set(query.getAll('exclude'));
  const outcomes = await runChecks(
    all.filter(({ name }) => !excluded.has(name)),
    probes,
  );
  const lines = all.map(({ name }) => {
    if (excluded.has(name)) return `[+]${name} excluded: ok\n`;
    return outcomes.get(name) === undefined ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`;
  });
  const known = new Set(all.map(({ name }) => name));
  const unknown = [...excluded].filter((name) => !known.has(name)).sort();
  if (unknown.length > 0) {
    const quoted = unknown.map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted}\n`);
  }
  const failed = [...outcomes.values()].some((reason) => reason !== undefined);
  if (failed) return text(`${lines.join('')}${endpoint} check failed\n`, 500);
  return text(query.has('verbose') ? `${lines.join('')}${endpoint} check passed\n` : 'ok');
}

/** The answer of one check, for example of `/livez/ping`. */
export async function answerCheck(check: Check, probes: HealthProbes): Promise<Response> {
  const reason = (await runChecks([check], probes)).get(check.name);
  return reason === undefined
    ? new Response('ok', { headers: plain })
    : text(`internal server error: ${reason}\n`, 500);
}

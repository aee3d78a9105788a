import type { JsonObject } from '../api/object.ts';
import type { AuditLevel } from '../audit/policy.ts';
import type { RequestInfo } from '../request/context.ts';
import { Histogram, renderFamilies, Series } from './prometheus.ts';
import { versionInfo } from './version.ts';
import { WebhookMetrics } from './webhook-metrics.ts';

/** What is known of a request once it is over. */
export interface RequestOutcome {
  info: RequestInfo;
  method: string;
  code: number;
  seconds: number;
  /** Bytes of the body of the answer, where known. */
  bytes?: number;
  /** `All` for a dry run. */
  dryRun?: string;
}

const requestLabels = ['component', 'dry_run', 'group', 'resource', 'scope', 'subresource', 'verb', 'version'];
const withoutDryRun = requestLabels.filter((label) => label !== 'dry_run');
const seconds = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const bytes = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

const verbs: Readonly<Record<string, string>> = {
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
};

/** Verb label: that of the API for resources, the method otherwise. */
const verbOf = (info: RequestInfo, method: string) =>
  info.isResourceRequest ? (verbs[info.verb] ?? info.verb.toUpperCase()) : method;

/** Scope label: one object, a namespace, the cluster, or none outside the API. */
function scopeOf(info: RequestInfo): string {
  if (!info.isResourceRequest) return '';
  if (info.name !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

/** Paths outside the API that have a series of their own; any other counts under the empty one. */
const measuredPaths = new Set([
  '/healthz',
  '/livez',
  '/readyz',
  '/metrics',
  '/openapi/v2',
  '/version',
  '/api',
  '/apis',
]);

function labelsOf(info: RequestInfo, method: string) {
  const { isResourceRequest: inApi } = info;
  return {
    component: inApi ? 'apiserver' : '',
    group: info.group,
    resource: info.resource,
    scope: scopeOf(info),
    subresource: inApi ? info.subresource : measuredPaths.has(info.path) ? info.path : '',
    verb: verbOf(info, method),
    version: info.version,
  };
}

const pick = (names: readonly string[], labels: Readonly<Record<string, string>>) =>
  names.map((name) => labels[name] ?? '');

/**
 * The metrics of one isolate, under upstream's names and labels. Stages report what they do; `/metrics` renders it.
 */
export class Metrics {
  readonly #startedAt: Date;
  readonly #requests = new Series(
    'counter',
    'apiserver_request_total',
    'Requests answered, by what they asked for and the status code.',
    ['code', ...requestLabels],
  );
  readonly #durations = new Histogram(
    'apiserver_request_duration_seconds',
    'Time from receipt of a request to its answer.',
    requestLabels,
    seconds,
  );
  readonly #sizes = new Histogram('apiserver_response_sizes', 'Sizes of answers in bytes.', withoutDryRun, bytes);
  readonly #longRunning = new Series(
    'gauge',
    'apiserver_longrunning_requests',
    'Requests open now that last, such as watches.',
    withoutDryRun,
  );
  readonly #inFlight = new Series(
    'gauge',
    'apiserver_current_inflight_requests',
    'Requests being answered now, those that last not counted.',
    ['request_kind'],
  );
  readonly #watchEvents = new Series('counter', 'apiserver_watch_events_total', 'Events sent to watchers.', [
    'group',
    'resource',
    'version',
  ]);
  readonly #users = new Series('counter', 'authenticated_user_requests', 'Requests by who sent them.', ['username']);
  readonly #attempts = new Series('counter', 'authentication_attempts', 'Attempts to authenticate, by result.', [
    'result',
  ]);
  readonly #auditErrors = new Series('counter', 'apiserver_audit_error_total', 'Audit events lost.', ['plugin']);
  readonly #auditLevels = new Series(
    'counter',
    'apiserver_audit_level_total',
    'Requests by the level that the audit policy gives them.',
    ['level'],
  );
  readonly #audit = new Series('counter', 'apiserver_audit_event_total', 'Audit events handed to the backend.', []);
  readonly #dispatched = new Series(
    'counter',
    'apiserver_flowcontrol_dispatched_requests_total',
    'Requests that priority and fairness let through.',
    ['flow_schema', 'priority_level'],
  );

  /** Calls of admission webhooks. */
  readonly webhooks = new WebhookMetrics();

  constructor(startedAt: Date) {
    this.#startedAt = startedAt;
    this.#inFlight.set(['mutating'], 0);
    this.#inFlight.set(['readOnly'], 0);
  }

  /** When this isolate began to serve. */
  get startedAt(): Date {
    return this.#startedAt;
  }

  /** Counts a finished request. Requests that last are observed when they end. */
  observe({ info, method, code, seconds: duration, bytes: size, dryRun = '' }: RequestOutcome): void {
    const labels = { ...labelsOf(info, method), dry_run: dryRun };
    const values = pick(requestLabels, labels);
    this.#requests.add([String(code), ...values]);
    if (labels.verb !== 'WATCH') this.#durations.observe(values, duration);
    if (size !== undefined && labels.verb !== 'WATCH') this.#sizes.observe(pick(withoutDryRun, labels), size);
  }

  /** Counts a request among those that last, such as a watch, until the function that is returned is called. */
  longRunning(info: RequestInfo, method: string): () => void {
    const values = pick(withoutDryRun, labelsOf(info, method));
    this.#longRunning.add(values);
    let open = true;
    return () => {
      if (open) this.#longRunning.add(values, -1);
      open = false;
    };
  }

  /** Counts a request among those in flight until the function that is returned is called. */
  inFlight(mutating: boolean): () => void {
    const values = [mutating ? 'mutating' : 'readOnly'];
    this.#inFlight.add(values);
    return () => this.#inFlight.add(values, -1);
  }

  watchEvents(group: string, version: string, resource: string, count: number): void {
    this.#watchEvents.add([group, resource, version], count);
  }

  /** Counts who a request came from; undefined: credentials that were refused. */
  authenticated(username: string | undefined): void {
    this.#attempts.add([username === undefined ? 'failure' : 'success']);
    if (username !== undefined) this.#users.add([username]);
  }

  auditEvents(count: number): void {
    this.#audit.add([], count);
  }

  auditLevel(level: AuditLevel): void {
    this.#auditLevels.add([level]);
  }

  /** Audit events that did not get to a backend: `plugin` is its name, or `buffered` where too many waited for it. */
  auditErrors(plugin: string, count: number): void {
    this.#auditErrors.add([plugin], count);
  }

  dispatched(flowSchema: string, priorityLevel: string): void {
    this.#dispatched.add([flowSchema, priorityLevel]);
  }

  /** Everything as text. `objectCounts`: stored objects by `resource.group`. */
  render(objectCounts: ReadonlyMap<string, number>): string {
    return renderFamilies([
      ...this.webhooks.families(),
      this.#auditErrors,
      this.#auditLevels,
      this.#audit,
      this.#inFlight,
      this.#dispatched,
      this.#longRunning,
      this.#durations,
      this.#requests,
      this.#sizes,
      storedObjects(objectCounts),
      this.#watchEvents,
      this.#users,
      this.#attempts,
      buildInfo(),
      memory(),
      startTime(this.#startedAt),
    ]);
  }
}

function storedObjects(counts: ReadonlyMap<string, number>): Series {
  const series = new Series('gauge', 'apiserver_storage_objects', 'Stored objects by resource.', ['resource']);
  for (const [resource, count] of counts) series.set([resource], count);
  return series;
}

const buildLabels: readonly [label: string, field: string][] = [
  ['build_date', 'buildDate'],
  ['compiler', 'compiler'],
  ['git_commit', 'gitCommit'],
  ['git_tree_state', 'gitTreeState'],
  ['git_version', 'gitVersion'],
  ['go_version', 'goVersion'],
  ['major', 'major'],
  ['minor', 'minor'],
  ['platform', 'platform'],
];

function buildInfo(): Series {
  const series = new Series(
    'gauge',
    'kubernetes_build_info',
    'Always 1; the labels say what was built.',
    buildLabels.map(([label]) => label),
  );
  const info: JsonObject = versionInfo;
  series.set(
    buildLabels.map(([, field]) => String(info[field])),
    1,
  );
  return series;
}

/** Resident memory, where the runtime tells it. */
function memory(): Series {
  const series = new Series('gauge', 'process_resident_memory_bytes', 'Resident memory in bytes.', []);
  const { process } = globalThis as { process?: { memoryUsage?: () => { rss?: number } } };
  const resident = process?.memoryUsage?.().rss;
  if (resident) series.set([], resident);
  return series;
}

function startTime(startedAt: Date): Series {
  const series = new Series('gauge', 'process_start_time_seconds', 'When serving began, in seconds since 1970.', []);
  series.set([], startedAt.getTime() / 1000);
  return series;
}

/** `/metrics/slis`: the outcome of each health check. */
export function renderHealth(outcomes: ReadonlyMap<string, ReadonlyMap<string, string | undefined>>): string {
  const state = new Series('gauge', 'kubernetes_healthcheck', 'Whether a health check passes.', ['name', 'type']);
  for (const [type, checks] of outcomes) {
    for (const [name, reason] of checks) state.set([name, type], reason === undefined ? 1 : 0);
  }
  return renderFamilies([state]);
}

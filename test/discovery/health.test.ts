import { describe, expect, it } from 'vitest';
import { Metrics } from '../../src/discovery/metrics.ts';
import { Histogram, renderFamilies, Series } from '../../src/discovery/prometheus.ts';
import type { RequestInfo } from '../../src/request/context.ts';
import { ask, deps, now } from './support.ts';

const text = async (path: string, from = deps()) => (await ask(path, {}, from))?.text();
const broken = deps({
  health: {
    storage: async () => {
      throw new Error('no quorum');
    },
    bootstrap: async () => {},
    policy: async () => {},
  },
});

describe('health', () => {
  it('is ok', async () => {
    const answer = (await ask('/livez'))!;
    expect(await answer.text()).toBe('ok');
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('tells of each check when asked', async () => {
    const lines = (await text('/readyz?verbose'))!.split('\n');
    expect(lines).toContain('[+]ping ok');
    expect(lines).toContain('[+]informer-sync ok');
    expect(lines.at(-2)).toBe('readyz check passed');
    expect((await text('/livez?verbose'))!.split('\n')).not.toContain('[+]informer-sync ok');
  });

  it('has an address for each check', async () => {
    expect(await text('/healthz/etcd')).toBe('ok');
    expect(await text('/readyz/shutdown')).toBe('ok');
    expect(await text('/livez/poststarthook/rbac/bootstrap-roles')).toBe('ok');
    expect(await ask('/livez/shutdown')).toBeUndefined();
    expect(await ask('/livez/ping/')).toBeUndefined();
    expect(await ask('/livez/')).toBeUndefined();
  });

  it('leaves out what is excluded', async () => {
    expect(await text('/livez?verbose&exclude=etcd')).toContain('[+]etcd excluded: ok\n');
    expect(await text('/readyz?verbose&exclude=nope')).toContain(
      'warn: some health checks cannot be excluded: no matches for "nope"\n',
    );
    expect(await text('/readyz?exclude=nope')).toBe('ok');
  });

  it('fails with the names, and with the reason only where one check is asked for', async () => {
    const answer = (await ask('/healthz', {}, broken))!;
    expect(answer.status).toBe(500);
    const body = await answer.text();
    expect(body).toContain('[-]etcd failed: reason withheld\n');
    expect(body).toContain('[+]ping ok\n');
    expect(body.endsWith('healthz check failed\n')).toBe(true);
    expect(await text('/healthz/etcd', broken)).toBe('internal server error: no quorum\n');
    const excluding =
      'exclude=etcd&exclude=poststarthook/storage-readiness&exclude=poststarthook/start-service-ip-repair-controllers';
    expect(await text(`/livez?${excluding}`, broken)).toBe('ok');
  });
});

const info = (more: Partial<RequestInfo> = {}): RequestInfo => ({
  isResourceRequest: true,
  path: '/api/v1/namespaces/default',
  verb: 'get',
  apiPrefix: 'api',
  group: '',
  version: 'v1',
  namespace: '',
  resource: 'namespaces',
  subresource: '',
  name: 'default',
  parts: [],
  ...more,
});

describe('metrics', () => {
  it('count requests under the labels that dashboards use', async () => {
    const metrics = new Metrics(now);
    metrics.observe({ info: info(), method: 'GET', code: 200, seconds: 0.03, bytes: 500 });
    metrics.observe({ info: info(), method: 'GET', code: 200, seconds: 0.01, bytes: 5000 });
    const body = (await text('/metrics', deps({ metrics, objectCounts: async () => new Map([['pods', 7]]) })))!;
    const labels =
      'component="apiserver",dry_run="",group="",resource="namespaces",scope="resource",subresource="",verb="GET",version="v1"';
    expect(body).toContain(`\napiserver_request_total{code="200",${labels}} 2\n`);
    expect(body).toContain(`\napiserver_request_duration_seconds_bucket{${labels},le="0.025"} 1\n`);
    expect(body).toContain(`\napiserver_request_duration_seconds_bucket{${labels},le="+Inf"} 2\n`);
    expect(body).toContain(`\napiserver_request_duration_seconds_sum{${labels}} 0.04\n`);
    expect(body).toContain('\napiserver_storage_objects{resource="pods"} 7\n');
    expect(body).toContain(`\nprocess_start_time_seconds ${now.getTime() / 1000}\n`);
    expect(body).toMatch(/^kubernetes_build_info\{build_date="[^"]+".* 1$/m);
  });

  it('follow what lasts, and give up each just once', async () => {
    const metrics = new Metrics(now);
    const watch = info({ verb: 'watch', resource: 'configmaps', namespace: 'a', name: '' });
    const line = async () =>
      /^apiserver_longrunning_requests\{.*resource="configmaps",scope="namespace".*verb="WATCH".*\} (\d+)$/m.exec(
        (await text('/metrics', deps({ metrics })))!,
      )?.[1];
    const ends = [1, 2, 3].map(() => metrics.longRunning(watch, 'GET'));
    expect(await line()).toBe('3');
    ends[0]!();
    ends[0]!();
    expect(await line()).toBe('2');
    for (const end of ends) end();
    expect(await line()).toBe('0');
  });

  it('name the outcome of each health check', async () => {
    const body = (await text('/metrics/slis', broken))!;
    expect(body).toContain('\nkubernetes_healthcheck{name="ping",type="readyz"} 1\n');
    expect(body).toContain('\nkubernetes_healthcheck{name="etcd",type="livez"} 0\n');
  });

  it('escape label values', () => {
    const series = new Series('counter', 'a', 'b', ['c']);
    series.add(['x"\\\ny']);
    expect(renderFamilies([series])).toBe('# HELP a b\n# TYPE a counter\na{c="x\\"\\\\\\ny"} 1\n');
  });

  it('count observations at a bound into its bucket', () => {
    const histogram = new Histogram('h', 'help', [], [1, 2]);
    for (const value of [1, 1.5, 3]) histogram.observe([], value);
    expect(renderFamilies([histogram])).toBe(
      '# HELP h help\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="2"} 2\nh_bucket{le="+Inf"} 3\nh_sum 5.5\nh_count 3\n',
    );
  });
});

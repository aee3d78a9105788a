import { describe, expect, it } from 'vitest';
import { testApp } from '../support/app.ts';

type Call = Awaited<ReturnType<typeof testApp>>['call'];
const merge = { 'content-type': 'application/merge-patch+json' };
const NS = '/api/v1/namespaces/default';

async function quota(call: Call, name: string, hard: Record<string, string>, spec: object = {}) {
  const zero = Object.fromEntries(Object.keys(hard).map((key) => [key, '0']));
  const made = await call('POST', `${NS}/resourcequotas`, { metadata: { name }, spec: { hard, ...spec } });
  expect(made.status).toBe(201);
  const path = `${NS}/resourcequotas/${name}/status`;
  expect((await call('PATCH', path, { status: { hard, used: zero } }, merge)).status).toBe(200);
}

async function used(call: Call, name: string): Promise<Record<string, string>> {
  return (await call('GET', `${NS}/resourcequotas/${name}`)).body.status.used;
}

const configMap = (name: string) => ({ metadata: { name } });
const createMany = (call: Call, count: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => call('POST', `${NS}/configmaps`, configMap(`c-${i}`))));
const statuses = (answers: { status: number }[]) => ({
  created: answers.filter(({ status }) => status === 201).length,
  refused: answers.filter(({ status }) => status === 403).length,
});

const pod = (name: string, spec: object = {}, cpu = '100m') => ({
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'a:1', resources: { requests: { cpu } } }], ...spec },
});

async function withAccount(): Promise<Call> {
  const { call } = await testApp();
  await call('POST', `${NS}/serviceaccounts`, { metadata: { name: 'default' } });
  return call;
}

describe('the race for the last units of a quota', () => {
  it('100 creates at once at a quota of 10 leave exactly 10', async () => {
    const { call } = await testApp();
    await quota(call, 'q', { 'count/configmaps': '10' });
    expect(statuses(await createMany(call, 100))).toEqual({ created: 10, refused: 90 });
    expect((await call('GET', `${NS}/configmaps`)).body.items).toHaveLength(10);
    expect(await used(call, 'q')).toEqual({ 'count/configmaps': '10' });
  });

  it('two quotas that count the same are charged alike, and the narrower one decides', async () => {
    const { call } = await testApp();
    await quota(call, 'wide', { 'count/configmaps': '50' });
    await quota(call, 'narrow', { configmaps: '10' });
    expect(statuses(await createMany(call, 100))).toEqual({ created: 10, refused: 90 });
    expect([await used(call, 'wide'), await used(call, 'narrow')]).toEqual([
      { 'count/configmaps': '10' },
      { configmaps: '10' },
    ]);
  });

  it('a create that is refused for another reason is charged nothing', async () => {
    const { call } = await testApp();
    await quota(call, 'q', { 'count/configmaps': '10' });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call('POST', `${NS}/configmaps`, configMap('a'))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    expect(await used(call, 'q')).toEqual({ 'count/configmaps': '1' });
  });
});

describe('what is in force', () => {
  it('is what the status says, not the spec', async () => {
    const { call } = await testApp();
    await call('POST', `${NS}/resourcequotas`, {
      metadata: { name: 'q' },
      spec: { hard: { 'count/configmaps': '0' } },
    });
    expect((await call('POST', `${NS}/configmaps`, configMap('a'))).status).toBe(201);
  });

  it('ends with the quota', async () => {
    const { call } = await testApp();
    await quota(call, 'q', { 'count/configmaps': '0' });
    expect((await call('POST', `${NS}/configmaps`, configMap('a'))).status).toBe(403);
    await call('DELETE', `${NS}/resourcequotas/q`);
    expect((await call('POST', `${NS}/configmaps`, configMap('a'))).status).toBe(201);
  });

  it('counts nothing for a dry run, and refuses it all the same', async () => {
    const { call } = await testApp();
    await quota(call, 'q', { 'count/configmaps': '1' });
    expect((await call('POST', `${NS}/configmaps?dryRun=All`, configMap('a'))).status).toBe(201);
    expect(await used(call, 'q')).toEqual({ 'count/configmaps': '0' });
    await call('POST', `${NS}/configmaps`, configMap('a'));
    expect((await call('POST', `${NS}/configmaps?dryRun=All`, configMap('b'))).status).toBe(403);
  });

  it('charges the difference for an update', async () => {
    const { call } = await testApp();
    await quota(call, 'q', { 'services.nodeports': '2', services: '5' });
    const service = { metadata: { name: 's' }, spec: { ports: [{ port: 1, name: 'a' }] } };
    await call('POST', `${NS}/services`, service);
    const change = (type: string, count: number) => {
      const ports = Array.from({ length: count }, (_, i) => ({ port: i + 1, name: `p${i}` }));
      return call('PATCH', `${NS}/services/s`, { spec: { type, ports } }, merge);
    };
    expect((await change('NodePort', 2)).status).toBe(200);
    expect(await used(call, 'q')).toEqual({ 'services.nodeports': '2', services: '1' });
    expect((await change('NodePort', 3)).body.message).toContain(
      'exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2',
    );
    expect((await change('NodePort', 1)).status).toBe(200);
    expect(await used(call, 'q')).toEqual({ 'services.nodeports': '2', services: '1' });
  });
});

describe('what counts', () => {
  it('pods by what they ask for, by scope', async () => {
    const call = await withAccount();
    await quota(call, 'low', { pods: '5', 'requests.cpu': '1' }, { scopes: ['NotTerminating'] });
    await quota(call, 'short', { pods: '5' }, { scopes: ['Terminating'] });
    expect((await call('POST', `${NS}/pods`, pod('a', {}, '600m'))).status).toBe(201);
    expect((await call('POST', `${NS}/pods`, pod('b', {}, '600m'))).status).toBe(403);
    expect((await call('POST', `${NS}/pods`, pod('c', { activeDeadlineSeconds: 9 }, '600m'))).status).toBe(201);
    expect([await used(call, 'low'), await used(call, 'short')]).toEqual([
      { pods: '1', 'requests.cpu': '600m' },
      { pods: '1' },
    ]);
    const ended = await call('PATCH', `${NS}/pods/a`, { spec: { activeDeadlineSeconds: 5 } }, merge);
    expect(ended.status).toBe(200);
    expect(await used(call, 'short')).toEqual({ pods: '2' });
  });

  it('pods of a priority class', async () => {
    const call = await withAccount();
    await call('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'high' }, value: 5 });
    const matchExpressions = [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }];
    await quota(call, 'q', { pods: '1' }, { scopeSelector: { matchExpressions } });
    const make = (name: string, priorityClassName?: string) =>
      call('POST', `${NS}/pods`, pod(name, priorityClassName === undefined ? {} : { priorityClassName }));
    expect([(await make('a', 'high')).status, (await make('b', 'high')).status, (await make('c')).status]).toEqual([
      201, 403, 201,
    ]);
  });

  it('claims by storage class, objects of groups, extended resources and init containers', async () => {
    const call = await withAccount();
    await quota(call, 'q', {
      'requests.storage': '10Gi',
      'gold.storageclass.storage.k8s.io/requests.storage': '3Gi',
      'count/deployments.apps': '1',
      'requests.example.com/gpu': '3',
    });
    const claim = (name: string, storage: string, storageClassName: string) =>
      call('POST', `${NS}/persistentvolumeclaims`, {
        metadata: { name },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } } },
      });
    expect((await claim('a', '2Gi', 'gold')).status).toBe(201);
    expect((await claim('b', '2Gi', 'gold')).status).toBe(403);
    expect((await claim('c', '2Gi', 'silver')).status).toBe(201);
    const gpus = (name: string, own: string, before: string) => {
      const c = (n: string, count: string) => ({
        name: n,
        image: 'a',
        resources: { limits: { 'example.com/gpu': count }, requests: { 'example.com/gpu': count } },
      });
      return call('POST', `${NS}/pods`, {
        metadata: { name },
        spec: { containers: [c('c', own)], initContainers: [c('i', before)] },
      });
    };
    expect((await gpus('a', '1', '2')).status).toBe(201);
    expect((await gpus('b', '2', '1')).status).toBe(403);
    expect(await used(call, 'q')).toEqual({
      'requests.storage': '4Gi',
      'gold.storageclass.storage.k8s.io/requests.storage': '2Gi',
      'count/deployments.apps': '0',
      'requests.example.com/gpu': '2',
    });
  });
});

import { describe, expect, it } from 'vitest';
import { testApp } from '../support/app.ts';

const path = '/api/v1/namespaces/default/configmaps';
const cm = (name: string, data = {}, meta = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...meta },
  data,
});
const merge = { 'content-type': 'application/merge-patch+json' };

it('concurrent patches without a version all land', async () => {
  const { call } = await testApp();
  await call('POST', path, cm('a'));
  const patches = Array.from({ length: 20 }, (_, i) => call('PATCH', `${path}/a`, { data: { [`k${i}`]: 'v' } }, merge));
  expect((await Promise.all(patches)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(Object.keys((await call('GET', `${path}/a`)).body.data)).toHaveLength(20);
});

it('of concurrent updates with one version one wins', async () => {
  const { call } = await testApp();
  const { resourceVersion } = (await call('POST', path, cm('a'))).body.metadata;
  const puts = ['x', 'y', 'z'].map((k) => call('PUT', `${path}/a`, cm('a', { k }, { resourceVersion })));
  expect((await Promise.all(puts)).map(({ status }) => status).sort()).toEqual([200, 409, 409]);
});

it('decides anew when the record that it read was not the newest', async () => {
  const { call, keyspace } = await testApp();
  await call('POST', path, cm('a', { k: 'old' }));
  const get = keyspace.get.bind(keyspace);
  const stale = await get(['/registry/configmaps/default/a'], { type: 'linearizable' });
  await call('PATCH', `${path}/a`, { data: { other: 'kept' } }, merge);
  keyspace.get = async (keys, consistency) =>
    consistency.type === 'leader' && keys[0] === '/registry/configmaps/default/a' ? stale : get(keys, consistency);
  expect((await call('PATCH', `${path}/a`, { data: { k: 'new' } }, merge)).body.data).toEqual({
    k: 'new',
    other: 'kept',
  });
  const noop = await call('PATCH', `${path}/a`, { data: { k: 'new' } }, merge);
  expect(noop.body.data).toEqual({ k: 'new', other: 'kept' });
});

it('PUT creates what may be created so', async () => {
  const { call } = await testApp();
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec: {} };
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases/l';
  const created = await call('PUT', leases, lease);
  expect(created.status).toBe(201);
  expect((await call('PUT', leases, lease)).body.details.causes[0].field).toBe('metadata.resourceVersion');
  expect((await call('PUT', leases, created.body)).status).toBe(200);
  expect((await call('PUT', `${path}/none`, cm('none'))).status).toBe(404);
});

it('generated names end in five characters and differ', async () => {
  const { call } = await testApp();
  const make = () => call('POST', path, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'g-' } });
  const names = (await Promise.all(Array.from({ length: 50 }, make))).map(({ body }) => body.metadata.name);
  expect(names.every((name) => /^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/.test(name))).toBe(true);
  expect(new Set(names).size).toBe(50);
});

describe('deployments', () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', generation: 42 },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    },
    status: { replicas: 4 },
  };

  it('count their generations by the spec alone', async () => {
    const { call } = await testApp();
    const created = await call('POST', deployments, deployment);
    expect([created.body.metadata.generation, created.body.status]).toEqual([1, {}]);
    const generation = async (body: object, sub = '') =>
      (await call('PATCH', `${deployments}/d${sub}`, body, merge)).body.metadata.generation;
    expect(await generation({ metadata: { labels: { x: 'y' } } })).toBe(1);
    expect(await generation({ spec: { paused: true } })).toBe(2);
    expect(await generation({ spec: { revisionHistoryLimit: 10 } })).toBe(2);
    expect(await generation({ status: { replicas: 3 } }, '/status')).toBe(2);
    expect(await generation({ metadata: { generation: 100 } })).toBe(2);
  });

  it('are scaled by their scale', async () => {
    const { call } = await testApp();
    await call('POST', deployments, deployment);
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec: { replicas: 3 } };
    const scaled = await call('PUT', `${deployments}/d/scale`, scale);
    expect(scaled.body).toMatchObject({
      kind: 'Scale',
      spec: { replicas: 3 },
      status: { replicas: 0, selector: 'a=b' },
    });
    expect((await call('GET', `${deployments}/d`)).body).toMatchObject({
      metadata: { generation: 2 },
      spec: { replicas: 3 },
    });
    const negative = await call('PATCH', `${deployments}/d/scale`, { spec: { replicas: -1 } }, merge);
    expect([negative.status, negative.body.details.causes[0].field]).toEqual([422, 'spec.replicas']);
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';
import { Api, type Tree, until } from './api.ts';

// Events and leases in a shard of their own: what crosses shards behaves as in one.
const FLAGS = ['--event-ttl', '6s', '--etcd-compaction-interval', '2s'];
const LEASES = '/apis/coordination.k8s.io/v1/namespaces';
let cluster: StartedCluster;
let api: Api;

beforeAll(async () => {
  cluster = await startLocalCluster(['--shards', '2', ...FLAGS]);
  api = new Api(cluster.run().kubeconfig);
});

afterAll(async () => {
  await cluster.stop();
  cluster.remove();
});

const event = (namespace: string, name: string, metadata: Tree = {}) => ({
  metadata: { name, ...metadata },
  involvedObject: { kind: 'Pod', namespace, name: 'p' },
});
const lease = (name: string, metadata: Tree = {}) => ({
  metadata: { name, ...metadata },
  spec: { holderIdentity: 'a' },
});
const recordFile = () => join(cluster.folder, 'data/cluster.json');

test('a revoked binding has no effect from the next request on, in either shard, for reads and writes', async () => {
  const namespace = await api.namespace('revoked');
  const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/revoked';
  const rules = [{ apiGroups: ['', 'coordination.k8s.io'], resources: ['*'], verbs: ['*'] }];
  expect((await api.post(`${roles}/roles`, { metadata: { name: 'all' }, rules })).code).toBe(201);
  const headers = { 'Impersonate-User': 'ann' };
  const binding = {
    metadata: { name: 'ann' },
    subjects: [{ kind: 'User', name: 'ann', apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { kind: 'Role', name: 'all', apiGroup: 'rbac.authorization.k8s.io' },
  };
  for (let i = 0; i < 3; i++) {
    expect((await api.post(`${roles}/rolebindings`, binding)).code).toBe(201);
    const codes = async () => [
      (await api.get(`${namespace}/configmaps`, { headers })).code,
      (await api.post(`${namespace}/events`, event('revoked', `e${i}`), { headers })).code,
      (await api.post(`${LEASES}/revoked/leases`, lease(`l${i}`), { headers })).code,
      (await api.get(`${LEASES}/revoked/leases/l${i}`, { headers })).code,
      (
        await api.watch(`${namespace}/events`, headers).then((watch) => {
          watch.cut();
          return watch;
        })
      ).code,
    ];
    expect(await codes()).toEqual([200, 201, 201, 200, 200]);
    expect((await api.delete(`${roles}/rolebindings/ann`)).code).toBe(200);
    expect(await codes()).toEqual([403, 403, 403, 403, 403]);
  }
});

test('a namespace takes its events and leases along, and one of its name begins empty', async () => {
  for (let i = 0; i < 2; i++) {
    const namespace = await api.namespace('gone');
    const watch = await api.watch(`${LEASES}/gone/leases`);
    expect((await api.post(`${LEASES}/gone/leases`, lease('l'))).code).toBe(201);
    expect((await api.post(`${namespace}/events`, event('gone', 'e'))).code).toBe(201);
    const [added] = await watch.count(1);
    await api.delete(namespace);
    await until(async () => (await api.get(namespace)).code === 404, 'the namespace to go');
    const [, deleted] = await watch.count(2);
    watch.cut();
    expect([added!.type, deleted!.type]).toEqual(['ADDED', 'DELETED']);
    expect((await api.get('/api/v1/events?fieldSelector=metadata.namespace=gone')).json.items).toEqual([]);
    expect((await api.get(`${LEASES}/gone/leases`)).json.items).toEqual([]);
    expect((await api.post(`${LEASES}/gone/leases`, lease('late'))).code).toBe(404);
  }
});

test('dependents in another shard are collected with their owner, whichever shard that is in', async () => {
  const namespace = await api.namespace('owned');
  const node = (await api.post('/api/v1/nodes', { metadata: { name: 'n' } })).json;
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: node.metadata.uid };
  expect((await api.post(`${LEASES}/owned/leases`, lease('l', { ownerReferences: [owner] }))).code).toBe(201);
  await api.delete('/api/v1/nodes/n');
  await until(async () => (await api.get(`${LEASES}/owned/leases/l`)).code === 404, 'the lease to be collected');
  const held = (await api.post(`${LEASES}/owned/leases`, lease('m'))).json;
  const references = [{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: 'm', uid: held.metadata.uid }];
  const map = { metadata: { name: 'c', ownerReferences: references } };
  expect((await api.post(`${namespace}/configmaps`, map)).code).toBe(201);
  await api.delete(`${LEASES}/owned/leases/m`);
  await until(async () => (await api.get(`${namespace}/configmaps/c`)).code === 404, 'the config map to be collected');
  const missing = lease('orphan', { ownerReferences: [owner] });
  expect((await api.post(`${LEASES}/owned/leases`, missing)).code).toBe(201);
  await until(async () => (await api.get(`${LEASES}/owned/leases/orphan`)).code === 404, 'the orphan to be collected');
});

test('quota counts leases', async () => {
  const namespace = await api.namespace('counted');
  const hard = { 'count/leases.coordination.k8s.io': '2' };
  const quota = `${namespace}/resourcequotas/q`;
  await api.post(`${namespace}/resourcequotas`, { metadata: { name: 'q' }, spec: { hard } });
  await until(async () => (await api.get(quota)).json.status?.hard !== undefined, 'the quota to be in force');
  const create = async (name: string) => (await api.post(`${LEASES}/counted/leases`, lease(name))).code;
  expect([await create('a'), await create('a'), await create('b'), await create('c')]).toEqual([201, 409, 201, 403]);
  expect((await api.get(quota)).json.status.used).toEqual({ 'count/leases.coordination.k8s.io': '2' });
  await api.delete(`${LEASES}/counted/leases/a`);
  await until(async () => (await create('c')) === 201, 'the quota to be counted again');
});

test('events expire, leases stay, and history of both shards is compacted', async () => {
  const namespace = await api.namespace('passing');
  await api.post(`${LEASES}/passing/leases`, lease('l'));
  const { json } = await api.post(`${namespace}/events`, event('passing', 'e'));
  const watch = await api.watch(`${namespace}/events?resourceVersion=${json.metadata.resourceVersion}`);
  expect(await watch.count(1)).toMatchObject([{ type: 'DELETED', object: { metadata: { name: 'e' } } }]);
  watch.cut();
  expect((await api.get(`${LEASES}/passing/leases/l`)).code).toBe(200);
  await until(async () => {
    await api.merge(`${LEASES}/passing/leases/l`, { spec: { leaseTransitions: Date.now() % 1e6 } });
    const old = await api.watch(`${namespace}/events?resourceVersion=1`);
    await old.count(1).finally(() => old.cut());
    return old.events[0]!.object.code === 410;
  }, 'the history of the second shard to be compacted');
});

test('a data folder keeps its shards, and its replicas can be listed', async () => {
  const before = (await api.get(`${LEASES}/passing/leases/l`)).json;
  expect((await api.get('/gunwale/shards/volatile/replicas')).json.members.voters).toEqual([1, 2, 3]);
  expect((await api.get('/gunwale/shards/other/replicas')).code).toBe(404);
  await cluster.stop();
  const record = readFileSync(recordFile(), 'utf8');
  await expect(startLocalCluster(['--shards', '1'], cluster.folder)).rejects.toThrow('was made with --shards 2');
  cluster = await startLocalCluster(FLAGS, cluster.folder);
  expect(readFileSync(recordFile(), 'utf8')).toBe(record);
  api = new Api(cluster.run().kubeconfig);
  expect((await api.get(`${LEASES}/passing/leases/l`)).json).toEqual(before);
  await cluster.stop();
  writeFileSync(recordFile(), record.replace('"leases"', '"secrets"'));
  await expect(startLocalCluster([], cluster.folder)).rejects.toThrow('"secrets" cannot leave the shard main');
  writeFileSync(recordFile(), record);
  cluster = await startLocalCluster(FLAGS, cluster.folder);
});

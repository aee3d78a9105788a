import { beforeAll, describe, expect, test } from 'vitest';
import { pause, type Tree } from './api.ts';
import { bareCluster, causeFields, configMap, gizmo, gizmoDefinition, gizmosOf } from './user-reports.ts';

const bare = bareCluster();
const path = '/api/v1/namespaces/deletes/configmaps';
const gizmos = gizmosOf('deletes');
const held = { finalizers: ['bug.test/f'] };

beforeAll(async () => {
  await bare.api.namespace('deletes');
  await bare.api.define(gizmoDefinition);
});

describe('B20 finalizers', () => {
  test('hold a deleted object, unchanged by further deletes, until the last is gone', async () => {
    const { metadata } = (await bare.api.post(gizmos, gizmo('d', { size: 1 }, held))).json;
    expect(metadata.generation).toBe(1);
    const watch = await bare.api.watch(`${gizmos}?resourceVersion=${Number(metadata.resourceVersion) - 1}`);
    const one = await bare.api.delete(`${gizmos}/d`);
    expect(one.code).toBe(200);
    expect(one.json.metadata).toMatchObject({ deletionGracePeriodSeconds: 0, generation: 2 });
    expect(one.json.metadata.deletionTimestamp).toBeTruthy();
    await pause(1100);
    const two = await bare.api.delete(`${gizmos}/d`);
    expect([two.code, two.json.metadata]).toEqual([200, one.json.metadata]);

    const three = await bare.api.merge(`${gizmos}/d`, { metadata: { finalizers: ['bug.test/f', 'bug.test/g'] } });
    expect([three.code, causeFields(three.json)[0]]).toEqual([422, 'metadata.finalizers']);
    expect(three.json.details.causes[0].reason).toBe('FieldValueForbidden');
    const four = await bare.api.merge(`${gizmos}/d`, { metadata: { deletionTimestamp: null } });
    expect([four.code, four.json.metadata.deletionTimestamp]).toEqual([200, one.json.metadata.deletionTimestamp]);
    const five = await bare.api.merge(`${gizmos}/d`, { spec: { size: 8 } });
    expect([five.code, five.json.metadata.generation]).toEqual([200, 3]);
    expect((await bare.api.merge(`${gizmos}/d`, { metadata: { finalizers: [] } })).code).toBe(200);
    expect((await bare.api.get(`${gizmos}/d`)).code).toBe(404);
    const types = (await watch.count(4)).map(({ type }) => type);
    await pause(50);
    expect(types).toEqual(['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED']);
    expect(watch.events).toHaveLength(4);
    watch.cut();
  });

  test('two deletes are one event', async () => {
    const { metadata } = (await bare.api.post(gizmos, gizmo('twice', { size: 1 }, held))).json;
    const watch = await bare.api.watch(`${gizmos}?resourceVersion=${Number(metadata.resourceVersion) - 1}`);
    for (let i = 0; i < 2; i++) await bare.api.delete(`${gizmos}/twice`);
    await bare.api.merge(`${gizmos}/twice`, { metadata: { finalizers: null } });
    await watch.count(3);
    await pause(50);
    expect(watch.events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    watch.cut();
  });

  test('without a slash are refused for built-in types and warned of for custom ones', async () => {
    const metadata = { finalizers: ['noslash'] };
    expect((await bare.api.post(path, configMap('noslash', {}, metadata))).code).toBe(422);
    const { code, warnings } = await bare.api.post(`${gizmos}?dryRun=All`, gizmo('noslash', {}, metadata));
    expect([code, warnings.length]).toEqual([201, 1]);
  });
});

describe('B21 propagation and the end of a namespace', () => {
  test.each([
    ['Foreground', 'foregroundDeletion'],
    ['Orphan', 'orphan'],
  ])('%s leaves the object to the garbage collector', async (policy, finalizer) => {
    const one = `${path}/${finalizer.toLowerCase()}`;
    await bare.api.post(path, configMap(finalizer.toLowerCase()));
    const { code, json } = await bare.api.delete(`${one}?propagationPolicy=${policy}`);
    expect([code, json.kind, json.metadata.finalizers]).toEqual([200, 'ConfigMap', [finalizer]]);
    expect(json.metadata.deletionTimestamp).toBeTruthy();
    expect((await bare.api.get(one)).code).toBe(200);
  });

  test('Background deletes at once, and anything else is refused', async () => {
    await bare.api.post(path, configMap('background'));
    expect((await bare.api.delete(`${path}/background?propagationPolicy=Bogus`)).code).toBe(422);
    const both = { propagationPolicy: 'Background', orphanDependents: true };
    expect((await bare.api.delete(`${path}/background`, both)).code).toBe(422);
    const { code, json } = await bare.api.delete(`${path}/background?propagationPolicy=Background`);
    expect([code, json.kind, json.status]).toEqual([200, 'Status', 'Success']);
    expect((await bare.api.get(`${path}/background`)).code).toBe(404);
  });

  test('a namespace stays until it is finalized', async () => {
    const one = await bare.api.namespace('t');
    for (let i = 0; i < 2; i++) {
      const { code, json } = await bare.api.delete(one);
      expect([code, json.status.phase, json.spec.finalizers]).toEqual([200, 'Terminating', ['kubernetes']]);
    }
    const { json } = await bare.api.get(one);
    expect((await bare.api.put(`${one}/finalize`, { ...json, spec: { finalizers: [] } })).code).toBe(200);
    expect((await bare.api.get(one)).code).toBe(404);
    for (const name of ['default', 'kube-system'])
      expect((await bare.api.delete(`/api/v1/namespaces/${name}`)).code).toBe(403);
  });
});

describe('B22 preconditions of a delete', () => {
  const zero = '00000000-0000-0000-0000-000000000000';
  const when = (preconditions: Tree) => ({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions });

  test('guard the object', async () => {
    const { uid } = (await bare.api.post(path, configMap('guarded'))).json.metadata;
    const one = `${path}/guarded`;
    const refused = await bare.api.delete(one, when({ uid: zero }));
    expect([refused.code, refused.json.reason]).toEqual([409, 'Conflict']);
    expect((await bare.api.delete(one, when({ resourceVersion: '1' }))).code).toBe(409);
    expect((await bare.api.delete(one, when({ uid }))).code).toBe(200);
    expect((await bare.api.delete(one, when({ uid }))).code).toBe(404);
    const again = (await bare.api.post(path, configMap('guarded'))).json.metadata.uid;
    expect((await bare.api.delete(one, when({ uid }))).code).toBe(409);
    expect((await bare.api.get(one)).json.metadata.uid).toBe(again);
  });

  test('guard one with finalizers from being marked', async () => {
    await bare.api.post(gizmos, gizmo('guarded', {}, held));
    expect((await bare.api.delete(`${gizmos}/guarded`, when({ uid: zero }))).code).toBe(409);
    expect((await bare.api.get(`${gizmos}/guarded`)).json.metadata).not.toHaveProperty('deletionTimestamp');
  });
});

describe('B23 dry runs', () => {
  test('store nothing, whatever the way', async () => {
    const dry = gizmosOf('dry');
    await bare.api.namespace('dry');
    for (const [name, metadata] of [
      ['free', {}],
      ['held', held],
    ] as const)
      await bare.api.post(dry, gizmo(name, { size: 1 }, metadata));
    const before = (await bare.api.get(dry)).json;
    const watch = await bare.api.watch(`${dry}?resourceVersion=${before.metadata.resourceVersion}`);

    const made = await bare.api.post(`${dry}?dryRun=All`, gizmo('x', {}, { name: undefined, generateName: 'dr-' }));
    expect(made.code).toBe(201);
    expect(made.json.metadata.name).toMatch(/^dr-[a-z0-9]{5}$/);
    expect(Object.keys(made.json.metadata)).toEqual(expect.arrayContaining(['uid', 'creationTimestamp']));
    expect(made.json.metadata).not.toHaveProperty('resourceVersion');
    expect((await bare.api.post(`${dry}?dryRun=true`, gizmo('x'))).code).toBe(422);

    const free = await bare.api.delete(`${dry}/free?dryRun=All`);
    expect([free.code, free.json.status]).toEqual([200, 'Success']);
    const kept = await bare.api.delete(`${dry}/held?dryRun=All`);
    const { resourceVersion } = before.items[1].metadata;
    expect([kept.code, kept.json.metadata]).toMatchObject([200, { generation: 2, resourceVersion }]);
    expect(kept.json.metadata.deletionTimestamp).toBeTruthy();
    expect((await bare.api.delete(`${dry}/free`, { dryRun: ['All'] })).code).toBe(200);
    const all = await bare.api.delete(`${dry}?dryRun=All&fieldSelector=metadata.name=free`);
    expect([all.code, all.json.items.map(({ metadata }: Tree) => metadata.name)]).toEqual([200, ['free']]);
    const changed = { ...before.items[0], spec: { size: 7 } };
    const put = await bare.api.put(`${dry}/free?dryRun=All`, changed);
    expect([put.code, put.json.spec.size]).toEqual([200, 7]);
    expect((await bare.api.merge(`${dry}/free?dryRun=All`, { spec: { size: 8 } })).json.spec.size).toBe(8);
    expect((await bare.api.apply(`${dry}/new?dryRun=All`, 'm', gizmo('new'))).code).toBe(201);

    expect((await bare.api.get(dry)).json.items).toEqual(before.items);
    await pause(50);
    expect(watch.events).toEqual([]);
    watch.cut();
  });

  test('use up no address and no port', async () => {
    const services = '/api/v1/namespaces/deletes/services';
    const service = {
      metadata: { name: 's' },
      spec: { type: 'NodePort', clusterIP: '10.0.0.77', ports: [{ port: 80, nodePort: 30777 }] },
    };
    for (const query of ['?dryRun=All', '?dryRun=All', ''])
      expect((await bare.api.post(services + query, service)).code).toBe(201);
  });
});

describe('B26 namespaces that end or are not there', () => {
  test('refuse new objects with the cause, and let old ones change', async () => {
    const maps = `${await bare.api.namespace('hold')}/configmaps`;
    await bare.api.post(maps, configMap('x', {}, held));
    await bare.api.delete('/api/v1/namespaces/hold');
    const { code, json } = await bare.api.post(maps, configMap('y'));
    expect([code, json.reason]).toEqual([403, 'Forbidden']);
    expect(json.details.causes[0]).toMatchObject({ reason: 'NamespaceTerminating', field: 'metadata.namespace' });
    expect((await bare.api.merge(`${maps}/x`, { data: { a: 'b' } })).code).toBe(200);
  });

  test('a missing one is not found by writes, and empty to reads', async () => {
    const missing = '/api/v1/namespaces/missing/configmaps';
    for (const { code, json } of [
      await bare.api.post(missing, configMap('y')),
      await bare.api.apply(`${missing}/y?dryRun=All`, 'm', configMap('y')),
    ]) {
      expect([code, json.reason]).toEqual([404, 'NotFound']);
      expect(json.details).toMatchObject({ kind: 'namespaces', name: 'missing' });
    }
    const { code, json } = await bare.api.get(missing);
    expect([code, json.items]).toEqual([200, []]);
    expect((await bare.api.get(`${missing}/y`)).code).toBe(404);
  });
});

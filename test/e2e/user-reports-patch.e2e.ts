import { beforeAll, describe, expect, test } from 'vitest';
import { JSON_PATCH, MERGE, pause, STRATEGIC, type Tree } from './api.ts';
import { bareCluster, causeFields, configMap, gizmo, gizmoDefinition, gizmosOf } from './user-reports.ts';

const bare = bareCluster();
const path = '/api/v1/namespaces/patches/configmaps';
const gizmos = gizmosOf('patches');

beforeAll(async () => {
  await bare.api.namespace('patches');
  await bare.api.define(gizmoDefinition);
});

describe('B18 bad patches', () => {
  beforeAll(async () => {
    await bare.api.post(path, configMap('jp', { k: 'v' }, { annotations: { 'a/b': '1' } }));
    await bare.api.post(gizmos, gizmo('jp'));
  });

  const operation = (op: string, pointer: string, value?: unknown) => [{ op, path: pointer, value }];
  test.each<[string, unknown, number]>([
    ['a test that fails', operation('test', '/data/k', 'other'), 422],
    ['removing what is not there', operation('remove', '/data/none'), 422],
    ['a path without a slash', operation('add', 'invalid', 'x'), 422],
    ['an unknown operation', operation('bogus', '/data/k', 'x'), 422],
    ['an object', { op: 'add' }, 400],
    ['no JSON', 'not json', 400],
    ['a path whose parent is missing', operation('add', '/binaryData/k', 'eA=='), 422],
    ['another name', operation('replace', '/metadata/name', 'x'), 400],
    ['an old version', operation('replace', '/metadata/resourceVersion', '1'), 409],
  ])('JSON patch with %s', async (_, body, code) => {
    const answer = await bare.api.patch(`${path}/jp`, JSON_PATCH, body);
    expect([answer.code, answer.json.kind]).toEqual([code, 'Status']);
    if (code === 409) expect(answer.json.reason).toBe('Conflict');
  });

  test('JSON patches that look odd and are right', async () => {
    const unknown = operation('add', '/nope', 'x');
    const dropped = await bare.api.patch(`${path}/jp`, JSON_PATCH, unknown);
    expect(dropped.code).toBe(200);
    expect(dropped.json).not.toHaveProperty('nope');
    expect((await bare.api.patch(`${path}/jp?fieldValidation=Strict`, JSON_PATCH, unknown)).code).toBe(422);
    const escaped = operation('replace', '/metadata/annotations/a~1b', '2');
    expect((await bare.api.patch(`${path}/jp`, JSON_PATCH, escaped)).json.metadata.annotations).toEqual({ 'a/b': '2' });
    const dash = await bare.api.patch(`${path}/jp`, JSON_PATCH, operation('add', '/data/-', 'x'));
    expect(dash.json.data).toEqual({ k: 'v', '-': 'x' });
  });

  test('other kinds of patch', async () => {
    expect((await bare.api.patch(`${path}/jp`, MERGE, 'xx')).code).toBe(400);
    expect((await bare.api.patch(`${path}/jp`, STRATEGIC, '"str"')).code).toBe(400);
    const strategic = await bare.api.patch(`${gizmos}/jp`, STRATEGIC, { spec: { size: 2 } });
    expect([strategic.code, strategic.json.reason]).toEqual([415, 'UnsupportedMediaType']);
    for (const type of ['json-patch+json', 'merge-patch+json', 'apply-patch+yaml'])
      expect(strategic.json.message).toContain(`application/${type}`);
    expect(strategic.json.message).not.toContain('strategic');
    expect((await bare.api.patch(`${gizmos}/jp`, 'application/json', {})).code).toBe(415);
    expect((await bare.api.post(path, configMap('text'), { type: 'text/plain' })).code).toBe(415);
  });
});

describe('B19 writes', () => {
  test('that change nothing leave version, times and watches alone', { timeout: 20_000 }, async () => {
    const one = `${gizmos}/n`;
    const applied = gizmo('n', { size: 5 });
    await bare.api.apply(one, 'm', applied);
    await bare.api.merge(one, { spec: { plain: 'x' } });
    const before = (await bare.api.get(one)).json;
    const watch = await bare.api.watch(`${gizmos}?resourceVersion=${before.metadata.resourceVersion}`);
    await pause(1100);
    for (const answer of [
      await bare.api.put(one, before),
      await bare.api.merge(one, { spec: { size: 5 } }),
      await bare.api.merge(one, {}),
      await bare.api.apply(one, 'm', applied),
      await bare.api.apply(one, 'm', applied),
    ]) {
      expect([answer.code, answer.json]).toEqual([200, before]);
    }
    await pause(50);
    expect(watch.events).toEqual([]);
    watch.cut();
  });

  test('without a version are for the type to allow', async () => {
    await bare.api.post(gizmos, gizmo('versionless'));
    const custom = await bare.api.put(`${gizmos}/versionless`, gizmo('versionless', { size: 2 }));
    expect([custom.code, causeFields(custom.json)]).toEqual([422, ['metadata.resourceVersion']]);

    const { resourceVersion } = (await bare.api.post(path, configMap('put'))).json.metadata;
    const codes = [];
    for (const [value, metadata] of [
      ['1', {}],
      ['2', { resourceVersion: '0' }],
      ['3', { resourceVersion }],
      ['4', { uid: '5f5e4ef6-7b9a-4d52-a5a3-3f1f4b6a0c11' }],
    ] as [string, Tree][])
      codes.push((await bare.api.put(`${path}/put`, configMap('put', { value }, metadata))).code);
    expect(codes).toEqual([200, 200, 409, 409]);
  });

  test('to what is not there make it only where the type says so', async () => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/patches/leases';
    const lease = { metadata: { name: 'new' }, spec: { holderIdentity: 'me' } };
    expect((await bare.api.put(`${path}/new`, configMap('new'))).code).toBe(404);
    expect((await bare.api.put(`${gizmos}/new`, gizmo('new', {}, { resourceVersion: '5' }))).code).toBe(404);
    expect((await bare.api.put(`${leases}/new`, lease)).code).toBe(201);
  });
});

describe('B24 generated names', () => {
  const CREATES = 1_000;
  const PARALLEL = 10;

  test('are all different', async () => {
    const names = new Set<string>();
    const worker = async () => {
      for (let i = 0; i < CREATES / PARALLEL; i++) {
        const { code, json } = await bare.api.post(path, { metadata: { generateName: 'g-' } });
        expect(code).toBe(201);
        expect(json.metadata.name).toMatch(/^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
        names.add(json.metadata.name);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
    expect(names.size).toBe(CREATES);
  });

  test('are made from what fits', async () => {
    const create = (metadata: Tree) => bare.api.post(`${path}?dryRun=All`, { metadata });
    expect((await create({ generateName: 'x'.repeat(300) })).code).toBe(422);
    expect((await create({ generateName: 'x'.repeat(70) })).json.metadata.name).toMatch(/^x{58}[a-z0-9]{5}$/);
    expect((await create({ name: 'given', generateName: 'g-' })).json.metadata.name).toBe('given');
    const { code, json } = await create({});
    expect([code, causeFields(json)]).toEqual([422, ['metadata.name']]);
  });
});

describe('B25 generation and status', () => {
  test('each endpoint writes its part only', async () => {
    const one = `${gizmos}/gen`;
    const created = await bare.api.post(gizmos, { ...gizmo('gen', { size: 1 }), status: { ready: true } });
    expect(created.json).not.toHaveProperty('status');
    expect(created.json.metadata.generation).toBe(1);

    const { metadata, ...rest } = created.json;
    const main = { ...rest, metadata: { ...metadata, generation: 99, labels: { a: 'b' } }, status: { ready: true } };
    const put = await bare.api.put(one, main);
    expect(put.json.metadata).toMatchObject({ generation: 1, labels: { a: 'b' } });
    expect(put.json).not.toHaveProperty('status');

    const status = { ...put.json, spec: { size: 55 }, status: { ready: true } };
    const answered = await bare.api.put(`${one}/status`, {
      ...status,
      metadata: { ...status.metadata, labels: { q: 'z' } },
    });
    expect(answered.json).toMatchObject({ spec: { size: 1 }, status: { ready: true }, metadata: { generation: 1 } });
    expect(answered.json.metadata.labels).toEqual({ a: 'b' });

    const merged = await bare.api.merge(one, { spec: { size: 2 }, status: { ready: false } });
    expect(merged.json).toMatchObject({ spec: { size: 2 }, status: { ready: true }, metadata: { generation: 2 } });
    const held = await bare.api.merge(one, { metadata: { finalizers: ['bug.test/f'] } });
    expect(held.json.metadata.generation).toBe(2);
    expect((await bare.api.delete(one)).json.metadata.generation).toBe(3);
  });
});

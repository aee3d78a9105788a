import { beforeAll, describe, expect, test } from 'vitest';
import { startLocalCluster } from '../support/local-cluster.ts';
import type { Tree } from './api.ts';
import { Api } from './api.ts';
import { bareCluster, causeFields, configMap, gizmo, gizmoDefinition, gizmosOf } from './user-reports.ts';

const bare = bareCluster();
const root = '/api/v1/namespaces/http';
const gizmos = gizmosOf('http');
const P = 'application/vnd.kubernetes.protobuf';
const K = 'application/json';
const PROTOBUF_START = 'k8s\0';

beforeAll(async () => {
  await bare.api.namespace('http');
  await bare.api.define(gizmoDefinition);
  await bare.api.post(gizmos, gizmo('one'));
});

describe('B27 what a client accepts', () => {
  const start = (body: Buffer) => body.subarray(0, 4).toString('latin1');

  test.each([
    [P, 406, undefined],
    [`${P},${K}`, 200, 'GizmoList'],
    [`${K};as=Table;v=v1;g=meta.k8s.io`, 200, 'Table'],
    [`${K};as=Table;v=v1beta1;g=meta.k8s.io,${K}`, 200, 'Table'],
    [`${K};as=Bogus;v=v1;g=meta.k8s.io`, 406, undefined],
    [`${K};as=Bogus;v=v1;g=meta.k8s.io,${K}`, 200, 'GizmoList'],
    ['text/html', 406, undefined],
    ['*/*', 200, 'GizmoList'],
    ['application/*', 200, 'GizmoList'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 200, 'GizmoList'],
    ['application/cbor', 406, undefined],
  ])('%s: %i', async (accept, code, kind) => {
    const answer = await bare.api.get(gizmos, { accept });
    expect(answer.code).toBe(code);
    if (kind === undefined) return;
    expect(answer.headers['content-type']).toContain(K);
    expect(answer.json.kind).toBe(kind);
    if (kind === 'Table')
      expect(answer.json.apiVersion).toBe(`meta.k8s.io/${accept.includes('v1beta1') ? 'v1beta1' : 'v1'}`);
  });

  test.each(['application/yaml', `${K};q=0.1,application/yaml;q=0.9`])('YAML: %s', async (accept) => {
    const { code, headers, text } = await bare.api.get(gizmos, { accept });
    expect([code, headers['content-type']]).toEqual([200, 'application/yaml']);
    expect(text).toMatch(/^kind: GizmoList$/m);
  });

  test('protobuf where there is a form for it', async () => {
    const metadata = await bare.api.get(gizmos, { accept: `${P};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1` });
    const maps = await bare.api.get(`${root}/configmaps`, { accept: P });
    const missing = await bare.api.get(`${gizmos}/missing`, { accept: `${P},${K}` });
    expect([metadata.code, maps.code, missing.code]).toEqual([200, 200, 404]);
    for (const { body } of [metadata, maps, missing]) expect(start(body)).toBe(PROTOBUF_START);
  });
});

describe('B28 sizes', () => {
  const MIB = 1 << 20;
  const letters = (n: number) => 'x'.repeat(n);
  const freeOf = (answer: Tree): string => answer.json.spec.free.k;

  test('of ConfigMaps, Secrets and annotations', async () => {
    const map = (n: number) => bare.api.post(`${root}/configmaps?dryRun=All`, configMap('m', { k: letters(n) }));
    expect((await map(MIB)).code).toBe(201);
    expect((await map(MIB + 1)).code).toBe(422);
    const secret = (n: number) => {
      const data = { k: Buffer.alloc(n, 1).toString('base64') };
      return bare.api.post(`${root}/secrets`, { metadata: { name: 's' }, data });
    };
    const refused = await secret(MIB + 1);
    expect(refused.code).toBe(422);
    expect(refused.json.details.causes[0]).toMatchObject({ reason: 'FieldValueTooLong', field: 'data' });
    expect((await secret(MIB)).code).toBe(201);
    const noted = (n: number) =>
      bare.api.post(`${root}/configmaps?dryRun=All`, configMap('m', {}, { annotations: { k: letters(n - 1) } }));
    expect((await noted(262_144)).code).toBe(201);
    const tooMany = await noted(262_145);
    expect([tooMany.code, causeFields(tooMany.json)]).toEqual([422, ['metadata.annotations']]);
  });

  test('of bodies that are too large', async () => {
    const huge = await bare.api.post(gizmos, gizmo('huge', { free: { k: letters(1_600_000) } }));
    expect([huge.code >= 400, huge.json.kind]).toEqual([true, 'Status']);
    expect((await bare.api.get(`${gizmos}/huge`)).code).toBe(404);
    const { code, json } = await bare.api.post(gizmos, gizmo('huge', { free: { k: letters(3_200_000) } }));
    expect([code, json.reason]).toEqual([413, 'RequestEntityTooLarge']);
  });

  test('of large objects that are written over and over, deleted, and there after a restart', async () => {
    for (const size of [1_400_000, 1_572_000]) {
      const one = `${gizmos}/large${size}`;
      const text = letters(size - 2);
      const created = await bare.api.post(gizmos, gizmo(`large${size}`, { free: { k: `00${text}` } }));
      expect(created.code).toBe(201);
      for (let i = 10; i < 30; i++)
        expect((await bare.api.merge(one, { spec: { free: { k: `${i}${text}` } } })).code).toBe(200);
      expect(freeOf(await bare.api.get(one)) === `29${text}`).toBe(true);
    }
    const { resourceVersion } = (await bare.api.get(gizmos)).json.metadata;
    const watch = await bare.api.watch(`${gizmos}?resourceVersion=${resourceVersion}`);
    await bare.api.delete(`${gizmos}/large1572000`);
    const [deleted] = await watch.count(1);
    expect([deleted!.type, deleted!.object.spec.free.k.length]).toEqual(['DELETED', 1_572_000]);
    watch.cut();

    await bare.cluster.stop();
    const again = await startLocalCluster([], bare.cluster.folder);
    try {
      const after = new Api(again.run().kubeconfig);
      expect(freeOf(await after.get(`${gizmos}/large1400000`)).length).toBe(1_400_000);
      expect((await after.get(`${gizmos}/large1572000`)).code).toBe(404);
    } finally {
      await again.stop();
    }
  });
});

describe('B28 lists of large objects', () => {
  const other = bareCluster();

  test('are complete', async () => {
    const { api } = other;
    const OBJECTS = 40;
    await api.namespace('http');
    await api.define(gizmoDefinition);
    const text = 'y'.repeat(1_400_000);
    for (let i = 0; i < OBJECTS; i++)
      expect((await api.post(gizmos, gizmo(`l${i}`, { free: { k: text } }))).code).toBe(201);
    const { code, json } = await api.get(gizmos);
    expect([code, json.items.length]).toEqual([200, OBJECTS]);
    expect(json.items.every(({ spec }: Tree) => spec.free.k === text)).toBe(true);
  });
});

import { beforeAll, describe, expect, test } from 'vitest';
import { brief, type Event, MERGE, pause, type Tree, until } from './api.ts';
import { bareCluster, causeFields, configMap, definition, gizmo, gizmoDefinition, gizmosOf } from './user-reports.ts';

const bare = bareCluster();
const gizmos = gizmosOf('watching');
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

beforeAll(async () => {
  await bare.api.namespace('watching');
  await bare.api.define(gizmoDefinition);
});

const versionOf = async (path: string) => (await bare.api.get(path)).json.metadata.resourceVersion as string;
const names = (list: Tree): string[] => list.items.map(({ metadata }: Tree) => metadata.name);

describe('B01 the first object of a new definition', () => {
  test.each(Array.from({ length: 12 }, (_, i) => i))('is seen by every reader, round %i', async (round) => {
    const plural = `fresh${round}s`;
    const path = `/apis/bug.test/v1/namespaces/watching/${plural}`;
    await bare.api.define(definition(`Fresh${round}`, {}));
    let empty = await bare.api.get(path);
    while (empty.code === 429) {
      await pause(100);
      empty = await bare.api.get(path);
    }
    expect(empty.code).toBe(200);
    const watch = await bare.api.watch(`${path}?resourceVersion=${empty.json.metadata.resourceVersion}`);
    const created = await bare.api.post(path, { ...gizmo('one', {}), kind: `Fresh${round}` });
    expect(created.code).toBe(201);
    for (const query of ['', '?resourceVersion=0', '?fieldSelector=metadata.name=one'])
      expect(names((await bare.api.get(path + query)).json)).toEqual(['one']);
    expect((await bare.api.get(`${path}/one?resourceVersion=0`)).code).toBe(200);
    const resources = (await bare.api.get('/apis/bug.test/v1')).json.resources;
    expect(resources.map(({ name }: Tree) => name)).toContain(plural);
    expect((await bare.api.get('/apis', { accept: AGGREGATED })).text).toContain(`"${plural}"`);
    expect(brief(await watch.count(1))).toEqual([['ADDED', 'one', created.json.metadata.resourceVersion]]);
    await pause(50);
    expect(watch.events).toHaveLength(1);
    watch.cut();
  });
});

describe('B02 a watch from the version of a list', () => {
  test('tells what came later and nothing of before, each time', async () => {
    const path = `${await bare.api.namespace('replays')}/configmaps`;
    for (const name of ['a', 'b']) await bare.api.post(path, configMap(name));
    const start = await versionOf(path);
    const watch = await bare.api.watch(`${path}?resourceVersion=${start}&timeoutSeconds=2`);
    await bare.api.post(path, configMap('c'));
    await bare.api.merge(`${path}/a`, { data: { k: 'v' } });
    await bare.api.delete(`${path}/b`);
    const first = brief(await watch.ended);
    expect(first.map(([type, name]) => `${type} ${name}`)).toEqual(['ADDED c', 'MODIFIED a', 'DELETED b']);
    const versions = first.map(([, , version]) => Number(version));
    expect([Number(start), ...versions]).toEqual([...new Set([Number(start), ...versions])].sort((x, y) => x - y));

    const from = async (query: string) => brief(await (await bare.api.watch(`${path}?timeoutSeconds=1${query}`)).ended);
    expect(await from(`&resourceVersion=${start}`)).toEqual(first);
    expect(await from(`&resourceVersion=${first[1]![2]}`)).toEqual(first.slice(2));
    const present = (await bare.api.get(path)).json.items.map(({ metadata }: Tree) => [
      'ADDED',
      metadata.name,
      metadata.resourceVersion,
    ]);
    expect((await from('')).sort()).toEqual(present);
    expect((await from('&resourceVersion=0')).sort()).toEqual(present);
  });
});

describe('B03 DELETED events', () => {
  test('carry the version of the deletion, and come when a label stops matching', async () => {
    const path = `${await bare.api.namespace('unlabelled')}/configmaps`;
    const start = await versionOf(path);
    const version = (answer: Tree) => answer.json.metadata.resourceVersion;
    const r1 = version(await bare.api.post(path, configMap('w1', {}, { labels: { foo: 'bar' } })));
    const r2 = version(await bare.api.merge(`${path}/w1`, { data: { a: 'b' } }));
    const r3 = version(await bare.api.merge(`${path}/w1`, { metadata: { labels: { foo: null } }, data: { a: 'c' } }));
    const r4 = version(await bare.api.merge(`${path}/w1`, { metadata: { labels: { foo: 'bar' } } }));
    const uid = (await bare.api.get(`${path}/w1`)).json.metadata.uid;
    const deleted = await bare.api.delete(`${path}/w1`);
    expect(deleted.json).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name: 'w1', kind: 'configmaps', uid },
    });
    const last = await versionOf(path);

    const played = async (query: string) =>
      (await bare.api.watch(`${path}?resourceVersion=${start}&timeoutSeconds=1${query}`)).ended;
    const plain = await played('');
    const r5 = plain.at(-1)!.object.metadata.resourceVersion;
    expect(Number(r5)).toBeGreaterThan(Number(r4));
    expect(Number(r5)).toBeLessThanOrEqual(Number(last));
    expect(plain.map(({ type, object }) => [type, object.metadata.resourceVersion])).toEqual([
      ['ADDED', r1],
      ['MODIFIED', r2],
      ['MODIFIED', r3],
      ['MODIFIED', r4],
      ['DELETED', r5],
    ]);
    const selected = await played('&labelSelector=foo=bar');
    expect(selected.map(({ type, object }) => [type, object.metadata.resourceVersion])).toEqual([
      ['ADDED', r1],
      ['MODIFIED', r2],
      ['DELETED', r3],
      ['ADDED', r4],
      ['DELETED', r5],
    ]);
    expect(selected[2]!.object).toMatchObject({ metadata: { labels: { foo: 'bar' } }, data: { a: 'b' } });
  });
});

describe('B04 streaming lists', () => {
  const streaming = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

  test.each([
    ['ConfigMap', 'v1', (root: string) => `${root}/configmaps`, 2, ''],
    ['Secret', 'v1', (root: string) => `${root}/secrets`, 0, ''],
    ['Gizmo', 'bug.test/v1', () => gizmosOf('streamed'), 1, '&resourceVersion=0'],
  ] as const)('close the initial part with a bookmark: %s', async (kind, apiVersion, pathOf, objects, query) => {
    const path = pathOf(await bare.api.namespace('streamed'));
    for (let i = 0; i < objects; i++)
      await bare.api.post(path, kind === 'Gizmo' ? gizmo(`g${i}`) : configMap(`streamed${i}`));
    const started = Date.now();
    const watch = await bare.api.watch(`${path}?${streaming}&timeoutSeconds=2${query}`);
    const events = await watch.count(objects + 1);
    expect(Date.now() - started).toBeLessThan(1500);
    const bookmark = events.at(-1)!;
    expect(events.slice(0, -1).map(({ type }) => type)).toEqual(Array(objects).fill('ADDED'));
    expect(bookmark).toEqual({
      type: 'BOOKMARK',
      object: expect.objectContaining({ kind, apiVersion }),
    });
    expect(bookmark.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    for (const { object } of events)
      expect(Number(bookmark.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
        Number(object.metadata.resourceVersion),
      );
    watch.cut();
  });

  test.each([
    ['watch=1&sendInitialEvents=true', 'resourceVersionMatch'],
    ['watch=1&sendInitialEvents=true&resourceVersionMatch=Exact', 'resourceVersionMatch'],
    ['watch=1&sendInitialEvents=false', 'resourceVersionMatch'],
    ['watch=1&resourceVersionMatch=NotOlderThan', 'resourceVersionMatch'],
    ['sendInitialEvents=true', 'sendInitialEvents'],
  ])('are refused with other parameters: %s', async (query, field) => {
    const { code, json } = await bare.api.get(`/api/v1/namespaces/watching/configmaps?timeoutSeconds=1&${query}`);
    expect([code, json.reason]).toEqual([422, 'Invalid']);
    expect(causeFields(json)).toContain(field);
  });
});

describe('B05 a version from the future', () => {
  const path = '/api/v1/namespaces/watching/configmaps';
  const future = async () => Number(await versionOf(path)) + 1e8;

  test.each([
    '?resourceVersion=V',
    '?resourceVersion=V&limit=2',
    '?resourceVersion=V&resourceVersionMatch=Exact',
    '/there?resourceVersion=V',
  ])('is waited for a while by a read, and then refused in the form that clients know: %s', async (query) => {
    await bare.api.post(path, configMap('there'));
    const target = path + query.replace('=V', `=${await future()}`);
    const started = Date.now();
    const { code, json, headers } = await bare.api.get(target);
    expect(Date.now() - started).toBeLessThan(4500);
    expect(code).toBe(504);
    expect(json).toMatchObject({
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
    });
    expect(headers['retry-after']).toBe('1');
  });

  test('keeps a watch silent until its end', async () => {
    const watch = await bare.api.watch(`${path}?resourceVersion=${await future()}&timeoutSeconds=2`);
    await bare.api.post(path, configMap('too-early'));
    expect(watch.code).toBe(200);
    expect(await watch.ended).toEqual([]);
  });

  test('no number is a bad request', async () => {
    const { code, json } = await bare.api.get(`${path}?resourceVersion=abc`);
    expect([code, json.reason]).toEqual([400, 'BadRequest']);
  });

  test('writes of another type do not make a list wait', async () => {
    const secrets = '/api/v1/namespaces/watching/secrets';
    let version = '';
    for (let i = 0; i < 100; i++)
      version = (await bare.api.post(secrets, { metadata: { name: `s${i}` } })).json.metadata.resourceVersion;
    const started = Date.now();
    expect((await bare.api.get(`${path}?resourceVersion=${version}`)).code).toBe(200);
    expect(Date.now() - started).toBeLessThan(1000);
  });
});

describe('B08 tables on a watch of custom resources', () => {
  const play = async (name: string, query = '') => {
    const start = await versionOf(gizmos);
    const watch = await bare.api.watch(`${gizmos}?resourceVersion=${start}${query}`, { Accept: TABLE });
    const created = await bare.api.post(gizmos, gizmo(name, { size: 4 }));
    await bare.api.merge(`${gizmos}/${name}`, { spec: { size: 6 } });
    await bare.api.delete(`${gizmos}/${name}`);
    const events = await watch.count(3);
    watch.cut();
    return { created, events };
  };
  const row = ({ object }: Event): Tree => object.rows[0];

  test('a list has the columns of the definition', async () => {
    await bare.api.post(gizmos, gizmo('tabled', { size: 2 }));
    const { json } = await bare.api.get(gizmos, { accept: TABLE });
    expect(json.columnDefinitions.map(({ name, priority }: Tree) => [name, priority])).toEqual([
      ['Name', 0],
      ['Size', 0],
      ['Big', 1],
    ]);
    expect(json.rows.find(({ cells }: Tree) => cells[0] === 'tabled').cells).toEqual(['tabled', 2, null]);
  });

  test('each event is one row, and only the first names the columns', async () => {
    const { created, events } = await play('tw1');
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    for (const { object } of events) expect([object.kind, object.rows.length]).toEqual(['Table', 1]);
    expect(events[0]!.object.columnDefinitions.map(({ name }: Tree) => name)).toEqual(['Name', 'Size', 'Big']);
    expect(events.slice(1).map(({ object }) => object.columnDefinitions)).toEqual([null, null]);
    expect(events.map((event) => row(event).cells)).toEqual([
      ['tw1', 4, null],
      ['tw1', 6, null],
      ['tw1', 6, null],
    ]);
    expect(events[0]!.object.metadata.resourceVersion).toBe(created.json.metadata.resourceVersion);
    expect(row(events[0]!).object.kind).toBe('PartialObjectMetadata');
  });

  test('includeObject says what a row carries', async () => {
    expect(row((await play('tw2', '&includeObject=None')).events[0]!).object ?? null).toBeNull();
    expect(row((await play('tw3', '&includeObject=Metadata')).events[0]!).object.kind).toBe('PartialObjectMetadata');
    const whole = row((await play('tw4', '&includeObject=Object')).events[0]!).object;
    expect([whole.kind, whole.spec.size]).toEqual(['Gizmo', 4]);
    expect((await bare.api.get(`${gizmos}?includeObject=bogus`, { accept: TABLE })).code).toBe(400);
  });
});

describe('B06 a version that was compacted away', () => {
  const HISTORY_BYTES = 256 << 20;
  const path = '/api/v1/namespaces/compacted/configmaps';

  test('ends a watch with Expired and never leaves a gap', { timeout: 90_000 }, async () => {
    await bare.api.namespace('compacted');
    const start = await versionOf(path);
    for (let i = 0; i < 5; i++) await bare.api.post(path, configMap(`c${i}`));
    await pause(5_500);
    await bare.api.post(path, configMap('large'));
    const megabyte = 'x'.repeat(1_000_000);
    const exact = `${path}?resourceVersion=${start}&resourceVersionMatch=Exact`;
    const written = async (i: number) => {
      const { code } = await bare.api.patch(`${path}/large`, MERGE, { data: { k: `${i}${megabyte}` } });
      expect(code).toBe(200);
    };
    for (let i = 0; i * megabyte.length < 1.2 * HISTORY_BYTES; i++) await written(i);
    await until(async () => (await bare.api.get(exact)).code === 410, 'the compaction');

    expect((await bare.api.get(exact)).json.reason).toBe('Expired');
    for (const accept of ['application/json', TABLE]) {
      const watch = await bare.api.watch(`${path}?resourceVersion=${start}&timeoutSeconds=3`, { Accept: accept });
      expect(watch.code).toBe(200);
      const events = await watch.ended;
      expect(events).toHaveLength(1);
      expect(events[0]).toMatchObject({ type: 'ERROR', object: { kind: 'Status', reason: 'Expired', code: 410 } });
    }
    const current = await bare.api.get(`${path}?resourceVersion=${start}&resourceVersionMatch=NotOlderThan`);
    expect(current.code).toBe(200);
    expect(names(current.json)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'large']);
  });
});

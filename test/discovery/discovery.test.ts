import { describe, expect, it } from 'vitest';
import { catalogOf } from '../../src/discovery/catalog.ts';
import { unknownPath } from '../../src/discovery/routes.ts';
import { compareVersions } from '../../src/discovery/version.ts';
import { StatusError } from '../../src/status/status.ts';
import { ask, askJson, customRows, deps } from './support.ts';
import recorded from './testdata/discovery.json';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const json = (value: unknown) => JSON.stringify(value);

describe('documents of kube-apiserver 1.36.3, to the byte', () => {
  it.each([
    ['/api/v1', recorded.core, undefined],
    ['/apis/apps/v1', recorded.apps, undefined],
    ['/apis', recorded.groups, undefined],
    ['/api', recorded.aggregatedCore, aggregated],
    ['/apis', recorded.aggregated, aggregated],
  ])('%s', async (path, wanted, accept) => {
    const answer = await ask(path, accept === undefined ? {} : { accept });
    expect(await answer!.text()).toBe(`${json(wanted)}\n`);
  });

  it('a group, and the core versions with the address of the server', async () => {
    expect(await askJson('/apis/autoscaling/')).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'autoscaling',
      versions: [
        { groupVersion: 'autoscaling/v2', version: 'v2' },
        { groupVersion: 'autoscaling/v1', version: 'v1' },
      ],
      preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
    });
    expect(await askJson('/api')).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'cluster.example:6443' }],
    });
  });
});

describe('custom resources', () => {
  it('are in every list', async () => {
    const from = deps({ custom: await customRows() });
    const groups = (await askJson('/apis', {}, from)).groups as { name: string; versions: { version: string }[] }[];
    expect(groups.at(-1)!.name).toBe('toys.example.com');
    expect(groups.at(-1)!.versions.map((v) => v.version)).toEqual(['v1', 'v1beta1']);
    const list = await askJson('/apis/toys.example.com/v1', {}, from);
    expect(list.resources).toMatchObject([
      { name: 'gizmos', singularName: 'gizmo', namespaced: true, kind: 'Gizmo', shortNames: ['gz'] },
      { name: 'gizmos/status', kind: 'Gizmo', verbs: ['get', 'patch', 'update'] },
      { name: 'gizmos/scale', group: 'autoscaling', version: 'v1', kind: 'Scale' },
    ]);
    expect((list.resources as { verbs: string[] }[])[0]!.verbs).toEqual([
      'delete',
      'deletecollection',
      'get',
      'list',
      'patch',
      'create',
      'update',
      'watch',
    ]);
    const items = (await askJson('/apis', { accept: aggregated }, from)).items as { metadata: object }[];
    expect(items.at(-1)).toMatchObject({
      metadata: { name: 'toys.example.com' },
      versions: [
        {
          version: 'v1',
          resources: [
            { resource: 'gizmos', responseKind: { group: 'toys.example.com', version: 'v1', kind: 'Gizmo' } },
          ],
        },
        { version: 'v1beta1' },
      ],
    });
    expect((await askJson('/', {}, from)).paths).toContain('/apis/toys.example.com/v1');
  });

  it('take any method, unlike the built-in versions', async () => {
    const from = deps({ custom: await customRows() });
    expect((await ask('/apis/toys.example.com/v1', { method: 'POST' }, from))!.status).toBe(200);
    expect((await ask('/apis/toys.example.com/v1', { accept: 'application/*' }, from))!.status).toBe(200);
    await expect(ask('/apis/apps/v1', { method: 'POST' }, from)).rejects.toThrow(/does not allow this method/);
    expect((await ask('/apis', { method: 'POST' }, from))!.status).toBe(200);
  });

  it('share a catalog while their rows are the same', async () => {
    const rows = await customRows();
    const catalog = catalogOf(rows);
    expect(catalogOf(new Map(rows))).toBe(catalog);
    expect(catalogOf(await customRows())).not.toBe(catalog);
    expect(catalogOf(new Map())).toBe(catalogOf(new Map()));
  });
});

describe('aggregated discovery', () => {
  it('has a tag that answers 304, and leaves when the resources change', async () => {
    const answer = (await ask('/apis', { accept: aggregated }))!;
    const etag = answer.headers.get('etag')!;
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    expect(answer.headers.get('content-type')).toBe(aggregated);
    expect(answer.headers.get('vary')).toBe('Accept');
    const again = (await ask('/apis', { accept: aggregated, headers: { 'if-none-match': etag } }))!;
    expect([again.status, again.headers.get('etag'), await again.text()]).toEqual([304, etag, '']);
    const more = deps({ custom: await customRows() });
    expect((await ask('/apis', { accept: aggregated, headers: { 'if-none-match': etag } }, more))!.status).toBe(200);
    expect((await ask('/apis', { headers: { 'if-none-match': etag } }))!.headers.get('etag')).toBeNull();
  });

  it('is chosen wherever the header accepts it', async () => {
    expect((await askJson('/apis', { accept: `application/json,${aggregated}` })).kind).toBe('APIGroupDiscoveryList');
    const unknown = aggregated.replace('v=v2', 'v=v9');
    expect((await askJson('/apis', { accept: `${unknown},application/json` })).kind).toBe('APIGroupList');
    await expect(ask('/apis', { accept: unknown })).rejects.toThrow(/only the following media types/);
    await expect(ask('/apis/apps', { accept: aggregated })).rejects.toThrow(/only the following media types/);
    await expect(ask('/api', { accept: `application/*;${aggregated.slice(17)}` })).rejects.toThrow(
      /406: Not Acceptable/,
    );
  });

  it('comes as protobuf and YAML too', async () => {
    const answer = (await ask('/apis', { accept: aggregated.replace('json', 'vnd.kubernetes.protobuf') }))!;
    expect(new Uint8Array(await answer.arrayBuffer()).subarray(0, 4)).toEqual(Uint8Array.of(0x6b, 0x38, 0x73, 0));
    const yaml = (await ask('/apis', { accept: aggregated.replace('json', 'yaml') }))!;
    expect(await yaml.text()).toMatch(/^apiVersion: apidiscovery.k8s.io\/v2\n/);
  });
});

describe('paths and methods', () => {
  it.each([
    '/apis/nope',
    '/apis/apps/v9',
    '/apis/apps/v1/deployments',
    '/api/v9',
    '/nope',
    '/constructor',
    '/__proto__',
    '/apis//apps',
    '/version/x',
    '/openapi',
    '/metrics/',
  ])('%s is not discovery', async (path) => {
    expect(await ask(path)).toBeUndefined();
  });

  it.each([
    ['/nope', false],
    ['/apis/nope/v1', false],
    ['/apis/toys.example.com/v1/nope', false],
    ['/apis//apps', false],
    ['/apis/apps/v9', true],
    ['/apis/apps/v1/rockets', true],
    ['/api/v9', true],
    ['/version/x', true],
  ])('an unknown path %s is a Status: %s', async (path, status) => {
    if (status) expect(() => unknownPath(path)).toThrow(StatusError);
    else expect(await unknownPath(path).text()).toBe('404 page not found\n');
  });

  it('only some documents insist on GET', async () => {
    for (const path of ['/api', '/api/v1', '/apis/apps/v1', '/version']) {
      await expect(ask(path, { method: 'HEAD' })).rejects.toThrow(/does not allow/);
    }
    for (const path of ['/', '/apis', '/apis/apps', '/livez', '/metrics', '/openapi/v2']) {
      expect((await ask(path, { method: 'HEAD' }))!.status).toBe(200);
    }
  });

  it('the version is indented JSON and nothing else', async () => {
    const answer = (await ask('/version/'))!;
    expect(await answer.text()).toMatch(/^\{\n {2}"major": "1",\n {2}"minor": "36",/);
    expect((await askJson('/version')).gitVersion).toMatch(/^v1\.36\.\d+/);
    await expect(ask('/version', { accept: 'application/yaml' })).rejects.toThrow(
      /representations: application\/json$/,
    );
  });

  it('the root lists paths in order', async () => {
    const { paths } = (await askJson('/')) as { paths: string[] };
    expect([...paths].sort()).toEqual(paths);
    for (const path of ['/api', '/apis/', '/apis/apps/v1', '/readyz/shutdown', '/healthz/etcd', '/openapi/v3']) {
      expect(paths).toContain(path);
    }
  });
});

describe('order of versions', () => {
  it('puts stable ones first, then by number', () => {
    const names = ['v1alpha1', 'foo10', 'v1', 'v2beta1', 'v10', 'v2', 'foo1', 'v1beta2', 'v2alpha2'];
    expect(names.sort(compareVersions)).toEqual([
      'v10',
      'v2',
      'v1',
      'v2beta1',
      'v1beta2',
      'v2alpha2',
      'v1alpha1',
      'foo1',
      'foo10',
    ]);
  });
});

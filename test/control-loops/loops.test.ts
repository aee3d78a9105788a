import { beforeEach, describe, expect, test } from 'vitest';
import { unlessMissing } from '../../durable-objects/control-loops/connection.ts';
import { LoopsGateway } from '../../durable-objects/control-loops/index.ts';
import type { KubeObject } from '../../src/api/object.ts';
import { Cluster } from './support.ts';

const NS = '/api/v1/namespaces';
const CMS = `${NS}/default/configmaps`;

const refTo = (owner: KubeObject, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: owner.metadata.name!,
  uid: owner.metadata.uid!,
  ...more,
});

let cluster: Cluster;
const configMap = (name: string, metadata: object = {}, path = CMS) =>
  cluster.api.create(path, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata } });
const owned = (name: string, owners: object[], metadata: object = {}) =>
  configMap(name, { ownerReferences: owners, ...metadata });
const left = async () => (await cluster.names(CMS)).filter((n) => n !== 'kube-root-ca.crt').sort();
const remove = (name: string, propagationPolicy: string) => cluster.api.delete(`${CMS}/${name}`, { propagationPolicy });

describe('garbage collection', () => {
  beforeEach(async () => {
    cluster = await Cluster.make();
  });

  test('in the background takes dependents, and theirs', async () => {
    const a = await configMap('a');
    const b = await owned('b', [refTo(a)]);
    await owned('c', [refTo(b)]);
    await configMap('other');
    await remove('a', 'Background');
    await cluster.settle();
    expect(await left()).toEqual(['other']);
    expect(await cluster.work()).toEqual([]);
  });

  test('leaves dependents with another owner, and takes the gone one off', async () => {
    const a = await configMap('a');
    const b = await configMap('b');
    await owned('c', [refTo(a), refTo(b)]);
    await remove('a', 'Background');
    await cluster.settle();
    expect((await cluster.api.get(`${CMS}/c`)).metadata.ownerReferences).toEqual([refTo(b)]);
  });

  test('takes what names an owner that never was, or another of that name', async () => {
    const a = await configMap('a');
    await owned('absent', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'none' }]);
    await owned('impostor', [{ ...refTo(a), uid: 'another' }]);
    await owned('unknown-kind', [{ apiVersion: 'acme.io/v1', kind: 'Rocket', name: 'x', uid: 'u' }]);
    await cluster.settle();
    expect(await left()).toEqual(['a', 'unknown-kind']);
  });

  test('in the foreground takes blocking dependents first', async () => {
    const a = await configMap('a');
    const b = await owned('b', [refTo(a, { blockOwnerDeletion: true })]);
    await owned('c', [refTo(b, { blockOwnerDeletion: true })]);
    await remove('a', 'Foreground');
    expect((await cluster.api.get(`${CMS}/a`)).metadata.finalizers).toEqual(['foregroundDeletion']);
    await cluster.settle();
    expect(await left()).toEqual([]);
    expect(await cluster.work()).toEqual([]);
  });

  test('in the foreground waits for a dependent that others hold', async () => {
    const a = await configMap('a');
    await owned('b', [refTo(a, { blockOwnerDeletion: true })], { finalizers: ['acme.io/hold'] });
    await remove('a', 'Foreground');
    await cluster.settle();
    expect(await left()).toEqual(['a', 'b']);
    expect(cluster.alarm).toBeDefined();
    await cluster.api.mergePatch(`${CMS}/b`, { metadata: { finalizers: null } });
    await cluster.ring();
    expect(await left()).toEqual([]);
  });

  test('leaves no alarm behind that would wake a shard that sleeps', async () => {
    const a = await configMap('a');
    await owned('b', [refTo(a, { blockOwnerDeletion: true })]);
    await remove('a', 'Foreground');
    await cluster.settle();
    expect(await cluster.work()).toEqual([]);
    expect(cluster.alarm).toBeUndefined();
  });

  test('that orphans takes the references off, then the finalizer', async () => {
    const a = await configMap('a');
    await owned('b', [refTo(a)]);
    await remove('a', 'Orphan');
    await cluster.settle();
    expect(await left()).toEqual(['b']);
    expect((await cluster.api.get(`${CMS}/b`)).metadata.ownerReferences).toBeUndefined();
  });

  test('breaks cycles of foreground deletion', async () => {
    const a = await configMap('a');
    const b = await owned('b', [refTo(a, { blockOwnerDeletion: true })]);
    await cluster.api.mergePatch(`${CMS}/a`, {
      metadata: { ownerReferences: [refTo(b, { blockOwnerDeletion: true })] },
    });
    await remove('a', 'Foreground');
    await cluster.settle();
    for (let turns = 0; turns < 10 && (await left()).length > 0; turns++) await cluster.ring();
    expect(await left()).toEqual([]);
  });
});

describe('namespace termination', () => {
  beforeEach(async () => {
    cluster = await Cluster.make();
    await cluster.api.create(NS, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'web' } });
    await cluster.settle();
  });
  const find = () => unlessMissing(cluster.api.get(`${NS}/web`));

  test('empties the namespace and lets it go', async () => {
    await configMap('a', {}, `${NS}/web/configmaps`);
    await cluster.api.create(`${NS}/web/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's' },
      spec: { ports: [{ port: 80 }] },
    });
    await cluster.api.delete(`${NS}/web`, {});
    await cluster.settle();
    expect(await find()).toBeUndefined();
    const keys = await cluster.keyspace.list({ prefix: '/registry/', limit: 0, consistency: { type: 'linearizable' } });
    expect(keys.records.map((r) => r.key).filter((k) => k.includes('/web/'))).toEqual([]);
    expect(await cluster.work()).toEqual([]);
  });

  test('tells what is left and why, and ends when it goes', async () => {
    await configMap('held', { finalizers: ['acme.io/hold'] }, `${NS}/web/configmaps`);
    await cluster.api.delete(`${NS}/web`, {});
    await cluster.settle();
    const { status } = (await find())!;
    expect(status).toMatchObject({ phase: 'Terminating' });
    const { conditions } = status as {
      conditions: { type: string; status: string; reason: string; message: string }[];
    };
    expect(conditions.map((c) => `${c.type} ${c.status} ${c.reason}`)).toEqual([
      'NamespaceDeletionDiscoveryFailure False ResourcesDiscovered',
      'NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions',
      'NamespaceDeletionContentFailure False ContentDeleted',
      'NamespaceContentRemaining True SomeResourcesRemain',
      'NamespaceFinalizersRemaining True SomeFinalizersRemain',
    ]);
    expect(conditions[3]!.message).toBe('Some resources are remaining: configmaps. has 1 resource instances');
    expect(conditions[4]!.message).toBe(
      'Some content in the namespace has finalizers remaining: acme.io/hold in 1 resource instances',
    );
    await cluster.ring();
    expect(await find()).toBeDefined();
    await cluster.api.mergePatch(`${NS}/web/configmaps/held`, { metadata: { finalizers: null } });
    await cluster.ring();
    expect(await find()).toBeUndefined();
  });

  test('keeps finalizers of others', async () => {
    await cluster.api.update(`${NS}/web/finalize`, {
      ...(await find()),
      spec: { finalizers: ['kubernetes', 'acme.io/mine'] },
    });
    await cluster.api.delete(`${NS}/web`, {});
    await cluster.settle();
    expect((await find())?.spec).toEqual({ finalizers: ['acme.io/mine'] });
  });
});

describe('namespaces', () => {
  test('get a service account and the root certificates, and get them back', async () => {
    cluster = await Cluster.make();
    for (const name of ['default', 'kube-system']) {
      expect(await cluster.names(`${NS}/${name}/serviceaccounts`)).toEqual(['default']);
    }
    const published = await cluster.api.get(`${CMS}/kube-root-ca.crt`);
    expect(published.data).toEqual({ 'ca.crt': 'CA' });
    await cluster.api.delete(`${NS}/default/serviceaccounts/default`, {});
    await cluster.settle();
    expect(await cluster.names(`${NS}/default/serviceaccounts`)).toEqual(['default']);
  });
});

describe('cluster role aggregation', () => {
  const rulesOf = async (name: string) =>
    (await cluster.api.get(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`)).rules as object[];

  test('joins the rules of selected roles, through several levels', async () => {
    cluster = await Cluster.make();
    const [view, edit, admin] = [await rulesOf('view'), await rulesOf('edit'), await rulesOf('admin')];
    expect(view.length).toBeGreaterThan(5);
    expect(edit.length).toBeGreaterThan(view.length);
    expect(admin.length).toBeGreaterThan(edit.length);
  });

  test('takes in a new role', async () => {
    cluster = await Cluster.make();
    const rule = { apiGroups: ['acme.io'], resources: ['rockets'], verbs: ['get'] };
    await cluster.api.create('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'rockets', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules: [rule],
    });
    await cluster.settle();
    for (const name of ['view', 'edit', 'admin']) expect(await rulesOf(name)).toContainEqual(rule);
  });
});

describe('loops that are off', () => {
  test('do nothing, and leave no work behind', async () => {
    cluster = await Cluster.make('none');
    expect(await cluster.names(`${NS}/default/serviceaccounts`)).toEqual([]);
    const a = await configMap('a');
    await owned('b', [refTo(a)]);
    await remove('a', 'Background');
    await cluster.settle();
    expect(await left()).toEqual(['b']);
    expect(await cluster.work()).toEqual([]);
  });

  test('are named one by one', async () => {
    cluster = await Cluster.make(['garbage-collector']);
    expect(await cluster.names(`${NS}/default/serviceaccounts`)).toEqual([]);
    const a = await configMap('a');
    await owned('b', [refTo(a)]);
    await remove('a', 'Background');
    await cluster.settle();
    expect(await left()).toEqual([]);
  });
});

describe('the gateway', () => {
  test('leads a poke to the loops of its tenant', async () => {
    const asked: string[] = [];
    const LOOPS = {
      idFromName: (name: string) => name,
      get: (id: string) => ({
        fetch: async (url: string) => {
          asked.push(`${id} ${url}`);
          return new Response(null, { status: 202 });
        },
      }),
    } as unknown as DurableObjectNamespace;
    const poke = (path: string, env = { GUNWALE_CONFIG: '', LOOPS }) =>
      LoopsGateway.fetch(new Request(`http://loops${path}`, { method: 'POST' }), env);
    expect((await poke('/t-1/poke')).status).toBe(202);
    expect(asked).toEqual(['t-1 http://loops/t-1/poke']);
    expect((await poke('/t-1/other')).status).toBe(404);
    expect((await poke('/t-1/poke', { GUNWALE_CONFIG: '' } as never)).status).toBe(503);
  });
});

import { beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/api/object.ts';
import { bootstrap } from '../../src/bootstrap/index.ts';
import { firstAddress } from '../../src/bootstrap/objects.ts';
import { decodeStored } from '../../src/codec/stored.ts';
import { type Config, parseConfig } from '../../src/config.ts';
import type { TenantUid } from '../../src/request/context.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';

const tenant = 't-1' as TenantUid;
const now = new Date('2026-11-29T19:57:38.500Z');
const config: Config = parseConfig(
  JSON.stringify({
    tenant: { uid: 't-1', name: 'default', replicas: [1] },
    clientCA: 'CA',
    serviceClusterIPRange: '10.96.0.0/16',
    advertiseAddress: '192.0.2.1',
    securePort: 16443,
  }),
);

async function read(keyspace: MemoryKeyspace, key: string): Promise<KubeObject> {
  const [record] = (await keyspace.get([key], { type: 'linearizable' })).records;
  return decodeStored(record!);
}

const summary = async (keyspace: MemoryKeyspace) => {
  const { records, revision } = await keyspace.list({
    prefix: '/registry/',
    limit: 0,
    consistency: { type: 'linearizable' },
  });
  return { count: records.length, revision };
};

describe('bootstrap', () => {
  let keyspace: MemoryKeyspace;
  beforeAll(async () => {
    keyspace = memoryKeyspace();
    await bootstrap(config, tenant, keyspace, now);
  });

  test('makes what a fresh cluster has, once', async () => {
    const before = await summary(keyspace);
    expect(before.count).toBe(187);
    await bootstrap(config, tenant, keyspace, new Date());
    expect(await summary(keyspace)).toEqual(before);
  });

  test('puts back nothing that an administrator has deleted', async () => {
    const fresh = memoryKeyspace();
    await bootstrap(config, tenant, fresh, now);
    const key = '/registry/clusterroles/view';
    await fresh.propose({ conditions: [], operations: [{ type: 'delete', key }] });
    await bootstrap(config, tenant, fresh, now);
    expect((await fresh.get([key], { type: 'linearizable' })).records).toEqual([undefined]);
  });

  test('gives objects server-made metadata and managed fields', async () => {
    const { metadata } = await read(keyspace, '/registry/clusterroles/cluster-admin');
    expect(metadata.uid).toMatch(/^[0-9a-f]{8}-/);
    expect(metadata.creationTimestamp).toBe('2026-11-29T19:57:38Z');
    expect(metadata.managedFields).toEqual([
      {
        manager: 'kube-apiserver',
        operation: 'Update',
        apiVersion: 'rbac.authorization.k8s.io/v1',
        time: '2026-11-29T19:57:38Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': {
            'f:annotations': { '.': {}, 'f:rbac.authorization.kubernetes.io/autoupdate': {} },
            'f:labels': { '.': {}, 'f:kubernetes.io/bootstrapping': {} },
          },
          'f:rules': {},
        },
      },
    ]);
  });

  test('owns of a namespace and a service only what was sent', async () => {
    const namespace = await read(keyspace, '/registry/namespaces/default');
    expect(Object.keys(namespace.metadata.managedFields![0]!.fieldsV1!)).toEqual(['f:metadata']);
    const service = await read(keyspace, '/registry/services/specs/default/kubernetes');
    const spec = service.metadata.managedFields![0]!.fieldsV1!['f:spec'] as object;
    expect(Object.keys(spec)).toContain('f:clusterIP');
    expect(Object.keys(spec)).not.toContain('f:clusterIPs');
  });

  test('takes addresses and ports from the configuration', async () => {
    const service = await read(keyspace, '/registry/services/specs/default/kubernetes');
    expect(service.spec).toMatchObject({
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      ports: [{ targetPort: 16443 }],
    });
    expect((await read(keyspace, '/registry/ipaddresses/10.96.0.1')).kind).toBe('IPAddress');
    expect((await read(keyspace, '/registry/servicecidrs/kubernetes')).spec).toEqual({ cidrs: ['10.96.0.0/16'] });
    const slice = await read(keyspace, '/registry/endpointslices/default/kubernetes');
    expect(slice.endpoints).toEqual([{ addresses: ['192.0.2.1'], conditions: { ready: true } }]);
  });

  test('leaves the rules of aggregated roles null', async () => {
    for (const name of ['admin', 'edit', 'view']) {
      expect((await read(keyspace, `/registry/clusterroles/${name}`)).rules).toBeNull();
    }
  });

  test('leaves work for the loops that fill namespaces and aggregate roles', async () => {
    const work = await keyspace.work(100);
    expect(work.map(({ loop, item }) => `${loop} ${item}`.trim()).sort()).toEqual([
      'clusterrole-aggregation',
      'namespace default',
      'namespace kube-node-lease',
      'namespace kube-public',
      'namespace kube-system',
    ]);
  });

  test('names the identity lease as API servers do', async () => {
    const prefix = '/registry/leases/kube-system/';
    const { records } = await keyspace.list({ prefix, limit: 0, consistency: { type: 'linearizable' } });
    expect(records).toHaveLength(1);
    expect(decodeStored(records[0]!).metadata.name).toMatch(/^apiserver-[a-z2-7]{26}$/);
  });
});

test.each([
  ['10.0.0.0/24', '10.0.0.1'],
  ['172.16.255.0/24', '172.16.255.1'],
  ['10.255.255.255/32', '11.0.0.0'],
])('the first address of %s is %s', (range, address) => {
  expect(firstAddress(range)).toBe(address);
});

import { beforeEach, describe, expect, test } from 'vitest';
import { unlessMissing } from '../../durable-objects/control-loops/connection.ts';
import { isObject, type JsonObject, type KubeObject } from '../../src/api/object.ts';
import { decodeStored, encodeStored } from '../../src/codec/stored.ts';
import { CLEANUP_FINALIZER } from '../../src/extensions/establish.ts';
import { Cluster } from './support.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'gizmos.example.com';
const KEY = `/registry/apiextensions.k8s.io/customresourcedefinitions/${NAME}`;
const GIZMOS = '/apis/example.com/v1/namespaces/default/gizmos';
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: NAME },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'gizmos', kind: 'Gizmo' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

let cluster: Cluster;

/** Leaves the definition as a process does that is lost right after a write. */
async function lose(change: (object: KubeObject) => void): Promise<void> {
  const [record] = (await cluster.keyspace.get([KEY], { type: 'linearizable' })).records;
  const { resourceVersion: _, ...metadata } = decodeStored(record!).metadata;
  const object = { ...decodeStored(record!), metadata } as KubeObject;
  change(object);
  const { value, tag } = encodeStored(object);
  const work = [{ loop: 'customresourcedefinition' as const, item: NAME }];
  const put = { type: 'put' as const, key: KEY, value, meta: { ...record!.meta, tag }, work };
  await cluster.keyspace.propose({ conditions: [], operations: [put] });
}

async function untilDone(): Promise<void> {
  await cluster.settle();
  for (let i = 0; i < 20 && (await cluster.work()).length > 0; i++) await cluster.ring();
}

describe('custom resource definitions', () => {
  beforeEach(async () => {
    cluster = await Cluster.make('none');
    await cluster.api.create(CRDS, definition);
  });

  test('that were settled make no work', async () => {
    await cluster.settle();
    expect(await cluster.work()).toEqual([]);
  });

  test('whose names nobody accepted are established, also without control loops', async () => {
    await lose((object) => {
      (object.status as JsonObject).conditions = [];
    });
    await untilDone();
    const { status } = await cluster.api.get(`${CRDS}/${NAME}`);
    const conditions = isObject(status) && Array.isArray(status.conditions) ? status.conditions.filter(isObject) : [];
    expect(conditions.map((c) => [c.type, c.status])).toEqual([
      ['NamesAccepted', 'True'],
      ['Established', 'True'],
    ]);
    expect(await cluster.work()).toEqual([]);
  });

  test('whose end nobody finished go with their objects', async () => {
    await cluster.api.create(GIZMOS, { apiVersion: 'example.com/v1', kind: 'Gizmo', metadata: { name: 'a' } });
    await lose((object) => {
      object.metadata.deletionTimestamp = '2026-11-29T12:00:00Z';
      object.metadata.finalizers = [CLEANUP_FINALIZER];
    });
    await untilDone();
    expect(await unlessMissing(cluster.api.get(`${CRDS}/${NAME}`))).toBeUndefined();
    expect(await cluster.work()).toEqual([]);
  });
});

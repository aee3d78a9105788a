import { describe, expect, test } from 'vitest';
import { RequestPolicy } from '../../src/policy/guard.ts';
import type { TenantUid } from '../../src/request/context.ts';
import { store } from '../authz/support.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';

const KEY = '/registry/apiextensions.k8s.io/customresourcedefinitions/rockets.acme.io';
const version = (name: string, more: object = {}) => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: { type: 'object' } },
  ...more,
});
const definition = (established: boolean, versions: object[]) => ({
  kind: 'CustomResourceDefinition',
  apiVersion: 'apiextensions.k8s.io/v1',
  metadata: { name: 'rockets.acme.io', generation: 3 },
  spec: { group: 'acme.io', scope: 'Namespaced', names: { plural: 'rockets', kind: 'Rocket' }, versions },
  status: {
    acceptedNames: {
      plural: 'rockets',
      singular: 'rocket',
      kind: 'Rocket',
      listKind: 'RocketList',
      shortNames: ['ro'],
    },
    conditions: [{ type: 'Established', status: established ? 'True' : 'False' }],
  },
});

const open = async (object: object) => {
  const keyspace = memoryKeyspace();
  await store(keyspace, { [KEY]: object });
  return { keyspace, policy: await RequestPolicy.open(crypto.randomUUID() as TenantUid, keyspace) };
};

describe('custom resources', () => {
  test('are the served versions of an established definition', async () => {
    const { policy } = await open(
      definition(true, [
        version('v1', { storage: true, subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas' } } }),
        version('v2', { selectableFields: [{ jsonPath: '.spec.color' }] }),
        version('v3', { served: false }),
      ]),
    );
    const v1 = await policy.resource('acme.io/v1', 'rockets');
    expect(v1).toMatchObject({
      kind: 'Rocket',
      listKind: 'RocketList',
      singular: 'rocket',
      namespaced: true,
      shortNames: ['ro'],
      storage: { apiVersion: 'acme.io/v1', prefix: '/registry/acme.io/rockets' },
      custom: { generation: 3, schema: { type: 'object' }, scale: { specReplicasPath: '.spec.replicas' } },
    });
    expect([...v1!.subresources.keys()]).toEqual(['status', 'scale']);
    const v2 = await policy.resource('acme.io/v2', 'rockets');
    expect(v2?.fields).toEqual(['metadata.name', 'metadata.namespace', 'spec.color']);
    expect(v2?.storageVersionHash).toBe(v1!.storageVersionHash);
    expect(await policy.resource('acme.io/v3', 'rockets')).toBeUndefined();
    expect(await policy.resource('acme.io/v1', 'comets')).toBeUndefined();
  });

  test('are none before the definition is established, and are found as soon as it is', async () => {
    const { keyspace, policy } = await open(definition(false, [version('v1', { storage: true })]));
    expect(await policy.resource('acme.io/v1', 'rockets')).toBeUndefined();
    await store(keyspace, { [KEY]: definition(true, [version('v1', { storage: true })]) });
    expect((await policy.resource('acme.io/v1', 'rockets'))?.kind).toBe('Rocket');
  });

  test('never hide built-in ones', async () => {
    const { policy } = await open(definition(true, []));
    expect((await policy.resource('v1', 'pods'))?.kind).toBe('Pod');
  });
});

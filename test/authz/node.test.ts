import { beforeEach, describe, expect, test } from 'vitest';
import type { Attributes } from '../../src/authz/attributes.ts';
import { authorizeByNode } from '../../src/authz/node.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';
import { attributes, store, userOf } from './support.ts';

const nodeUser = (name: string) => userOf(`system:node:${name}`, ['system:nodes', 'system:authenticated']);
const none = "no relationship found between node 'a' and this object";

describe('a node', () => {
  let keyspace: MemoryKeyspace;
  beforeEach(async () => {
    keyspace = memoryKeyspace();
    const pod = {
      metadata: { name: 'p', namespace: 'web' },
      spec: {
        nodeName: 'a',
        serviceAccountName: 'r',
        imagePullSecrets: [{ name: 'pull' }],
        containers: [
          { envFrom: [{ configMapRef: { name: 'env' } }], env: [{ valueFrom: { secretKeyRef: { name: 'key' } } }] },
        ],
        volumes: [
          { secret: { secretName: 'mounted' } },
          { projected: { sources: [{ configMap: { name: 'part' } }] } },
          { persistentVolumeClaim: { claimName: 'claim' } },
          { name: 'scratch', ephemeral: {} },
        ],
      },
    };
    await store(keyspace, { '/registry/pods/web/p': pod }, ['node:a']);
    const mirror = {
      metadata: { name: 'm', annotations: { 'kubernetes.io/config.mirror': 'x' } },
      spec: { nodeName: 'a', volumes: [{ secret: { secretName: 'other' } }] },
    };
    await store(keyspace, { '/registry/pods/web/m': mirror }, ['node:a']);
    await store(keyspace, {
      '/registry/persistentvolumeclaims/web/claim': { spec: { volumeName: 'pv' } },
      '/registry/persistentvolumes/pv': {
        spec: {
          claimRef: { namespace: 'web', name: 'claim' },
          csi: { nodeStageSecretRef: { name: 'csi', namespace: 'web' } },
        },
      },
    });
  });
  const ask = (more: Partial<Attributes>) =>
    authorizeByNode(attributes({ user: nodeUser('a'), namespace: 'web', ...more }), keyspace);
  const get = (resource: string, name: string) => ask({ resource, name });

  test.each([
    ['secrets', 'mounted'],
    ['secrets', 'pull'],
    ['secrets', 'key'],
    ['secrets', 'csi'],
    ['configmaps', 'env'],
    ['configmaps', 'part'],
    ['persistentvolumeclaims', 'claim'],
    ['persistentvolumeclaims', 'p-scratch'],
    ['persistentvolumes', 'pv'],
    ['serviceaccounts', 'r'],
    ['pods', 'p'],
  ])('reads %s %s of its pods', async (resource, name) => {
    expect(await get(resource, name)).toEqual({ decision: 'allow', reason: '' });
    const other = await ask({ user: nodeUser('b'), resource, name });
    expect(other).toEqual({ decision: 'noOpinion', reason: none.replace("'a'", "'b'") });
  });

  test.each([
    [{ resource: 'secrets', name: 'other' }, none],
    [{ resource: 'secrets', verb: 'list' }, 'No Object name found'],
    [{ resource: 'secrets', verb: 'update', name: 'mounted' }, 'can only read resources of this type'],
    [{ resource: 'nodes', name: 'b' }, "node 'a' cannot read 'b', only its own Node object"],
    [{ verb: 'list' }, 'can only list/watch pods with spec.nodeName field selector'],
    [
      { group: 'coordination.k8s.io', resource: 'leases', name: 'b', namespace: 'kube-node-lease' },
      'can only access node lease with the same name as the requesting node',
    ],
    [{ user: userOf('system:node:', ['system:nodes']) }, 'unknown node for user "system:node:"'],
    [{ user: userOf('system:node:a') }, ''],
  ])('has no right to %j', async (more, reason) => {
    expect(await ask(more)).toEqual({ decision: 'noOpinion', reason });
  });

  test.each([
    { resource: 'nodes', name: 'a', namespace: '' },
    { verb: 'list', fieldSelector: [{ key: 'spec.nodeName', operator: '=', value: 'a' }] },
    { resource: 'serviceaccounts', subresource: 'token', verb: 'create', name: 'r' },
    { resource: 'events', verb: 'create' },
    { group: 'storage.k8s.io', resource: 'csinodes', name: 'a' },
  ] as Partial<Attributes>[])('may %j', async (more) => {
    expect((await ask(more)).decision).toBe('allow');
  });
});

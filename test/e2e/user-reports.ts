// What the tests of user reports share. Each report is a fault that somebody met on some Kubernetes API; the right
// answers were taken from kube-apiserver 1.36.3.
import { afterAll, beforeAll } from 'vitest';
import { type StartedCluster, startLocalCluster } from '../support/local-cluster.ts';
import { Api, type Tree } from './api.ts';

/** A cluster of the calling file's own, without control loops that would touch what the tests made. */
export function bareCluster(): { readonly api: Api; readonly cluster: StartedCluster } {
  const held: { api?: Api; cluster?: StartedCluster } = {};
  beforeAll(async () => {
    held.cluster = await startLocalCluster(['--control-loops', 'none']);
    held.api = new Api(held.cluster.run().kubeconfig);
  });
  afterAll(async () => {
    await held.cluster?.stop();
    held.cluster?.remove();
  });
  return {
    get api() {
      return held.api!;
    },
    get cluster() {
      return held.cluster!;
    },
  };
}

export const gizmosOf = (namespace: string) => `/apis/bug.test/v1/namespaces/${namespace}/gizmos`;

export const gizmo = (name: string, spec: Tree = { size: 1 }, metadata: Tree = {}) => ({
  apiVersion: 'bug.test/v1',
  kind: 'Gizmo',
  metadata: { name, ...metadata },
  spec,
});

export const configMap = (name: string, data: Tree = {}, metadata: Tree = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

/** A definition of a namespaced kind in bug.test/v1 with a status and the given properties of spec and status. */
export function definition(kind: string, spec: Tree, status: Tree = {}) {
  const singular = kind.toLowerCase();
  const object = (properties: Tree) => ({ type: 'object', properties });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.bug.test` },
    spec: {
      group: 'bug.test',
      scope: 'Namespaced',
      names: { plural: `${singular}s`, singular, kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
            { name: 'Big', type: 'integer', jsonPath: '.spec.big', priority: 1 },
          ],
          schema: { openAPIV3Schema: object({ spec: object(spec), status: object(status) }) },
        },
      ],
    },
  };
}

export const gizmoDefinition = definition(
  'Gizmo',
  {
    size: { type: 'integer', default: 3 },
    big: { type: 'integer', format: 'int64' },
    ratio: { type: 'number' },
    port: { 'x-kubernetes-int-or-string': true, pattern: '^[0-9]+%$' },
    mode: { type: 'string', default: 'auto' },
    keep: { type: 'string', nullable: true, default: 'auto' },
    plain: { type: 'string' },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    template: { type: 'object', properties: { metadata: { type: 'object' }, image: { type: 'string' } } },
  },
  { ready: { type: 'boolean' }, seen: { type: 'integer' } },
);

/** The fields that the causes of a failure name. */
export const causeFields = (failure: Tree): string[] => (failure.details?.causes ?? []).map(({ field }: Tree) => field);

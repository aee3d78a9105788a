import type { Attributes } from '../../src/authz/attributes.ts';
import { userOf } from '../authn/support.ts';

export { makeContext, statusOf, store, userOf } from '../authn/support.ts';

const group = 'rbac.authorization.k8s.io';

/** Attributes of a get of pods by ann, changed as asked. */
export const attributes = (more: Partial<Attributes>): Attributes => ({
  user: userOf('ann'),
  verb: 'get',
  isResourceRequest: true,
  path: '',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
  ...more,
});

export const role = (kind: 'Role' | 'ClusterRole', namespace: string, name: string, rules: object[]) => ({
  kind,
  apiVersion: `${group}/v1`,
  metadata: { name, ...(namespace === '' ? {} : { namespace }) },
  rules,
});

export const binding = (
  kind: 'RoleBinding' | 'ClusterRoleBinding',
  namespace: string,
  name: string,
  roleRef: { kind: string; name: string },
  subjects: object[],
) => ({
  kind,
  apiVersion: `${group}/v1`,
  metadata: { name, ...(namespace === '' ? {} : { namespace }) },
  roleRef: { apiGroup: group, ...roleRef },
  subjects,
});

const prefixes: Record<string, string> = {
  Role: '/registry/roles',
  RoleBinding: '/registry/rolebindings',
  ClusterRole: '/registry/clusterroles',
  ClusterRoleBinding: '/registry/clusterrolebindings',
};

/** RBAC objects by their storage keys. */
export function byKey(
  ...objects: { kind: string; metadata: { name: string; namespace?: string } }[]
): Record<string, object> {
  return Object.fromEntries(
    objects.map((object) => {
      const { name, namespace } = object.metadata;
      return [`${prefixes[object.kind]}/${namespace === undefined ? '' : `${namespace}/`}${name}`, object];
    }),
  );
}

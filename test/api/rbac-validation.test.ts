import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/api/object.ts';
import { rbacValidators } from '../../src/api/validation/rbac.ts';

const group = 'rbac.authorization.k8s.io';
const validators = new Map(rbacValidators);
const texts = (resource: string, object: object) =>
  validators.get(`${group}/${resource}`)!.create!({ metadata: {}, ...object } as KubeObject).map(
    (c) => `${c.field}: ${c.message}`,
  );

describe('RBAC validation', () => {
  test.each([
    [
      'roles',
      { rules: [{}] },
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      'roles',
      { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
      ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
    ],
    ['clusterroles', { rules: [{ verbs: ['get'], nonResourceURLs: ['/x/*/y'] }] }, []],
    [
      'clusterroles',
      { aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Near' }] }] } },
      [
        'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
        'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
      ],
    ],
    [
      'clusterrolebindings',
      { roleRef: { apiGroup: group, kind: 'Role', name: 'r' }, subjects: [{ kind: 'ServiceAccount', name: 'x' }] },
      [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        'subjects[0].namespace: Required value',
      ],
    ],
    [
      'rolebindings',
      { roleRef: { apiGroup: group, kind: 'Role', name: 'r' }, subjects: [{ kind: 'Robot', name: 'x' }] },
      ['subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
    ],
  ])('of %s %j', (resource, object, expected) => {
    expect(texts(resource, object)).toEqual(expected);
  });

  test('keeps the role reference of a binding', () => {
    const binding = (name: string): KubeObject => ({ metadata: {}, roleRef: { apiGroup: group, kind: 'Role', name } });
    const [cause] = validators.get(`${group}/rolebindings`)!.update!(binding('b'), binding('a'));
    expect(cause?.message).toBe(
      'Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot change roleRef',
    );
  });
});

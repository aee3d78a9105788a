import { expect, it } from 'vitest';
import { testApp } from '../support/app.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const ann = { 'impersonate-user': 'ann' };
const policy = (name: string) => ({
  metadata: { name },
  spec: {
    paramKind: { apiVersion: 'v1', kind: 'Secret' },
    matchConstraints: {
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    },
    validations: [{ expression: 'true' }],
  },
});
const binding = (name: string, policyName: string) => ({
  metadata: { name },
  spec: {
    policyName,
    validationActions: ['Deny'],
    paramRef: { name: 's', namespace: 'default', parameterNotFoundAction: 'Deny' },
  },
});

it('policies and bindings need leave to read their params', async () => {
  const { call } = await testApp();
  const grant = async (name: string, rules: object[]) => {
    await call('POST', `${RBAC}/clusterroles`, { metadata: { name }, rules });
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    await call('POST', `${RBAC}/clusterrolebindings`, { metadata: { name }, subjects, roleRef });
  };
  await grant('policies', [{ apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] }]);
  const policies = `${GROUP}/validatingadmissionpolicies`;
  const bindings = `${GROUP}/validatingadmissionpolicybindings`;
  const refused = await call('POST', policies, policy('a'), ann);
  expect(refused.status).toBe(422);
  expect(refused.body.details.causes).toEqual([
    {
      reason: 'FieldValueForbidden',
      field: 'spec.paramKind',
      message:
        'Forbidden: user &{ann  [system:authenticated] map[]} must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)',
    },
  ]);
  expect((await call('POST', policies, policy('a'))).status).toBe(201);
  const unbound = await call('POST', bindings, binding('a', 'a'), ann);
  expect(unbound.body.details.causes[0].message).toMatch(/does not have "get" permission on the object referenced by/);
  const unknown = await call('POST', bindings, binding('a', 'none'), ann);
  expect(unknown.body.details.causes[0].message).toContain('unable to get policy none to determine');
  await grant('secrets', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
  expect((await call('POST', bindings, binding('a', 'a'), ann)).status).toBe(201);
  expect((await call('POST', policies, policy('b'), ann)).status).toBe(201);
});

import { describe, expect, test } from 'vitest';
import { forbiddenError } from '../../src/authz/attributes.ts';
import { authorizeByRbac, ruleAllows } from '../../src/authz/rbac.ts';
import { type PolicyRule, type RbacEntry, RbacIndex, rbacEntry } from '../../src/policy/rbac-index.ts';
import { attributes, binding, role, userOf } from './support.ts';

const rule = (more: Partial<PolicyRule>): PolicyRule => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: ['pods'],
  resourceNames: [],
  nonResourceURLs: [],
  ...more,
});

describe('a rule', () => {
  test.each([
    [{}, {}, true],
    [{}, { verb: 'list' }, false],
    [{ verbs: ['*'] }, { verb: 'juggle' }, true],
    [{}, { group: 'apps' }, false],
    [{ apiGroups: ['*'] }, { group: 'apps' }, true],
    [{}, { subresource: 'log' }, false],
    [{ resources: ['*'] }, { subresource: 'log' }, true],
    [{ resources: ['*/log'] }, { subresource: 'log' }, true],
    [{ resources: ['*/log'] }, {}, false],
    [{ resources: ['pods/*'] }, { subresource: 'log' }, false],
    [{ resourceNames: ['a'] }, { name: 'a' }, true],
    [{ resourceNames: ['a'] }, { name: 'b' }, false],
    [{ resourceNames: ['a'] }, {}, false],
    [{ nonResourceURLs: ['/a'] }, { isResourceRequest: false, path: '/a' }, true],
    [{ nonResourceURLs: ['/a/*'] }, { isResourceRequest: false, path: '/a' }, false],
    [{ nonResourceURLs: ['/a/*'] }, { isResourceRequest: false, path: '/a/' }, true],
    [{ nonResourceURLs: ['*'] }, { isResourceRequest: false, path: '/b' }, true],
    [{ nonResourceURLs: [] }, { isResourceRequest: false, path: '/b' }, false],
  ])('%j for %j: %s', (of, asked, expected) => {
    expect(ruleAllows(rule(of), attributes(asked))).toBe(expected);
  });
});

const index = (...objects: object[]) =>
  new RbacIndex(objects.map((o) => rbacEntry(o as never)).filter((e): e is RbacEntry => e !== undefined));

describe('RBAC', () => {
  const rbac = index(
    role('ClusterRole', '', 'reader', [{ verbs: ['get'], apiGroups: [''], resources: ['pods', 'nodes'] }]),
    role('Role', 'web', 'writer', [{ verbs: ['create'], apiGroups: [''], resources: ['pods'] }]),
    binding('ClusterRoleBinding', '', 'all', { kind: 'ClusterRole', name: 'reader' }, [
      { kind: 'Group', name: 'crew' },
    ]),
    binding('RoleBinding', 'web', 'here', { kind: 'ClusterRole', name: 'reader' }, [{ kind: 'User', name: 'ann' }]),
    binding('RoleBinding', 'web', 'robots', { kind: 'Role', name: 'writer' }, [
      { kind: 'ServiceAccount', name: 'bot' },
    ]),
    binding('RoleBinding', 'web', 'gone', { kind: 'Role', name: 'gone' }, [{ kind: 'User', name: 'bob' }]),
  );
  const ask = (of: Parameters<typeof attributes>[0]) => authorizeByRbac(rbac, attributes(of));

  test('says which binding, role and subject allow', () => {
    expect(ask({ user: userOf('x', ['crew']) })).toEqual({
      decision: 'allow',
      reason: 'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to Group "crew"',
    });
    expect(ask({ user: userOf('ann'), namespace: 'web' }).reason).toBe(
      'RBAC: allowed by RoleBinding "here/web" of ClusterRole "reader" to User "ann"',
    );
    const bot = userOf('system:serviceaccount:web:bot');
    expect(ask({ user: bot, verb: 'create', namespace: 'web' }).reason).toBe(
      'RBAC: allowed by RoleBinding "robots/web" of Role "writer" to ServiceAccount "bot/web"',
    );
  });

  test('keeps a role binding to its namespace', () => {
    for (const namespace of ['', 'default']) {
      expect(ask({ user: userOf('ann'), namespace })).toEqual({ decision: 'noOpinion', reason: '' });
    }
  });

  test('tells of missing roles', () => {
    expect(ask({ user: userOf('bob'), namespace: 'web' })).toEqual({
      decision: 'noOpinion',
      reason: 'RBAC: role.rbac.authorization.k8s.io "gone" not found',
    });
  });

  test('takes hostile names for data', () => {
    expect(ask({ user: userOf('__proto__', ['constructor']), namespace: '__proto__' }).decision).toBe('noOpinion');
  });
});

describe('a refusal', () => {
  test.each([
    [
      { name: 'a', namespace: 'web', resource: 'configmaps' },
      'configmaps "a" is forbidden: User "ann" cannot get resource "configmaps" in API group "" in the namespace "web"',
    ],
    [
      { name: 'd', group: 'apps', resource: 'deployments', subresource: 'scale' },
      'deployments.apps "d" is forbidden: User "ann" cannot get resource "deployments/scale" in API group "apps" at the cluster scope',
    ],
    [
      { verb: 'list' },
      'pods is forbidden: User "ann" cannot list resource "pods" in API group "" at the cluster scope',
    ],
    [{ isResourceRequest: false, path: '/a' }, 'forbidden: User "ann" cannot get path "/a"'],
    [{ isResourceRequest: false, path: '/<b>' }, 'forbidden: User "ann" cannot get path "/&lt;b&gt;"'],
  ])('of %j', (of, message) => {
    expect(forbiddenError(attributes(of), '').status.message).toBe(message);
    expect(forbiddenError(attributes(of), 'why').status.message).toBe(`${message}: why`);
  });

  test('of a path has empty details', () => {
    expect(forbiddenError(attributes({ isResourceRequest: false, path: '/a' }), '').status.details).toEqual({});
  });
});

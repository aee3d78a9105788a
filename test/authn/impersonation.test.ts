import { beforeEach, describe, expect, test } from 'vitest';
import { impersonate } from '../../src/authn/impersonation.ts';
import { binding, byKey, role } from '../authz/support.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';
import { makeContext, statusOf, store, userOf } from './support.ts';

const root = userOf('root', ['system:masters']);
const create = {
  group: 'authentication.k8s.io',
  resource: 'selfsubjectreviews',
  verb: 'create',
} as const;

describe('impersonation', () => {
  let keyspace: MemoryKeyspace;
  beforeEach(() => {
    keyspace = memoryKeyspace();
  });
  const ask = async (headers: Record<string, string>, requestor = root) => {
    const ctx = await makeContext(keyspace, requestor, create);
    return impersonate(new Headers(headers), requestor, ctx.info, ctx.policy);
  };
  const grant = (name: string, rules: object[]) =>
    store(
      keyspace,
      byKey(
        role('ClusterRole', '', name, rules),
        binding('ClusterRoleBinding', '', name, { kind: 'ClusterRole', name }, [{ kind: 'User', name: 'ann' }]),
      ),
    );

  test('without headers changes nothing', async () => {
    expect(await ask({})).toBe(root);
  });

  test.each([
    [{ 'Impersonate-User': 'bob' }, ['system:authenticated']],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Group': '' }, ['', 'system:authenticated']],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Group': 'system:authenticated, x' }, ['system:authenticated', 'x']],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Group': 'system:unauthenticated' }, ['system:unauthenticated']],
    [{ 'Impersonate-User': 'system:anonymous' }, ['system:unauthenticated']],
    [{ 'Impersonate-User': 'system:node:n1' }, ['system:authenticated']],
    [
      { 'Impersonate-User': 'system:serviceaccount:a:b' },
      ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'],
    ],
    [{ 'Impersonate-User': 'system:serviceaccount:a:b', 'Impersonate-Group': 'g' }, ['g', 'system:authenticated']],
    [{ 'Impersonate-User': 'system:serviceaccount:a' }, ['system:authenticated']],
  ])('as %j has the groups %j', async (headers, groups) => {
    expect((await ask(headers as Record<string, string>)).groups).toEqual(groups);
  });

  test('takes uid and extra, with lower-case unescaped keys', async () => {
    const headers = {
      'Impersonate-User': 'bob',
      'Impersonate-Uid': '7',
      'Impersonate-Extra-acme.com%2FProject': 'p1, p2',
    };
    expect(await ask(headers)).toMatchObject({ name: 'bob', uid: '7', extra: { 'acme.com/project': ['p1', 'p2'] } });
  });

  test.each([
    [{ 'Impersonate-Group': 'dev' }, '{Name:"", UID:"", Groups:[]string{"dev"}, Extra:map[string][]string(nil)}'],
    [
      { 'Impersonate-Extra-scopes': 'view' },
      '{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"scopes":[]string{"view"}}}',
    ],
  ])('is refused as %j', async (headers, wanted) => {
    expect((await statusOf(ask(headers as unknown as Record<string, string>))).message).toBe(
      `requested &user.DefaultInfo${wanted} without impersonating a user name`,
    );
  });

  test('without any right speaks of the constrained mode', async () => {
    expect((await statusOf(ask({ 'Impersonate-User': 'bob' }, userOf('ann')))).message).toBe(
      'selfsubjectreviews.authentication.k8s.io is forbidden: User "ann" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
    );
  });

  test('with the old verb is allowed by name, and its refusals speak of it', async () => {
    await grant('old', [
      { verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['bob'] },
      { verbs: ['impersonate'], apiGroups: [''], resources: ['groups'], resourceNames: ['dev'] },
    ]);
    const ann = userOf('ann');
    expect((await ask({ 'Impersonate-User': 'bob', 'Impersonate-Group': 'dev' }, ann)).name).toBe('bob');
    expect((await statusOf(ask({ 'Impersonate-User': 'eve' }, ann))).message).toBe(
      'users "eve" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
    expect((await statusOf(ask({ 'Impersonate-User': 'bob', 'Impersonate-Uid': '1' }, ann))).message).toContain(
      'uids.authentication.k8s.io "1" is forbidden',
    );
  });

  test('in the mode of nodes gives the groups of nodes', async () => {
    await grant('node', [
      { verbs: ['impersonate-on:arbitrary-node:create'], apiGroups: [create.group], resources: [create.resource] },
      { verbs: ['impersonate:arbitrary-node'], apiGroups: [create.group], resources: ['nodes'], resourceNames: ['n1'] },
    ]);
    const ann = userOf('ann');
    expect((await ask({ 'Impersonate-User': 'system:node:n1' }, ann)).groups).toEqual([
      'system:nodes',
      'system:authenticated',
    ]);
    expect((await statusOf(ask({ 'Impersonate-User': 'system:node:n2' }, ann))).code).toBe(403);
  });

  test('in a constrained mode is for the granted verb only, and never for superusers', async () => {
    await grant('new', [
      { verbs: ['impersonate-on:user-info:create'], apiGroups: [create.group], resources: [create.resource] },
      { verbs: ['impersonate:user-info'], apiGroups: [create.group], resources: ['users', 'groups'] },
    ]);
    const ann = userOf('ann');
    expect((await ask({ 'Impersonate-User': 'bob', 'Impersonate-Group': 'dev' }, ann)).groups).toContain('dev');
    expect(
      (await statusOf(ask({ 'Impersonate-User': 'bob', 'Impersonate-Group': 'system:masters' }, ann))).message,
    ).toContain('impersonating the system:masters group is not allowed');
    const ctx = await makeContext(keyspace, ann, { resource: 'secrets', verb: 'list' });
    const other = impersonate(new Headers({ 'Impersonate-User': 'bob' }), ann, ctx.info, ctx.policy);
    expect((await statusOf(other)).message).toContain('cannot impersonate-on:user-info:list resource "secrets"');
  });
});

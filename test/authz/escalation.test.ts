import { beforeEach, describe, expect, test } from 'vitest';
import { checkEscalation } from '../../src/authz/escalation.ts';
import { builtins } from '../../src/registry/resource.ts';
import type { UserInfo } from '../../src/request/context.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';
import { binding, byKey, makeContext, role, statusOf, store, userOf } from './support.ts';

const group = 'rbac.authorization.k8s.io';
const rows = builtins.get(`${group}/v1`)!;
const ann = userOf('ann', ['dev', 'system:authenticated']);
const held =
  'user "ann" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n';
const pods = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };

describe('escalation', () => {
  let keyspace: MemoryKeyspace;
  beforeEach(async () => {
    keyspace = memoryKeyspace();
    await store(
      keyspace,
      byKey(
        role('Role', 'web', 'ann', [
          pods,
          { verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['one'] },
          { verbs: ['bind'], apiGroups: [group], resources: ['roles'], resourceNames: ['free'] },
        ]),
        role('Role', 'web', 'zed', [{ verbs: ['escalate'], apiGroups: [group], resources: ['roles'] }]),
        role('Role', 'web', 'free', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]),
        role('Role', 'web', 'big', [{ verbs: ['list'], apiGroups: [''], resources: ['secrets'] }]),
        role('Role', 'web', 'small', [{ verbs: ['list'], apiGroups: [''], resources: ['pods'] }]),
        binding('RoleBinding', 'web', 'ann', { kind: 'Role', name: 'ann' }, [{ kind: 'User', name: 'ann' }]),
        binding('RoleBinding', 'web', 'zed', { kind: 'Role', name: 'zed' }, [{ kind: 'User', name: 'zed' }]),
      ),
    );
  });

  const write = async (resource: string, object: object, user: UserInfo = ann, old?: object) => {
    const namespace = resource.startsWith('cluster') ? '' : 'web';
    const ctx = await makeContext(keyspace, user, { group, resource, namespace, verb: 'create' });
    await checkEscalation(ctx, rows.get(resource)!, object as never, old as never);
  };
  const grant = (rules: object[], user?: UserInfo) => write('roles', role('Role', 'web', 'made', rules), user);
  const refusal = async (rules: object[]) => (await statusOf(grant(rules))).message;
  const intro = `roles.${group} "made" is forbidden: ${held}`;

  test('lets through what is held', async () => {
    await grant([{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]);
    await grant([{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['one'] }]);
    await grant([]);
  });

  test('lists what is missing, broken down, joined by verbs and sorted', async () => {
    expect(await refusal([{ verbs: ['get', 'delete'], apiGroups: [''], resources: ['pods'] }])).toBe(
      `${intro}{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}`,
    );
    expect(
      await refusal([{ verbs: ['get', 'list'], apiGroups: ['batch', 'apps'], resources: ['jobs', 'deployments'] }]),
    ).toBe(
      `${intro}${[
        '{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["jobs"], Verbs:["get" "list"]}',
        '{APIGroups:["batch"], Resources:["deployments"], Verbs:["get" "list"]}',
        '{APIGroups:["batch"], Resources:["jobs"], Verbs:["get" "list"]}',
      ].join('\n')}`,
    );
    expect(
      await refusal([{ verbs: ['get'], apiGroups: [''], resources: ['secrets'], resourceNames: ['one', 'two'] }]),
    ).toBe(`${intro}{APIGroups:[""], Resources:["secrets"], ResourceNames:["two"], Verbs:["get"]}`);
    expect(await refusal([{ verbs: ['get'], nonResourceURLs: ['/x'] }])).toBe(
      `${intro}{NonResourceURLs:["/x"], Verbs:["get"]}`,
    );
  });

  test('is lifted by the verb escalate and for superusers', async () => {
    const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    await grant(everything, userOf('zed'));
    await grant(everything, userOf('root', ['system:masters']));
  });

  test('looks at updates that touch more than owners and finalizers', async () => {
    const old = role('Role', 'web', 'big', [{ verbs: ['list'], apiGroups: [''], resources: ['secrets'] }]);
    const labelled = { ...old, metadata: { ...old.metadata, labels: { a: 'b' } } };
    expect((await statusOf(write('roles', labelled, ann, old))).code).toBe(403);
    await write('roles', { ...old, metadata: { ...old.metadata, finalizers: ['x'], resourceVersion: '7' } }, ann, old);
  });

  test('asks for everything before an aggregation rule is set', async () => {
    await store(
      keyspace,
      byKey(
        role('ClusterRole', '', 'holder', [pods]),
        binding('ClusterRoleBinding', '', 'holder', { kind: 'ClusterRole', name: 'holder' }, [
          { kind: 'User', name: 'ann' },
        ]),
      ),
    );
    const aggregated = {
      ...role('ClusterRole', '', 'agg', [pods]),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    };
    expect((await statusOf(write('clusterroles', aggregated))).message).toBe(
      `clusterroles.${group} "agg" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    );
  });

  const bind = (name: string) =>
    write(
      'rolebindings',
      binding('RoleBinding', 'web', `for-${name}`, { kind: 'Role', name }, [{ kind: 'User', name: 'eve' }]),
    );

  test('weighs the role that is bound', async () => {
    await bind('small');
    await bind('free');
    expect((await statusOf(bind('big'))).message).toBe(
      `rolebindings.${group} "for-big" is forbidden: ${held}{APIGroups:[""], Resources:["secrets"], Verbs:["list"]}`,
    );
    expect(await statusOf(bind('none'))).toMatchObject({
      code: 404,
      message: `rolebindings.${group} "none" not found`,
    });
  });

  test('is nothing to other resources', async () => {
    const ctx = await makeContext(keyspace, ann, { resource: 'pods' });
    await checkEscalation(ctx, builtins.get('v1')!.get('pods')!, { metadata: {} }, undefined);
  });
});

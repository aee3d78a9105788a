import { beforeEach, describe, expect, test } from 'vitest';
import { serveReview } from '../../src/authz/reviews.ts';
import type { Config } from '../../src/config.ts';
import type { UserInfo } from '../../src/request/context.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';
import { binding, byKey, makeContext, role, statusOf, store, userOf } from './support.ts';

const ann = userOf('ann');
const here = (more: object) => ({ resourceAttributes: { namespace: 'web', resource: 'pods', verb: 'get', ...more } });

describe('reviews', () => {
  let keyspace: MemoryKeyspace;
  beforeEach(async () => {
    keyspace = memoryKeyspace();
    await store(
      keyspace,
      byKey(
        role('Role', 'web', 'reader', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]),
        binding('RoleBinding', 'web', 'reader', { kind: 'Role', name: 'reader' }, [{ kind: 'User', name: 'ann' }]),
        binding('RoleBinding', 'web', 'gone', { kind: 'Role', name: 'gone' }, [{ kind: 'User', name: 'bob' }]),
      ),
    );
  });

  const ask = async (resource: string, body: object, user: UserInfo = ann) => {
    const namespace = resource === 'localsubjectaccessreviews' ? 'web' : '';
    const ctx = await makeContext(keyspace, user, { resource, namespace, verb: 'create' });
    return serveReview({} as Config, ctx, resource, { metadata: {}, ...body });
  };
  const self = (spec: object, user?: UserInfo) => ask('selfsubjectaccessreviews', { spec }, user);
  const subject = (spec: object) => ask('subjectaccessreviews', { spec });

  test('say what the asker may do, and why', async () => {
    expect((await self(here({}))).status).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "reader/web" of Role "reader" to User "ann"',
    });
    expect((await self(here({ verb: 'delete' }))).status).toEqual({ allowed: false });
    expect((await self(here({ verb: 'fly' }), userOf('root', ['system:masters']))).status).toEqual({ allowed: true });
  });

  test('see a role that another isolate has just changed', async () => {
    const ctx = await makeContext(keyspace, ann, { resource: 'selfsubjectaccessreviews' });
    await keyspace.propose({
      conditions: [],
      operations: [{ type: 'delete', key: '/registry/rolebindings/web/reader' }],
    });
    const review = await serveReview({} as Config, ctx, 'selfsubjectaccessreviews', { metadata: {}, spec: here({}) });
    expect(review.status).toEqual({ allowed: false });
  });

  test.each([
    [
      {},
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      { ...here({}), nonResourceAttributes: { path: '/', verb: 'get' } },
      'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [
      here({ fieldSelector: {} }),
      'spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
    ],
    [
      here({ labelSelector: { requirements: [{ key: 'a', operator: 'Exists', values: ['b'] }] } }),
      "spec.resourceAttributes.labelSelector.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ],
  ])('refuse %j', async (spec, message) => {
    const status = await statusOf(self(spec));
    expect(status).toMatchObject({ code: 422, details: { group: 'authorization.k8s.io' } });
    expect(status.message).toBe(`.authorization.k8s.io "" is invalid: ${message}`);
  });

  test('note selectors that they cannot read', async () => {
    const label = { rawSelector: 'a in (b' };
    const field = { requirements: [{ key: 'a', operator: 'Exists' }] };
    expect((await self(here({ labelSelector: label, fieldSelector: field }))).status).toMatchObject({
      evaluationError:
        'spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error',
    });
  });

  test('need a subject where they do not ask for the asker', async () => {
    expect((await statusOf(subject(here({})))).message).toContain('at least one of user or group must be specified');
    expect((await subject({ user: 'ann', ...here({}) })).status).toMatchObject({ allowed: true });
  });

  test('stay in their namespace', async () => {
    const local = (spec: object, metadata = {}) =>
      ask('localsubjectaccessreviews', { metadata, spec: { user: 'ann', ...spec } });
    expect(await local(here({}))).toMatchObject({ metadata: { namespace: 'web' }, status: { allowed: true } });
    expect((await statusOf(local(here({ namespace: 'default' })))).message).toContain(
      'spec.resourceAttributes.namespace: Invalid value: "default": must match metadata.namespace',
    );
    expect((await statusOf(local(here({}), { namespace: 'default' }))).message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });

  test('list the rules of the asker', async () => {
    const rules = (user: UserInfo, namespace?: string) => ask('selfsubjectrulesreviews', { spec: { namespace } }, user);
    expect((await rules(ann, 'web')).status).toEqual({
      resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
      nonResourceRules: [],
      incomplete: false,
    });
    expect((await rules(userOf('bob'), 'web')).status).toMatchObject({
      evaluationError: 'role.rbac.authorization.k8s.io "gone" not found',
    });
    expect((await statusOf(rules(ann))).message).toBe('no namespace on request');
  });

  test('tell who the asker is', async () => {
    const user = { name: 'ann', uid: '42', groups: ['dev'], extra: { team: ['red'] } };
    expect(await ask('selfsubjectreviews', {}, user)).toMatchObject({
      metadata: { creationTimestamp: '2026-11-29T12:00:00Z' },
      status: { userInfo: { username: 'ann', uid: '42', groups: ['dev'], extra: { team: ['red'] } } },
    });
  });
});

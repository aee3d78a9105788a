import { describe, expect, it } from 'vitest';
import type { Keyspace } from '../../src/keyspace/types.ts';
import { testApp } from '../support/app.ts';

const path = '/api/v1/namespaces/default/configmaps';
const cm = (name: string, meta = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...meta } });
const merge = { 'content-type': 'application/merge-patch+json' };
const options = (more: object) => ({ apiVersion: 'v1', kind: 'DeleteOptions', ...more });

/** Items of the garbage collector in the outbox. */
const collector = async (keyspace: Keyspace) =>
  (await keyspace.work(10)).filter(({ loop }) => loop === 'garbage-collector').map(({ item }) => item);

describe('finalizers', () => {
  it('hold a deleted object until the last is gone', async () => {
    const { call } = await testApp();
    await call('POST', path, cm('a', { finalizers: ['example.com/one'] }));
    const first = await call('DELETE', `${path}/a`);
    expect(first.body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0, finalizers: ['example.com/one'] });
    const second = await call('DELETE', `${path}/a`);
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    const more = await call('PATCH', `${path}/a`, { metadata: { finalizers: ['example.com/two'] } }, merge);
    expect([more.status, more.body.details.causes[0].reason]).toEqual([422, 'FieldValueForbidden']);
    expect((await call('PATCH', `${path}/a`, { metadata: { finalizers: [] } }, merge)).status).toBe(200);
    expect((await call('GET', `${path}/a`)).status).toBe(404);
  });

  it('are added for the garbage collector', async () => {
    const { call, keyspace } = await testApp();
    await call('POST', path, cm('a'));
    const answer = await call('DELETE', `${path}/a`, options({ propagationPolicy: 'Foreground' }));
    expect(answer.body.metadata.finalizers).toEqual(['foregroundDeletion']);
    expect(await collector(keyspace)).toEqual(['finalize:/registry/configmaps/default/a']);
  });
});

describe('preconditions', () => {
  it('of uid and version are 409 when they do not hold', async () => {
    const { call } = await testApp();
    const { uid, resourceVersion } = (await call('POST', path, cm('a'))).body.metadata;
    const other = await call('DELETE', `${path}/a`, options({ preconditions: { uid: 'other' } }));
    expect(other.body.message).toContain(
      `the UID in the precondition (other) does not match the UID in record (${uid})`,
    );
    expect((await call('DELETE', `${path}/a`, options({ preconditions: { resourceVersion: '1' } }))).status).toBe(409);
    expect((await call('DELETE', `${path}/a`, options({ preconditions: { uid, resourceVersion } }))).status).toBe(200);
  });
});

it('a dry run stores nothing', async () => {
  const { call } = await testApp();
  const created = await call('POST', path, cm('a'));
  expect((await call('DELETE', `${path}/a?dryRun=All`)).body.status).toBe('Success');
  expect((await call('POST', `${path}?dryRun=All`, cm('b'))).body.metadata.resourceVersion).toBeUndefined();
  expect((await call('GET', `${path}/b`)).status).toBe(404);
  expect((await call('GET', `${path}/a`)).body).toEqual(created.body);
});

it('deleting an owner makes work only where something is owned', async () => {
  const { call, keyspace } = await testApp();
  const { uid } = (await call('POST', path, cm('owner'))).body.metadata;
  await call('POST', path, cm('lonely'));
  await call('DELETE', `${path}/lonely`);
  expect(await collector(keyspace)).toEqual([]);
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
  await call('POST', path, cm('owned', { ownerReferences }));
  await call('DELETE', `${path}/owner`);
  expect(await collector(keyspace)).toEqual([
    'check-owners:/registry/configmaps/default/owned',
    `owner-deleted:${uid}`,
  ]);
});

describe('namespaces', () => {
  const root = '/api/v1/namespaces';

  it('end when their finalizers are done, and take nothing new until then', async () => {
    const { call, keyspace } = await testApp(['ending']);
    const deleted = await call('DELETE', `${root}/ending`);
    expect([deleted.status, deleted.body.status.phase]).toEqual([200, 'Terminating']);
    expect((await keyspace.work(10)).at(-1)).toMatchObject({ loop: 'namespace', item: 'ending' });
    const refused = await call('POST', `${root}/ending/configmaps`, cm('a'));
    expect([refused.status, refused.body.details.causes[0].reason]).toEqual([403, 'NamespaceTerminating']);
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ending' }, spec: { finalizers: [] } };
    expect((await call('PUT', `${root}/ending/finalize`, body)).status).toBe(200);
    expect((await call('GET', `${root}/ending`)).status).toBe(404);
  });

  it('that the cluster needs stay', async () => {
    const { call } = await testApp(['kube-system']);
    expect((await call('DELETE', `${root}/kube-system`)).body.message).toBe(
      'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    );
  });
});

describe('pods', () => {
  const pods = '/api/v1/namespaces/default/pods';
  const pod = (name: string, spec = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }], ...spec },
  });

  it('on a node have a grace period that can be shortened but not stretched', async () => {
    const { call } = await testApp();
    await call('POST', '/api/v1/namespaces/default/serviceaccounts', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default' },
    });
    await call('POST', pods, pod('placed', { nodeName: 'n' }));
    const grace = async (query = '') =>
      (await call('DELETE', `${pods}/placed${query}`)).body.metadata.deletionGracePeriodSeconds;
    expect(await grace()).toBe(30);
    expect(await grace('?gracePeriodSeconds=10')).toBe(10);
    expect(await grace('?gracePeriodSeconds=100')).toBe(10);
    expect(await grace('?gracePeriodSeconds=0')).toBe(0);
    expect((await call('GET', `${pods}/placed`)).status).toBe(404);
    await call('POST', pods, pod('free'));
    await call('DELETE', `${pods}/free`);
    expect((await call('GET', `${pods}/free`)).status).toBe(404);
  });
});

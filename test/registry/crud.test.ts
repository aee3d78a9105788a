import { describe, expect, it } from 'vitest';
import { testApp } from '../support/app.ts';

const path = '/api/v1/namespaces/default/configmaps';
const cm = (name: string, data?: Record<string, string>, meta = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...meta },
  data,
});

describe('plain verbs', () => {
  it('creates, reads, updates and deletes', async () => {
    const { call } = await testApp();
    const created = await call('POST', path, cm('a', { k: 'v' }));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } });
    expect(created.headers.get('audit-id')).not.toBeNull();
    const rv = created.body.metadata.resourceVersion;
    expect((await call('POST', path, cm('a'))).body.message).toBe('configmaps "a" already exists');
    expect((await call('GET', `${path}/a`)).body).toEqual(created.body);
    const updated = await call('PUT', `${path}/a`, cm('a', { k: 'w' }, { resourceVersion: rv }));
    expect([updated.status, updated.body.data]).toEqual([200, { k: 'w' }]);
    const stale = await call('PUT', `${path}/a`, cm('a', { k: 'x' }, { resourceVersion: rv }));
    expect(stale.body.message).toBe(
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect((await call('PUT', `${path}/a`, cm('a', { k: 'y' }))).status).toBe(200);
    const gone = await call('DELETE', `${path}/a`);
    expect([gone.status, gone.body.status, gone.body.details.kind]).toEqual([200, 'Success', 'configmaps']);
    expect((await call('DELETE', `${path}/a`)).status).toBe(404);
  });

  it('writes nothing when nothing changes', async () => {
    const { call } = await testApp();
    const created = await call('POST', path, cm('a', { k: 'v' }));
    const again = await call('PUT', `${path}/a`, cm('a', { k: 'v' }));
    expect(again.body.metadata.resourceVersion).toBe(created.body.metadata.resourceVersion);
  });

  it('refuses creates in namespaces that are missing', async () => {
    const { call } = await testApp();
    const answer = await call('POST', '/api/v1/namespaces/none/configmaps', cm('a'));
    expect([answer.status, answer.body.message]).toEqual([404, 'namespaces "none" not found']);
    const bad = await call('POST', '/api/v1/namespaces/none/configmaps', cm('A_'));
    expect(bad.status).toBe(404);
  });
});

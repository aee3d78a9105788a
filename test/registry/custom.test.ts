import { describe, expect, it } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const gizmos = '/apis/bug.test/v1/namespaces/default/gizmos';
const merge = { 'content-type': 'application/merge-patch+json' };
const schema = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { size: { type: 'integer', default: 3 }, plain: { type: 'string' } } },
    status: { type: 'object', properties: { ready: { type: 'boolean' } } },
  },
};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gizmos.bug.test' },
  spec: {
    group: 'bug.test',
    scope: 'Namespaced',
    names: { plural: 'gizmos', singular: 'gizmo', kind: 'Gizmo' },
    versions: [
      { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
    ],
  },
};
const gizmo = (name: string, more: object = {}) => ({
  apiVersion: 'bug.test/v1',
  kind: 'Gizmo',
  metadata: { name },
  ...more,
});

async function defined(): Promise<TestApp> {
  const app = await testApp();
  await app.call('POST', definitions, definition);
  return app;
}

describe('custom resources', () => {
  it('are served as soon as they are defined, pruned and with defaults', async () => {
    const { call } = await defined();
    const made = await call('POST', gizmos, gizmo('a', { spec: { other: 1 }, status: { ready: true } }));
    expect([made.status, made.body.spec, made.body.status]).toEqual([201, { size: 3 }, undefined]);
    expect(made.headers.get('warning')).toBe('299 - "unknown field \\"spec.other\\""');
    const strict = await call('POST', `${gizmos}?fieldValidation=Strict`, gizmo('b', { spec: { other: 1 } }));
    expect(strict.status).toBe(400);
    const wrong = await call('POST', gizmos, gizmo('b', { spec: { plain: 5 } }));
    expect([wrong.status, wrong.body.details.causes[0].field]).toEqual([422, 'spec.plain']);
  });

  it('keep status and spec apart and count generations', async () => {
    const { call } = await defined();
    await call('POST', gizmos, gizmo('a'));
    const patch = async (body: object, sub = '') => (await call('PATCH', `${gizmos}/a${sub}`, body, merge)).body;
    const status = await patch({ spec: { size: 9 }, status: { ready: true } }, '/status');
    expect([status.spec, status.status, status.metadata.generation]).toEqual([undefined, { ready: true }, 1]);
    const main = await patch({ spec: { size: 2 }, status: { ready: false } });
    expect([main.spec, main.status, main.metadata.generation]).toEqual([{ size: 2 }, { ready: true }, 2]);
  });

  it('are not written when nothing changes, however their keys are ordered', async () => {
    const { call } = await defined();
    const { body: made } = await call('POST', gizmos, gizmo('a', { spec: { size: 1, plain: 'x' } }));
    const { metadata, ...rest } = made;
    const reversed = Object.fromEntries(Object.entries(metadata).reverse());
    const put = await call('PUT', `${gizmos}/a`, { metadata: reversed, ...rest, spec: { plain: 'x', size: 1 } });
    expect(put.body.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it('are read in any version, with the defaults of the one that they were stored in', async () => {
    const { call } = await testApp();
    const of = (name: string, storage: boolean, properties: object, more: object = {}) => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
      ...more,
    });
    const text = { type: 'string' };
    const old = of('v1alpha1', true, { a: text }, { deprecated: true });
    const fresh = of('v1', false, { a: text, b: { ...text, default: 'd' } });
    await call('POST', definitions, { ...definition, spec: { ...definition.spec, versions: [old, fresh] } });
    const made = await call('POST', gizmos, gizmo('a', { spec: { a: '1', b: '2' } }));
    expect([made.body.apiVersion, made.body.spec]).toEqual(['bug.test/v1', { a: '1' }]);
    const listed = await call('GET', gizmos.replace('/v1/', '/v1alpha1/'));
    expect(listed.headers.get('warning')).toBe('299 - "bug.test/v1alpha1 Gizmo is deprecated; use bug.test/v1 Gizmo"');
    expect(listed.body.items[0].apiVersion).toBe('bug.test/v1alpha1');
  });

  it('must be of their kind', async () => {
    const { call } = await defined();
    const wrong = await call('POST', gizmos, { ...gizmo('a'), kind: 'Gadget' });
    expect([wrong.status, wrong.body.details.kind, wrong.body.details.causes[0].field]).toEqual([
      422,
      'Gadget',
      'kind',
    ]);
  });

  it('go with their definition', async () => {
    const { call } = await defined();
    await call('POST', gizmos, gizmo('a'));
    await call('DELETE', `${definitions}/gizmos.bug.test`);
    expect((await call('GET', `${definitions}/gizmos.bug.test`)).status).toBe(404);
    expect((await call('GET', gizmos)).body).toBe('404 page not found\n');
    await call('POST', definitions, definition);
    expect((await call('GET', gizmos)).body.items).toEqual([]);
  });

  it('with finalizers keep their definition until they are gone', async () => {
    const { call } = await defined();
    await call('POST', gizmos, { ...gizmo('a'), metadata: { name: 'a', finalizers: ['example.com/hold'] } });
    await call('DELETE', `${definitions}/gizmos.bug.test`);
    expect((await call('GET', `${definitions}/gizmos.bug.test`)).status).toBe(200);
    expect((await call('POST', gizmos, gizmo('b'))).status).toBe(403);
    await call('PATCH', `${gizmos}/a`, { metadata: { finalizers: [] } }, merge);
    expect((await call('GET', `${definitions}/gizmos.bug.test`)).status).toBe(404);
  });
});

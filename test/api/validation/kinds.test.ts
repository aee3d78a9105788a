import { describe, expect, it } from 'vitest';
import { testApp } from '../../support/app.ts';

const core = '/api/v1/namespaces/default';
const merge = { 'content-type': 'application/merge-patch+json' };
type Causes = { field: string; message: string }[];
const fieldsOf = (body: { details?: { causes?: Causes } }) => (body.details?.causes ?? []).map(({ field }) => field);

async function withAccount() {
  const app = await testApp();
  await app.call('POST', `${core}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  });
  return app;
}

describe('containers of pods', () => {
  const container = { name: 'c', image: 'i' };
  it.each([
    ['none', { containers: [] }, ['spec.containers']],
    ['unnamed', { containers: [{ image: 'i' }] }, ['spec.containers[0].name']],
    ['twice', { containers: [container, container] }, ['spec.containers[1].name']],
    [
      'a mount of nothing',
      { containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/x' }] }] },
      ['spec.containers[0].volumeMounts[0].name'],
    ],
    [
      'a bad port',
      { containers: [{ ...container, ports: [{ containerPort: 70000 }] }] },
      ['spec.containers[0].ports[0].containerPort'],
    ],
    [
      'more asked than allowed',
      { containers: [{ ...container, resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }] },
      ['spec.containers[0].resources.requests'],
    ],
    ['a good one', { containers: [container] }, []],
  ])('%s', async (_, spec, expected) => {
    const { call } = await withAccount();
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { automountServiceAccountToken: false, ...spec },
    };
    expect(fieldsOf((await call('POST', `${core}/pods?dryRun=All`, pod)).body)).toEqual(expected);
  });

  it('change only in their image', async () => {
    const { call } = await withAccount();
    const spec = { automountServiceAccountToken: false, containers: [container] };
    await call('POST', `${core}/pods`, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    const patch = async (change: object) => (await call('PATCH', `${core}/pods/p`, { spec: change }, merge)).body;
    expect(fieldsOf(await patch({ containers: [{ name: 'c', image: 'j' }] }))).toEqual([]);
    expect(fieldsOf(await patch({ restartPolicy: 'Never' }))).toEqual(['spec']);
    expect(fieldsOf(await patch({ containers: [container, { name: 'd', image: 'i' }] }))).toEqual(['spec.containers']);
  });
});

it('immutable configuration stays', async () => {
  const { call } = await testApp();
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' }, immutable: true };
  await call('POST', `${core}/configmaps`, object);
  const patch = async (body: object) => (await call('PATCH', `${core}/configmaps/a`, body, merge)).body;
  expect(fieldsOf(await patch({ data: { k: 'w' } }))).toEqual(['data']);
  expect(fieldsOf(await patch({ immutable: false }))).toEqual(['immutable']);
  expect(fieldsOf(await patch({ metadata: { labels: { a: 'b' } } }))).toEqual([]);
});

it('configuration has keys and sizes that fit', async () => {
  const { call } = await testApp();
  const make = async (data: Record<string, string>) =>
    fieldsOf(
      (
        await call('POST', `${core}/configmaps?dryRun=All`, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'a' },
          data,
        })
      ).body,
    );
  expect(await make({ 'a/b': 'v' })).toEqual(['data[a/b]']);
  expect(await make({ k: 'x'.repeat(1048576) })).toEqual([]);
  expect(await make({ k: 'x'.repeat(1048577) })).toEqual(['[]']);
});

it('workloads select their own pods, for ever', async () => {
  const { call } = await testApp();
  const path = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const make = (selector: object) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { selector, template },
  });
  expect(fieldsOf((await call('POST', path, make({ matchLabels: { a: 'c' } }))).body)).toEqual([
    'spec.template.metadata.labels',
  ]);
  expect(fieldsOf((await call('POST', path, make({}))).body)).toEqual(['spec.selector']);
  expect((await call('POST', path, make({ matchLabels: { a: 'b' } }))).status).toBe(201);
  const other = { spec: { selector: { matchLabels: { a: 'c' } }, template: { metadata: { labels: { a: 'c' } } } } };
  expect(fieldsOf((await call('PATCH', `${path}/d`, other, merge)).body)).toEqual(['spec.selector']);
});

import { beforeAll, describe, expect, test } from 'vitest';
import type { Tree } from './api.ts';
import { bareCluster, configMap, gizmoDefinition, gizmosOf } from './user-reports.ts';

const bare = bareCluster();
const path = '/api/v1/namespaces/pages/configmaps';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

beforeAll(async () => {
  await bare.api.namespace('pages');
  await bare.api.namespace('empty');
  await bare.api.define(gizmoDefinition);
  for (let i = 1; i <= 5; i++) await bare.api.post(path, configMap(`p${i}`, {}, { labels: { par: String(i % 2) } }));
});

const list = async (query: string): Promise<Tree> => (await bare.api.get(`${path}?${query}`)).json;
const names = ({ items }: Tree) => items.map(({ metadata }: Tree) => metadata.name);

describe('B07 pages of a list', () => {
  test('count what remains and show one moment', async () => {
    const first = await list('limit=2');
    await bare.api.post(path, configMap('p25'));
    await bare.api.delete(`${path}/p4`);
    const second = await list(`limit=2&continue=${encodeURIComponent(first.metadata.continue)}`);
    const third = await list(`limit=2&continue=${encodeURIComponent(second.metadata.continue)}`);
    expect([first, second, third].map(names)).toEqual([['p1', 'p2'], ['p3', 'p4'], ['p5']]);
    expect([first, second].map(({ metadata }) => metadata.remainingItemCount)).toEqual([3, 1]);
    const { resourceVersion } = first.metadata;
    expect(third.metadata).toEqual({ resourceVersion });
    expect(second.metadata.resourceVersion).toBe(resourceVersion);
    expect(names(await list(''))).toEqual(['p1', 'p2', 'p25', 'p3', 'p5']);
  });

  test('do not count behind a selector', async () => {
    const { metadata } = await list('limit=1&labelSelector=par=1');
    expect(metadata.continue).toBeTruthy();
    expect(metadata).not.toHaveProperty('remainingItemCount');
  });

  test('are refused with parameters that make no sense', async () => {
    const token = encodeURIComponent((await list('limit=2')).metadata.continue);
    const codes = [];
    for (const query of [
      `limit=2&continue=${token}&resourceVersion=5`,
      'continue=garbage',
      'limit=abc',
      'resourceVersionMatch=Exact',
    ])
      codes.push((await bare.api.get(`${path}?${query}`)).code);
    expect(codes).toEqual([400, 400, 400, 422]);
  });

  test.each([
    '/api/v1/namespaces/empty/secrets',
    '/api/v1/namespaces/nowhere/secrets',
    gizmosOf('empty'),
    gizmosOf('nowhere'),
  ])('nothing is an empty list, not null: %s', async (nothing) => {
    const { code, json } = await bare.api.get(nothing);
    expect([code, json.items]).toEqual([200, []]);
    const table = await bare.api.get(nothing, { accept: TABLE });
    expect([table.code, table.json.kind, table.json.rows]).toEqual([200, 'Table', []]);
    expect(table.json.columnDefinitions[0].name).toBe('Name');
  });
});

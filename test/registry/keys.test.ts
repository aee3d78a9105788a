import { beforeAll, describe, expect, test } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});

const named = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };

// As kube-apiserver 1.36.3 answers; names that hold NUL could reach other keys.
test.each([
  ['GET', '/api/v1/namespaces/default/configmaps/%00', 'configmaps "\u0000" not found'],
  ['DELETE', '/api/v1/namespaces/default/configmaps/a%00b', 'configmaps "a\u0000b" not found'],
  ['GET', '/api/v1/namespaces/%00/configmaps/a', 'configmaps "a" not found'],
  ['GET', '/api/v1/namespaces/%00', 'namespaces "\u0000" not found'],
  ['POST', '/api/v1/namespaces/%00/configmaps', 'namespaces "\u0000" not found'],
])('%s %s finds nothing', async (method, path, message) => {
  const { status, body } = await app.call(method, path, method === 'POST' ? named : undefined);
  expect([status, body.message]).toEqual([404, message]);
});

describe('a key that every object has is data', () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const ofData = (key: string, value: string, name = 'x') =>
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"${key}":"${value}"}}`;
  const stored = async (name: string) => Object.entries((await app.call('GET', `${path}/${name}`)).body.data);

  test.each([
    ['__proto__', 'proto'],
    ['constructor', 'constructor'],
    ['hasOwnProperty', 'own'],
  ])('%s, in creates and every kind of patch', async (key, name) => {
    expect((await app.call('POST', path, ofData(key, 'a', name))).status).toBe(201);
    expect(await stored(name)).toEqual([[key, 'a']]);
    const patches: [string, string, string][] = [
      ['application/merge-patch+json', 'b', `{"data":{"${key}":"b"}}`],
      ['application/strategic-merge-patch+json', 'c', `{"data":{"${key}":"c"}}`],
      ['application/json-patch+json', 'd', `[{"op":"replace","path":"/data/${key}","value":"d"}]`],
      ['application/apply-patch+yaml', 'e', ofData(key, 'e', name)],
    ];
    for (const [type, value, patch] of patches) {
      const target = `${path}/${name}?fieldManager=m${type.includes('apply') ? '&force=true' : ''}`;
      const { status, body } = await app.call('PATCH', target, patch, { 'content-type': type });
      expect([type, status, body.message]).toEqual([type, 200, undefined]);
      expect(await stored(name)).toEqual([[key, value]]);
    }
    expect(({} as Record<string, unknown>).a).toBeUndefined();
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });
});

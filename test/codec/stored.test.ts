import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/api/object.ts';
import { decodeStored, encodeStored, listJson, objectJson, watchEventJson } from '../../src/codec/stored.ts';
import type { StoredRecord } from '../../src/keyspace/types.ts';

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
function record(object: KubeObject, modRevision: number, schema = 0): StoredRecord {
  const { value, tag } = encodeStored(object, schema);
  return { key: 'k', value, meta: { labels: {}, fields: {}, terms: [], tag }, createRevision: 1, modRevision };
}
const configMap = (name: string): KubeObject => ({
  data: { k: 'é "quoted"' },
  metadata: { resourceVersion: '3', name, uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  apiVersion: 'v1',
  kind: 'ConfigMap',
});
const gizmo: KubeObject = {
  apiVersion: 'bug.test/v1',
  kind: 'Gizmo',
  metadata: { name: 'ö', labels: { z: '1' } },
  spec: { big: 9007199254740993n },
};

describe('one object', () => {
  test('is stored without its version, kind first, and answered with it spliced in', () => {
    const stored = record(configMap('a'), 42);
    expect(text(stored.value)).toBe(
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"k":"é \\"quoted\\""}}',
    );
    expect(text(objectJson(stored))).toBe(
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"42","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"k":"é \\"quoted\\""}}\n',
    );
  });

  test('equal objects have equal bytes', () => {
    const { metadata, ...rest } = configMap('a');
    const turned: KubeObject = {
      metadata: { creationTimestamp: metadata.creationTimestamp ?? null, uid: 'u', name: 'a' },
      ...rest,
    };
    expect(record(turned, 1).value).toEqual(record(configMap('a'), 2).value);
  });

  test('comes back parsed, big integers exact', () => {
    const { metadata, ...rest } = gizmo;
    expect(decodeStored(record(gizmo, 7, 2))).toEqual({ ...rest, metadata: { ...metadata, resourceVersion: '7' } });
  });

  test('metadata of a single member still takes the splice', () => {
    const bare: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } };
    expect(JSON.parse(text(objectJson(record(bare, 1)))).metadata).toEqual({ name: 'a', resourceVersion: '1' });
  });
});

describe('lists', () => {
  test('items of built-ins have no kind and apiVersion', () => {
    const body = text(
      listJson([record(configMap('a'), 9), record(configMap('b'), 10)], 'ConfigMapList', 'v1', {
        resourceVersion: '12',
        continue: 'c',
        remainingItemCount: 3,
      }),
    );
    const item = (name: string, version: string) =>
      `{"metadata":{"name":"${name}","uid":"u","resourceVersion":"${version}","creationTimestamp":"2026-01-01T00:00:00Z"},"data":{"k":"é \\"quoted\\""}}`;
    expect(body).toBe(
      `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"12","continue":"c","remainingItemCount":3},"items":[${item('a', '9')},${item('b', '10')}]}\n`,
    );
  });

  test('items of custom resources keep them', () => {
    const body = JSON.parse(
      text(listJson([record(gizmo, 5, 1)], 'GizmoList', 'bug.test/v1', { resourceVersion: '5' }, true)),
    );
    expect(body.items[0]).toMatchObject({
      kind: 'Gizmo',
      apiVersion: 'bug.test/v1',
      metadata: { name: 'ö', resourceVersion: '5' },
    });
  });

  test('an empty list has an empty array', () => {
    expect(text(listJson([], 'SecretList', 'v1', { resourceVersion: '1' }))).toBe(
      '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}\n',
    );
  });
});

test('a watch event is one line', () => {
  const stored = record(configMap('a'), 1000000);
  expect(text(watchEventJson('MODIFIED', stored))).toBe(
    `{"type":"MODIFIED","object":${text(objectJson(stored)).trimEnd()}}\n`,
  );
});

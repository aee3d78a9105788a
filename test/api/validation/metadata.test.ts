import { describe, expect, it } from 'vitest';
import type { ObjectMeta } from '../../../src/api/object.ts';
import { validateMetadata, validateMetadataUpdate } from '../../../src/api/validation/metadata.ts';
import { builtins } from '../../../src/registry/resource.ts';

const configmaps = builtins.get('v1')!.get('configmaps')!;
const of = (meta: ObjectMeta) => ({ metadata: { name: 'a', namespace: 'n', ...meta } });
const fields = (meta: ObjectMeta) => validateMetadata(configmaps, of(meta)).map(({ field }) => field);

describe('new objects', () => {
  it.each([
    ['a valid one', {}, []],
    ['an upper-case name', { name: 'A' }, ['metadata.name']],
    ['no name', { name: '' }, ['metadata.name']],
    ['a bad base for names', { generateName: 'B_', name: 'b-1' }, ['metadata.generateName']],
    ['a base that ends with a dash', { generateName: 'b-', name: 'b-1' }, []],
    ['a label value', { labels: { a: 'b c' } }, ['metadata.labels']],
    ['an annotation key', { annotations: { 'a b': '' } }, ['metadata.annotations']],
    ['a capital annotation key', { annotations: { 'X.y/Z': '' } }, []],
    ['a key that is a prototype’s', { annotations: JSON.parse('{"__proto__":"x"}') }, ['metadata.annotations']],
    ['an unqualified finalizer', { finalizers: ['plain'] }, ['metadata.finalizers[0]']],
    ['both finalizers of dependents', { finalizers: ['orphan', 'foregroundDeletion'] }, ['metadata.finalizers']],
    ['a negative generation', { generation: -1 }, ['metadata.generation']],
  ])('%s', (_, meta, expected) => {
    expect(fields(meta as ObjectMeta)).toEqual(expected);
  });

  it('annotations may have 262144 bytes together', () => {
    expect(fields({ annotations: { a: 'x'.repeat(262143) } })).toEqual([]);
    expect(fields({ annotations: { a: 'x'.repeat(262144) } })).toEqual(['metadata.annotations']);
    expect(fields({ annotations: { a: 'é'.repeat(131072) } })).toEqual(['metadata.annotations']);
  });

  it('other kinds have other names', () => {
    const name = (groupVersion: string, resource: string, text: string) =>
      validateMetadata(builtins.get(groupVersion)!.get(resource)!, { metadata: { name: text, namespace: 'n' } }).filter(
        ({ field }) => field === 'metadata.name',
      ).length;
    expect(name('rbac.authorization.k8s.io/v1', 'roles', 'System:X')).toBe(0);
    expect(name('rbac.authorization.k8s.io/v1', 'roles', 'a%b')).toBe(1);
    expect(name('v1', 'services', '1abc')).toBe(0);
    expect(name('v1', 'services', 'a.b')).toBe(1);
    expect(name('networking.k8s.io/v1', 'ipaddresses', '10.0.0.1')).toBe(0);
  });
});

describe('changed objects', () => {
  const old = of({ uid: 'u', resourceVersion: '1', creationTimestamp: 't' });

  it('are listed as often as upstream finds a fault', () => {
    const changed = of({ uid: 'u', resourceVersion: '1', creationTimestamp: 't', labels: { a: 'b c' } });
    expect(validateMetadataUpdate(configmaps, changed, old)).toHaveLength(4);
  });

  it('keep their identity', () => {
    const changed = of({ uid: 'other', resourceVersion: '1', creationTimestamp: 't' });
    expect(validateMetadataUpdate(configmaps, changed, old).map(({ field }) => field)).toEqual([
      'metadata.uid',
      'metadata.uid',
    ]);
  });
});

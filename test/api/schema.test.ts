import { expect, test } from 'vitest';
import { definition, definitionFor, definitionName, resolve } from '../../src/api/schema.ts';

test('a kind leads to its definition, lists and meta kinds included', () => {
  expect(definitionName('v1', 'Pod')).toBe('io.k8s.api.core.v1.Pod');
  expect(definitionFor('apps/v1', 'DeploymentList')?.properties).toHaveProperty('items');
  expect(definitionName('v1', 'Status')).toBe('io.k8s.apimachinery.pkg.apis.meta.v1.Status');
  expect(definitionName('batch/v1', 'DeleteOptions')).toBe('io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions');
  expect(definitionFor('apps/v1', 'Pod')).toBeUndefined();
});

test('references are followed, and names of Object.prototype are no definitions', () => {
  const spec = definitionFor('v1', 'Pod')?.properties?.spec;
  expect(resolve(spec ?? {}).properties).toHaveProperty('containers');
  expect(resolve({ type: 'string' })).toEqual({ type: 'string' });
  expect(definition('constructor')).toBeUndefined();
  expect(definitionFor('v1', '__proto__')).toBeUndefined();
});

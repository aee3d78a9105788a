import { expect, test } from 'vitest';
import type { JsonObject, ManagedFieldsEntry } from '../../src/api/object.ts';
import { managedFieldsFromScale, managedFieldsOfScale } from '../../src/apply/scale.ts';

const entry = (
  manager: string,
  operation: string,
  fields: JsonObject,
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({
  manager,
  operation,
  apiVersion: 'apps/v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': fields },
  ...more,
});
const replicas = { 'f:replicas': {} };
const paths = { 'apps/v1': 'spec.replicas' };
const scaleEntry = (manager: string, operation: string) =>
  entry(manager, operation, replicas, { apiVersion: 'autoscaling/v1' });

const parent = [
  entry('one', 'Apply', { ...replicas, 'f:paused': {} }),
  entry('two', 'Update', replicas),
  entry('three', 'Update', { 'f:paused': {} }),
];

test('the scale shows who owns the replicas', () => {
  expect(managedFieldsOfScale(parent, paths)).toEqual([scaleEntry('one', 'Apply'), scaleEntry('two', 'Update')]);
});

test('who scales takes the replicas on the parent, without a time', () => {
  const scaler = entry('scaler', 'Update', replicas, { apiVersion: 'autoscaling/v1', subresource: 'scale' });
  const { time: _, ...untimed } = entry('scaler', 'Update', replicas, { subresource: 'scale' });
  expect(managedFieldsFromScale(parent, [scaler], 'apps/v1', paths)).toEqual([
    entry('one', 'Apply', { 'f:paused': {} }),
    untimed,
    entry('three', 'Update', { 'f:paused': {} }),
  ]);
});

test('appliers that keep the replicas keep their entry', () => {
  expect(managedFieldsFromScale(parent, [scaleEntry('one', 'Apply')], 'apps/v1', paths)).toEqual([
    parent[0],
    entry('three', 'Update', { 'f:paused': {} }),
  ]);
});

test('entries of versions without a scale are kept, those of unknown versions are not', () => {
  const other = entry('four', 'Update', replicas, { apiVersion: 'apps/v2' });
  expect(managedFieldsFromScale([other], [], 'apps/v1', { ...paths, 'apps/v2': undefined })).toEqual([other]);
  expect(managedFieldsFromScale([other], [], 'apps/v1', paths)).toEqual([]);
});

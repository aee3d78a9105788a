import { describe, expect, test } from 'vitest';
import {
  addQuantities,
  canonicalQuantity,
  canonicalResource,
  compareQuantities,
  formatQuantity,
  QuantityError,
  subtractQuantities,
} from '../../src/api/quantity.ts';

describe('canonical form', () => {
  test.each([
    ['1000M', '1G'],
    ['1.5Gi', '1536Mi'],
    ['1024Ki', '1Mi'],
    ['1048576Ki', '1Gi'],
    ['0.5Mi', '512Ki'],
    ['1.1Gi', '1181116006400m'],
    ['1500M', '1500M'],
    ['1e3', '1e3'],
    ['1E3', '1E3'],
    ['1E2', '100'],
    ['129e6', '129e6'],
    ['128974848', '128974848'],
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1.0', '1'],
    ['3.00', '3'],
    ['0.1', '100m'],
    ['1500m', '1500m'],
    ['2000m', '2'],
    ['0', '0'],
    ['00', '0'],
    ['0.000', '0'],
    ['-1', '-1'],
    ['-1500m', '-1500m'],
    ['5E', '5E'],
    ['1000Ki', '1000Ki'],
    ['7Mi', '7Mi'],
    ['0.5Ki', '512'],
    ['100000000n', '100m'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1e2000000000', '100e1999999998'],
    ['9223372036854775808Ki', '9223372036854775807'],
    ['1.', '1.'],
    ['.', '0'],
    ['.5', '500m'],
  ])('%s is %s', (sent, canonical) => {
    expect(canonicalQuantity(sent)).toBe(canonical);
  });

  test.each([
    ['0.0001', '1m'],
    ['100u', '1m'],
    ['1e-3', '1e-3'],
    ['0.0005', '1m'],
    ['1.1', '1100m'],
    ['1Gi', '1Gi'],
    ['-100u', '-1m'],
  ])('a resource of %s is rounded up to %s', (sent, canonical) => {
    expect(canonicalResource(sent)).toBe(canonical);
  });

  test.each(['', '123Mb', 'much', '1GB', '1 Gi', '1.2.3', '1e', '1ki', '1e5.5', '+-1', '1e99999999999'])(
    '%j is refused',
    (bad) => {
      expect(() => canonicalQuantity(bad)).toThrow(QuantityError);
    },
  );
});

test('amounts are compared exactly', () => {
  expect(compareQuantities('1Gi', '1024Mi')).toBe(0);
  expect(compareQuantities('1', '1001m')).toBe(-1);
  expect(compareQuantities('9223372036854775807', '9223372036854775806')).toBe(1);
  expect(compareQuantities('1e2000000000', '1')).toBe(1);
});

test('sums keep the format of the first amount that is not zero', () => {
  expect(formatQuantity(addQuantities('0', '1Gi'))).toBe('1Gi');
  expect(formatQuantity(addQuantities('512Mi', '512Mi'))).toBe('1Gi');
  expect(formatQuantity(addQuantities('100m', '0.25'))).toBe('350m');
  expect(formatQuantity(subtractQuantities('1Gi', '512Mi'))).toBe('512Mi');
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/api/object.ts';
import type { FieldSet } from '../../src/apply/field-set.ts';
import {
  canonical,
  difference,
  eachPath,
  hasPath,
  intersection,
  isEmptySet,
  parseFieldSet,
  pathText,
  recursiveDifference,
  setOf,
  union,
} from '../../src/apply/field-set.ts';

const elements = ['f:a', 'f:b', 'k:{"n":1}', 'k:{"n":"x"}', 'v:"s"', 'i:0'];
const paths = fc.array(fc.array(fc.constantFrom(...elements), { minLength: 1, maxLength: 3 }), { maxLength: 8 });

/** The naive twin: a set of joined paths. */
const naive = (set: FieldSet): string[] => {
  const out: string[] = [];
  eachPath(set, (path) => out.push(path.join(' ')));
  return out.sort();
};
const unique = (list: string[][]) => [...new Set(list.map((path) => path.join(' ')))].sort();

const check = (property: (a: string[][], b: string[][]) => void) =>
  fc.assert(
    fc.property(paths, paths, (a, b) => {
      property(a, b);
    }),
    { numRuns: 1000 },
  );

describe('operations agree with sets of joined paths', () => {
  test('setOf, hasPath and eachPath', () => {
    check((a, b) => {
      const set = setOf(a);
      expect(naive(set)).toEqual(unique(a));
      for (const path of b) expect(hasPath(set, path)).toBe(unique(a).includes(path.join(' ')));
    });
  });
  test('union', () => check((a, b) => expect(naive(union(setOf(a), setOf(b)))).toEqual(unique([...a, ...b]))));
  test('difference', () =>
    check((a, b) => {
      const gone = unique(b);
      expect(naive(difference(setOf(a), setOf(b)))).toEqual(unique(a).filter((path) => !gone.includes(path)));
    }));
  test('recursive difference', () =>
    check((a, b) => {
      const gone = unique(b);
      const kept = unique(a).filter((path) => !gone.some((other) => path === other || path.startsWith(`${other} `)));
      expect(naive(recursiveDifference(setOf(a), setOf(b)))).toEqual(kept);
    }));
  test('intersection', () =>
    check((a, b) => {
      const others = unique(b);
      expect(naive(intersection(setOf(a), setOf(b)))).toEqual(unique(a).filter((path) => others.includes(path)));
    }));
  test('what is empty says so, and nothing keeps empty nodes', () =>
    check((a, b) => {
      const rest = difference(setOf(a), setOf(b));
      expect(isEmptySet(rest)).toBe(naive(rest).length === 0);
      expect(canonical(rest)).toEqual(canonical(setOf(naive(rest).map((path) => path.split(' ')))));
    }));
  test('the canonical form does not depend on order, and is its own reading', () =>
    check((a) => {
      const text = JSON.stringify(canonical(setOf(a)));
      expect(JSON.stringify(canonical(setOf([...a].reverse())))).toBe(text);
      expect(JSON.stringify(parseFieldSet(JSON.parse(text) as JsonValue))).toBe(text);
    }));
});

test('canonical order: the mark, fields, keys by value, values, indexes', () => {
  const set = setOf([
    ['i:10'],
    ['i:9'],
    ['v:"b"'],
    ['v:"a"'],
    ['v:10'],
    ['v:9'],
    ['k:{"n":"a"}'],
    ['k:{"n":10}'],
    ['k:{"n":9}'],
    ['f:b'],
    ['f:a'],
  ]);
  expect(Object.keys(canonical(set))).toEqual([
    'f:a',
    'f:b',
    'k:{"n":9}',
    'k:{"n":10}',
    'k:{"n":"a"}',
    'v:9',
    'v:10',
    'v:"a"',
    'v:"b"',
    'i:9',
    'i:10',
  ]);
});

test('reading makes keys canonical, drops unknown kinds and needless marks', () => {
  const read = parseFieldSet({ 'k:{"b": 1, "a":"<"}': { '.': {} }, 'x:later': {}, 'f:m': { '.': {}, 'f:n': {} } });
  expect(JSON.stringify(read)).toBe('{"f:m":{".":{},"f:n":{}},"k:{\\"a\\":\\"\\\\u003c\\",\\"b\\":1}":{}}');
  expect(() => parseFieldSet({ name: {} })).toThrow('missing colon');
  expect(() => parseFieldSet({ 'k:[]': {} })).toThrow();
});

test('paths are shown as upstream shows them', () => {
  expect(pathText(['f:spec', 'f:containers', 'k:{"containerPort":93,"protocol":"TCP"}', 'v:"x"', 'i:3'])).toBe(
    '.spec.containers[containerPort=93,protocol="TCP"][="x"][3]',
  );
});

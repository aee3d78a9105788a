import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/api/object.ts';
import { mergePatch } from '../../src/apply/merge-patch.ts';

// The examples of RFC 7386, appendix A, whose patch is an object.
test.each<[JsonValue, JsonValue, JsonValue]>([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('%j with %j is %j', (document, patch, result) => {
  const before = structuredClone(document);
  expect(mergePatch(document, patch)).toEqual(result);
  expect(document).toEqual(before);
});

test('nulls within what is new are dropped, also in lists; null items stay', () => {
  expect(mergePatch({ a: 1 }, { a: [{ b: null, c: 1 }, null] })).toEqual({ a: [{ c: 1 }, null] });
});

test('a prototype is a key like any other', () => {
  const patch = JSON.parse('{"__proto__":{"x":1}}') as JsonValue;
  expect(JSON.stringify(mergePatch({}, patch))).toBe('{"__proto__":{"x":1}}');
});

test('a patch that is no object is 400', () => {
  const message = (type: string) =>
    `error decoding patch: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
  expect(() => mergePatch({}, 'x')).toThrow(message('string'));
  expect(() => mergePatch({}, [])).toThrow(message('array'));
  expect(() => mergePatch({}, 1)).toThrow(message('number'));
  expect(() => mergePatch({}, null)).toThrow('Invalid JSON Patch');
});

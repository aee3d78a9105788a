import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/api/object.ts';
import { jsonPatch, jsonPatchUnknownFields } from '../../src/apply/json-patch.ts';
import { StatusError } from '../../src/status/status.ts';

const document = { data: { k: 'v', gone: '1' }, list: ['a', 'b', 'c'], 'x.y/z': { '~': 1 } };

function failure(patch: JsonValue, on: JsonValue = document) {
  try {
    jsonPatch(on, patch);
  } catch (error) {
    if (error instanceof StatusError) return [error.status.code, error.status.reason, error.status.message];
    throw error;
  }
  return undefined;
}

describe('operations of RFC 6902', () => {
  test.each<[string, JsonValue, JsonValue]>([
    ['add', { op: 'add', path: '/data/n', value: 'w' }, { data: { k: 'v', gone: '1', n: 'w' } }],
    ['add replaces', { op: 'add', path: '/data/k', value: 'w' }, { data: { k: 'w', gone: '1' } }],
    ['add inserts', { op: 'add', path: '/list/1', value: 'n' }, { list: ['a', 'n', 'b', 'c'] }],
    ['add at the end', { op: 'add', path: '/list/-', value: 'n' }, { list: ['a', 'b', 'c', 'n'] }],
    [
      'a negative index of add counts from beyond the end',
      { op: 'add', path: '/list/-1', value: 'n' },
      { list: ['a', 'b', 'c', 'n'] },
    ],
    ['remove', { op: 'remove', path: '/data/gone' }, { data: { k: 'v' } }],
    ['remove by a negative index', { op: 'remove', path: '/list/-1' }, { list: ['a', 'b'] }],
    [
      'replace of a missing key adds it',
      { op: 'replace', path: '/data/n', value: 'w' },
      { data: { k: 'v', gone: '1', n: 'w' } },
    ],
    ['replace in a list', { op: 'replace', path: '/list/0', value: 'z' }, { list: ['z', 'b', 'c'] }],
    ['move', { op: 'move', from: '/data/gone', path: '/data/moved' }, { data: { k: 'v', moved: '1' } }],
    ['copy', { op: 'copy', from: '/data/k', path: '/data/copied' }, { data: { k: 'v', gone: '1', copied: 'v' } }],
    ['escapes', { op: 'replace', path: '/x.y~1z/~0', value: 2 }, { 'x.y/z': { '~': 2 } }],
    ['a path need not begin with a slash', { op: 'add', path: 'x/n', value: 1 }, { n: 1 }],
    ['test of what is not there against null', { op: 'test', path: '/data/none', value: null }, {}],
    ['test of a tree', { op: 'test', path: '', value: document }, {}],
    ['no value is null', { op: 'add', path: '/n' }, { n: null }],
    [
      'a prototype is a key like any other',
      { op: 'add', path: '/__proto__', value: 1 },
      JSON.parse('{"__proto__":1}') as JsonValue,
    ],
  ])('%s', (_, operation, change) => {
    const before = structuredClone(document);
    expect(jsonPatch(document, [operation])).toEqual({ ...document, ...(change as object) });
    expect(document).toEqual(before);
  });

  test('a value is not shared with what later operations change', () => {
    const patch = [
      { op: 'add', path: '/n', value: { a: 1 } },
      { op: 'add', path: '/n/b', value: 2 },
    ];
    expect(jsonPatch({}, patch)).toEqual({ n: { a: 1, b: 2 } });
    expect(patch[0]).toEqual({ op: 'add', path: '/n', value: { a: 1 } });
  });

  test('the whole document may be replaced', () => {
    expect(jsonPatch(document, [{ op: 'replace', path: '', value: { only: 1 } }])).toEqual({ only: 1 });
    expect(jsonPatch(document, null)).toBe(document);
    expect(jsonPatch(document, [])).toBe(document);
  });
});

describe('what does not apply is 422 with one message', () => {
  const refused = [422, 'Invalid', 'the server rejected our request due to an error in our request'];
  test.each<JsonValue>([
    [{ op: 'test', path: '/data/k', value: 'other' }],
    [{ op: 'test', path: '/data/k' }],
    [{ op: 'remove', path: '/data/none' }],
    [{ op: 'remove', path: '/list/3' }],
    [{ op: 'remove', path: '/list/-4' }],
    [{ op: 'remove', path: '/list/x' }],
    [{ op: 'replace', path: '/list/3', value: 1 }],
    [{ op: 'replace', path: '', value: 'x' }],
    [{ op: 'add', path: 'invalid', value: 1 }],
    [{ op: 'add', path: '/none/x', value: 1 }],
    [{ op: 'add', path: '/data/k/x', value: 1 }],
    [{ op: 'add', path: '/list/5', value: 1 }],
    [{ op: 'add' }],
    [{ op: 'move', from: '/data/none', path: '/data/x' }],
    [{ op: 'copy', from: '/none/x', path: '/data/x' }],
    [{ op: 'merge', path: '/data/k' }],
    [{ op: 'constructor', path: '/data/k' }],
    [{}],
    [null],
  ])('%j', (operation) => {
    expect(failure([operation])).toEqual(refused);
  });

  test('copies that add up to more than 3 MiB', () => {
    const big = { s: 'x'.repeat(1024 * 1024) };
    const copies = [1, 2, 3].map((n) => ({ op: 'copy', from: '/s', path: `/c${n}` }));
    expect(failure(copies, big)).toEqual(refused);
    expect(failure(copies.slice(1), big)).toBeUndefined();
  });
});

test('a patch that is no list of operations is 400', () => {
  const go = 'error decoding patch: json: cannot unmarshal';
  expect(failure({ op: 'add' })).toEqual([
    400,
    'BadRequest',
    `${go} object into Go value of type []handlers.jsonPatchOp`,
  ]);
  expect(failure('x')).toEqual([400, 'BadRequest', `${go} string into Go value of type []handlers.jsonPatchOp`]);
  expect(failure([1])).toEqual([400, 'BadRequest', `${go} number into Go value of type handlers.jsonPatchOp`]);
  expect(failure([{ op: 1 }])).toEqual([
    400,
    'BadRequest',
    `${go} number into Go struct field jsonPatchOp.op of type string`,
  ]);
});

test('more than 10,000 operations are 413', () => {
  const patch = Array.from({ length: 10_001 }, () => ({ op: 'add', path: '/data/k', value: 'x' }));
  expect(failure(patch)).toEqual([
    413,
    'RequestEntityTooLarge',
    'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
  ]);
});

test('members that no operation has are told', () => {
  const patch = [{ op: 'add', path: '/x', extra: 1 }, { op: 'add' }, { Op: 'add', zz: 1 }];
  expect(jsonPatchUnknownFields(patch)).toEqual([
    'unknown field "[0].extra"',
    'unknown field "[2].Op"',
    'unknown field "[2].zz"',
  ]);
});

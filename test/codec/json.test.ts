import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/api/object.ts';
import { JsonSyntaxError, parseJson, parseTree, stringifyJson } from '../../src/codec/json.ts';

describe('numbers', () => {
  test('whole numbers beyond 2^53 are exact up to 64 bits', () => {
    const text =
      '{"a":9007199254740993,"b":9223372036854775807,"c":-9223372036854775808,"d":9223372036854775808,"e":100000000000000000000000}';
    expect(parseJson(text).value).toEqual({
      a: 9007199254740993n,
      b: 9223372036854775807n,
      c: -9223372036854775808n,
      d: 2 ** 63,
      e: 1e23,
    });
    expect(stringifyJson(parseTree(text))).toBe(
      '{"a":9007199254740993,"b":9223372036854775807,"c":-9223372036854775808,"d":9223372036854776000,"e":1e+23}',
    );
  });

  test('literals that print otherwise are kept by path', () => {
    const { value, literals } = parseJson('{"a":{"b.c":[3.0,3e0,1.5,0.25,1e-3]},"d":7}');
    expect(value).toEqual({ a: { 'b.c': [3, 3, 1.5, 0.25, 0.001] }, d: 7 });
    expect([...literals]).toEqual([
      ['a.b.c[0]', '3.0'],
      ['a.b.c[1]', '3e0'],
      ['a.b.c[4]', '1e-3'],
    ]);
  });
});

describe('repeated keys', () => {
  test('are named in document order and kept as entries', () => {
    const { value, duplicates, entries } = parseJson('{"m":{"n":1,"n":2},"l":[{"a":1,"a":1}],"m":{}}');
    expect(value).toEqual({ m: {}, l: [{ a: 1 }] });
    expect(duplicates).toEqual(['m.n', 'l[0].a', 'm']);
    expect(entries.size).toBe(3);
  });

  test('an escaped key is the same key', () => {
    expect(parseJson('{"a":1,"\\u0061":2}').duplicates).toEqual(['a']);
  });
});

test('__proto__ and constructor are data', () => {
  for (const text of ['{"__proto__":{"x":1},"constructor":2}', '{"__proto__":{"x":1.0},"constructor":2}']) {
    const { value } = parseJson(text);
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  }
});

describe('malformed text', () => {
  test('great depth is an error, not a crash', () => {
    expect(() => parseJson('['.repeat(200_000))).toThrow(JsonSyntaxError);
    expect(() => parseJson(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)).toThrow('exceeded max depth');
  });

  test('every text that JSON.parse refuses is refused', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0123e.-tfn \n') }), (text) => {
        let native: unknown;
        try {
          native = JSON.parse(text);
        } catch {
          expect(() => parseJson(text)).toThrow(JsonSyntaxError);
          return;
        }
        expect(parseJson(text).value).toEqual(native);
      }),
      { numRuns: 3000 },
    );
  });
});

test('any JSON comes back, by the fast and the slow way', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      const slow = parseJson(`[${text},1.0]`).value as unknown[];
      expect(stringifyJson(parseJson(text).value)).toBe(text);
      expect(stringifyJson(slow[0] as JsonValue)).toBe(text);
    }),
  );
});

test('pretty text has two spaces and no newline at the end', () => {
  expect(stringifyJson({ a: [1n] }, true)).toBe('{\n  "a": [\n    1\n  ]\n}');
});

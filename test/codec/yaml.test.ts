import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deepEqual, type JsonValue } from '../../src/api/object.ts';
import { parseYaml, stringifyYaml, YamlSyntaxError } from '../../src/codec/yaml.ts';

describe('YAML 1.1', () => {
  test.each<[string, JsonValue]>([
    ['{a: y, b: No, c: on, d: "on", e: True, f: OFF}', { a: true, b: false, c: true, d: 'on', e: true, f: false }],
    [
      '{a: 0644, b: 0x1F, c: 0b11, d: 0o17, e: 1_000, f: 08, g: -0x10}',
      { a: 420, b: 31, c: 3, d: 15, e: 1000, f: 8, g: -16 },
    ],
    ['{a: 1e3, b: .5, c: 3.0, d: 1., e: +1}', { a: 1000, b: 0.5, c: 3, d: 1, e: 1 }],
    ['{a: 9007199254740993, b: 18446744073709551615}', { a: 9007199254740993n, b: 18446744073709552000 }],
    ['{a: ~, b: null, c: , d: "null"}', { a: null, b: null, c: null, d: 'null' }],
    ['{a: 2001-01-01, b: 190:20:30, c: =, d: 1.2.3}', { a: '2001-01-01', b: '190:20:30', c: '=', d: '1.2.3' }],
    ['{1: a, y: b, 1.5: c, 0644: d}', { 1: 'a', true: 'b', 1.5: 'c', 420: 'd' }],
    ['{a: !!str 1, b: !!binary aGVsbG8=, c: !foo 1, d: !!int "1"}', { a: '1', b: 'hello', c: '1', d: 1 }],
    [
      'a: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\nd: {<<: [{k: 3}, {k: 4}]}',
      { a: { k: 1 }, b: { k: 1 }, c: { k: 1, l: 2 }, d: { k: 3 } },
    ],
    ['a: |\n  x\n  y\nb: >-\n  x\n  y\n', { a: 'x\ny\n', b: 'x y' }],
    ['{"__proto__": 1}', JSON.parse('{"__proto__": 1}')],
    ['', null],
    ['# nothing', null],
    ['a: 1\n---\nb: [', { a: 1 }],
    ['---\n---\na: 1', null],
  ])('%j', (text, value) => {
    expect(parseYaml(text).value).toEqual(value);
  });

  test('repeated keys are findings with their lines, the innermost first', () => {
    const { value, strict } = parseYaml('metadata: {name: a, name: b}\ndata:\n  k: 1\n  k: 2\ndata: {}\n');
    expect(value).toEqual({ metadata: { name: 'b' }, data: {} });
    expect(strict).toEqual([
      'line 1: key "name" already set in map',
      'line 4: key "k" already set in map',
      'line 5: key "data" already set in map',
    ]);
  });

  test.each([
    'a: b: c',
    'a:\n\tb: c',
    'a: [',
    'a: "x',
    'a: @x',
    'a: *x',
    'a: &a [*a]',
    'a: .inf',
    '{null: a}',
    '{[1]: a}',
    'a: !!int x',
    'a: {<<: 1}',
    '%YAML 1.2\n---\na: 1',
  ])('%j is refused', (text) => {
    expect(() => parseYaml(text)).toThrow(YamlSyntaxError);
  });

  test('great depth is an error, not a crash', () => {
    expect(() => parseYaml('['.repeat(20_000))).toThrow(YamlSyntaxError);
  });

  test('aliases cannot blow a document up', () => {
    const layers = Array.from(
      { length: 9 },
      (_, i) =>
        `a${i}: &a${i} [${Array(9)
          .fill(i === 0 ? 'x' : `*a${i - 1}`)
          .join(',')}]`,
    );
    expect(() => parseYaml(layers.join('\n'))).toThrow('excessive aliasing');
  });
});

describe('printing', () => {
  test('keys are sorted, numbers in names by value, lists not indented', () => {
    expect(stringifyYaml({ b: [{ x: 1, a: [] }, [1, [2]]], a: { k10: 1n, k9: {}, Z: null } })).toBe(
      'a:\n  Z: null\n  k9: {}\n  k10: 1\nb:\n- a: []\n  x: 1\n- - 1\n  - - 2\n',
    );
  });

  test.each<[JsonValue, string]>([
    ['true', '"true"'],
    ['y', '"y"'],
    ['0644', '"0644"'],
    ['2001-01-01', '"2001-01-01"'],
    ['190:20:30', '"190:20:30"'],
    ['a: b', "'a: b'"],
    ["a'b", "a'b"],
    ["'a'", "'''a'''"],
    ['- a', "'- a'"],
    ['-a', '-a'],
    ['a\n', '|\n  a'],
    ['a\nb', '|-\n  a\n  b'],
    ['a\n\n', '|+\n  a\n'],
    [' a\nb', '|2-\n   a\n  b'],
    ['a \nb', '"a \\nb"'],
    ['\u0001', '"\\x01"'],
    ['é', 'é'],
    ['', '""'],
    [1e23, '1e+23'],
    [1.5, '1.5'],
    [1234567.5, '1.2345675e+06'],
    [`${'word '.repeat(20)}end`, `${'word '.repeat(15)}word\n  word word word word end`],
  ])('%j', (value, text) => {
    expect(stringifyYaml({ k: value })).toBe(`k: ${text}\n`);
  });

  test('what is printed reads back', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab1:#-?,[]{}&*!|>\'"%@`~.=\n \t0xey_é') });
    const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        fc.dictionary(text, tie('value')) as fc.Arbitrary<JsonValue>,
      ),
    })).value;
    fc.assert(
      fc.property(tree, (value) => {
        expect(deepEqual(parseYaml(stringifyYaml({ value })).value, { value })).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { JsonValue, KubeObject } from '../../src/api/object.ts';
import { customScaleTable, customTable } from '../../src/codec/table/custom.ts';
import { humanDuration, since } from '../../src/codec/table/format.ts';
import { compilePath, PathError } from '../../src/codec/table/jsonpath.ts';

const now = Date.parse('2026-11-29T20:00:00Z');
const object: KubeObject = {
  metadata: { name: 'x', creationTimestamp: '2026-11-29T19:00:00Z' },
  spec: {
    s: 'text',
    n: 7,
    f: 1.5,
    large: 123456789.25,
    small: 0.00001234,
    b: true,
    nothing: null,
    list: ['a', 'b', 'c'],
    map: { z: 1, 'a.b': 'dot', m: { y: [1, 2], x: null } },
    html: ['<a&b>'],
    objs: [
      { name: 'o1', type: 'Ready', n: 1, flag: false },
      { name: 'o2', type: 'Other', n: 2, flag: true },
    ],
  },
};
const cell = (type: string, jsonPath: string): JsonValue =>
  customTable([{ name: 'c', type, jsonPath }]).print(object, now)[1]!;

describe('cells of printer columns, as kube-apiserver 1.36.3 prints them', () => {
  it.each<[string, string, JsonValue]>([
    ['string', '.spec.s', 'text'],
    ['string', '.spec.n', '7'],
    ['string', '.spec.f', '1.5'],
    ['string', '.spec.large', '1.2345678925e+08'],
    ['string', '.spec.small', '1.234e-05'],
    ['string', '.spec.b', 'true'],
    ['string', '.spec.list', '["a","b","c"]'],
    ['string', '.spec.map', '{"a.b":"dot","m":{"x":null,"y":[1,2]},"z":1}'],
    ['string', '.spec.html', '["\\u003ca\\u0026b\\u003e"]'],
    ['string', '.spec.nothing', '<no value>'],
    ['string', '.spec.none', null],
    ['integer', '.spec.nothing', null],
    ['integer', '.spec.f', 1],
    ['integer', '.spec.s', null],
    ['number', '.spec.f', 1.5],
    ['boolean', '.spec.b', true],
    ['boolean', '.spec.s', null],
    ['date', '.metadata.creationTimestamp', '60m'],
    ['date', '.spec.s', '<invalid>'],
    ['string', '.spec.list[0]', 'a'],
    ['string', '.spec.list[-1]', 'c'],
    ['string', '.spec.list[9]', null],
    ['string', '.spec.list[1:3]', 'b'],
    ['string', '.spec.list[5:1]', null],
    ['string', '.spec.objs[*].name', 'o1'],
    ['string', '.spec.objs[?(@.type=="Other")].name', 'o2'],
    ['string', ".spec.objs[?(@.type=='Ready')].name", 'o1'],
    ['string', '.spec.objs[?(@.type=="No")].name', null],
    ['string', '.spec.objs[?(@.n>1)].name', 'o2'],
    ['string', '.spec.objs[?(@.n<=1)].n', '1'],
    ['string', '.spec.objs[?(@.flag==true)].name', 'o2'],
    ['string', '.spec.objs[?(@.flag)].name', 'o1'],
    ['string', '.spec.objs[?(@.none)].name', null],
    ['string', ".spec['s']", 'text'],
    ['string', '.spec.map.a\\.b', 'dot'],
    ['string', '.spec.s[0]', null],
    ['string', '..name', 'x'],
  ])('%s %s', (type, path, wanted) => {
    expect(cell(type, path)).toEqual(wanted);
  });

  it('reaches several values', () => {
    expect(compilePath('.spec.list[0,2]')(object)).toEqual(['a', 'c']);
    expect(compilePath('.spec.list[::2]')(object)).toEqual(['a', 'c']);
    expect(compilePath('.spec.objs[*].n')(object)).toEqual([1, 2]);
  });

  it.each(['.spec[', '.spec[x]', '.a[?(@.b]', '.a[?(@.b=!"c")]', '"a', '%', '....a'])('%s cannot be parsed', (path) => {
    expect(() => compilePath(path)).toThrow(PathError);
  });
});

describe('columns of custom resources', () => {
  it('are Name and Age by default', () => {
    const { columns, print } = customTable([]);
    expect(columns.map((c) => [c.name, c.type, c.format])).toEqual([
      ['Name', 'string', 'name'],
      ['Age', 'date', ''],
    ]);
    expect(print(object, now)).toEqual(['x', '60m']);
  });
  it('describe themselves by their path', () => {
    const { columns } = customTable([{ name: 'S', type: 'string', jsonPath: '.spec.s', priority: 1 }]);
    expect(columns[1]).toEqual({
      name: 'S',
      type: 'string',
      format: '',
      description: 'Custom resource definition column (in JSONPath format): .spec.s',
      priority: 1,
    });
  });
  it('of scales follow the replica paths', () => {
    const names = (paths: Parameters<typeof customScaleTable>[0]) => customScaleTable(paths).columns.map((c) => c.name);
    expect(names({ specReplicasPath: '.a', statusReplicasPath: '.b' })).toEqual([
      'Name',
      'Desired',
      'Available',
      'Age',
    ]);
    expect(names({ specReplicasPath: '.a', statusReplicasPath: '' })).toEqual(['Name', 'Desired', 'Age']);
  });
});

describe('time spans', () => {
  const s = 1000;
  const m = 60 * s;
  const h = 60 * m;
  const d = 24 * h;
  it.each<[number, string]>([
    [-3 * s, '<invalid>'],
    [-1 * s, '0s'],
    [119 * s, '119s'],
    [2 * m, '2m'],
    [9 * m + 59 * s, '9m59s'],
    [179 * m, '179m'],
    [3 * h, '3h'],
    [7 * h + 5 * m, '7h5m'],
    [47 * h, '47h'],
    [48 * h, '2d'],
    [5 * d + 3 * h, '5d3h'],
    [8 * d, '8d'],
    [729 * d, '729d'],
    [730 * d, '2y'],
    [800 * d, '2y70d'],
    [9 * 365 * d, '9y'],
  ])('%d ms is %s', (span, wanted) => {
    expect(humanDuration(span)).toBe(wanted);
  });
  it('are unknown without a time', () => {
    expect(since(undefined, now)).toBe('<unknown>');
    expect(since(null, now)).toBe('<unknown>');
  });
});

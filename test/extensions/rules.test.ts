import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { ruleFaults } from '../../src/extensions/rule-faults.ts';
import { fieldPathOf } from '../../src/extensions/rule-paths.ts';
import { validateRules } from '../../src/extensions/rule-validation.ts';
import type { Structural, ValidationRule } from '../../src/extensions/structural.ts';
import type { RawSchema } from '../../src/extensions/structural-rules.ts';

const RULES = 'x-kubernetes-validations';
const withSpec = (spec: Structural): Structural => ({ type: 'object', properties: { spec } });
const ruled = (type: string, rules: ValidationRule[], more: Structural = {}): Structural => ({
  type,
  ...more,
  [RULES]: rules,
});

function outcome(schema: Structural, object: JsonObject, old?: JsonObject): { faults: string[]; warnings: string[] } {
  const warnings: string[] = [];
  const faults = validateRules(schema, object, old, warnings);
  return { faults: faults.map(({ field, message }) => `${field}: ${message}`), warnings };
}

describe('transition rules (user report B15)', () => {
  const schema = withSpec(
    ruled('object', [{ rule: '!has(oldSelf.lock) || has(self.lock)', message: 'lock may not be removed' }], {
      properties: {
        storageClass: ruled('string', [{ rule: 'self == oldSelf', message: 'storageClass is immutable' }]),
        lock: { type: 'string' },
      },
    }),
  );
  const whole = { spec: { storageClass: 'fast', lock: 'x' } };

  test.each([
    [
      'a change',
      { spec: { storageClass: 'slow', lock: 'x' } },
      ['spec.storageClass: Invalid value: "slow": storageClass is immutable'],
    ],
    ['an optional field taken away', { spec: { lock: 'x' } }, []],
    [
      'what the object above forbids',
      { spec: { storageClass: 'fast' } },
      ['spec: Invalid value: lock may not be removed'],
    ],
    ['all gone: no rule runs', {}, []],
  ] as [string, JsonObject, string[]][])('%s', (_name, object, faults) => {
    expect(outcome(schema, object, whole).faults).toEqual(faults);
  });

  test('setting anew has nothing to compare with', () => {
    expect(outcome(schema, { spec: { storageClass: 'slow' } }, { spec: {} }).faults).toEqual([]);
  });
});

test('optionalOldSelf runs on create as well', () => {
  const schema = withSpec(ruled('integer', [{ rule: 'oldSelf.hasValue() || self < 3', optionalOldSelf: true }]));
  expect(outcome(schema, { spec: 5 }).faults).toEqual([
    'spec: Invalid value: 5: failed rule: oldSelf.hasValue() || self < 3',
  ]);
  expect(outcome(schema, { spec: 5 }, { spec: 1 }).faults).toEqual([]);
});

test('what was broken before and stays is a warning', () => {
  const schema = withSpec({
    type: 'object',
    properties: { a: ruled('integer', [{ rule: 'self > 5' }]), b: { type: 'string' } },
  });
  const old = { spec: { a: 1, b: 'x' } };
  expect(outcome(schema, { spec: { a: 1, b: 'y' } }, old)).toEqual({
    faults: [],
    warnings: ['spec.a: Invalid value: 1: failed rule: self > 5'],
  });
  expect(outcome(schema, { spec: { a: 2, b: 'x' } }, old).faults).toHaveLength(1);
});

test('items of map lists are matched by their keys, whatever their order', () => {
  const item: Structural = {
    type: 'object',
    properties: { k: { type: 'string' }, v: ruled('integer', [{ rule: 'self >= oldSelf' }]) },
  };
  const schema = withSpec({
    type: 'array',
    items: item,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  });
  const of = (...pairs: [string, number][]) => ({ spec: pairs.map(([k, v]) => ({ k, v })) });
  expect(outcome(schema, of(['b', 2], ['a', 1]), of(['a', 1], ['b', 2])).faults).toEqual([]);
  expect(outcome(schema, of(['b', 1]), of(['a', 9], ['b', 2])).faults).toHaveLength(1);
});

describe('messages', () => {
  const message = (messageExpression: string) => {
    const schema = withSpec(ruled('string', [{ rule: 'false', message: 'plain', messageExpression }]));
    return outcome(schema, { spec: 'v' }).faults;
  };
  test.each([
    ['made', '"bad: " + self', 'bad: v'],
    ['of several lines', '"a\\nb"', 'plain'],
    ['empty', '" "', 'plain'],
    ['that fails', '[""][5]', 'plain'],
  ])('%s', (_name, expression, shown) => {
    expect(message(expression)).toEqual([`spec: Invalid value: "v": ${shown}`]);
  });
});

test('an evaluation that fails names the rule', () => {
  const schema = withSpec({ 'x-kubernetes-int-or-string': true, [RULES]: [{ rule: 'self + 1 > 2' }] });
  expect(outcome(schema, { spec: 'x' }).faults[0]).toContain('call arguments did not match a supported operator');
});

test('an evaluation that costs too much ends all', () => {
  const list: Structural = { type: 'array', items: { type: 'integer' } };
  const all = 'self.all(a, self.all(b, self.all(c, a + b + c < 0 || true)))';
  const schema = withSpec({ ...list, [RULES]: [{ rule: all }, { rule: 'false' }] });
  const { faults } = outcome(schema, { spec: Array.from({ length: 100 }, (_, i) => i) });
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain('no further validation rules will be run due to call cost exceeds limit for rule');
});

test('names are escaped, sets have no order', () => {
  const schema = withSpec(
    ruled('object', [{ rule: 'self.__namespace__ == self.a__dash__b && self.set == ["y", "x"]' }], {
      properties: {
        namespace: { type: 'string' },
        'a-b': { type: 'string' },
        set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      },
    }),
  );
  expect(outcome(schema, { spec: { namespace: 'n', 'a-b': 'n', set: ['x', 'y'] } }).faults).toEqual([]);
});

describe('definitions', () => {
  const found = (spec: Structural) =>
    ruleFaults(withSpec(spec) as RawSchema, 's', true).map(
      ({ field, message }) => `${field}: ${message?.split('\n')[0]}`,
    );

  test('types and unknown fields', () => {
    const spec = ruled('object', [{ rule: 'self.a > 1' }, { rule: 'self.zzz' }, { rule: '1' }], {
      properties: { a: { type: 'string', maxLength: 3 } },
    });
    const messages = found(spec);
    expect(messages[0]).toMatch(/found no matching overload for '_>_' applied to '\(string, int\)'$/);
    expect(messages[1]).toMatch(/undefined field 'zzz'$/);
    expect(messages[2]).toMatch(/cel expression must evaluate to a bool$/);
  });

  test('costs follow the bounds of the schema', () => {
    const rules = [{ rule: 'self.all(x, self.exists(y, x == y))' }];
    const text: Structural = { type: 'string', maxLength: 10 };
    expect(found(ruled('array', rules, { maxItems: 10, items: text }))).toEqual([]);
    const messages = found(ruled('array', rules, { items: text }));
    expect(messages[0]).toMatch(/Forbidden: estimated rule cost exceeds budget by factor of more than 100x/);
    expect(messages.at(-1)).toMatch(/estimated rule cost total for entire OpenAPIv3 schema exceeds budget/);
  });

  test('old values need items that can be matched', () => {
    const item = ruled('string', [{ rule: 'self == oldSelf' }], { maxLength: 5 });
    expect(found({ type: 'array', maxItems: 5, items: item })).toEqual([
      's.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec]',
    ]);
  });
});

test.each([
  ['.a', 'a'],
  [".m['x.y'].b", 'm[x.y].b'],
  ["['a']", 'a'],
  ['a', undefined],
  ['.zzz', undefined],
  ['.a.b', undefined],
  ["['a'", undefined],
])('field path %s', (path, shown) => {
  const inner: Structural = { type: 'object', properties: { b: { type: 'string' } } };
  const schema: Structural = {
    type: 'object',
    properties: { a: { type: 'string' }, m: { type: 'object', additionalProperties: inner } },
  };
  expect(fieldPathOf(path, schema)).toBe(shown);
});

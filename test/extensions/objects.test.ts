import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { DecodeError } from '../../src/codec/typed.ts';
import { coerceEmbedded, embeddedFaults } from '../../src/extensions/embedded.ts';
import { listTypeFaults } from '../../src/extensions/list-types.ts';
import { compilePattern, patternError } from '../../src/extensions/patterns.ts';
import { ratchet, validateSchema } from '../../src/extensions/schema-validation.ts';
import type { Structural } from '../../src/extensions/structural.ts';

const list = (type: string, keys?: string[]): Structural => ({
  type: 'object',
  properties: {
    l: {
      type: 'array',
      'x-kubernetes-list-type': type,
      ...(keys === undefined ? {} : { 'x-kubernetes-list-map-keys': keys }),
    },
  },
});

describe('list types', () => {
  it('tell each value of a set that comes twice once', () => {
    const faults = listTypeFaults({ l: ['a', 'b', 'a', 'a', { x: 1, y: 2 }, { y: 2, x: 1 }] }, list('set'));
    expect(faults.map((f) => [f.field, f.message])).toEqual([
      ['l[2]', 'Duplicate value: "a"'],
      ['l[5]', 'Duplicate value: {"y":2,"x":1}'],
    ]);
  });

  it('compare items of map lists by their keys, absent ones included', () => {
    const faults = listTypeFaults({ l: [{ n: 'x', v: 1 }, { n: 'x', v: 2 }, {}, {}] }, list('map', ['n']));
    expect(faults.map((f) => [f.field, f.message])).toEqual([
      ['l[1]', 'Duplicate value: {"n":"x"}'],
      ['l[3]', 'Duplicate value: {}'],
    ]);
  });

  it('bear with what an object had before', () => {
    const old = { l: ['a', 'a'] };
    expect(listTypeFaults({ l: ['a', 'a'], other: 1 }, list('set'), old)).toEqual([]);
    expect(listTypeFaults({ l: ['a', 'a'] }, list('set'), { l: ['a'] })).toHaveLength(1);
  });
});

describe('embedded objects', () => {
  const schema: Structural = {
    type: 'object',
    properties: { t: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: {} } },
  };

  it('have metadata of its type', () => {
    const object: JsonObject = { t: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'n', bogus: 1 } } };
    expect(coerceEmbedded(object, schema)).toEqual(['unknown field "t.metadata.bogus"']);
    expect(object.t).toEqual({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'n' } });
    expect(() => coerceEmbedded({ t: { metadata: { labels: { a: 1 } } } }, schema)).toThrow(DecodeError);
    expect(() => coerceEmbedded({ t: { kind: 1 } }, schema)).toThrow(DecodeError);
  });

  it('say what they are, and have legal names', () => {
    const fields = (t: JsonObject) => embeddedFaults({ t }, schema).map((f) => f.field);
    expect(fields({ metadata: {} })).toEqual(['t.apiVersion', 't.kind']);
    expect(fields({ apiVersion: 'a/b/c', kind: 'x y' })).toEqual(['t.apiVersion', 't.kind']);
    expect(fields({ apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: '!' } } })).toEqual(['t.metadata.labels']);
  });
});

describe('updates', () => {
  const schema: Structural = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { a: { type: 'string', maxLength: 1 }, b: { type: 'string' } } },
    },
  };
  const faults = (object: JsonObject, old: JsonObject) =>
    ratchet(validateSchema(object, schema), object, old).map((f) => f.field);

  it('are not refused for values that they leave alone', () => {
    const old = { spec: { a: 'long', b: 'x' } };
    expect(faults({ spec: { a: 'long', b: 'y' } }, old)).toEqual([]);
    expect(faults({ spec: { a: 'other', b: 'x' } }, old)).toEqual(['spec.a']);
    expect(faults({ spec: { a: 'long' } }, { spec: {} })).toEqual(['spec.a']);
  });
});

describe('patterns', () => {
  it('are read as Go reads them', () => {
    const matches = (pattern: string, text: string) => compilePattern(pattern)?.matcher(text).find();
    expect(matches('^(?P<x>a)$', 'a')).toBe(true);
    expect(matches('(?i)abc', 'ABC')).toBe(true);
    expect(matches('\\Aab\\z', 'abc')).toBe(false);
    expect(matches('^[[:alpha:]]+$', 'abc')).toBe(true);
  });

  it('take no longer for being nested', () => {
    const text = { type: 'string', pattern: '^(a+)+$' } as Structural;
    const schema = { type: 'object', properties: { text } } as Structural;
    expect(validateSchema({ text: `${'a'.repeat(5000)}!` }, schema)).toHaveLength(1);
  });

  it.each(['(?=a)', '(a', 'a)', '[a', '*a', 'a{2000}', '\\1', '(?<=a)b', 'a**', '\\pX'])(
    '%s does not compile',
    (pattern) => {
      expect(patternError(pattern)).toMatch(/^error parsing regexp: /);
    },
  );
});

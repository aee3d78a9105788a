import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { applySchemaDefaults, dropNulls, prune, type Structural } from '../../src/extensions/structural.ts';

const object = (properties: Record<string, Structural>, more: Structural = {}): Structural => ({
  type: 'object',
  properties,
  ...more,
});

describe('pruning', () => {
  it('tells what it removed, sorted, and keeps type and metadata of the object', () => {
    const value = { kind: 'K', apiVersion: 'g/v1', metadata: { x: 1 }, z: 1, a: { b: 1, k: 2 } };
    expect(prune(value, object({ a: object({ k: {} }) }))).toEqual(['a.b', 'z']);
    expect(value).toEqual({ kind: 'K', apiVersion: 'g/v1', metadata: { x: 1 }, a: { k: 2 } });
  });

  it('keeps unknown fields where it is told to, but not below known ones', () => {
    const free = object({ strict: object({ x: {} }) }, { 'x-kubernetes-preserve-unknown-fields': true });
    const value = { free: { any: { thing: 1 }, strict: { x: 1, y: 2 } } };
    expect(prune(value, object({ free }))).toEqual(['free.strict.y']);
  });

  it('treats hostile keys as data', () => {
    const value = JSON.parse('{"spec":{"__proto__":{"a":1},"constructor":1}}') as JsonObject;
    expect(prune(value, object({ spec: object({}) }))).toEqual(['spec.__proto__', 'spec.constructor']);
    expect(value).toEqual({ spec: {} });
  });
});

describe('nulls', () => {
  const schema = object({
    gone: { type: 'string' },
    stays: { type: 'string', nullable: true },
    defaulted: { type: 'string', default: 'd' },
    list: { type: 'array', items: { type: 'string' } },
    map: { type: 'object', additionalProperties: { type: 'string' } },
    any: { type: 'object', additionalProperties: true },
  });

  it('go where they are not allowed, or take the default; lists keep theirs', () => {
    const value = { gone: null, stays: null, defaulted: null, list: [null], map: { a: null }, any: { a: null } };
    dropNulls(value, schema);
    expect(value).toEqual({ stays: null, defaulted: null, list: [null], map: {}, any: { a: null } });
    applySchemaDefaults(value, schema);
    expect(value).toMatchObject({ stays: null, defaulted: 'd' });
  });

  it('are left alone by defaulting', () => {
    const value = { gone: null };
    applySchemaDefaults(value, schema);
    expect(value).toEqual({ gone: null, defaulted: 'd' });
  });
});

describe('defaults', () => {
  it('fill lists, maps and what other defaults made, each a copy', () => {
    const inner = object({ v: { type: 'string', default: 'vee' } });
    const schema = object({
      spec: object(
        { list: { type: 'array', items: inner }, map: { type: 'object', additionalProperties: inner }, deep: inner },
        { default: { deep: {} } },
      ),
    });
    const [a, b]: JsonObject[] = [{}, { spec: { list: [{}], map: { x: {} } } }];
    applySchemaDefaults(a, schema);
    applySchemaDefaults(b, schema);
    expect(a).toEqual({ spec: { deep: { v: 'vee' } } });
    expect(b).toEqual({ spec: { list: [{ v: 'vee' }], map: { x: { v: 'vee' } } } });
    expect(schema.properties?.spec?.default).toEqual({ deep: {} });
  });
});

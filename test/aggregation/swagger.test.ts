import { expect, test } from 'vitest';
import type { AggregatedVersion } from '../../src/aggregation/api-service.ts';
import { mergeSwagger } from '../../src/aggregation/swagger.ts';

const version = { groupVersion: 'g/v1' } as AggregatedVersion;
const refersTo = (name: string) => ({ $ref: `#/definitions/${name}` });

test('definitions of one name and another meaning are renamed, wherever they are referred to', () => {
  const own = { paths: {}, definitions: { A: { type: 'string' }, B: { type: 'integer' } }, parameters: {} };
  const document = {
    paths: { '/apis/g/v1/as': { get: { schema: refersTo('A') } } },
    definitions: { A: { properties: { b: refersTo('B'), self: refersTo('A') } }, B: { type: 'integer' } },
  };
  expect(mergeSwagger(own, [{ document, version }])).toEqual({
    paths: { '/apis/g/v1/as': { get: { schema: refersTo('A_v2') } } },
    definitions: {
      A: { type: 'string' },
      A_v2: { properties: { b: refersTo('B'), self: refersTo('A_v2') } },
      B: { type: 'integer' },
    },
    parameters: {},
  });
});

test('paths of other group versions stay out, and this server’s are its own', () => {
  const own = { paths: { '/apis/g/v1/as': { get: 'own' } }, definitions: {}, parameters: {} };
  const document = { paths: { '/apis/g/v1/as': { get: 'other' }, '/apis/g/v10/as': {}, '/apis/g/v1/bs': {} } };
  expect(mergeSwagger(own, [{ document, version }]).paths).toEqual({
    '/apis/g/v1/as': { get: 'own' },
    '/apis/g/v1/bs': {},
  });
});

test('parameters that documents define once come along', () => {
  const document = {
    paths: { '/apis/g/v1/as': { parameters: [{ $ref: '#/parameters/p' }] } },
    parameters: { p: { name: 'p' }, q: { name: 'q' } },
  };
  const merged = mergeSwagger({ paths: {}, definitions: {}, parameters: { p: { name: 'P' } } }, [
    { document, version },
  ]);
  expect(merged.parameters).toEqual({ p: { name: 'P' }, p_v2: { name: 'p' } });
  expect(merged.paths).toEqual({ '/apis/g/v1/as': { parameters: [{ $ref: '#/parameters/p_v2' }] } });
});

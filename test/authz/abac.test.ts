import { describe, expect, test } from 'vitest';
import { authorizeByAbac, parseAbacPolicy } from '../../src/authz/abac.ts';
import type { Attributes } from '../../src/authz/attributes.ts';
import { attributes, userOf } from './support.ts';

const line = (spec: object) =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
const allows = (file: string, of: Partial<Attributes>) =>
  authorizeByAbac(parseAbacPolicy(file), attributes(of)).decision === 'allow';

describe('a policy line', () => {
  const everything = { apiGroup: '*', resource: '*', namespace: '*', nonResourcePath: '*' };
  test.each<[string, object, Partial<Attributes>, boolean]>([
    ['a user', { user: 'ann', ...everything }, {}, true],
    ['another user', { user: 'bob', ...everything }, {}, false],
    ['any user', { user: '*', ...everything }, {}, true],
    ['nobody', everything, {}, false],
    ['a group', { group: 'dev', ...everything }, { user: userOf('x', ['dev']) }, true],
    ['a user in a group', { user: 'ann', group: 'dev', ...everything }, { user: userOf('ann', ['ops']) }, false],
    ['reading', { user: 'ann', readonly: true, ...everything }, { verb: 'watch' }, true],
    ['writing', { user: 'ann', readonly: true, ...everything }, { verb: 'create' }, false],
    ['a resource', { user: 'ann', apiGroup: '', resource: 'pods', namespace: '*' }, { namespace: 'web' }, true],
    ['its subresources too', { user: 'ann', resource: 'pods', namespace: '*' }, { subresource: 'log' }, true],
    ['another resource', { user: 'ann', resource: 'secrets', namespace: '*' }, {}, false],
    ['another group', { user: 'ann', apiGroup: 'apps', resource: 'pods', namespace: '*' }, {}, false],
    ['a namespace', { user: 'ann', resource: 'pods', namespace: 'web' }, { namespace: 'web' }, true],
    ['a namespace, not the cluster', { user: 'ann', resource: 'pods', namespace: 'web' }, {}, false],
    ['paths below', { user: 'ann', nonResourcePath: '/logs/*' }, { isResourceRequest: false, path: '/logs/a' }, true],
    ['a path', { user: 'ann', nonResourcePath: '/logs' }, { isResourceRequest: false, path: '/logs/a' }, false],
    ['no resources by a path', { user: 'ann', nonResourcePath: '*' }, {}, false],
  ])('about %s', (_name, spec, of, expected) => {
    expect(allows(line(spec), of)).toBe(expected);
  });

  test('without a version leaves out what is everything, for those that are known', () => {
    expect(allows('{}', { isResourceRequest: false, path: '/x' })).toBe(true);
    expect(allows('{"user":"*"}', {})).toBe(true);
    expect(allows('{"user":"*"}', { user: userOf('system:anonymous', ['system:unauthenticated']) })).toBe(false);
    expect(allows('{"user":"ann","resource":"pods"}', { group: 'apps' })).toBe(true);
    expect(allows('{"user":"ann","resource":"pods"}', { isResourceRequest: false, path: '/x' })).toBe(false);
  });
});

test('comments and empty lines are none; the first wrong line is told', () => {
  expect(parseAbacPolicy('# no\n\n  # no\n{"user":"a"}\n')).toHaveLength(1);
  expect(() => parseAbacPolicy('{}\n{')).toThrow(/^line 2: /);
  expect(() => parseAbacPolicy('{"users":"a"}')).toThrow('line 1: users');
  expect(() => parseAbacPolicy('{"kind":"Role"}')).toThrow('line 1: ');
});

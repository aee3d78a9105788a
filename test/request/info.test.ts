import { describe, expect, it } from 'vitest';
import { requestInfo, UnreadablePathError } from '../../src/request/info.ts';

const of = (method: string, url: string) => {
  const { pathname, searchParams } = new URL(url, 'http://x');
  const { verb, group, version, namespace, resource, subresource, name, isResourceRequest } = requestInfo(
    method,
    pathname,
    searchParams,
  );
  return { verb, gv: `${group}/${version}`, namespace, resource, subresource, name, isResourceRequest };
};

describe('requestInfo', () => {
  it.each([
    ['GET', '/api/v1/namespaces', ['list', '/v1', '', 'namespaces', '', '']],
    ['GET', '/api/v1/namespaces/a', ['get', '/v1', 'a', 'namespaces', '', 'a']],
    ['PUT', '/api/v1/namespaces/a/finalize', ['update', '/v1', 'a', 'namespaces', 'finalize', 'a']],
    ['GET', '/api/v1/namespaces/a/pods', ['list', '/v1', 'a', 'pods', '', '']],
    ['GET', '/api/v1/namespaces/a/pods?watch=true', ['watch', '/v1', 'a', 'pods', '', '']],
    ['GET', '/api/v1/namespaces/a/pods?watch=0', ['list', '/v1', 'a', 'pods', '', '']],
    ['GET', '/api/v1/namespaces/a/pods/p?watch=1', ['get', '/v1', 'a', 'pods', '', 'p']],
    ['GET', '/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp', ['list', '/v1', 'a', 'pods', '', 'p']],
    ['GET', '/api/v1/watch/namespaces/a/pods/p', ['watch', '/v1', 'a', 'pods', '', 'p']],
    ['POST', '/api/v1/namespaces/a/pods/p/eviction', ['create', '/v1', 'a', 'pods', 'eviction', 'p']],
    ['DELETE', '/apis/apps/v1/namespaces/a/deployments', ['deletecollection', 'apps/v1', 'a', 'deployments', '', '']],
    [
      'PATCH',
      '/apis/apps/v1/namespaces/a/deployments/d/scale/',
      ['patch', 'apps/v1', 'a', 'deployments', 'scale', 'd'],
    ],
    ['HEAD', '/api/v1/nodes/n', ['get', '/v1', '', 'nodes', '', 'n']],
    ['BREW', '/api/v1/nodes', ['', '/v1', '', 'nodes', '', '']],
  ])('%s %s', (method, url, [verb, gv, namespace, resource, subresource, name]) => {
    expect(of(method, url)).toEqual({ verb, gv, namespace, resource, subresource, name, isResourceRequest: true });
  });

  it.each(['/', '/api', '/api/v1', '/apis/apps/v1', '/healthz', '/openapi/v3/apis/apps/v1'])(
    '%s is for no resource',
    (path) => {
      expect(of('GET', path)).toMatchObject({ verb: 'get', isResourceRequest: false });
    },
  );

  it('cannot read a special verb alone', () => {
    expect(() => of('GET', '/api/v1/watch')).toThrow(UnreadablePathError);
  });
});

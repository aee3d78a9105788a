import { describe, expect, it } from 'vitest';
import { stages } from '../../src/app.ts';
import { testApp } from '../support/app.ts';

it('runs its stages in this order', () => {
  expect(stages.map(([name]) => name)).toEqual([
    'auditId',
    'responseHeaders',
    'tenant',
    'info',
    'observation',
    'authentication',
    'audit',
    'policy',
    'impersonation',
    'fairness',
    'authorization',
    'dispatch',
  ]);
});

describe('what every answer has', () => {
  it('keeps the Audit-ID that it is given', async () => {
    const { call } = await testApp();
    const { headers } = await call('GET', '/api/v1/namespaces', undefined, { 'audit-id': 'mine' });
    expect(headers.get('audit-id')).toBe('mine');
    expect(headers.get('cache-control')).toBe('no-cache, private');
  });

  it('serves the tenant by its path, and no other', async () => {
    const { call } = await testApp();
    expect((await call('GET', '/clusters/default/api/v1/namespaces/default')).status).toBe(200);
    expect((await call('GET', '/clusters/other/api/v1/namespaces/default')).status).toBe(404);
  });

  it('tells nothing of its own faults', async () => {
    const { call, keyspace } = await testApp();
    keyspace.get = () => Promise.reject(new TypeError('secret'));
    const answer = await call('GET', '/api/v1/namespaces/default');
    expect([answer.status, answer.body.reason, JSON.stringify(answer.body).includes('secret')]).toEqual([
      500,
      'InternalError',
      false,
    ]);
  });
});

describe('paths', () => {
  it.each([
    ['GET', '/api/v1/widgets', 404, 'NotFound'],
    ['GET', '/apis/apps/v0/deployments', 404, 'NotFound'],
    ['GET', '/api/v1/configmaps/x', 404, 'NotFound'],
    ['GET', '/api/v1/namespaces/default/nodes', 404, 'NotFound'],
    ['POST', '/api/v1/namespaces/default/configmaps/a', 405, 'MethodNotAllowed'],
    ['POST', '/api/v1/configmaps', 405, 'MethodNotAllowed'],
    ['DELETE', '/api/v1/namespaces', 405, 'MethodNotAllowed'],
    ['PUT', '/api/v1/namespaces/default/configmaps', 405, 'MethodNotAllowed'],
  ])('%s %s is %d', async (method, path, status, reason) => {
    const { call } = await testApp();
    const answer = await call(method, path, method === 'GET' ? undefined : {});
    expect([answer.status, answer.body.reason]).toEqual([status, reason]);
  });

  it('answers unknown groups and unreadable paths in plain text', async () => {
    const { call } = await testApp();
    const unknown = await call('GET', '/apis/example.com/v1/things');
    expect([unknown.status, unknown.body]).toEqual([404, '404 page not found\n']);
    const unreadable = await call('GET', '/api/v1/watch');
    expect([unreadable.status, unreadable.headers.get('content-type')]).toEqual([500, 'text/plain; charset=utf-8']);
  });

  it('refuses bodies over 3 MiB', async () => {
    const { call } = await testApp();
    const answer = await call('POST', '/api/v1/namespaces/default/configmaps', { data: { k: 'x'.repeat(3 << 20) } });
    expect([answer.status, answer.body.message]).toEqual([413, 'Request entity too large: limit is 3145728']);
  });
});

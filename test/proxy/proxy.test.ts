import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { type Outbound, OutboundError, type OutboundRequest } from '../../src/outbound/index.ts';
import { type TestApp, testApp } from '../support/app.ts';

const ns = '/api/v1/namespaces/default';
const core = (kind: string, name: string, rest: JsonObject = {}) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name },
  ...rest,
});

/** An app with a node, a pod of it with an address, and a service that leads there; `sent` is what left the server. */
async function cluster(answer: (request: OutboundRequest) => Response) {
  const sent: OutboundRequest[] = [];
  const outbound: Outbound = async (request) => {
    sent.push(request);
    return answer(request);
  };
  const app = await testApp(['default'], outbound);
  await app.call('POST', `${ns}/serviceaccounts`, core('ServiceAccount', 'default'));
  await app.call('POST', '/api/v1/nodes', core('Node', 'n'));
  await app.call('PUT', '/api/v1/nodes/n/status', {
    ...core('Node', 'n'),
    status: {
      addresses: [{ type: 'InternalIP', address: '10.1.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    },
  });
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 8080 }] }] };
  await app.call('POST', `${ns}/pods`, core('Pod', 'p', { spec }));
  const pod = await app.call('GET', `${ns}/pods/p`);
  const status = { ...pod.body.status, podIP: '10.2.0.5', podIPs: [{ ip: '10.2.0.5' }] };
  await app.call('PUT', `${ns}/pods/p/status`, { ...pod.body, status });
  await app.call('POST', `${ns}/services`, core('Service', 's', { spec: { ports: [{ name: 'web', port: 80 }] } }));
  const targetRef = { kind: 'Pod', namespace: 'default', name: 'p' };
  const addresses = [{ ip: '10.2.0.5', targetRef }];
  const subsets = [{ addresses, ports: [{ name: 'web', port: 8080 }] }];
  await app.call('POST', `${ns}/endpoints`, core('Endpoints', 's', { subsets }));
  return { ...app, sent };
}

const ok = () => new Response('hello', { headers: { 'content-type': 'text/plain', 'x-of': 'backend' } });

describe('requests passed on', () => {
  test.each([
    ['pods/p/proxy/a/b?c=d', 'http://10.2.0.5:8080/a/b?c=d'],
    ['pods/https:p:9/proxy/', 'https://10.2.0.5:9/'],
    ['services/s:web/proxy/x%2Fy', 'http://10.2.0.5:8080/x%2Fy'],
    ['services/s:80/proxy/', 'http://10.2.0.5:8080/'],
  ])('%s reaches %s', async (path, url) => {
    const { call, sent } = await cluster(ok);
    const answer = await call('GET', `${ns}/${path}`);
    expect([answer.status, answer.body, answer.headers.get('x-of')]).toEqual([200, 'hello', 'backend']);
    expect(sent.map((request) => request.url)).toEqual([url]);
  });

  test('a node is reached through its kubelet', async () => {
    const { call, sent } = await cluster(ok);
    await call('GET', '/api/v1/nodes/n/proxy/metrics');
    expect(sent[0]).toMatchObject({ url: 'https://10.1.0.1:10250/metrics', insecure: true });
  });

  test('no backend sees whom the client is', async () => {
    const { call, sent } = await cluster(ok);
    await call('POST', `${ns}/pods/p/proxy/`, { a: 1 }, { authorization: 'Bearer x', 'x-mine': 'y' });
    expect(sent[0]?.method).toBe('POST');
    expect(sent[0]?.headers).toMatchObject({ 'x-mine': 'y' });
    expect(Object.keys(sent[0]?.headers ?? {})).not.toContain('authorization');
  });

  test('without a path the client is told to ask for the root', async () => {
    const { call, sent } = await cluster(ok);
    const answer = await call('GET', `${ns}/services/s:web/proxy?a=b`);
    expect([answer.status, answer.headers.get('location'), sent]).toEqual([301, `${ns}/services/s:web/proxy/?a=b`, []]);
  });

  test('a backend that cannot be reached is 503, a pod without an address 400', async () => {
    const { call } = await cluster((request) => {
      throw new OutboundError(request, 'dial tcp 10.2.0.5:8080: connect: connection refused');
    });
    const answer = await call('GET', `${ns}/pods/p/proxy/`);
    expect([answer.status, answer.body.message]).toEqual([
      503,
      'error trying to reach service: dial tcp 10.2.0.5:8080: connect: connection refused',
    ]);
    await call('POST', `${ns}/pods`, core('Pod', 'q', { spec: { containers: [{ name: 'c', image: 'i' }] } }));
    expect((await call('GET', `${ns}/pods/q/proxy/`)).body.message).toBe('address not allowed');
  });

  test('an endpoint that is no pod of the namespace is not called', async () => {
    const { call, sent } = await cluster(ok);
    const subsets = [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ name: 'web', port: 1 }] }];
    await call('PUT', `${ns}/endpoints/s`, core('Endpoints', 's', { subsets }));
    expect((await call('GET', `${ns}/services/s:web/proxy/`)).status).toBe(503);
    expect(sent).toEqual([]);
  });
});

describe('logs and streams', () => {
  const log = async (app: Pick<TestApp, 'call'>, query: string) => app.call('GET', `${ns}/pods/p/log?${query}`);

  test('a log is what the kubelet says', async () => {
    const app = await cluster(() => new Response('line\n'));
    const answer = await log(app, 'tailLines=3&follow=true');
    expect([answer.status, answer.body, answer.headers.get('content-type')]).toEqual([200, 'line\n', 'text/plain']);
    expect(app.sent[0]?.url).toBe(
      'https://10.1.0.1:10250/containerLogs/default/p/c?follow=true&stream=All&tailLines=3',
    );
  });

  test.each([
    [400, 400, 'nope'],
    [404, 404, 'the server could not find the requested resource ( pods/log p)'],
    [500, 500, 'Internal error occurred: nope'],
  ])('a kubelet that answers %i', async (status, code, message) => {
    const app = await cluster(() => new Response('nope', { status }));
    const answer = await log(app, '');
    expect([answer.status, answer.body.message]).toEqual([code, message]);
  });

  test('exec wants an upgrade', async () => {
    const { call, sent } = await cluster(ok);
    const answer = await call('POST', `${ns}/pods/p/exec?command=ls&stdout=true`);
    expect([answer.status, answer.body.message, sent]).toEqual([400, 'Upgrade request required', []]);
  });

  test('exec asks the kubelet for the streams of the command', async () => {
    const { call, sent } = await cluster(() => new Response('no', { status: 403 }));
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-protocol': 'v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0',
    };
    const answer = await call('GET', `${ns}/pods/p/exec?command=ls&command=-l&stdout=true`, undefined, headers);
    expect([answer.status, answer.body]).toEqual([403, 'no']);
    expect(sent[0]?.url).toBe('https://10.1.0.1:10250/exec/default/p/c?output=1&command=ls&command=-l');
    expect(sent[0]?.headers).toMatchObject({ upgrade: 'websocket', 'sec-websocket-protocol': 'v5.channel.k8s.io' });
  });
});

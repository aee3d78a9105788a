import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { type Outbound, OutboundError, type OutboundRequest } from '../../src/outbound/index.ts';
import { testApp } from '../support/app.ts';

const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const GROUP = 'flowers.example.com';
const FLOWERS = `/apis/${GROUP}/v1/namespaces/default/flowers`;

const apiService = (spec: JsonObject = {}) => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: `v1.${GROUP}` },
  spec: {
    group: GROUP,
    version: 'v1',
    groupPriorityMinimum: 2000,
    versionPriority: 10,
    caBundle: btoa('-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n'),
    service: { namespace: 'default', name: 'garden' },
    ...spec,
  },
});

/** An app with an available APIService behind a fixed route; `sent` is what its server was asked. */
async function garden(answer: (request: OutboundRequest) => Response | Promise<Response>, spec: JsonObject = {}) {
  const sent: OutboundRequest[] = [];
  const outbound: Outbound = async (request) => {
    sent.push(request);
    return answer(request);
  };
  const proxyClient = { certificate: 'CERTIFICATE', key: 'KEY' };
  const app = await testApp(['default'], outbound, {
    serviceRoutes: { 'default/garden': '10.2.0.7:8443' },
    proxyClient,
  });
  const made = await app.call('POST', API_SERVICES, apiService(spec));
  expect(made.status).toBe(201);
  const conditions = [{ type: 'Available', status: 'True', lastTransitionTime: null, reason: 'Passed', message: '' }];
  const available = await app.call('PUT', `${API_SERVICES}/v1.${GROUP}/status`, {
    ...made.body,
    status: { conditions },
  });
  expect(available.status).toBe(200);
  return { ...app, sent, proxyClient };
}

const rose = () => Response.json({ kind: 'Flower' }, { headers: { 'x-of': 'garden' } });

describe('requests for a group version of another server', () => {
  test('go to its endpoint, verified by the bundle, with the identity of this server and the name of the user', async () => {
    const { call, sent, proxyClient } = await garden(rose);
    const answer = await call('POST', `${FLOWERS}?dryRun=All&b=1&a=2`, { kind: 'Flower' }, { 'X-Remote-User': 'eve' });
    expect([answer.status, answer.body, answer.headers.get('x-of')]).toEqual([200, { kind: 'Flower' }, 'garden']);
    const [request] = sent;
    expect(request).toMatchObject({
      method: 'POST',
      url: `https://10.2.0.7:8443${FLOWERS}?a=2&b=1&dryRun=All`,
      serverName: 'garden.default.svc',
      identity: proxyClient,
      repeated: {
        'X-Remote-User': ['kubernetes-admin'],
        'X-Remote-Group': ['system:masters', 'system:authenticated'],
      },
    });
    expect(request?.authority).toContain('BEGIN CERTIFICATE');
    expect(request?.headers).not.toHaveProperty('x-remote-user');
    expect(request?.headers).not.toHaveProperty('authorization');
  });

  test('have the impersonated user in the headers, with what names of headers cannot hold escaped', async () => {
    const { call, sent } = await garden(rose);
    const as = { 'Impersonate-User': 'ann', 'Impersonate-Group': 'system:masters', 'Impersonate-Extra-A%2fb': 'c' };
    await call('GET', FLOWERS, undefined, as);
    expect(sent[0]?.repeated).toEqual({
      'X-Remote-User': ['ann'],
      'X-Remote-Group': ['system:masters', 'system:authenticated'],
      'X-Remote-Extra-a%2Fb': ['c'],
    });
    expect(Object.keys(sent[0]?.headers ?? {}).filter((name) => name.startsWith('impersonate'))).toEqual([]);
  });

  test.each([`/apis/${GROUP}/v1`, `/apis/${GROUP}/v1/`])('%s is asked within five seconds', async (path) => {
    const { call, sent } = await garden(rose);
    expect((await call('GET', path)).status).toBe(200);
    expect(sent[0]).toMatchObject({ url: `https://10.2.0.7:8443${path}`, timeoutMilliseconds: 5000 });
  });

  test('are 503 in plain text while the server is not available', async () => {
    const { call, sent } = await garden(rose);
    const { body } = await call('GET', `${API_SERVICES}/v1.${GROUP}`);
    body.status.conditions[0].status = 'False';
    await call('PUT', `${API_SERVICES}/v1.${GROUP}/status`, body);
    const answer = await call('GET', FLOWERS);
    expect([answer.status, answer.body, sent]).toEqual([503, 'service unavailable\n', []]);
  });

  test('are 503 with the reason where it cannot be reached', async () => {
    const { call } = await garden((request) => {
      throw new OutboundError(request, 'dial tcp 10.2.0.7:8443: connect: connection refused');
    });
    const answer = await call('GET', FLOWERS);
    expect([answer.status, answer.body]).toEqual([
      503,
      'error trying to reach service: dial tcp 10.2.0.7:8443: connect: connection refused\n',
    ]);
  });

  test('are not redirected', async () => {
    const { call } = await garden(
      () => new Response(null, { status: 302, headers: { location: 'https://elsewhere/' } }),
    );
    const answer = await call('GET', FLOWERS);
    expect([answer.status, answer.headers.get('location')]).toEqual([502, null]);
  });

  test('stream: what the server has sent arrives before it ends', async () => {
    const { fetch } = await garden(() => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"type":"ADDED"}\n')),
      });
      return new Response(body, { headers: { 'content-type': 'application/json' } });
    });
    const response = await fetch(new Request(`https://test${FLOWERS}?watch=1`));
    const first = await response.body!.getReader().read();
    expect(new TextDecoder().decode(first.value)).toBe('{"type":"ADDED"}\n');
  });

  test('end with the APIService', async () => {
    const { call } = await garden(rose);
    await call('DELETE', `${API_SERVICES}/v1.${GROUP}`);
    const answer = await call('GET', FLOWERS);
    expect([answer.status, answer.body]).toEqual([404, '404 page not found\n']);
  });
});

describe('discovery', () => {
  test('lists the group by its priority, before custom resources of less', async () => {
    const { call } = await garden(rose);
    const { body } = await call('GET', '/apis');
    const entry = { groupVersion: `${GROUP}/v1`, version: 'v1' };
    expect(body.groups.at(-1)).toEqual({ name: GROUP, versions: [entry], preferredVersion: entry });
    expect((await call('GET', `/apis/${GROUP}`)).body).toMatchObject({ kind: 'APIGroup', name: GROUP });
  });

  test('puts a group of the highest priority next to the first', async () => {
    const { call } = await garden(rose, { groupPriorityMinimum: 20_000 });
    const { body } = await call('GET', '/apis');
    expect(body.groups.slice(0, 2).map(({ name }: { name: string }) => name)).toEqual([
      'apiregistration.k8s.io',
      GROUP,
    ]);
  });
});

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const pathOf = ({ url }: OutboundRequest) => new URL(url).pathname;
const notThere = () => new Response('404 page not found', { status: 404 });

describe('aggregated discovery', () => {
  const own = {
    resource: 'flowers',
    responseKind: { group: GROUP, version: 'v1', kind: 'Flower' },
    scope: 'Namespaced',
    singularResource: 'flower',
    verbs: ['get', 'list'],
    subresources: [{ subresource: 'scent', verbs: ['get'] }],
  };
  const list = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [{ metadata: { name: GROUP }, versions: [{ version: 'v1', resources: [own] }] }],
  };
  const entryIn = ({ body }: { body: { items: JsonObject[] } }) =>
    body.items.find(({ metadata }) => (metadata as JsonObject).name === GROUP)?.versions;

  test('has what the server lists, asked as the aggregator, once a minute', async () => {
    const answer = () => Response.json(list, { headers: { 'content-type': V2, etag: '"1"' } });
    const { call, sent } = await garden(answer);
    const first = await call('GET', '/apis', undefined, { accept: V2 });
    const noKind = { group: '', version: '', kind: '' };
    expect(entryIn(first)).toEqual([
      {
        version: 'v1',
        resources: [{ ...own, subresources: [{ subresource: 'scent', verbs: ['get'], responseKind: noKind }] }],
        freshness: 'Current',
      },
    ]);
    const second = await call('GET', '/apis', undefined, { accept: V2 });
    expect([second.headers.get('etag'), sent.length]).toEqual([first.headers.get('etag'), 1]);
    expect(sent[0]).toMatchObject({
      url: 'https://10.2.0.7:8443/apis',
      repeated: { 'X-Remote-User': ['system:kube-aggregator'], 'X-Remote-Group': ['system:masters'] },
    });
  });

  test('is made of the lists of resources of a server that knows no other', async () => {
    const resources = [
      { name: 'flowers/scent', singularName: '', namespaced: true, kind: 'Scent', verbs: ['get'] },
      {
        name: 'flowers',
        singularName: 'flower',
        namespaced: true,
        kind: 'Flower',
        verbs: ['list'],
        shortNames: ['fl'],
      },
    ];
    const legacy = { kind: 'APIResourceList', groupVersion: `${GROUP}/v1`, resources };
    const { call } = await garden((request) => (pathOf(request) === '/apis' ? notThere() : Response.json(legacy)));
    expect(entryIn(await call('GET', '/apis', undefined, { accept: V2 }))).toEqual([
      {
        version: 'v1',
        resources: [
          {
            resource: 'flowers',
            responseKind: { group: '', version: '', kind: 'Flower' },
            scope: 'Namespaced',
            singularResource: 'flower',
            verbs: ['list'],
            shortNames: ['fl'],
            subresources: [
              { subresource: 'scent', responseKind: { group: '', version: '', kind: 'Scent' }, verbs: ['get'] },
            ],
          },
        ],
        freshness: 'Current',
      },
    ]);
  });

  test.each([
    ['answers 503', () => new Response('', { status: 503 })],
    ['answers no JSON', () => new Response('{', { headers: { 'content-type': V2 } })],
    [
      'does not answer',
      (request: OutboundRequest) => {
        throw new OutboundError(request, 'EOF');
      },
    ],
  ])('calls a group version stale whose server %s', async (_, answer) => {
    const { call } = await garden(answer);
    expect(entryIn(await call('GET', '/apis', undefined, { accept: V2 }))).toEqual([
      { version: 'v1', freshness: 'Stale' },
    ]);
  });
});

describe('OpenAPI', () => {
  test('of version 3 lists the documents of the server, which answers for them itself', async () => {
    const name = `apis/${GROUP}/v1`;
    const serverRelativeURL = `/openapi/v3/${name}?hash=ABC`;
    const { call, sent } = await garden((request) =>
      Response.json(
        pathOf(request) === '/openapi/v3'
          ? { paths: { [name]: { serverRelativeURL }, 'apis/apps/v1': { serverRelativeURL: '/mine' } } }
          : { openapi: '3.0.0' },
      ),
    );
    const { paths } = JSON.parse((await call('GET', '/openapi/v3')).body);
    expect(paths[name]).toEqual({ serverRelativeURL });
    expect(paths['apis/apps/v1'].serverRelativeURL).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=/);
    expect((await call('GET', serverRelativeURL)).body).toEqual({ openapi: '3.0.0' });
    expect(sent.at(-1)).toMatchObject({
      url: `https://10.2.0.7:8443${serverRelativeURL}`,
      repeated: { 'X-Remote-User': ['kubernetes-admin'] },
    });
    expect((await call('GET', '/openapi/v3/apis/weeds.example.com/v1')).status).toBe(404);
  });

  test('of version 2 takes in the paths of the group version, with what they refer to', async () => {
    const path = `/apis/${GROUP}/v1/flowers`;
    const { call } = await garden(() =>
      Response.json({
        swagger: '2.0',
        paths: { [path]: { get: { schema: { $ref: '#/definitions/Flower' } } }, '/apis/': { get: {} } },
        definitions: { Flower: { type: 'object' }, Weed: { type: 'object' } },
      }),
    );
    const { body } = await call('GET', '/openapi/v2');
    expect(body.paths[path]).toEqual({ get: { schema: { $ref: '#/definitions/Flower' } } });
    expect([body.definitions.Flower, body.definitions.Weed]).toEqual([{ type: 'object' }, undefined]);
    expect(body.paths['/apis/'].get).toHaveProperty('operationId');
  });
});

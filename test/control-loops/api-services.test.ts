import { describe, expect, test } from 'vitest';
import { objects } from '../../src/api/fields.ts';
import { isObject, type JsonObject } from '../../src/api/object.ts';
import { type Outbound, OutboundError, type OutboundRequest } from '../../src/outbound/index.ts';
import { Cluster } from './support.ts';

const PATH = '/apis/apiregistration.k8s.io/v1/apiservices';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'v1.flowers.example.com';
const ns = 'namespaces/default';

const apiService = (spec: JsonObject) => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: NAME },
  spec: { group: 'flowers.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10, ...spec },
});
const remote = apiService({ insecureSkipTLSVerify: true, service: { namespace: 'default', name: 'garden' } });
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'garden' },
  spec: { ports: [{ name: 'api', port: 443 }] },
};
const slice = (ready: boolean, portName = 'api') => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'garden-1', labels: { 'kubernetes.io/service-name': 'garden' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.2.0.7'], conditions: { ready } }],
  ports: [{ name: portName, port: 8443, protocol: 'TCP' }],
});
const SLICES = `/apis/discovery.k8s.io/v1/${ns}/endpointslices`;

async function available(cluster: Cluster): Promise<string[]> {
  const { status } = await cluster.api.get(`${PATH}/${NAME}`);
  const found = isObject(status) ? objects(status.conditions).filter(({ type }) => type === 'Available') : [];
  return found.map(({ status, reason, message }) => [status, reason, message].join(' '));
}

/** A server that gives what it is told; `asked` are the requests that it has seen. */
function world(answer: (request: OutboundRequest) => Response) {
  const asked: OutboundRequest[] = [];
  const outbound: Outbound = async (request) => {
    asked.push(request);
    return answer(request);
  };
  return { asked, outbound };
}

describe('availability of an APIService', () => {
  test('says what is missing of its Service, one thing after another, as each comes', async () => {
    const { outbound } = world(() => Response.json({}));
    const cluster = await Cluster.make('none', outbound);
    await cluster.api.create(PATH, remote);
    await cluster.settle();
    expect(await available(cluster)).toEqual(['False ServiceNotFound service/garden in "default" is not present']);
    await cluster.api.create(`/api/v1/${ns}/services`, { ...service, spec: { ports: [{ port: 80 }] } });
    await cluster.settle();
    expect(await available(cluster)).toEqual([
      'False ServicePortError service/garden in "default" is not listening on port 443',
    ]);
    await cluster.api.mergePatch(`/api/v1/${ns}/services/garden`, { spec: service.spec });
    await cluster.settle();
    expect(await available(cluster)).toEqual([
      'False EndpointsNotFound cannot find endpointslices for service/garden in "default"',
    ]);
    await cluster.api.create(SLICES, slice(false));
    await cluster.settle();
    expect(await available(cluster)).toEqual([
      'False MissingEndpoints endpointslices for service/garden in "default" have no addresses with port name "api"',
    ]);
    await cluster.api.update(`${SLICES}/garden-1`, slice(true));
    await cluster.settle();
    expect(await available(cluster)).toEqual(['True Passed all checks passed']);
    await cluster.api.delete(`/api/v1/${ns}/services/garden`, {});
    await cluster.settle();
    expect(await available(cluster)).toEqual(['False ServiceNotFound service/garden in "default" is not present']);
  });

  async function served(outbound: Outbound): Promise<Cluster> {
    const cluster = await Cluster.make('none', outbound);
    await cluster.api.create(`/api/v1/${ns}/services`, service);
    await cluster.api.create(SLICES, slice(true));
    await cluster.api.create(PATH, remote);
    await cluster.settle();
    return cluster;
  }

  test('is that of the server, which is asked for its group version as the aggregator', async () => {
    const { asked, outbound } = world(() => Response.json({}));
    const cluster = await served(outbound);
    expect(await available(cluster)).toEqual(['True Passed all checks passed']);
    expect(asked[0]).toMatchObject({
      method: 'GET',
      url: 'https://10.2.0.7:8443/apis/flowers.example.com/v1',
      serverName: 'garden.default.svc',
      insecure: true,
      repeated: { 'X-Remote-User': ['system:kube-aggregator'], 'X-Remote-Group': ['system:masters'] },
    });
    const { metadata } = await cluster.api.get(`${PATH}/${NAME}`);
    expect(metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource])).toContainEqual([
      'kube-apiserver',
      'status',
    ]);
  });

  test('is looked at again: a server that fails is noticed, and one that is back', async () => {
    let code = 200;
    const { outbound } = world(() => new Response('', { status: code }));
    const cluster = await served(outbound);
    code = 500;
    await cluster.ring();
    const url = 'https://10.2.0.7:8443/apis/flowers.example.com/v1';
    expect(await available(cluster)).toEqual([
      `False FailedDiscoveryCheck failing or missing response from ${url}: bad status from ${url}: 500`,
    ]);
    code = 200;
    await cluster.ring();
    expect(await available(cluster)).toEqual(['True Passed all checks passed']);
  });

  test('tells why there was no answer', async () => {
    const { outbound } = world((request) => {
      throw new OutboundError(request, 'dial tcp 10.2.0.7:8443: connect: connection refused');
    });
    const url = 'https://10.2.0.7:8443/apis/flowers.example.com/v1';
    expect(await available(await served(outbound))).toEqual([
      `False FailedDiscoveryCheck failing or missing response from ${url}: Get "${url}": dial tcp 10.2.0.7:8443: connect: connection refused`,
    ]);
  });

  test('keeps one item of work for a server, however often its endpoints change', async () => {
    const cluster = await served(world(() => Response.json({})).outbound);
    for (const ready of [true, true, true]) {
      const current = await cluster.api.get(`${SLICES}/garden-1`);
      await cluster.api.update(`${SLICES}/garden-1`, { ...current, ...slice(ready), metadata: current.metadata });
      await cluster.settle();
    }
    expect(await cluster.work()).toEqual(['apiservice apiservice:default/garden']);
    await cluster.api.delete(`${PATH}/${NAME}`, {});
    await cluster.ring();
    expect([await cluster.work(), cluster.alarm]).toEqual([[], undefined]);
  });
});

describe('group versions of custom resources', () => {
  const definition = (versions: string[]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'roses.flowers.example.com' },
    spec: {
      group: 'flowers.example.com',
      scope: 'Namespaced',
      names: { plural: 'roses', kind: 'Rose' },
      versions: versions.map((name, i) => ({
        name,
        served: true,
        storage: i === 0,
        schema: { openAPIV3Schema: { type: 'object' } },
      })),
    },
  });
  const own = async (cluster: Cluster) =>
    (await cluster.names(PATH)).filter((name) => name.endsWith('.flowers.example.com'));

  test('have APIServices that come, come back and go with them', async () => {
    const cluster = await Cluster.make('none');
    await cluster.api.create(CRDS, definition(['v1', 'v2']));
    await cluster.settle();
    expect(await own(cluster)).toEqual([NAME, 'v2.flowers.example.com']);
    expect(await available(cluster)).toEqual(['True Local Local APIServices are always available']);
    expect(await cluster.api.get(`${PATH}/${NAME}`)).toMatchObject({
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' } },
      spec: { group: 'flowers.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
    });
    await cluster.api.delete(`${PATH}/${NAME}`, {});
    await cluster.settle();
    expect(await own(cluster)).toEqual([NAME, 'v2.flowers.example.com']);
    await cluster.api.delete(`${CRDS}/roses.flowers.example.com`, {});
    await cluster.settle();
    expect(await own(cluster)).toEqual([]);
  });

  test('lose the APIService of a version that is no longer served', async () => {
    const cluster = await Cluster.make('none');
    await cluster.api.create(CRDS, definition(['v1', 'v2']));
    await cluster.settle();
    const current = await cluster.api.get(`${CRDS}/roses.flowers.example.com`);
    await cluster.api.update(`${CRDS}/roses.flowers.example.com`, {
      ...current,
      spec: { ...definition(['v1']).spec },
    });
    await cluster.settle();
    expect(await own(cluster)).toEqual([NAME]);
  });
});

test('a local APIService of a user is available', async () => {
  const cluster = await Cluster.make('none');
  await cluster.api.create(PATH, apiService({}));
  await cluster.settle();
  expect(await available(cluster)).toEqual(['True Local Local APIServices are always available']);
});

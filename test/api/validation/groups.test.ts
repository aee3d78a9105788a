import { expect, it } from 'vitest';
import { canonicalCidrErrors, cidrErrors, isStrictSubset, parseCidr } from '../../../src/api/validation/cidr.ts';
import { testApp } from '../../support/app.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
type Causes = { field: string; message: string }[];
const fieldsOf = (body: { details?: { causes?: Causes } }) => (body.details?.causes ?? []).map(({ field }) => field);
const inDefault = (groupVersion: string, resource: string) => `/apis/${groupVersion}/namespaces/default/${resource}`;

it.each([
  [
    'an autoscaler without bounds or target',
    inDefault('autoscaling/v2', 'horizontalpodautoscalers'),
    { spec: { maxReplicas: 0, scaleTargetRef: { kind: 'D', name: 'd' } } },
    ['spec.maxReplicas', 'spec.maxReplicas', 'spec.scaleTargetRef.apiVersion'],
  ],
  [
    'an autoscaler of v1 under the names of v2',
    inDefault('autoscaling/v1', 'horizontalpodautoscalers'),
    {
      spec: {
        maxReplicas: 1,
        targetCPUUtilizationPercentage: -5,
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'D', name: 'd' },
      },
    },
    ['spec.metrics[0].resource.target.averageUtilization'],
  ],
  [
    'a network policy with a range that sticks out',
    inDefault('networking.k8s.io/v1', 'networkpolicies'),
    { spec: { podSelector: {}, egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/16', except: ['11.0.0.0/24'] } }] }] } },
    ['spec.egress[0].to[0].ipBlock.except[0]'],
  ],
  [
    'an ingress that leads nowhere',
    inDefault('networking.k8s.io/v1', 'ingresses'),
    { spec: { rules: [{ host: '1.2.3.4', http: { paths: [{ path: 'x', pathType: 'Prefix', backend: {} }] } }] } },
    ['spec.rules[0].host', 'spec.rules[0].http.paths[0].path', 'spec.rules[0].http.paths[0].backend'],
  ],
  [
    'a budget with both bounds',
    inDefault('policy/v1', 'poddisruptionbudgets'),
    { spec: { minAvailable: 1, maxUnavailable: '101%' } },
    ['spec', 'spec.maxUnavailable'],
  ],
  [
    'a quota in halves',
    '/api/v1/namespaces/default/resourcequotas',
    { spec: { hard: { pods: '500m' } } },
    ['spec.hard[pods]'],
  ],
  [
    'a limit whose least exceeds its most',
    '/api/v1/namespaces/default/limitranges',
    { spec: { limits: [{ type: 'Container', min: { cpu: '2' }, max: { cpu: '1' }, default: { cpu: '1' } }] } },
    ['spec.limits[0].min[cpu]', 'spec.limits[0].defaultRequest[cpu]', 'spec.limits[0].default[cpu]'],
  ],
  [
    'a volume of two kinds',
    '/api/v1/persistentvolumes',
    {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/x' },
        nfs: { server: 's', path: '/y' },
      },
    },
    ['spec.nfs'],
  ],
  ['a node with a bad range', '/api/v1/nodes', { spec: { podCIDRs: ['x'] } }, ['spec.podCIDRs[0]']],
  ["a priority that is the system's", '/apis/scheduling.k8s.io/v1/priorityclasses', { value: 1000000001 }, ['value']],
  [
    'a signing request without a request',
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    { spec: { request: 'eA==', signerName: 'a.b/c', usages: ['any', 'any'] } },
    ['spec.request', 'spec.usages[1]'],
  ],
  [
    'a flow schema without a level',
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    { spec: { matchingPrecedence: 10001, priorityLevelConfiguration: { name: '' } } },
    ['spec.matchingPrecedence', 'spec.priorityLevelConfiguration.name'],
  ],
  [
    'an event of the newer API without its time',
    inDefault('events.k8s.io/v1', 'events'),
    { regarding: { namespace: 'default' }, type: 'Odd' },
    ['eventTime', 'type'],
  ],
])('%s', async (_, path, body, expected) => {
  const { call } = await testApp();
  expect(fieldsOf((await call('POST', path, { metadata: { name: 'x' }, ...body })).body)).toEqual(expected);
});

it('the id that a provider gives a node stays', async () => {
  const { call } = await testApp();
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: { providerID: 'a' } };
  expect((await call('POST', '/api/v1/nodes', node)).status).toBe(201);
  const change = { spec: { providerID: 'b' } };
  expect(fieldsOf((await call('PATCH', '/api/v1/nodes/n', change, merge)).body)).toEqual(['spec.providerID']);
});

it('ranges of addresses', () => {
  expect(cidrErrors('10.0.0.0/8')).toEqual([]);
  expect(cidrErrors('10.0.0.1/8')).toEqual(['must not have bits set beyond the prefix length']);
  expect(cidrErrors('10.0.0.0/08')).toEqual(['must not have leading 0s in IP or prefix length']);
  expect(cidrErrors('::ffff:1.2.3.4/128')).toEqual(['must not have an IPv4-mapped IPv6 address']);
  expect(cidrErrors('::/129')).toHaveLength(1);
  expect(canonicalCidrErrors('2001:DB8:0:0:1:0:0:0/80')).toEqual(['must be in canonical form ("2001:db8:0:0:1::/80")']);
  expect(canonicalCidrErrors('::/0')).toEqual([]);
  const [outer, inner] = [parseCidr('2001:db8::/32')!, parseCidr('2001:db8:1::/48')!];
  expect([isStrictSubset(inner, outer), isStrictSubset(outer, outer)]).toEqual([true, false]);
});

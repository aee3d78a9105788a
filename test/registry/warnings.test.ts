import { describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/api/object.ts';
import { builtins } from '../../src/registry/resource.ts';
import { warningsAbout } from '../../src/registry/warnings/index.ts';

const row = (groupVersion: string, resource: string) => builtins.get(groupVersion)!.get(resource)!;
const pod = row('v1', 'pods');
const deployment = row('apps/v1', 'deployments');
const withSpec = (spec: JsonObject): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
const withPorts = (...ports: JsonObject[]) =>
  withSpec({ containers: [{ name: 'c', ports: ports.map((port) => ({ protocol: 'TCP', ...port })) }] });

/** Each row: resource, what the object holds beside its name, and what is said, as recorded from kube-apiserver 1.36.3. */
const said: [string, string, JsonObject, string[]][] = [
  [
    'v1',
    'pods',
    { spec: { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } } },
    ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
  ],
  [
    'v1',
    'pods',
    { spec: { volumes: [{ name: 'v', rbd: {} }] } },
    ['spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+'],
  ],
  [
    'v1',
    'pods',
    { spec: { containers: [{ name: 'c', resources: { requests: { memory: '1100m' } } }] } },
    ['spec.containers[0].resources.requests[memory]: fractional byte value "1100m" is invalid, must be an integer'],
  ],
  [
    'v1',
    'pods',
    {
      spec: {
        volumes: [
          {
            name: 'v',
            configMap: {
              name: 'm',
              items: [
                { key: 'a', path: 'x' },
                { key: 'b', path: 'x/y' },
              ],
            },
          },
        ],
      },
    },
    ['volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"'],
  ],
  [
    'networking.k8s.io/v1',
    'networkpolicies',
    { spec: { ingress: [{ from: [{ ipBlock: { cidr: '10.1.2.3/8' } }] }] } },
    [
      'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)',
    ],
  ],
  [
    'v1',
    'services',
    { spec: { type: 'ClusterIP', clusterIP: 'None', sessionAffinity: 'ClientIP', externalIPs: ['2001:DB8::1'] } },
    [
      'spec.externalIPs is ignored for headless services',
      'spec.SessionAffinity is ignored for headless services',
      'spec.externalIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ],
  ],
  [
    'v1',
    'secrets',
    { type: 'kubernetes.io/tls', data: { 'tls.crt': '', 'tls.key': '' } },
    ['tls: failed to find any PEM data in certificate input'],
  ],
];

describe('warnings about pods', () => {
  test.each<[string, JsonObject[], string[]]>([
    ['equal ports', [{ containerPort: 1 }, { containerPort: 1 }], ['duplicate port definition with']],
    [
      'ports of which one has no host port',
      [{ containerPort: 1, hostPort: 2 }, { containerPort: 1 }],
      ['overlapping port definition with'],
    ],
    [
      'host ports on one address and on all',
      [
        { containerPort: 1, hostPort: 2, hostIP: '10.0.0.1' },
        { containerPort: 1, hostPort: 2 },
      ],
      ['dangerously ambiguous port definition with'],
    ],
    ['ports of two protocols', [{ containerPort: 1 }, { containerPort: 1, protocol: 'UDP' }], []],
    [
      'equal host ports on two addresses',
      [
        { containerPort: 1, hostPort: 2, hostIP: '10.0.0.1' },
        { containerPort: 1, hostPort: 2, hostIP: '10.0.0.2' },
      ],
      [],
    ],
  ])('%s', (_, ports, found) => {
    expect(warningsAbout(pod, '', withPorts(...ports))).toEqual(
      found.map((words) => `spec.containers[0].ports[1]: ${words} spec.containers[0].ports[0]`),
    );
  });

  test('an address without a host port is shown with its port', () => {
    expect(warningsAbout(pod, '', withPorts({ containerPort: 5, hostIP: '1.2.3.4' }))).toEqual([
      'spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:5 Protocol:TCP HostIP:1.2.3.4}',
    ]);
  });

  test('a variable may be defined again by what builds on it', () => {
    const env = ['1', '$(A)', '$(A)/bin', '2'].map((value) => ({ name: 'A', value }));
    const found = warningsAbout(pod, '', withSpec({ initContainers: [{ name: 'c', env }] }));
    expect(found.map((warning) => warning.split(': ')[0])).toEqual([
      'spec.initContainers[0].env[1]',
      'spec.initContainers[0].env[3]',
    ]);
  });

  test('an update is warned of where it changed the template, and never for a pod', () => {
    const twice = withPorts({ containerPort: 1 }, { containerPort: 1 });
    const of = (generation: number): KubeObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', generation },
      spec: { template: { spec: twice.spec! } },
    });
    expect(warningsAbout(deployment, '', of(2), of(1))[0]).toMatch(/^spec\.template\.spec\.containers\[0\]/);
    expect(warningsAbout(deployment, '', of(1), of(1))).toEqual([]);
    expect(warningsAbout(pod, '', twice, twice)).toEqual([]);
  });
});

test.each(said)('%s %s %#', (groupVersion, resource, parts, expected) => {
  const object: KubeObject = { metadata: { name: 'n' }, ...parts };
  expect(warningsAbout(row(groupVersion, resource), '', object)).toEqual(expected);
});

test('an annotation that the object had before is not warned of again', () => {
  const annotations = { 'kubernetes.io/enforce-mountable-secrets': 'true' };
  const account = { metadata: { name: 'a', annotations } };
  expect(warningsAbout(row('v1', 'serviceaccounts'), '', account)).toHaveLength(1);
  expect(warningsAbout(row('v1', 'serviceaccounts'), '', account, account)).toEqual([]);
});

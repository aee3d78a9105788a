import { describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/api/object.ts';
import { podWarnings } from '../../src/registry/pod-warnings.ts';
import type { Resource } from '../../src/registry/resource.ts';

const kind = (groupVersion: string, name: string) => ({ groupVersion, kind: name }) as Resource;
const pod = kind('v1', 'Pod');
const deployment = kind('apps/v1', 'Deployment');
const withSpec = (spec: JsonObject): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
const withPorts = (...ports: JsonObject[]) =>
  withSpec({ containers: [{ name: 'c', ports: ports.map((port) => ({ protocol: 'TCP', ...port })) }] });

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
    expect(podWarnings(pod, withPorts(...ports))).toEqual(
      found.map((words) => `spec.containers[0].ports[1]: ${words} spec.containers[0].ports[0]`),
    );
  });

  test('an address without a host port is shown with its port', () => {
    expect(podWarnings(pod, withPorts({ containerPort: 5, hostIP: '1.2.3.4' }))).toEqual([
      'spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:5 Protocol:TCP HostIP:1.2.3.4}',
    ]);
  });

  test('a variable may be defined again by what builds on it', () => {
    const env = ['1', '$(A)', '$(A)/bin', '2'].map((value) => ({ name: 'A', value }));
    const found = podWarnings(pod, withSpec({ initContainers: [{ name: 'c', env }] }));
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
    expect(podWarnings(deployment, of(2), of(1))[0]).toMatch(/^spec\.template\.spec\.containers\[0\]/);
    expect(podWarnings(deployment, of(1), of(1))).toEqual([]);
    expect(podWarnings(pod, twice, twice)).toEqual([]);
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from './support.ts';

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
let cluster: Cluster;

const rule = (group: string, version: string, ...resources: string[]) => ({
  apiGroups: [group],
  apiVersions: [version],
  operations: ['CREATE'],
  resources,
});
const create = (name: string, spec: object) =>
  cluster.api.create(POLICIES, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints: { resourceRules: [rule('apps', 'v1', 'deployments')] }, ...spec },
  } as never);

type Status = {
  observedGeneration?: number;
  typeChecking?: { expressionWarnings?: { fieldRef: string; warning: string }[] };
};
const statusOf = async (name: string) => (await cluster.api.get(`${POLICIES}/${name}`)).status as Status;
/** The warnings of a new policy: the field and the lines that name a kind or a fault, without numbers of types. */
async function warnings(name: string, spec: object): Promise<[string, string[]][]> {
  await create(name, spec);
  await cluster.settle();
  const found = (await statusOf(name)).typeChecking?.expressionWarnings ?? [];
  return found.map(({ fieldRef, warning }) => [
    fieldRef,
    warning
      .replace(/([A-Z][a-z]+)\d+/g, '$1')
      .split('\n')
      .filter((line) => line.includes('ERROR')),
  ]);
}
const one = (expression: string, more: object = {}) => ({ validations: [{ expression }], ...more });

describe('type checking of policies', () => {
  beforeAll(async () => {
    cluster = await Cluster.make();
  });

  it('tells which field there is not, with the kind and the place', async () => {
    await create('unknown', one('object.spec.replicaz > 1'));
    await cluster.settle();
    expect(await statusOf('unknown')).toEqual({
      observedGeneration: 1,
      typeChecking: {
        expressionWarnings: [
          {
            fieldRef: 'spec.validations[0].expression',
            warning:
              "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicaz'\n" +
              ' | object.spec.replicaz > 1\n | ...........^\n',
          },
        ],
      },
    });
    expect(await cluster.work()).toEqual([]);
  });

  it('finds nothing wrong with what fits, and says that it looked', async () => {
    await create('fits', one('object.spec.replicas > 1 && oldObject.metadata.labels.size() == 0'));
    await cluster.settle();
    expect(await statusOf('fits')).toEqual({ observedGeneration: 1, typeChecking: {} });
  });

  it.each<[string, object, [string, string[]][]]>([
    [
      'type mismatch',
      one("object.spec.replicas == 'a'"),
      [
        [
          'spec.validations[0].expression',
          [
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_==_' applied to '(int, string)'",
          ],
        ],
      ],
    ],
    [
      'message',
      { validations: [{ expression: 'true', messageExpression: "'a' + object.spec" }] },
      [
        [
          'spec.validations[0].messageExpression',
          [
            "apps/v1, Kind=Deployment: ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, Deployment.spec)'",
          ],
        ],
      ],
    ],
    [
      'several kinds in order',
      one('object.spec.replicas > 1', {
        matchConstraints: {
          resourceRules: [rule('batch', 'v1', 'jobs'), rule('apps', 'v1', 'daemonsets', 'deployments')],
        },
      }),
      [
        [
          'spec.validations[0].expression',
          [
            "apps/v1, Kind=DaemonSet: ERROR: <input>:1:12: undefined field 'replicas'",
            "batch/v1, Kind=Job: ERROR: <input>:1:12: undefined field 'replicas'",
          ],
        ],
      ],
    ],
    [
      'wildcards are not looked at',
      one('object.foo == 1', { matchConstraints: { resourceRules: [rule('*', 'v1', 'pods')] } }),
      [],
    ],
    [
      'subresources are not looked at',
      one('object.foo == 1', { matchConstraints: { resourceRules: [rule('', 'v1', 'pods/status')] } }),
      [],
    ],
    [
      'params',
      one('object.spec.replicas < params.data', { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }),
      [
        [
          'spec.validations[0].expression',
          [
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_<_' applied to '(int, map(string, string))'",
          ],
        ],
      ],
    ],
    [
      'params of a kind that is not served',
      one('params.a == 1', { paramKind: { apiVersion: 'a/v1', kind: 'None' } }),
      [],
    ],
    [
      'variables',
      one("variables.r == 'a' && variables.s.foo == 1", {
        variables: [
          { name: 'r', expression: 'object.spec.replicas' },
          { name: 's', expression: 'object.spec' },
        ],
      }),
      [
        [
          'spec.validations[0].expression',
          [
            "apps/v1, Kind=Deployment: ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(int, string)'",
          ],
        ],
      ],
    ],
    [
      'ports that are numbers or names',
      one('object.spec.template.spec.containers.all(c, c.livenessProbe.httpGet.port == 1)'),
      [],
    ],
  ])('%s', async (name, spec, wanted) => {
    expect(await warnings(name.replaceAll(' ', '-'), spec)).toEqual(wanted);
  });

  it('looks at custom resources', async () => {
    await cluster.api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'gadgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
              },
            },
          },
        ],
      },
    });
    const matchConstraints = { resourceRules: [rule('example.com', 'v1', 'gadgets')] };
    const spec = one('object.spec.size > 1 && object.metadata.labels.a == "b" && object.spec.colour == 1', {
      matchConstraints,
    });
    expect(await warnings('custom', spec)).toEqual([
      [
        'spec.validations[0].expression',
        ["example.com/v1, Kind=Gadget: ERROR: <input>:1:71: undefined field 'colour'"],
      ],
    ]);
  });

  it('is done again when the spec changes, and not where it is off', async () => {
    await cluster.api.mergePatch(`${POLICIES}/fits`, { spec: one('object.none == 1') });
    await cluster.settle();
    const status = await statusOf('fits');
    expect(status.observedGeneration).toBe(2);
    expect(status.typeChecking?.expressionWarnings).toHaveLength(1);
    cluster = await Cluster.make('none');
    await create('off', one('object.none == 1'));
    await cluster.settle();
    expect(await statusOf('off')).toEqual({});
  });
});

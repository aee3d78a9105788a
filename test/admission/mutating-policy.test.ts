import { beforeEach, describe, expect, it } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const MAPS = '/api/v1/namespaces/default/configmaps';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const merge = { 'content-type': 'application/merge-patch+json' };

const rules = (resources: string[], apiGroups = [''], more: object = {}) => ({
  resourceRules: [{ apiGroups, apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources }],
  ...more,
});
const maps = rules(['configmaps']);
const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
const data = (key: string, expression: string) => apply(`Object{data: {"${key}": ${expression}}}`);

let call: TestApp['call'];
beforeEach(async () => {
  ({ call } = await testApp());
});

async function policy(name: string, spec: object, binding: object = {}): Promise<void> {
  const made = await call('POST', `${GROUP}/mutatingadmissionpolicies`, {
    metadata: { name },
    spec: { reinvocationPolicy: 'Never', matchConstraints: maps, ...spec },
  });
  expect([made.status, made.body.message]).toEqual([201, undefined]);
  const bound = await call('POST', `${GROUP}/mutatingadmissionpolicybindings`, {
    metadata: { name },
    spec: { policyName: name, ...binding },
  });
  expect(bound.status).toBe(201);
}

const create = async (own: object = {}, name = 'm') =>
  (await call('POST', MAPS, { metadata: { name }, data: own })).body;

const deployment = (containers: object[]) => ({
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers } },
  },
});

describe('what mutations make', () => {
  it('configurations merge lists by their keys; patches add; later mutations see earlier ones', async () => {
    const containers = 'Object.spec.template.spec.containers';
    const wrap = (list: string) =>
      apply(
        `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [${list}]}}}}`,
      );
    await policy('a', {
      matchConstraints: rules(['deployments'], ['apps']),
      variables: [{ name: 'count', expression: 'size(object.spec.template.spec.containers)' }],
      mutations: [
        wrap(
          `${containers}{name: "side", image: "side:1"}, ${containers}{name: "c", env: [${containers}.env{name: "E"}]}`,
        ),
        patch(
          '[JSONPatch{op: "add", path: "/metadata/annotations", value: {}}, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("a.b/count"), value: string(variables.count)}]',
        ),
      ],
    });
    const { body } = await call('POST', DEPLOYMENTS, deployment([{ name: 'c', image: 'a:1' }]));
    expect(body.metadata.annotations).toEqual({ 'a.b/count': '2' });
    const made = body.spec.template.spec.containers.map((c: { name: string; env?: object[] }) => [c.name, c.env]);
    expect(made).toEqual([
      ['side', undefined],
      ['c', [{ name: 'E' }]],
    ]);
  });

  it('what they add is defaulted, and they see what was defaulted', async () => {
    await policy('a', {
      matchConstraints: rules(['deployments'], ['apps']),
      mutations: [
        patch('[JSONPatch{op: "replace", path: "/spec/replicas", value: object.spec.replicas + 1}]'),
        patch(
          '[JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: Object.spec.template.spec.containers{name: "x", image: "x"}}]',
        ),
      ],
    });
    const { body } = await call('POST', DEPLOYMENTS, deployment([{ name: 'c', image: 'a:1' }]));
    expect(body.spec.replicas).toBe(2);
    expect(body.spec.template.spec.containers[1]).toMatchObject({ name: 'x', imagePullPolicy: 'Always' });
  });

  it('a test in a patch that does not hold leaves the object as it is', async () => {
    const test = (value: string) =>
      patch(
        `[JSONPatch{op: "test", path: "/data/a", value: "${value}"}, JSONPatch{op: "add", path: "/data/${value}", value: "z"}]`,
      );
    await policy('a', { mutations: [test('x'), test('y')] });
    expect((await create({ a: 'x' })).data).toEqual({ a: 'x', x: 'z' });
  });

  it('custom resources, whose unknown fields are pruned', async () => {
    const properties = {
      spec: { type: 'object', properties: { a: { type: 'string' }, n: { type: 'integer', default: 7 } } },
    };
    const version = {
      name: 'v1',
      served: true,
      storage: true,
      schema: { openAPIV3Schema: { type: 'object', properties } },
    };
    await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        names: { plural: 'things', singular: 'thing', kind: 'Thing' },
        scope: 'Namespaced',
        versions: [version],
      },
    });
    await policy('a', {
      matchConstraints: rules(['things'], ['example.com']),
      mutations: [
        apply('Object{spec: Object.spec{a: "made"}}'),
        patch('[JSONPatch{op: "add", path: "/spec/unknown", value: 1}]'),
      ],
    });
    const path = '/apis/example.com/v1/namespaces/default/things';
    const { body } = await call('POST', path, { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't' } });
    expect(body.spec).toEqual({ a: 'made', n: 7 });
  });

  it('params of a binding', async () => {
    await call('POST', MAPS, { metadata: { name: 'p', labels: { role: 'param' } }, data: { value: 'v1' } });
    await policy(
      'a',
      { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, mutations: [data('from', 'params.data.value')] },
      { paramRef: { selector: { matchLabels: { role: 'param' } }, parameterNotFoundAction: 'Deny' } },
    );
    expect((await create()).data).toEqual({ from: 'v1' });
  });
});

describe('which requests', () => {
  it('conditions, exclusions, deletions', async () => {
    await policy('a', {
      matchConditions: [{ name: 'c', expression: 'object.metadata.name != "out"' }],
      matchConstraints: rules(['configmaps'], [''], {
        objectSelector: { matchExpressions: [{ key: 'off', operator: 'DoesNotExist' }] },
      }),
      mutations: [data('k', 'request.operation')],
    });
    expect((await create()).data).toEqual({ k: 'CREATE' });
    expect((await create({}, 'out')).data).toBeUndefined();
    const off = await call('POST', MAPS, { metadata: { name: 'off', labels: { off: '' } } });
    expect(off.body.data).toBeUndefined();
    const changed = await call('PATCH', `${MAPS}/m`, { metadata: { labels: { a: 'b' } } }, merge);
    expect(changed.body.data).toEqual({ k: 'UPDATE' });
    expect((await call('DELETE', `${MAPS}/m`)).status).toBe(200);
  });

  it('an earlier policy is asked again where it wants that and a later one changed the object', async () => {
    const count = (key: string) =>
      data(key, `string(int(has(object.data) && "${key}" in object.data ? object.data.${key} : "0") + 1)`);
    await policy('a', { reinvocationPolicy: 'IfNeeded', mutations: [count('again')] });
    await policy('b', { mutations: [count('once')] });
    expect((await create()).data).toEqual({ again: '2', once: '1' });
  });
});

describe('what cannot be made', () => {
  const failures: [string, object, string][] = [
    [
      'a value that fails',
      data('k', 'string(int(object.metadata.name))'),
      "type conversion error from 'string' to 'int'",
    ],
    [
      'the type of another field',
      apply('Object{metadata: Object.spec{}}'),
      'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root Object type',
    ],
    [
      'a field that is not there',
      apply('Object{nothing: 1}'),
      'error applying patch: failed to convert patch object to typed object: .nothing: field not declared in schema',
    ],
    [
      'an operation that does not apply',
      patch('[JSONPatch{op: "remove", path: "/data/none"}]'),
      'JSON Patch: remove operation does not apply: doc is missing path: "/data/none": missing value',
    ],
  ];

  it.each(failures)('%s', async (_, mutation, why) => {
    await policy('a', { mutations: [mutation] });
    const refused = await create();
    expect([refused.code, refused.reason]).toEqual([403, 'Invalid']);
    const message: string = refused.message;
    expect(message.startsWith("policy 'a' with binding 'a' denied request: ")).toBe(true);
    expect(message.endsWith(why)).toBe(true);
    expect(refused.details.causes).toEqual([{ message }]);
  });

  it.each(failures)('%s, and is let pass', async (_, mutation) => {
    await policy('a', { failurePolicy: 'Ignore', mutations: [mutation, data('other', '"made"')] });
    expect((await create()).data).toEqual({ other: 'made' });
  });

  it('atomic lists may not be part of a configuration', async () => {
    await policy('a', {
      matchConstraints: rules(['deployments'], ['apps']),
      mutations: [
        apply(
          'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "c", args: ["x"]}]}}}}',
        ),
      ],
    });
    const { body } = await call('POST', DEPLOYMENTS, deployment([{ name: 'c', image: 'a:1' }]));
    expect(body.message).toContain(
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].args',
    );
  });

  it('params that are not there', async () => {
    await policy(
      'a',
      { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, mutations: [data('k', 'params.data.v')] },
      { paramRef: { name: 'none', parameterNotFoundAction: 'Deny' } },
    );
    const refused = await create();
    expect([refused.code, refused.reason]).toEqual([403, 'Forbidden']);
    expect(refused.message).toBe(
      "policy 'a' with binding 'a' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    );
  });
});

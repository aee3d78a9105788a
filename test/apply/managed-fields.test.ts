import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/api/object.ts';
import { builtinKind, customKind } from '../../src/apply/kind-type.ts';
import {
  keepTimesOfNoop,
  managedFieldsProblem,
  managerOf,
  updateManagedFields,
} from '../../src/apply/managed-fields.ts';
import { OneObject } from './cluster.ts';

const configMap = () => new OneObject('v1', 'ConfigMap', builtinKind('v1', 'ConfigMap')!);
const now = new Date('2026-01-02T03:04:05.678Z');

describe('creating', () => {
  test('the creator owns what it set, but no identity', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'n', uid: 'u', labels: { l: 'm' } },
      data: { y: '2', x: '1' },
    };
    const before = structuredClone(object);
    const made = updateManagedFields(undefined, object, {
      manager: 'one',
      groupVersion: 'v1',
      subresource: '',
      now,
      kind: builtinKind('v1', 'ConfigMap')!,
    });
    expect(made.metadata.managedFields).toEqual([
      {
        manager: 'one',
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-02T03:04:05Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { '.': {}, 'f:x': {}, 'f:y': {} }, 'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} } } },
      },
    ]);
    expect(Object.keys(made.metadata.managedFields![0]!.fieldsV1!['f:data']!)).toEqual(['.', 'f:x', 'f:y']);
    expect(object).toEqual(before);
  });

  test('structs that Go always has are not owned themselves, pointers and maps are', () => {
    const deployment = new OneObject('apps/v1', 'Deployment', builtinKind('apps/v1', 'Deployment')!, {
      resetFields: { 'apps/v1': ['status'] },
    });
    deployment.put('one', {
      spec: {
        replicas: 1,
        selector: { matchLabels: { a: 'b' } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
        template: {
          metadata: { labels: { a: 'b' } },
          spec: {
            containers: [
              {
                name: 'c',
                image: 'i',
                resources: {},
                ports: [{ containerPort: 80, protocol: 'UDP' }, { containerPort: 80 }],
              },
            ],
          },
        },
      },
      status: { replicas: 3 },
    });
    expect(deployment.owners()['one Update']).toEqual({
      'f:spec': {
        'f:replicas': {},
        'f:selector': {},
        'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} }, 'f:type': {} },
        'f:template': {
          'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } },
          'f:spec': {
            'f:containers': {
              'k:{"name":"c"}': {
                '.': {},
                'f:image': {},
                'f:name': {},
                'f:ports': {
                  '.': {},
                  'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} },
                  'k:{"containerPort":80,"protocol":"UDP"}': { '.': {}, 'f:containerPort': {}, 'f:protocol': {} },
                },
                'f:resources': {},
              },
            },
          },
        },
      },
    });
  });

  test('structs of custom resources are owned too', () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
    };
    const custom = new OneObject('e.com/v1', 'Box', customKind(schema));
    custom.put('one', { spec: { size: 1 } });
    expect(custom.owners()).toEqual({ 'one Update': { 'f:spec': { '.': {}, 'f:size': {} } } });
  });

  test('repeated list items are owned as one', () => {
    const pod = new OneObject('v1', 'Pod', builtinKind('v1', 'Pod')!);
    pod.put('one', {
      spec: {
        containers: [
          {
            name: 'c',
            env: [
              { name: 'E', value: '1' },
              { name: 'E', value: '2' },
            ],
          },
        ],
      },
    });
    const owned = { '.': {}, 'f:env': { '.': {}, 'k:{"name":"E"}': {} }, 'f:name': {} };
    expect(pod.owners()).toEqual({
      'one Update': { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': owned } } },
    });
  });
});

describe('updating', () => {
  test('who changes a field takes it, and a no-op takes nothing', () => {
    const object = configMap();
    object.put('one', { data: { x: '1', y: '1' } });
    object.patch('two', { data: { y: '2', z: '2' } });
    object.patch('three', { data: { y: '2' } });
    expect(object.owners()).toEqual({
      'one Update': { 'f:data': { '.': {}, 'f:x': {} } },
      'two Update': { 'f:data': { 'f:y': {}, 'f:z': {} } },
    });
    expect(object.times()).toEqual({ 'one Update': '00', 'two Update': '01' });
  });

  test('what is removed is owned by no one', () => {
    const object = configMap();
    object.put('one', { data: { x: '1' } });
    object.patch('two', { data: null });
    expect(object.live?.metadata.managedFields).toBeUndefined();
    object.patch('two', { data: { x: '1' } });
    expect(object.live?.metadata.managedFields).toBeUndefined();
  });

  test('a manager without a name is unknown', () => {
    const object = configMap();
    object.put('', { data: {} });
    expect(Object.keys(object.owners())).toEqual(['unknown Update']);
  });

  test('versions that are no longer known are forgotten', () => {
    const object = configMap();
    object.put('one', { data: { x: '1' } });
    object.live!.metadata.managedFields![0]!.apiVersion = 'v0';
    object.patch('two', { data: { y: '1' } });
    expect(object.owners()).toEqual({ 'two Update': { 'f:data': { 'f:y': {} } } });
  });

  test('a subresource keeps entries of its own, without the fields that it drops', () => {
    const kind = builtinKind('apps/v1', 'Deployment')!;
    const live = { metadata: { name: 'd', uid: 'u' }, spec: { replicas: 1 }, status: {} } as KubeObject;
    const made = updateManagedFields(undefined, live, {
      manager: 'one',
      groupVersion: 'apps/v1',
      subresource: '',
      now,
      kind,
    });
    const next = {
      ...made,
      spec: { replicas: 9 },
      status: { replicas: 1 },
      metadata: { ...made.metadata, managedFields: [] },
    };
    const after = updateManagedFields(made, next, {
      manager: 'one',
      groupVersion: 'apps/v1',
      subresource: 'status',
      now,
      kind,
      resetFields: { 'apps/v1': ['metadata.labels', 'spec'] },
    });
    expect(after.metadata.managedFields?.map((entry) => [entry.subresource, entry.fieldsV1])).toEqual([
      [undefined, { 'f:spec': { 'f:replicas': {} } }],
      ['status', { 'f:status': { 'f:replicas': {} } }],
    ]);
  });

  test('the oldest of more than ten update managers are joined', () => {
    const object = configMap();
    object.put('u0', { data: { k0: '1' } });
    for (let i = 1; i < 13; i++) object.patch(`u${i}`, { data: { [`k${i}`]: '1' } });
    expect(Object.keys(object.owners())).toHaveLength(10);
    expect(object.owners()['ancient-changes Update']).toEqual({
      'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {} },
    });
    expect(object.times()['ancient-changes Update']).toBe('03');
  });
});

describe('managedFields that clients write', () => {
  const start = () => {
    const object = configMap();
    object.put('one', { data: { x: '1' } });
    return object;
  };
  const entry = {
    manager: 'z',
    operation: 'Update',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    time: '2020-01-01T00:00:00Z',
  };

  test('an empty list and a list of one empty entry reset', () => {
    for (const managedFields of [[], [{}]]) {
      const object = start();
      object.patch('two', { metadata: { managedFields } });
      expect(object.live?.metadata.managedFields).toBeUndefined();
    }
  });

  test('entries that can be read replace, in canonical form', () => {
    const object = start();
    object.patch('two', {
      metadata: {
        managedFields: [{ ...entry, fieldsV1: { 'f:data': { 'f:x': { '.': {} }, '.': {} }, 'x:foo': {}, 'f:a': {} } }],
      },
    });
    expect(object.live?.metadata.managedFields).toEqual([
      { ...entry, fieldsV1: { 'f:a': {}, 'f:data': { '.': {}, 'f:x': {} } } },
    ]);
  });

  test.each([{ operation: 'Bad' }, { apiVersion: '' }, { fieldsType: 'FieldsV2' }, { fieldsV1: { x: {} } }])(
    '%j leaves the live ones',
    (bad) => {
      const object = start();
      object.patch('two', { metadata: { managedFields: [{ ...entry, fieldsV1: {}, ...bad }] } });
      expect(Object.keys(object.owners())).toEqual(['one Update']);
      expect(managedFieldsProblem([{ ...entry, fieldsV1: {}, ...bad }])).toBeDefined();
    },
  );

  test('so does leaving them out', () => {
    const object = start();
    object.put('two', { data: { x: '1', y: '1' } });
    expect(Object.keys(object.owners())).toEqual(['one Update', 'two Update']);
  });

  test("what is wrong with entries is told in upstream's words", () => {
    expect(managedFieldsProblem([entry])).toBeUndefined();
    expect(managedFieldsProblem([{ ...entry, operation: 'x' }])).toBe('operation must be `Apply` or `Update`');
    expect(managedFieldsProblem([entry, { ...entry, fieldsType: '' }])).toBe(
      'missing fieldsType in managed fields entry 1',
    );
  });
});

describe('times of writes that change nothing', () => {
  const entries = (time: string) => [
    { manager: 'a', operation: 'Apply', apiVersion: 'v1', time, fieldsType: 'FieldsV1', fieldsV1: {} },
  ];
  const object = (time: string, x: string): KubeObject => ({
    metadata: { name: 'a', managedFields: entries(time) },
    data: { x },
  });
  test('are kept', () => expect(keepTimesOfNoop(object('1', 'x'), object('2', 'x'))).toEqual(object('1', 'x')));
  test('move with a change', () =>
    expect(keepTimesOfNoop(object('1', 'x'), object('2', 'y'))).toEqual(object('2', 'y')));
  test('move with another owner', () => {
    const after = object('2', 'x');
    after.metadata.managedFields![0]!.fieldsV1 = { 'f:data': {} };
    expect(keepTimesOfNoop(object('1', 'x'), after)).toBe(after);
  });
});

test.each([
  ['kubectl/v1.36.0 (linux/amd64)', 'kubectl'],
  ['robot', 'robot'],
  ['', ''],
  ['a\u0007b c/1', 'ab c'],
  [`${'y'.repeat(140)}/1`, 'y'.repeat(128)],
  [`${'é'.repeat(70)}`, 'é'.repeat(64)],
])('the manager of user agent %j is %j', (agent, manager) => expect(managerOf(agent)).toBe(manager));

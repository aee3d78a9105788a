import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/api/object.ts';
import { builtinKind, customKind } from '../../src/apply/kind-type.ts';
import { mergeValues } from '../../src/apply/merge-values.ts';
import { failureOf, OneObject } from './cluster.ts';

const configMap = () => new OneObject('v1', 'ConfigMap', builtinKind('v1', 'ConfigMap')!);
const deployment = () =>
  new OneObject('apps/v1', 'Deployment', builtinKind('apps/v1', 'Deployment')!, {
    resetFields: { 'apps/v1': ['status'] },
  });
const boxSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer' } } },
        },
        tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        plain: { type: 'array', items: { type: 'string' } },
        whole: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          properties: { a: { type: 'string' }, b: { type: 'string' } },
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        port: { 'x-kubernetes-int-or-string': true },
        inner: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};
const box = () => new OneObject('e.com/v1', 'Box', customKind(boxSchema));
const container = (name: string, more: JsonObject = {}): JsonObject => ({ name, image: 'i', ...more });
const pods = (...containers: JsonObject[]): JsonObject => ({ spec: { template: { spec: { containers } } } });

describe('one applier', () => {
  test('creates, changes, and gives up', () => {
    const object = configMap();
    object.apply('one', { metadata: { labels: { l: 'm' } }, data: { x: '1', y: '2' } });
    expect(object.owners()).toEqual({
      'one Apply': { 'f:data': { 'f:x': {}, 'f:y': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
    });
    expect(object.apply('one', { data: { x: '3' } })).toMatchObject({ metadata: { name: 'x' }, data: { x: '3' } });
    expect(object.live?.data).toEqual({ x: '3' });
    expect(object.live?.metadata.labels).toBeUndefined();
    expect(object.owners()).toEqual({ 'one Apply': { 'f:data': { 'f:x': {} } } });
    object.apply('one', {});
    expect(object.live?.data).toBeUndefined();
    expect(object.live?.metadata.managedFields).toBeUndefined();
  });

  test('applying the same again changes nothing, not even the time', () => {
    const object = configMap();
    const first = object.apply('one', { data: { x: '1' } });
    expect(object.apply('one', { data: { x: '1' } })).toEqual(first);
  });

  test('a null that the configuration does not speak of stays', () => {
    const { type } = builtinKind('v1', 'Event')!;
    expect(mergeValues(type, { eventTime: null, note: 'x' }, { reason: 'r' })).toEqual({
      eventTime: null,
      note: 'x',
      reason: 'r',
    });
  });

  test('an empty value is applied too', () => {
    const object = configMap();
    object.apply('one', { data: { x: '' } });
    expect(object.owners()).toEqual({ 'one Apply': { 'f:data': { 'f:x': {} } } });
  });
});

describe('several appliers', () => {
  test('equal values are shared, and stay until the last gives up', () => {
    const object = configMap();
    object.apply('one', { data: { x: '1' } });
    object.apply('two', { data: { x: '1' } });
    expect(object.times()).toEqual({ 'one Apply': '00', 'two Apply': undefined });
    object.apply('one', {});
    expect(object.live?.data).toEqual({ x: '1' });
    object.apply('two', {});
    expect(object.live?.data).toBeUndefined();
  });

  test('another value is a conflict, unless by force', () => {
    const object = deployment();
    object.apply('one', { spec: { replicas: 1, paused: true } });
    expect(failureOf(() => object.apply('two', { spec: { replicas: 2 } }))).toEqual({
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
      causes: ['.spec.replicas conflict with "one"'],
    });
    object.apply('two', { spec: { replicas: 2 } }, true);
    expect(object.owners()).toEqual({
      'one Apply': { 'f:spec': { 'f:paused': {} } },
      'two Apply': { 'f:spec': { 'f:replicas': {} } },
    });
  });

  test('conflicts are told by manager, with how and in which version they own', () => {
    const object = deployment();
    object.apply('one', { metadata: { labels: { a: '1' } }, ...pods(container('c')) });
    object.patch('hand', { spec: { replicas: 4 } });
    object.live!.metadata.managedFields!.push({
      manager: 'scaler',
      operation: 'Update',
      apiVersion: 'apps/v1',
      subresource: 'scale',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    });
    const three = {
      metadata: { labels: { a: '2' } },
      spec: { replicas: 5, ...(pods(container('c', { image: 'j' })).spec as JsonObject) },
    };
    expect(failureOf(() => object.apply('three', three))).toEqual({
      code: 409,
      message: [
        'Apply failed with 4 conflicts: conflicts with "hand" using apps/v1:',
        '- .spec.replicas',
        'conflicts with "one":',
        '- .metadata.labels.a',
        '- .spec.template.spec.containers[name="c"].image',
        'conflicts with "scaler" with subresource "scale" using apps/v1:',
        '- .spec.replicas',
      ].join('\n'),
      causes: [
        '.spec.replicas conflict with "hand" using apps/v1',
        '.metadata.labels.a conflict with "one"',
        '.spec.template.spec.containers[name="c"].image conflict with "one"',
        '.spec.replicas conflict with "scaler" with subresource "scale" using apps/v1',
      ],
    });
  });

  test('applies and updates of one manager are kept apart', () => {
    const object = configMap();
    object.put('one', { data: { x: '1', y: '1' } });
    object.apply('one', { data: { x: '1' } });
    expect(failureOf(() => object.apply('one', { data: { x: '2' } }))?.causes).toEqual([
      '.data.x conflict with "one" using v1',
    ]);
    object.apply('one', {});
    expect(object.live?.data).toEqual({ x: '1', y: '1' });
  });

  test('an object without managed fields is taken to be there before the first apply', () => {
    const object = configMap();
    object.live = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', uid: 'u' }, data: { x: '1' } };
    expect(failureOf(() => object.apply('one', { data: { x: '2' } }))?.causes).toEqual([
      '.data.x conflict with "before-first-apply" using v1',
    ]);
    object.apply('one', { data: { x: '2' } }, true);
    expect(object.owners()).toEqual({
      'before-first-apply Update': { 'f:data': {} },
      'one Apply': { 'f:data': { 'f:x': {} } },
    });
  });
});

describe('lists', () => {
  test('map lists merge by key, and each removes its own items', () => {
    const object = box();
    object.apply('one', { spec: { items: [{ name: 'a', size: 3 }, { name: 'b' }] } });
    object.apply('two', { spec: { items: [{ name: 'c' }, { name: 'a', size: 3 }] } });
    expect(object.live?.spec).toEqual({ items: [{ name: 'c' }, { name: 'a', size: 3 }, { name: 'b' }] });
    expect(failureOf(() => object.apply('two', { spec: { items: [{ name: 'a', size: 4 }] } }))?.causes).toEqual([
      '.spec.items[name="a"].size conflict with "one"',
    ]);
    object.apply('one', {});
    expect(object.live?.spec).toEqual({ items: [{ name: 'c' }, { name: 'a', size: 3 }] });
  });

  test('a key that is left out counts as its default', () => {
    const object = new OneObject('v1', 'Service', builtinKind('v1', 'Service')!);
    object.apply('one', {
      spec: {
        ports: [
          { name: 'a', port: 53, protocol: 'TCP' },
          { name: 'u', port: 53, protocol: 'UDP' },
        ],
      },
    });
    object.apply('one', { spec: { ports: [{ name: 'a', port: 53 }] } });
    expect(object.live?.spec).toEqual({ ports: [{ name: 'a', port: 53 }] });
    expect(object.owners()['one Apply']).toEqual({
      'f:spec': { 'f:ports': { 'k:{"port":53,"protocol":"TCP"}': { '.': {}, 'f:name': {}, 'f:port': {} } } },
    });
  });

  test('sets merge by value, atomic lists and maps have one owner', () => {
    const object = box();
    object.apply('one', { spec: { tags: ['t', 'u'], plain: ['p'], whole: { a: '1' } } });
    object.apply('two', { spec: { tags: ['v', 't'] } });
    expect(object.live?.spec).toMatchObject({ tags: ['v', 't', 'u'] });
    expect(failureOf(() => object.apply('two', { spec: { plain: ['p', 'q'], whole: { b: '2' } } }))?.causes).toEqual([
      '.spec.plain conflict with "one"',
      '.spec.whole conflict with "one"',
    ]);
    object.apply('one', {});
    expect(object.live?.spec).toEqual({ tags: ['v', 't'] });
  });

  test('items keep the order of the configuration among themselves', () => {
    const object = box();
    const named = (...names: string[]) => ({ spec: { items: names.map((name) => ({ name })) } });
    object.apply('one', named('a', 'b', 'c'));
    object.apply('two', named('d', 'b', 'e'));
    expect(object.live?.spec).toEqual(named('a', 'd', 'b', 'c', 'e').spec);
    object.apply('one', named('c', 'a'));
    expect(object.live?.spec).toEqual(named('d', 'b', 'c', 'e', 'a').spec);
  });
});

describe('types', () => {
  test('without a schema maps merge and lists are whole', () => {
    const object = new OneObject('e.com/v1', 'Box', customKind(undefined));
    object.apply('one', { spec: { m: { a: 1 }, l: [1] } });
    expect(object.owners()).toEqual({
      'one Apply': { 'f:spec': { '.': {}, 'f:l': {}, 'f:m': { '.': {}, 'f:a': {} } } },
    });
    expect(failureOf(() => object.apply('two', { spec: { m: { b: 1 }, l: [2] } }))?.causes).toEqual([
      '.spec.l conflict with "one"',
    ]);
  });

  test('preserved, int-or-string and embedded fields are deduced', () => {
    const object = box();
    object.apply('one', {
      spec: {
        free: { x: { y: [1] } },
        port: 'http',
        inner: { apiVersion: 'v1', kind: 'A', metadata: { name: 'n' }, z: 1 },
      },
    });
    object.apply('one', { spec: { free: { x: 2 }, port: 80 } });
    expect(object.live?.spec).toEqual({ free: { x: 2 }, port: 80 });
  });

  test('what has become atomic since is owned as a whole', () => {
    const object = box();
    object.apply('one', { spec: { whole: { a: '1' } } });
    object.live!.metadata.managedFields![0]!.fieldsV1 = { 'f:spec': { 'f:whole': { 'f:a': {} } } };
    object.apply('two', { spec: { whole: { a: '1' } } });
    expect(object.owners()['one Apply']).toEqual({ 'f:spec': { 'f:whole': {} } });
  });

  test.each<[string, JsonObject, string]>([
    ['an unknown field', { colour: 1 }, '.colour: field not declared in schema'],
    [
      'a wrong scalar',
      { data: { k: ['x'] } },
      '.data.k: expected string, got &value.valueUnstructured{Value:[]interface {}{"x"}}',
    ],
    ['no map', { data: 'x' }, '.data: expected map, got &{x}'],
    [
      'no boolean',
      { immutable: { a: [1, null, true, 1.5, 'x'] } },
      '.immutable: expected boolean, got &{map[a:[1 <nil> true 1.5 x]]}',
    ],
    ['no list', { metadata: { name: 'x', finalizers: 'x' } }, '.metadata.finalizers: expected list, got &{x}'],
    [
      'twice the same',
      { metadata: { name: 'x', finalizers: ['x', 'x'] } },
      '.metadata.finalizers: duplicate entries for key [="x"]',
    ],
    [
      'no key',
      { metadata: { name: 'x', ownerReferences: ['x'] } },
      '.metadata.ownerReferences: element 0: associative list with keys may not have non-map elements',
    ],
  ])('%s is 500', (_, body, message) => {
    expect(failureOf(() => configMap().apply('m', body))).toMatchObject({
      code: 500,
      message: `failed to create typed patch object (/x; /v1, Kind=ConfigMap): ${message}`,
    });
  });

  test('twice the same key is 500 and names all of the key', () => {
    const ports = [{ containerPort: 93 }, { containerPort: 93 }];
    const body = { metadata: { name: 'x', namespace: 'n' }, ...pods(container('c', { ports })) };
    expect(failureOf(() => deployment().apply('m', body))).toMatchObject({
      code: 500,
      message:
        'failed to create typed patch object (n/x; apps/v1, Kind=Deployment): ' +
        '.spec.template.spec.containers[name="c"].ports: duplicate entries for key [containerPort=93,protocol="TCP"]',
    });
  });

  test('another kind, another version and managed fields are 400', () => {
    const refused = (body: JsonObject) => failureOf(() => configMap().apply('m', body));
    expect(refused({ kind: 'Secret' })).toMatchObject({ code: 400, message: 'invalid object type: /v1, Kind=Secret' });
    expect(refused({ apiVersion: 'apps/v1' })).toMatchObject({
      code: 400,
      message: 'invalid object type: apps/v1, Kind=ConfigMap',
    });
    expect(refused({ metadata: { managedFields: [] } })).toMatchObject({
      code: 400,
      message: 'metadata.managedFields must be nil',
    });
  });
});

describe('versions', () => {
  const rename = (object: KubeObject, from: string, to: string): KubeObject => {
    const { [from]: value, ...spec } = (object.spec ?? {}) as JsonObject;
    return { ...object, spec: { ...spec, ...(value === undefined ? {} : { [to]: value }) } };
  };
  const schema = (field: string) => ({
    type: 'object',
    properties: { spec: { type: 'object', properties: { [field]: { type: 'integer' }, same: { type: 'string' } } } },
  });
  const inV2 = new OneObject('e.com/v2', 'Box', customKind(schema('amount')), {
    otherVersion: (groupVersion) =>
      groupVersion === 'e.com/v1'
        ? {
            kind: customKind(schema('count')),
            convert: (object) => rename(object, 'amount', 'count'),
            back: (object) => rename(object, 'count', 'amount'),
          }
        : undefined,
  });

  test('conversions may count on metadata while fields are pruned', () => {
    const kind = (groupVersion: string) => builtinKind(groupVersion, 'HorizontalPodAutoscaler')!;
    const annotated = (object: KubeObject) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations } },
    });
    const scaler = new OneObject('autoscaling/v2', 'HorizontalPodAutoscaler', kind('autoscaling/v2'), {
      otherVersion: (groupVersion) => ({ kind: kind(groupVersion), convert: annotated, back: annotated }),
    });
    scaler.apply('one', { metadata: { labels: { a: '1' } }, spec: { maxReplicas: 3, minReplicas: 1 } });
    scaler.apply('two', { spec: { maxReplicas: 3 } });
    scaler.live!.metadata.managedFields!.find((entry) => entry.manager === 'two')!.apiVersion = 'autoscaling/v1';
    scaler.apply('one', { spec: { maxReplicas: 3 } });
    expect(scaler.live?.spec).toMatchObject({ maxReplicas: 3 });
    expect(scaler.live?.spec).not.toHaveProperty('minReplicas');
    expect(scaler.live?.metadata.labels).toBeUndefined();
  });

  test('owners of another version are asked in their own', () => {
    inV2.live = {
      apiVersion: 'e.com/v2',
      kind: 'Box',
      spec: { amount: 1, same: 's' },
      metadata: {
        name: 'x',
        uid: 'u',
        managedFields: [
          {
            manager: 'one',
            operation: 'Apply',
            apiVersion: 'e.com/v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:spec': { 'f:count': {}, 'f:same': {} } },
          },
        ],
      },
    };
    expect(failureOf(() => inV2.apply('two', { spec: { amount: 2 } }))?.causes).toEqual([
      '.spec.count conflict with "one"',
    ]);
    inV2.apply('one', { spec: { same: 's' } });
    expect(inV2.live.spec).toEqual({ same: 's' });
    expect(inV2.owners()).toEqual({ 'one Apply': { 'f:spec': { 'f:same': {} } } });
  });
});

describe('client-side apply', () => {
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
  const start = (value: string) => {
    const object = configMap();
    const lastApplied = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x' },
      data: { k: '1' },
    });
    object.put('kubectl-client-side-apply', {
      metadata: { annotations: { [annotation]: lastApplied } },
      data: { k: value },
    });
    return object;
  };

  test('kubectl takes over what still is as last applied, and keeps the annotation in step', () => {
    const object = start('1');
    object.apply('kubectl', { data: { k: '<2>' } });
    expect(object.live?.data).toEqual({ k: '<2>' });
    expect(object.live?.metadata.annotations).toEqual({
      [annotation]: '{"apiVersion":"v1","data":{"k":"\\u003c2\\u003e"},"kind":"ConfigMap","metadata":{"name":"x"}}\n',
    });
  });
  test('but not what was changed since, nor do others', () => {
    expect(failureOf(() => start('9').apply('kubectl', { data: { k: '2' } }))?.code).toBe(409);
    expect(failureOf(() => start('1').apply('other', { data: { k: '2' } }))?.code).toBe(409);
  });
});

const value = fc.constantFrom('1', '2');
const some = (keys: string[]) => fc.subarray(keys, { minLength: 1 });
const specOf = (keys: string[]) =>
  fc.record(
    {
      items: some(keys).map((names) => names.map((name) => ({ name }))),
      tags: some(keys),
      free: some(keys).chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, value])))),
    },
    { requiredKeys: ['tags'] },
  );

describe('laws', () => {
  const byManager = (object: OneObject) => [
    object.owners(),
    sorted((object.live?.spec ?? {}) as { items?: JsonObject[]; tags?: string[]; free?: JsonObject }),
  ];
  const sorted = (spec: { items?: JsonObject[]; tags?: string[]; free?: JsonObject }) => ({
    items: spec.items?.map((item) => item.name as string).sort() ?? [],
    tags: [...(spec.tags ?? [])].sort(),
    free: spec.free ?? {},
  });

  test('appliers that do not conflict give the same object and owners in either order', () => {
    fc.assert(
      fc.property(specOf(['a', 'b', 'c']), specOf(['d', 'e', 'f']), (one, two) => {
        const forth = box();
        forth.apply('one', { spec: one });
        forth.apply('two', { spec: two });
        const back = box();
        back.apply('two', { spec: two });
        back.apply('one', { spec: one });
        expect(byManager(forth)).toEqual(byManager(back));
      }),
      { numRuns: 500 },
    );
  });

  test('applying twice changes nothing, and what is given up by all is gone', () => {
    const keys = ['a', 'b', 'c'];
    fc.assert(
      fc.property(specOf(keys), specOf(keys), specOf(keys), (first, second, other) => {
        const object = box();
        object.apply('one', { spec: first });
        object.apply('two', { spec: other }, true);
        const once = object.apply('one', { spec: second }, true);
        expect(object.apply('one', { spec: second }, true)).toEqual(once);
        object.apply('one', {});
        object.apply('two', {});
        expect(object.live?.spec ?? {}).toEqual({});
        expect(object.owners()).toEqual({});
      }),
      { numRuns: 500 },
    );
  });
});

import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/api/object.ts';
import { builtinKind } from '../../src/apply/kind-type.ts';
import { strategicMergePatch } from '../../src/apply/strategic-merge-patch.ts';
import { StatusError } from '../../src/status/status.ts';

const deployment = builtinKind('apps/v1', 'Deployment')!;
const configMap = builtinKind('v1', 'ConfigMap')!;

const podSpec = (spec: JsonObject): JsonObject => ({ spec: { template: { spec } } });
const patched = (before: JsonObject, patch: JsonObject): JsonValue | undefined => {
  const copy = structuredClone(before);
  const result = strategicMergePatch(podSpec(before), podSpec(patch), deployment) as never as {
    spec: { template: { spec: JsonObject } };
  };
  expect(before).toEqual(copy);
  return result.spec.template.spec;
};
const names = (...list: string[]) => list.map((name) => ({ name }));

function failure(original: JsonObject, patch: JsonValue, kind = configMap) {
  try {
    strategicMergePatch(original, patch, kind);
  } catch (error) {
    if (error instanceof StatusError) return [error.status.code, error.status.message];
    throw error;
  }
  return undefined;
}

describe('lists', () => {
  test('keyed elements merge in place, and new ones go first', () => {
    const before = {
      containers: [
        { name: 'one', image: 'i' },
        { name: 'two', image: 'i' },
      ],
    };
    expect(patched(before, { containers: [{ name: 'two', image: 'j' }] })).toEqual({
      containers: [
        { name: 'one', image: 'i' },
        { name: 'two', image: 'j' },
      ],
    });
    expect(patched(before, { containers: names('three') })).toEqual({
      containers: [{ name: 'three' }, ...before.containers],
    });
  });

  test('keyed elements merge at any depth', () => {
    const before = {
      containers: [
        {
          name: 'c',
          env: [
            { name: 'E', value: '1' },
            { name: 'F', value: '2' },
          ],
        },
      ],
    };
    const patch = {
      containers: [{ name: 'c', env: [{ name: 'E', value: null, valueFrom: { fieldRef: {} } }, { name: 'G' }] }],
    };
    expect(patched(before, patch)).toEqual({
      containers: [
        { name: 'c', env: [{ name: 'E', valueFrom: { fieldRef: {} } }, { name: 'G' }, { name: 'F', value: '2' }] },
      ],
    });
  });

  test('a list without a strategy is replaced', () => {
    expect(patched({ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] })).toEqual({
      tolerations: [{ key: 'b' }],
    });
  });

  test('a list of primitives with the strategy is joined', () => {
    const result = strategicMergePatch(
      { metadata: { finalizers: ['b', 'c'] } },
      { metadata: { finalizers: ['d', 'b'] } },
      configMap,
    );
    expect(result).toEqual({ metadata: { finalizers: ['d', 'b', 'c'] } });
  });

  test('nulls remove, and vanish within what is new', () => {
    expect(patched({ nodeSelector: { a: '1' } }, { nodeSelector: null })).toEqual({});
    expect(patched({}, { nodeSelector: { a: null, b: '1' } })).toEqual({ nodeSelector: { b: '1' } });
  });
});

describe('directives', () => {
  const three = { containers: names('one', 'two', 'three') };
  test('$patch: delete of an element, there or not', () => {
    expect(patched(three, { containers: [{ name: 'two', $patch: 'delete' }] })).toEqual({
      containers: names('one', 'three'),
    });
    expect(patched(three, { containers: [{ name: 'nine', $patch: 'delete' }] })).toEqual(three);
    expect(patched({}, { containers: [{ name: 'nine', $patch: 'delete' }] })).toEqual({ containers: [] });
  });
  test('$patch: replace of a list and of a map', () => {
    expect(patched(three, { containers: [{ name: 'only' }, { $patch: 'replace' }] })).toEqual({
      containers: names('only'),
    });
    expect(patched({ nodeSelector: { a: '1' } }, { nodeSelector: { $patch: 'replace', b: '2' } })).toEqual({
      nodeSelector: { b: '2' },
    });
  });
  test('$patch: delete of a map', () => {
    expect(patched({ nodeSelector: { a: '1' } }, { nodeSelector: { $patch: 'delete' } })).toEqual({ nodeSelector: {} });
    expect(patched({}, { nodeSelector: { $patch: 'delete' } })).toEqual({});
  });
  test('$setElementOrder', () => {
    const order = { '$setElementOrder/containers': names('three', 'one') };
    expect(patched(three, { ...order, containers: [{ name: 'one', image: 'j' }] })).toEqual({
      containers: [{ name: 'two' }, { name: 'three' }, { name: 'one', image: 'j' }],
    });
    expect(patched(three, order)).toEqual({ containers: names('two', 'three', 'one') });
    const primitives = { metadata: { '$setElementOrder/finalizers': ['c', 'b'], finalizers: ['b'] } };
    expect(strategicMergePatch({ metadata: { finalizers: ['b', 'c'] } }, primitives, configMap)).toEqual({
      metadata: { finalizers: ['c', 'b'] },
    });
  });
  test('$retainKeys', () => {
    const before = { volumes: [{ name: 'v', emptyDir: {} }] };
    const patch = { volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] };
    expect(patched(before, patch)).toEqual({ volumes: [{ name: 'v', configMap: { name: 'c' } }] });
  });
  test('$deleteFromPrimitiveList', () => {
    const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': ['a', 'd'] } };
    expect(strategicMergePatch({ metadata: { finalizers: ['a', 'b'] } }, patch, configMap)).toEqual({
      metadata: { finalizers: ['b'] },
    });
    expect(strategicMergePatch({ metadata: {} }, patch, configMap)).toEqual({ metadata: {} });
  });
});

test.each<[string, JsonObject, JsonValue, [number, string]]>([
  ['no object', {}, 'x', [400, 'json: cannot unmarshal string into Go value of type map[string]interface {}']],
  [
    'retainKeys that leaves out what is patched',
    { metadata: {} },
    { metadata: { $retainKeys: ['a'], labels: {} } },
    [400, 'invalid patch format of retainKeys'],
  ],
  [
    'retainKeys that is no list',
    { metadata: {} },
    { metadata: { $retainKeys: 'x' } },
    [400, 'invalid patch format of retainKeys'],
  ],
  [
    'a deletion of nothing in particular',
    { metadata: {} },
    { metadata: { $deleteFromPrimitiveList: ['x'] } },
    [400, 'invalid patch format of primitive list'],
  ],
  [
    'an unknown directive',
    { data: { a: 'b' } },
    { data: { $patch: 'explode' } },
    [500, 'unknown patch type: explode in map: map[$patch:explode]'],
  ],
  [
    'an element without its key',
    { metadata: { ownerReferences: [{ uid: 'u' }] } },
    { metadata: { ownerReferences: [{ name: 'x' }] } },
    [500, 'map: map[name:x] does not contain declared merge key: uid'],
  ],
  [
    'an order that contradicts the list',
    { metadata: {} },
    { metadata: { '$setElementOrder/finalizers': ['x'], finalizers: ['y'] } },
    [500, "The order in patch list:\n[y]\n doesn't match $setElementOrder list:\n[x]\n"],
  ],
])('%s is refused', (_, original, patch, expected) => {
  expect(failure(original, patch)).toEqual(expected);
});

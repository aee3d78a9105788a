import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue, KubeObject } from '../../src/api/object.ts';
import { parseJson, plainValue, stringifyJson } from '../../src/codec/json.ts';
import type { Field, Message } from '../../src/codec/plan.ts';
import { message, messageName } from '../../src/codec/plan.ts';
import {
  decodeProtobuf,
  encodeProtobuf,
  encodeWatchFrame,
  hasProtobuf,
  ProtobufError,
} from '../../src/codec/protobuf.ts';
import { decodeTyped } from '../../src/codec/typed.ts';
import { builtins } from '../../src/registry/resource.ts';
import recorded from './testdata/protobuf.json';

const fromBase64 = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** Answers of kube-apiserver 1.36.3 to the same request in both forms. */
describe('recorded answers', () => {
  const rows = recorded.map((row) => {
    const json = JSON.parse(row.json) as KubeObject;
    return [`${json.kind} ${json.metadata.name ?? ''}`, row] as const;
  });
  test.each(rows)('%s decodes to its JSON and encodes to the same bytes', (_, row) => {
    const bytes = fromBase64(row.protobuf);
    const { groupVersion, kind, object } = decodeProtobuf(bytes);
    // Kinds inside claim templates and lists are not on the wire: conversion sets them.
    expect(stringifyJson(object)).toBe(row.json.replaceAll('{"kind":"PersistentVolumeClaim","apiVersion":"v1",', '{'));
    expect(encodeProtobuf(object, groupVersion, kind)).toEqual(bytes);
  });
});

test('integers of 64 bits, negative ones too', () => {
  for (const revision of [9223372036854775807n, -9223372036854775808n, -1, 9007199254740993n, 0]) {
    const object: KubeObject = { metadata: {}, revision };
    const decoded = decodeProtobuf(encodeProtobuf(object, 'apps/v1', 'ControllerRevision')).object;
    expect(decoded.revision).toBe(revision);
  }
});

test('a Table and a custom resource have no protobuf', () => {
  expect(hasProtobuf('meta.k8s.io/v1', 'Table')).toBe(false);
  expect(hasProtobuf('bug.test/v1', 'Gizmo')).toBe(false);
  expect(hasProtobuf('meta.k8s.io/v1', 'PartialObjectMetadataList')).toBe(true);
  expect(() => encodeProtobuf({ metadata: {} }, 'bug.test/v1', 'Gizmo')).toThrow(ProtobufError);
});

test('a watch frame says its length, then its event, bare', () => {
  const frame = encodeWatchFrame('ADDED', Uint8Array.of(1, 2, 3));
  expect([...frame]).toEqual([0, 0, 0, 14, 10, 5, ...new TextEncoder().encode('ADDED'), 18, 5, 10, 3, 1, 2, 3]);
});

test('random bytes are refused, not crashed on', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (tail) => {
      const bytes = Uint8Array.of(
        0x6b,
        0x38,
        0x73,
        0,
        10,
        10,
        10,
        2,
        0x76,
        0x31,
        18,
        4,
        0x50,
        0x6f,
        0x64,
        0x73,
        ...tail,
      );
      expect(() => decodeProtobuf(bytes)).toThrow(ProtobufError);
      const pod = Uint8Array.of(
        0x6b,
        0x38,
        0x73,
        0,
        10,
        9,
        10,
        2,
        0x76,
        0x31,
        18,
        3,
        0x50,
        0x6f,
        0x64,
        18,
        tail.length,
        ...tail,
      );
      try {
        decodeProtobuf(pod);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtobufError);
      }
    }),
    { numRuns: 2000 },
  );
});

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\u{1f600}', '_'), maxLength: 60 });
const key = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '_'), maxLength: 4 });
const moment = fc.integer({ min: 0, max: 4e9 }).map((s) => new Date(s * 1000).toISOString().slice(0, 19));
const raw = fc.dictionary(key, fc.oneof(fc.integer(), fc.boolean(), text)) as fc.Arbitrary<JsonValue>;
const SCALARS: Record<string, fc.Arbitrary<JsonValue>> = {
  string: text,
  bool: fc.boolean(),
  int32: fc.integer(),
  int64: fc
    .oneof(fc.integer(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
    .map((n) => (Number.isSafeInteger(Number(n)) ? Number(n) : n)),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
  bytes: fc.uint8Array({ maxLength: 9 }).map((b) => btoa(String.fromCharCode(...b))),
};
const CUSTOMS: Record<string, fc.Arbitrary<JsonValue>> = {
  Time: moment.map((t) => `${t}Z`),
  MicroTime: fc
    .tuple(moment, fc.integer({ min: 0, max: 999999 }))
    .map(([t, u]) => `${t}.${String(u).padStart(6, '0')}Z`),
  Quantity: fc
    .tuple(fc.integer({ min: -99999, max: 99999 }), fc.constantFrom('', 'm', 'Ki', 'Gi', 'M'))
    .map(([n, s]) => `${n}${s}`),
  IntOrString: fc.oneof(fc.integer(), text),
  RawExtension: raw,
  FieldsV1: raw,
  JSON: fc.oneof(raw, fc.integer(), text),
  JSONSchemaPropsOrBool: fc.boolean(),
  JSONSchemaPropsOrArray: fc.constant([{ type: 'string' }]),
  JSONSchemaPropsOrStringArray: fc.array(text, { minLength: 1, maxLength: 2 }),
};

function treeOf(plan: Message, depth: number): fc.Arbitrary<JsonValue> {
  const custom = CUSTOMS[plan.goName];
  if (plan.custom) return custom ?? fc.constant(null);
  const [only] = plan.wire;
  if (plan.wraps && only !== undefined) return fc.array(elementOf(only, 0), { maxLength: 2 });
  const fields = plan.fields.filter(
    (f) => f.number > 0 && (f.scalar !== undefined || depth > 0 || message(f.type).custom),
  );
  return fc.record(Object.fromEntries(fields.map((f) => [f.name, fieldOf(f, depth, plan)])), {
    requiredKeys: [],
  }) as fc.Arbitrary<JsonObject>;
}

function elementOf(f: Field, depth: number): fc.Arbitrary<JsonValue> {
  return f.scalar === undefined ? treeOf(message(f.type), depth - 1) : (SCALARS[f.scalar] as fc.Arbitrary<JsonValue>);
}

function fieldOf(f: Field, depth: number, owner: Message): fc.Arbitrary<JsonValue> {
  const element = elementOf(f, depth);
  // JSON storage tells an empty list from none, the wire does not.
  if (f.label === 'list') return fc.array(element, { minLength: owner.keepsEmpty && f.always ? 1 : 0, maxLength: 2 });
  return f.label === 'map' ? (fc.dictionary(key, element, { maxKeys: 3 }) as fc.Arbitrary<JsonValue>) : element;
}

describe('JSON to protobuf and back', () => {
  const kinds = [...builtins].flatMap(([groupVersion, rows]) =>
    [...rows.values()].map((row) => [groupVersion, row.kind] as const),
  );
  test.each([...new Map(kinds.map((k) => [k.join(' '), k])).values()])('%s %s', (groupVersion, kind) => {
    const plan = message(messageName(groupVersion, kind) as string);
    fc.assert(
      fc.property(treeOf(plan, 4), (tree) => {
        const { object } = decodeTyped(plainValue(tree), groupVersion, kind);
        const { object: back } = decodeProtobuf(encodeProtobuf(object, groupVersion, kind));
        expect(stringifyJson(back)).toBe(stringifyJson({ kind, apiVersion: groupVersion, ...object }));
        expect(decodeTyped(parseJson(stringifyJson(back)), groupVersion, kind).object).toEqual(back);
      }),
      { numRuns: 15 },
    );
  });
});

import { describe, expect, test } from 'vitest';
import { decodeBody, decodeObject, type Expected } from '../../src/codec/body.ts';
import { encodeProtobuf } from '../../src/codec/protobuf.ts';
import { StatusError } from '../../src/status/status.ts';
import bodies from './testdata/bodies.json';

const CONFIG_MAP: Expected = { group: '', version: 'v1', kind: 'ConfigMap', custom: false };
const EXPECTED: Record<string, Expected> = {
  cm: CONFIG_MAP,
  dep: { group: 'apps', version: 'v1', kind: 'Deployment', custom: false },
  lease: { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', custom: false },
  giz: { group: 'codec.test', version: 'v1', kind: 'Gizmo', custom: true },
};
const bytes = (text: string) => new TextEncoder().encode(text);

function refusal(run: () => unknown): [number, string] | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return [error.status.code, error.status.message];
    throw error;
  }
}

/** Each row: kind, format, body, and what kube-apiserver 1.36.3 answered under fieldValidation=Strict, if it refused to decode. */
describe('bodies are refused in upstream’s words', () => {
  test.each(bodies as [string, string, string, number?, string?][])('%s %s %s', (kind, format, body, code, message) => {
    const decode = () => decodeObject(bytes(body), `application/${format}`, EXPECTED[kind] as Expected, 'Strict', []);
    expect(refusal(decode)).toEqual(code === undefined ? undefined : [code, message]);
  });
});

describe('media types', () => {
  const body = bytes('{"metadata":{"name":"a"}}');
  test.each([
    '',
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;',
    'application/yaml;x=y',
  ])('%j is read', (type) => {
    expect(decodeObject(body, type, CONFIG_MAP, 'Strict', [])).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'a' },
    });
  });

  test.each(['text/plain', 'application/cbor', 'application/*', '*/*', 'application/json, application/yaml'])(
    '%j is 415',
    (type) => {
      expect(refusal(() => decodeBody(body, type))?.[0]).toBe(415);
    },
  );

  test('protobuf is read for built-ins and 415 for custom resources', () => {
    const type = 'application/vnd.kubernetes.protobuf';
    const encoded = encodeProtobuf({ metadata: { name: 'a' } }, 'v1', 'ConfigMap');
    expect(decodeObject(encoded, type, CONFIG_MAP, 'Strict', [])).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'a' },
    });
    expect(refusal(() => decodeObject(encoded, type, EXPECTED.giz as Expected, 'Ignore', []))?.[0]).toBe(415);
    expect(refusal(() => decodeObject(body, type, CONFIG_MAP, 'Ignore', []))).toEqual([
      400,
      'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"metadata":{"name":"a"}})',
    ]);
  });

  test('a truncated protobuf body is 400', () => {
    const encoded = encodeProtobuf({ metadata: { name: 'a'.repeat(100) } }, 'v1', 'ConfigMap');
    for (let length = 4; length < encoded.length; length += 7) {
      const cut = refusal(() =>
        decodeObject(encoded.slice(0, length), 'application/vnd.kubernetes.protobuf', CONFIG_MAP, 'Ignore', []),
      );
      expect(cut?.[0] ?? 400).toBe(400);
    }
  });
});

test('warnings are one for each finding, none when ignored', () => {
  const json = '{"metadata":{"name":"d","labels":{"a":"1","a":"2"}},"data":{"k":"x"},"data":{"k2":"w"},"extra":1}';
  const warnings: string[] = [];
  expect(decodeObject(bytes(json), 'application/json', CONFIG_MAP, 'Warn', warnings).data).toEqual({ k: 'x', k2: 'w' });
  expect(warnings).toEqual(['duplicate field "metadata.labels.a"', 'duplicate field "data"', 'unknown field "extra"']);
  const yaml: string[] = [];
  expect(
    decodeObject(bytes('data: {k: x}\ndata: {k2: w}\n'), 'application/yaml', CONFIG_MAP, 'Warn', yaml).data,
  ).toEqual({ k2: 'w' });
  expect(yaml).toEqual(['line 2: key "data" already set in map']);
  const none: string[] = [];
  decodeObject(bytes(json), 'application/json', CONFIG_MAP, 'Ignore', none);
  expect(none).toEqual([]);
});

test('the schema of a custom resource may add findings to the same error', () => {
  const gizmo =
    '{"apiVersion":"codec.test/v1","kind":"Gizmo","metadata":{"name":"a"},"spec":{"size":1,"size":2,"nope":1}}';
  const decode = () =>
    decodeObject(bytes(gizmo), 'application/json', EXPECTED.giz as Expected, 'Strict', [], (d) => [
      ...d.strict,
      'unknown field "spec.nope"',
    ]);
  expect(refusal(decode)?.[1]).toBe(
    'Gizmo in version "v1" cannot be handled as a Gizmo: strict decoding error: duplicate field "spec.size", unknown field "spec.nope"',
  );
});

test('bytes that are no UTF-8 are replaced, as Go does', () => {
  const body = new Uint8Array([...bytes('{"data":{"k":"'), 0xff, ...bytes('"}}')]);
  expect(decodeObject(body, 'application/json', CONFIG_MAP, 'Strict', []).data).toEqual({ k: '\ufffd' });
});

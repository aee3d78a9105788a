import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/api/object.ts';
import { parseJson, plainValue } from '../../src/codec/json.ts';
import { arrange, DecodeError, decodeTyped, decodeUntyped, strictError } from '../../src/codec/typed.ts';

const decode = (groupVersion: string, kind: string, text: string) => decodeTyped(parseJson(text), groupVersion, kind);
const configMap = (text: string) => decode('v1', 'ConfigMap', text);

describe('what Go keeps', () => {
  test('zeroes, nulls and empty collections go, what is always written stays', () => {
    const { object } = decode(
      'apps/v1',
      'Deployment',
      '{"metadata":{"name":"a","labels":{},"creationTimestamp":null,"generation":0},"spec":{"replicas":0,"paused":false,"template":{"spec":{"nodeSelector":{},"tolerations":[],"affinity":{},"restartPolicy":""}}},"status":null}',
    );
    expect(object).toEqual({
      metadata: { name: 'a' },
      spec: {
        replicas: 0,
        selector: null,
        template: { metadata: {}, spec: { containers: null, affinity: {} } },
        strategy: {},
      },
      status: {},
    });
  });

  test('nulls in lists and maps are zero values', () => {
    expect(configMap('{"data":{"a":null},"binaryData":{"b":null}}').object).toMatchObject({
      data: { a: '' },
      binaryData: { b: '' },
    });
    const { object } = decode(
      'v1',
      'Pod',
      '{"spec":{"containers":[null,{"args":[null],"resources":{"limits":{"cpu":null}}}]}}',
    );
    expect((object.spec as JsonObject).containers).toEqual([
      { name: '', resources: {} },
      { name: '', args: [''], resources: { limits: { cpu: '0' } } },
    ]);
  });

  test('empty lists that are always written are null in protobuf and stay in JSON storage', () => {
    expect(decode('rbac.authorization.k8s.io/v1', 'Role', '{"rules":[]}').object.rules).toBeNull();
    const { object } = decode('apiextensions.k8s.io/v1', 'CustomResourceDefinition', '{"spec":{"versions":[]}}');
    expect((object.spec as JsonObject).versions).toEqual([]);
  });

  test('keys of Object.prototype are data in maps and unknown elsewhere', () => {
    const { object, strict } = configMap('{"data":{"__proto__":"x","constructor":"y"},"__proto__":1,"toString":2}');
    expect(Object.entries(object.data as object)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(strict).toEqual(['unknown field "__proto__"', 'unknown field "toString"']);
  });

  test('fields come in the order of the Go struct, maps sorted', () => {
    const { object } = decode(
      'v1',
      'Service',
      '{"spec":{"type":"ClusterIP","clusterIPs":["None"],"selector":{"b":"1","a":"2"},"clusterIP":"None"}}',
    );
    expect(JSON.stringify(object.spec)).toBe(
      '{"selector":{"a":"2","b":"1"},"clusterIP":"None","clusterIPs":["None"],"type":"ClusterIP"}',
    );
    const shuffled = {
      status: {},
      spec: { type: 'x', clusterIP: 'y' },
      metadata: { labels: { b: '1', a: '2' }, name: 'n' },
      apiVersion: 'v1',
      kind: 'Service',
    };
    expect(JSON.stringify(arrange(shuffled as never))).toBe(
      '{"kind":"Service","apiVersion":"v1","metadata":{"name":"n","labels":{"a":"2","b":"1"}},"spec":{"clusterIP":"y","type":"x"},"status":{}}',
    );
  });
});

describe('values in canonical form', () => {
  test('base64 loses line breaks and unused bits', () => {
    expect(decode('v1', 'Secret', '{"data":{"a":"YQ==\\n","b":"/+8=","c":"YR==","d":""}}').object.data).toEqual({
      a: 'YQ==',
      b: '/+8=',
      c: 'YQ==',
      d: '',
    });
  });

  test('quantities as text or number, resource lists in thousandths', () => {
    const { object } = decode(
      'v1',
      'ResourceQuota',
      '{"spec":{"hard":{"cpu":0.25,"memory":1073741824,"a":1e3,"b":1E3,"c":"0.0001"}}}',
    );
    expect((object.spec as JsonObject).hard).toEqual({
      a: '1e3',
      b: '1E3',
      c: '1m',
      cpu: '250m',
      memory: '1073741824',
    });
  });

  test('integers beyond 2^53 are exact', () => {
    const { object } = decode('batch/v1', 'Job', '{"spec":{"activeDeadlineSeconds":9007199254740993}}');
    expect((object.spec as JsonObject).activeDeadlineSeconds).toBe(9007199254740993n);
  });
});

describe('wrong types', () => {
  const field = (what: string, where: string, type: string) =>
    `json: cannot unmarshal ${what} into Go struct field ${where} of type ${type}`;
  test.each<[string, string]>([
    ['{"spec":{"replicas":"3"}}', field('string', 'DeploymentSpec.spec.replicas', 'int32')],
    ['{"spec":{"replicas":3.0}}', field('number 3.0', 'DeploymentSpec.spec.replicas', 'int32')],
    ['{"spec":{"replicas":3e0}}', field('number 3e0', 'DeploymentSpec.spec.replicas', 'int32')],
    ['{"spec":{"replicas":2147483648}}', field('number 2147483648', 'DeploymentSpec.spec.replicas', 'int32')],
    [
      '{"metadata":{"generation":9223372036854775808}}',
      field('number 9223372036854775808', 'ObjectMeta.metadata.generation', 'int64'),
    ],
    ['{"spec":{"strategy":[]}}', field('array', 'DeploymentSpec.spec.strategy', 'v1.DeploymentStrategy')],
    [
      '{"spec":{"template":{"spec":{"containers":[3]}}}}',
      field('number', 'PodSpec.spec.template.spec.containers', 'v1.Container'),
    ],
    ['{"metadata":{"creationTimestamp":5}}', field('number', 'ObjectMeta.metadata.creationTimestamp', 'string')],
  ])('%s', (text, message) => {
    expect(() => decode('apps/v1', 'Deployment', text)).toThrow(new DecodeError(message));
  });

  test('a value that a type refuses speaks for itself', () => {
    expect(() => decode('v1', 'ResourceQuota', '{"spec":{"hard":{"cpu":"1mm"}}}')).toThrow(
      /^unable to parse quantity's suffix$/,
    );
    expect(() => configMap('{"binaryData":{"a":"!!"}}')).toThrow(/^illegal base64 data at input byte 0$/);
  });
});

describe('strict findings', () => {
  test('unknown and repeated fields come in document order with their paths, each once', () => {
    const { strict } = decode(
      'v1',
      'Pod',
      '{"metadata":{"name":"a","name":"b","labels":{"x":"1","x":"2"}},"spec":{"containers":[{"imagePulPolicy":"Always"}],"nodeSelektor":{"a":1,"a":1}},"extra":1,"extra":2,"Spec":{}}',
    );
    expect(strict).toEqual([
      'duplicate field "metadata.name"',
      'duplicate field "metadata.labels.x"',
      'unknown field "spec.containers[0].imagePulPolicy"',
      'unknown field "spec.nodeSelektor"',
      'unknown field "extra"',
      'unknown field "Spec"',
    ]);
  });

  test('no more than a hundred are kept', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x${i}`, i]));
    expect(decodeTyped(plainValue(many), 'v1', 'ConfigMap').strict).toHaveLength(100);
  });

  test('repeated maps and structs merge as in Go, the last scalar counts', () => {
    const { object } = configMap(
      '{"metadata":{"name":"d","labels":{"a":"1","a":"2"}},"metadata":{"uid":"u"},"data":{"k":"x"},"data":{"k2":"w"}}',
    );
    expect(object).toEqual({ metadata: { name: 'd', uid: 'u', labels: { a: '2' } }, data: { k: 'x', k2: 'w' } });
  });

  test('the text puts YAML’s findings first', () => {
    expect(strictError(['line 2: key "a" already set in map', 'unknown field "x"', 'unknown field "y"'])).toBe(
      'strict decoding error: yaml: unmarshal errors:\n  line 2: key "a" already set in map, unknown field "x", unknown field "y"',
    );
  });
});

describe('custom resources', () => {
  const gizmo = (text: string) => decodeUntyped(parseJson(text));
  test('metadata is typed, the rest is kept with whole floats as integers', () => {
    const { object, strict } = gizmo(
      '{"kind":"Gizmo","metadata":{"name":"a","labels":{},"foo":1},"spec":{"size":1,"size":2,"ratio":1.0,"x":null}}',
    );
    expect(JSON.stringify(object)).toBe(
      '{"kind":"Gizmo","metadata":{"name":"a"},"spec":{"size":2,"ratio":1,"x":null}}',
    );
    expect(strict).toEqual(['duplicate field "spec.size"', 'unknown field "metadata.foo"']);
  });

  test('bad metadata is named from ObjectMeta on', () => {
    expect(() => gizmo('{"metadata":{"labels":{"a":1}}}')).toThrow(
      'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    );
  });
});

test('raw JSON inside a built-in is kept as it is', () => {
  const data: JsonValue = { z: null, a: [null, 1.5, { b: {} }] };
  expect(decodeTyped(plainValue({ data }), 'apps/v1', 'ControllerRevision').object.data).toEqual(data);
});

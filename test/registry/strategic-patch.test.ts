import { beforeAll, describe, expect, test } from 'vitest';
import { testApp } from '../support/app.ts';

type Call = Awaited<ReturnType<typeof testApp>>['call'];

const deployments = '/apis/apps/v1/namespaces/default/deployments';
const secrets = '/api/v1/namespaces/default/secrets';
const STRATEGIC = 'application/strategic-merge-patch+json';
const refusal = (patch: string, why: string) =>
  ` "" is invalid: patch: Invalid value: ${JSON.stringify(patch)}: ${why}`;

describe('a strategic merge patch whose values do not fit the type', () => {
  let call: Call;
  const patch = (path: string, body: object, query = '') =>
    call('PATCH', `${path}?dryRun=All${query}`, body, { 'content-type': STRATEGIC });

  beforeAll(async () => {
    ({ call } = await testApp());
    const labels = { a: 'b' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await call('POST', deployments, {
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: labels }, template },
    });
    await call('POST', secrets, { metadata: { name: 's' }, data: { a: 'YQ==' } });
  });

  const container = (fields: object) => ({ spec: { template: { spec: { containers: [{ name: 'c', ...fields }] } } } });
  const shownContainer = (fields: string) => `map[spec:map[template:map[spec:map[containers:[map[${fields}]]]]]]`;

  test.each<[object, string, string]>([
    [{ metadata: { labels: 'x' } }, 'map[metadata:map[labels:x]]', 'cannot restore map from string'],
    [{ metadata: { labels: { a: 1 } } }, 'map[metadata:map[labels:map[a:1]]]', 'cannot convert int64 to string'],
    [{ metadata: { labels: { a: true } } }, 'map[metadata:map[labels:map[a:true]]]', 'unrecognized type: string'],
    [{ metadata: { labels: { a: 1.5 } } }, 'map[metadata:map[labels:map[a:1.5]]]', 'unrecognized type: string'],
    [{ metadata: { labels: [] } }, 'map[metadata:map[labels:[]]]', 'cannot restore map from slice'],
    [{ metadata: { finalizers: 'x' } }, 'map[metadata:map[finalizers:x]]', 'cannot restore slice from string'],
    [{ metadata: { finalizers: {} } }, 'map[metadata:map[finalizers:map[]]]', 'cannot restore slice from map'],
    [{ metadata: 1.5 }, 'map[metadata:1.5]', 'cannot restore struct from: float64'],
    [{ metadata: [] }, 'map[metadata:[]]', 'cannot restore struct from: slice'],
    [{ spec: { replicas: '3' } }, 'map[spec:map[replicas:3]]', 'unrecognized type: int32'],
    [{ spec: { replicas: 3.5 } }, 'map[spec:map[replicas:3.5]]', 'cannot convert float64 to int32'],
    [{ spec: { paused: 1 } }, 'map[spec:map[paused:1]]', 'unrecognized type: bool'],
    [container({ image: 1 }), shownContainer('image:1 name:c'), 'cannot convert int64 to string'],
    [
      container({ readinessProbe: { httpGet: { port: true } } }),
      shownContainer('name:c readinessProbe:map[httpGet:map[port:true]]'),
      'json: cannot unmarshal bool into Go value of type int32',
    ],
    [
      { metadata: { creationTimestamp: 5 } },
      'map[metadata:map[creationTimestamp:5]]',
      'json: cannot unmarshal number into Go value of type string',
    ],
    [{ kind: 1 }, 'map[kind:1]', 'cannot convert int64 to string'],
    [
      { spec: { replicas: 'x' }, metadata: { labels: 'x' } },
      'map[metadata:map[labels:x] spec:map[replicas:x]]',
      'cannot restore map from string',
    ],
  ])('%j', async (body, shown, why) => {
    const answer = await patch(`${deployments}/d`, body);
    expect([answer.status, answer.body.message]).toEqual([422, refusal(shown, why)]);
  });

  test.each<[object, string, string]>([
    [{ data: { a: '%' } }, 'map[data:map[a:%]]', 'error decoding from json: illegal base64 data at input byte 0'],
    [{ data: { a: 1 } }, 'map[data:map[a:1]]', 'cannot restore slice from int64'],
    [{ data: { a: ['x'] } }, 'map[data:map[a:[x]]]', 'unrecognized type: uint8'],
  ])('bytes: %j', async (body, shown, why) => {
    const answer = await patch(`${secrets}/s`, body);
    expect([answer.status, answer.body.message]).toEqual([422, refusal(shown, why)]);
  });

  test('whole numbers lose the bits that do not fit', async () => {
    const replicas = async (value: number) =>
      (await patch(`${deployments}/d`, { spec: { replicas: value } })).body.spec?.replicas;
    expect([await replicas(4294967298), await replicas(1e30)]).toEqual([2, 0]);
    const negative = await patch(`${deployments}/d`, { spec: { replicas: 2147483648 } });
    expect(negative.body.message).toContain('Invalid value: -2147483648');
  });

  test('the kind stays the resource’s, whatever the patch says', async () => {
    const { body } = await patch(`${deployments}/d`, { kind: 'Foo', apiVersion: 'x/y/z' });
    expect([body.apiVersion, body.kind]).toEqual(['apps/v1', 'Deployment']);
  });

  test('unknown fields are named in order beside the patch', async () => {
    const body = { spec: { bar: [1e-7, null, 0.1], a: 1e21 }, foo: 'x' };
    const { status, body: answer } = await patch(`${deployments}/d`, body, '&fieldValidation=Strict');
    const why = 'strict decoding error: unknown field "foo", unknown field "spec.a", unknown field "spec.bar"';
    const shown = 'map[foo:x spec:map[a:1e+21 bar:[1e-07 <nil> 0.1]]]';
    expect([status, answer.message]).toEqual([422, refusal(shown, why)]);
  });
});

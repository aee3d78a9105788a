import { describe, expect, it } from 'vitest';
import { testApp } from '../../support/app.ts';

const GROUP = 'resource.k8s.io/v1';
const claims = `/apis/${GROUP}/namespaces/default/resourceclaims`;
const merge = { 'content-type': 'application/merge-patch+json' };
type Causes = { field: string; message: string }[];
const faultsOf = (body: { details?: { causes?: Causes } }) =>
  (body.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);

const requesting = (exactly: object) => ({ devices: { requests: [{ name: 'r', exactly }] } });
const selecting = (expression: string) => requesting({ deviceClassName: 'c', selectors: [{ cel: { expression } }] });

describe('claims of devices', () => {
  it.each([
    ['a selector that is one', selecting('device.attributes["a.b"].c && device.driver == "d"'), []],
    ['an attribute alone', selecting('device.attributes["a.b"].c'), []],
    [
      'a selector that gives no bool',
      selecting('device.driver'),
      [
        'spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string',
      ],
    ],
    [
      'a selector that costs too much',
      selecting('device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a + b + c != "")))'),
      ['spec.devices.requests[0].exactly.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit'],
    ],
    [
      'a count of none',
      requesting({ deviceClassName: 'c', count: -1 }),
      ['spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero'],
    ],
    [
      'administrators elsewhere',
      requesting({ deviceClassName: 'c', adminAccess: true }),
      [
        'spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace',
      ],
    ],
  ])('%s', async (_, spec, expected) => {
    const { call } = await testApp();
    const claim = { apiVersion: GROUP, kind: 'ResourceClaim', metadata: { name: 'c' }, spec };
    expect(faultsOf((await call('POST', claims, claim)).body)).toEqual(expected);
  });

  it('are for administrators where the namespace says so', async () => {
    const { call } = await testApp();
    const labels = { 'resource.kubernetes.io/admin-access': 'true' };
    await call('PATCH', '/api/v1/namespaces/default', { metadata: { labels } }, merge);
    const spec = requesting({ deviceClassName: 'c', adminAccess: true });
    const claim = { apiVersion: GROUP, kind: 'ResourceClaim', metadata: { name: 'c' }, spec };
    expect((await call('POST', claims, claim)).status).toBe(201);
  });

  it('keep what was allocated', async () => {
    const { call } = await testApp();
    const spec = requesting({ deviceClassName: 'c' });
    await call('POST', claims, { apiVersion: GROUP, kind: 'ResourceClaim', metadata: { name: 'c' }, spec });
    const give = async (status: object) =>
      faultsOf((await call('PATCH', `${claims}/c/status`, { status }, merge)).body).map(
        (fault) => fault.split(': ')[0],
      );
    const result = { request: 'r', driver: 'd.e', pool: 'p', device: 'x' };
    const allocating = (...results: object[]) => ({ allocation: { devices: { results } } });
    expect(await give({ reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }] })).toEqual(['status.reservedFor']);
    expect(await give(allocating({ ...result, request: 's' }))).toEqual([
      'status.allocation.devices.results[0].request',
    ]);
    expect(await give(allocating(result))).toEqual([]);
    expect(await give(allocating({ ...result, device: 'y' }))).toEqual(['status.allocation']);
    const { request: _, ...device } = result;
    expect(await give({ devices: [{ ...device, networkData: { ips: ['10.0.0.1'] } }] })).toEqual([
      'status.devices[0].networkData.ips[0]',
    ]);
    expect(await give({ devices: [{ ...device, device: 'z' }] })).toEqual(['status.devices[0]']);
  });
});

describe('slices of devices', () => {
  const spec = { driver: 'd.e', nodeName: 'n', pool: { name: 'p', resourceSliceCount: 1 } };
  it.each([
    ['nowhere', { ...spec, nodeName: undefined }, ['spec']],
    ['in two places', { ...spec, allNodes: true }, ['spec']],
    ['one twice', { ...spec, devices: [{ name: 'a' }, { name: 'a' }] }, ['spec.devices[1]']],
    [
      'attributes of no and two kinds',
      { ...spec, devices: [{ name: 'a', attributes: { x: {}, y: { int: 1, string: 's' } } }] },
      ['spec.devices[0].attributes[x]', 'spec.devices[0].attributes[y]'],
    ],
    [
      'a version that is none',
      { ...spec, devices: [{ name: 'a', attributes: { x: { version: '1.0' } } }] },
      ['spec.devices[0].attributes[x].version'],
    ],
    [
      'a policy for a capacity that is given once',
      { ...spec, devices: [{ name: 'a', capacity: { x: { value: '1', requestPolicy: { default: '1' } } } }] },
      ['spec.devices[0].capacity[x].requestPolicy'],
    ],
    [
      'steps that miss the default',
      {
        ...spec,
        devices: [
          {
            name: 'a',
            allowMultipleAllocations: true,
            capacity: { x: { value: '9', requestPolicy: { default: '4', validRange: { min: '1', step: '2' } } } },
          },
        ],
      },
      ['spec.devices[0].capacity[x].requestPolicy.validRange.step'],
    ],
  ])('%s', async (_, slice, expected) => {
    const { call } = await testApp();
    const object = { apiVersion: GROUP, kind: 'ResourceSlice', metadata: { name: 's' }, spec: slice };
    const { body } = await call('POST', `/apis/${GROUP}/resourceslices`, object);
    expect(faultsOf(body).map((fault) => fault.split(': ')[0])).toEqual(expected);
  });
});

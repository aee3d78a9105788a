import { describe, expect, it } from 'vitest';
import { candidates, formatAddress, isUsable, parseAddress, parseRange } from '../../src/registry/services/ranges.ts';
import { testApp } from '../support/app.ts';

const path = '/api/v1/namespaces/default/services';
const service = (name: string, spec = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

describe('ranges', () => {
  it.each(['10.0.0.1', 'fd00::1', '2001:db8::ff00:42:8329', '::1', '1:2:3:4:5:6:7:8'])(
    '%s is read and written',
    (text) => {
      expect(formatAddress(parseAddress(text)!, text.includes(':') ? 'IPv6' : 'IPv4')).toBe(text);
    },
  );

  it('every usable address is a candidate once', () => {
    const range = parseRange('10.0.0.0/28');
    const all = [...candidates(range)];
    expect(new Set(all).size).toBe(14);
    expect(all.every((value) => isUsable(range, value))).toBe(true);
  });
});

describe('services', () => {
  it('get an address that is theirs until they go', async () => {
    const { call } = await testApp();
    const created = await call('POST', path, service('a'));
    const { clusterIP, clusterIPs, ipFamilies } = created.body.spec;
    expect([clusterIPs, ipFamilies]).toEqual([[clusterIP], ['IPv4']]);
    const address = await call('GET', `/apis/networking.k8s.io/v1/ipaddresses/${clusterIP}`);
    expect(address.body.spec.parentRef).toEqual({ resource: 'services', namespace: 'default', name: 'a' });
    const taken = await call('POST', path, service('b', { clusterIP }));
    expect([taken.status, taken.body.details.causes[0].message]).toEqual([
      422,
      `Invalid value: ["${clusterIP}"]: failed to allocate IP ${clusterIP}: provided IP is already allocated`,
    ]);
    await call('DELETE', `${path}/a`);
    expect((await call('POST', path, service('b', { clusterIP }))).status).toBe(201);
  });

  it('created side by side get different addresses and ports', async () => {
    const { call } = await testApp();
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, i) => call('POST', path, service(`s${i}`, { type: 'NodePort' }))),
    );
    expect(made.map(({ status }) => status)).toEqual(Array(30).fill(201));
    expect(new Set(made.map(({ body }) => body.spec.clusterIP)).size).toBe(30);
    expect(new Set(made.map(({ body }) => body.spec.ports[0].nodePort)).size).toBe(30);
  });

  it('share a small range: each free address is given once, and dry runs take none', async () => {
    const { call } = await testApp(['default'], undefined, { serviceClusterIPRange: '10.9.0.0/28' });
    const createAll = (count: number, query = '') =>
      Promise.all(Array.from({ length: count }, (_, i) => call('POST', `${path}${query}`, service(`s${i}`))));
    const dry = await createAll(20, '?dryRun=All');
    expect(dry.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const made = await createAll(200);
    const got = made.filter(({ status }) => status === 201).map(({ body }) => body.spec.clusterIP as string);
    const free = Array.from({ length: 14 }, (_, i) => `10.9.0.${i + 1}`);
    expect(got.sort()).toEqual(free.sort());
    const refused = made.filter(({ status }) => status !== 201).map(({ status, body }) => `${status} ${body.message}`);
    expect(refused).toHaveLength(186);
    const full = /^500 Internal error occurred: failed to allocate a serviceIP for Service "s\d+": range is full$/;
    expect(refused.filter((answer) => !full.test(answer))).toEqual([]);
  });

  it('keep what they were given when an update leaves it out', async () => {
    const { call } = await testApp();
    const { spec } = (await call('POST', path, service('a', { type: 'NodePort' }))).body;
    const put = await call('PUT', `${path}/a`, service('a', { type: 'NodePort' }));
    expect(put.body.spec).toEqual(spec);
    const plain = await call('PUT', `${path}/a`, service('a'));
    expect([plain.body.spec.clusterIP, plain.body.spec.ports[0].nodePort]).toEqual([spec.clusterIP, undefined]);
    const port = spec.ports[0].nodePort;
    const again = await call('POST', path, service('b', { type: 'NodePort', ports: [{ port: 80, nodePort: port }] }));
    expect(again.status).toBe(201);
  });

  it('without an address have none', async () => {
    const { call } = await testApp();
    const headless = await call('POST', path, service('h', { clusterIP: 'None', selector: { a: 'b' } }));
    expect(headless.body.spec.clusterIPs).toEqual(['None']);
    const external = await call('POST', path, service('e', { type: 'ExternalName', externalName: 'example.com' }));
    expect(external.body.spec.clusterIP).toBeUndefined();
  });
});

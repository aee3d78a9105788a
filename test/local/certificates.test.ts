import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { clusterKeys, serverNames } from '../../src/local/certificates.ts';

const folder = mkdtempSync(join(tmpdir(), 'pki-'));
const names = serverNames('10.0.0.1', ['192.0.2.7']);
afterAll(() => rmSync(folder, { recursive: true }));

test('a cluster gets an authority, a server and an administrator', async () => {
  const keys = await clusterKeys(folder, names);
  const [ca, server, admin] = [keys.ca, keys.server, keys.admin].map(({ cert }) => new X509Certificate(cert));
  expect(ca!.ca).toBe(true);
  for (const leaf of [server!, admin!]) expect(leaf.verify(ca!.publicKey)).toBe(true);
  expect(admin!.subject).toBe('O=system:masters\nCN=kubernetes-admin');
  for (const host of ['localhost', 'kubernetes.default.svc']) expect(server!.checkHost(host)).toBe(host);
  for (const address of ['127.0.0.1', '::1', '10.0.0.1', '192.0.2.7']) expect(server!.checkIP(address)).toBe(address);
});

test('key files are private', () => {
  for (const file of ['ca.key', 'server.key', 'admin.key', 'service-account.json']) {
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  }
});

test('a second start keeps everything', async () => {
  const before = await clusterKeys(folder, names);
  expect(await clusterKeys(folder, names)).toEqual(before);
});

test('a new address makes a new server certificate only', async () => {
  const before = await clusterKeys(folder, names);
  const after = await clusterKeys(folder, [...names, '192.0.2.8']);
  expect(after.server.cert).not.toBe(before.server.cert);
  expect({ ...after, server: before.server }).toEqual(before);
});

test('a new authority makes new leaves', async () => {
  const before = await clusterKeys(folder, names);
  writeFileSync(join(folder, 'ca.crt'), readFileSync(join(folder, 'server.crt')));
  rmSync(join(folder, 'ca.key'));
  const after = await clusterKeys(folder, names);
  expect(after.admin.cert).not.toBe(before.admin.cert);
  expect(new X509Certificate(after.server.cert).verify(new X509Certificate(after.ca.cert).publicKey)).toBe(true);
});

import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { beforeAll, describe, expect, test } from 'vitest';
import { authenticate } from '../../src/authn/index.ts';
import type { Config } from '../../src/config.ts';
import { type Authority, algorithms, authority, day, issue, requestWith } from './certificates.ts';
import { makeConfig, makeDeps, now, statusOf } from './support.ts';

describe('client certificates', () => {
  let ca: Authority;
  let config: Config;
  beforeAll(async () => {
    ca = await authority('ECDSA', 'ca');
    config = await makeConfig({ clientCA: ca.certificate.toString('pem'), staticTokens: 'secret,tom,1' });
  });
  const ask = (request: Request) => authenticate(request, makeDeps(config));

  test('give name, groups and the credential id', async () => {
    const header = await issue(ca, 'O=system:masters, O=dev, CN=ann');
    const { user } = await ask(requestWith(header));
    expect(user.name).toBe('ann');
    expect([...user.groups].sort()).toEqual(['dev', 'system:authenticated', 'system:masters']);
    expect(user.extra['authentication.kubernetes.io/credential-id']![0]).toMatch(/^X509SHA256=[0-9a-f]{64}$/);
    expect(await ask(requestWith(header))).toEqual({ user });
  });

  test.each(['RSA', 'ECDSA', 'Ed25519'] as const)('are verified against %s authorities', async (kind) => {
    const other = await authority(kind, `ca-${kind}`);
    const both = await makeConfig({
      clientCA: `${ca.certificate.toString('pem')}\n${other.certificate.toString('pem')}`,
    });
    const header = await issue(other, 'CN=bob');
    expect((await authenticate(requestWith(header), makeDeps(both))).user.name).toBe('bob');
    expect((await statusOf(ask(requestWith(header)))).code).toBe(401);
  });

  test('of an intermediate authority need the chain', async () => {
    const keys = (await crypto.subtle.generateKey(algorithms.ECDSA, true, ['sign', 'verify'])) as CryptoKeyPair;
    const certificate = await x509.X509CertificateGenerator.create({
      subject: 'CN=middle',
      issuer: ca.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: ca.keys.privateKey,
      notBefore: new Date(now.getTime() - day),
      notAfter: new Date(now.getTime() + day),
      extensions: [new x509.BasicConstraintsExtension(true)],
    });
    const header = await issue({ certificate, keys }, 'CN=deep');
    const chain = `:${btoa(String.fromCharCode(...new Uint8Array(certificate.rawData)))}:`;
    expect((await ask(requestWith(header, {}, chain))).user.name).toBe('deep');
    expect((await statusOf(ask(requestWith(header)))).code).toBe(401);
  });

  test('that a client has issued to itself under another certificate are refused', async () => {
    const keys = (await crypto.subtle.generateKey(algorithms.ECDSA, true, ['sign', 'verify'])) as CryptoKeyPair;
    const leaf = await x509.X509CertificateGenerator.create({
      subject: 'CN=leaf',
      issuer: ca.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: ca.keys.privateKey,
      notBefore: new Date(now.getTime() - day),
      notAfter: new Date(now.getTime() + day),
    });
    const header = await issue({ certificate: leaf, keys }, 'O=system:masters, CN=root');
    const chain = `:${btoa(String.fromCharCode(...new Uint8Array(leaf.rawData)))}:`;
    expect((await statusOf(ask(requestWith(header, {}, chain)))).code).toBe(401);
  });

  test.each([
    ['expired', { notAfter: new Date(now.getTime() - 1000) }],
    ['not yet valid', { notBefore: new Date(now.getTime() + 1000) }],
    ['meant for servers', { usage: x509.ExtendedKeyUsage.serverAuth }],
  ])('that are %s are refused', async (_what, more) => {
    expect((await statusOf(ask(requestWith(await issue(ca, 'CN=ann', more))))).message).toBe('Unauthorized');
  });

  test('stop counting when they expire, verified before or not', async () => {
    const header = await issue(ca, 'CN=soon', { notAfter: new Date(now.getTime() + 60_000) });
    expect((await ask(requestWith(header))).user.name).toBe('soon');
    const later = makeDeps(config, undefined, new Date(now.getTime() + 120_000));
    expect((await statusOf(authenticate(requestWith(header), later))).code).toBe(401);
  });

  test('without a common name, or garbage, are refused', async () => {
    expect((await statusOf(ask(requestWith(await issue(ca, 'O=dev'))))).code).toBe(401);
    expect((await statusOf(ask(requestWith(':AAAA:')))).code).toBe(401);
    expect((await statusOf(ask(requestWith('nonsense')))).code).toBe(401);
  });

  test('that are bad are forgiven where a token is good', async () => {
    const { user } = await ask(requestWith(':AAAA:', { authorization: 'Bearer secret' }));
    expect(user.name).toBe('tom');
  });

  test('count for nothing without an authority', async () => {
    const header = await issue(ca, 'CN=ann');
    const { user } = await authenticate(requestWith(header), makeDeps(await makeConfig()));
    expect(user.name).toBe('system:anonymous');
  });
});

import 'reflect-metadata';
import {
  ExtendedKeyUsageExtension,
  KeyUsagesExtension,
  PemConverter,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { beforeAll, describe, expect, test } from 'vitest';
import { mapOf, objects, text } from '../../src/api/fields.ts';
import type { KubeObject } from '../../src/api/object.ts';
import { Cluster } from './support.ts';

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const SECRETS = '/api/v1/namespaces/kube-system/secrets';
const CLIENT = 'kubernetes.io/kube-apiserver-client';
const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ALGORITHMS = {
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
  ecdsa: { name: 'ECDSA', hash: 'SHA-384', namedCurve: 'P-384' },
  ed25519: { name: 'Ed25519' },
};
type KeyKind = keyof typeof ALGORITHMS;
const keysOf = (kind: KeyKind) =>
  crypto.subtle.generateKey(ALGORITHMS[kind], true, ['sign', 'verify']) as Promise<CryptoKeyPair>;

let authorities: Record<KeyKind, { certificate: string; key: string }>;

async function makeAuthority(kind: KeyKind) {
  const keys = await keysOf(kind);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=authority`,
    keys,
    signingAlgorithm: ALGORITHMS[kind],
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2036-01-01'),
  });
  const key = PemConverter.encode(
    (await crypto.subtle.exportKey('pkcs8', keys.privateKey)) as ArrayBuffer,
    'PRIVATE KEY',
  );
  return { certificate: certificate.toString('pem'), key };
}

beforeAll(async () => {
  const [rsa, ecdsa, ed25519] = await Promise.all([
    makeAuthority('rsa'),
    makeAuthority('ecdsa'),
    makeAuthority('ed25519'),
  ]);
  authorities = { rsa, ecdsa, ed25519 };
});

interface Wanted {
  subject?: string;
  signerName?: string;
  usages?: string[];
  names?: { type: 'dns' | 'ip'; value: string }[];
  expirationSeconds?: number;
  kind?: KeyKind;
}

async function request(name: string, wanted: Wanted = {}) {
  const { subject = 'CN=ann,O=gardeners', signerName = CLIENT, usages = ['client auth'], names = [] } = wanted;
  const { kind = 'ecdsa', expirationSeconds } = wanted;
  const made = await Pkcs10CertificateRequestGenerator.create({
    name: subject,
    keys: await keysOf(kind),
    signingAlgorithm: ALGORITHMS[kind],
    extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)],
  });
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: { request: btoa(made.toString('pem')), signerName, usages, ...(expirationSeconds && { expirationSeconds }) },
  };
}

const cluster = (kind: KeyKind = 'ecdsa', loops: 'all' | string[] = 'all') =>
  Cluster.make(loops, undefined, { clusterSigning: authorities[kind] });

async function decide(on: Cluster, name: string, type = 'Approved'): Promise<void> {
  const current = await on.api.get(`${PATH}/${name}`);
  const conditions = [{ type, status: 'True', reason: 'Test', message: '' }];
  await on.api.update(`${PATH}/${name}/approval`, { ...current, status: { conditions } });
  await on.settle();
}

async function signed(on: Cluster, name: string): Promise<X509Certificate | undefined> {
  const { status } = await on.api.get(`${PATH}/${name}`);
  const certificate = text(mapOf(status).certificate);
  return certificate === '' ? undefined : new X509Certificate(PemConverter.decodeFirst(atob(certificate)));
}

const conditionsOf = ({ status }: KubeObject) =>
  objects(mapOf(status).conditions).map(({ type, reason, message }) => [type, reason, message]);

describe('signing', () => {
  test.each(['rsa', 'ecdsa', 'ed25519'] as const)(
    'an approved request, by an authority with a key of %s',
    async (kind) => {
      const on = await cluster(kind);
      await on.api.create(PATH, await request('ann', { kind, usages: ['client auth', 'digital signature'] }));
      await on.settle();
      expect(await signed(on, 'ann')).toBeUndefined();
      await decide(on, 'ann');
      const certificate = await signed(on, 'ann');
      const authority = new X509Certificate(authorities[kind].certificate);
      expect(await certificate?.verify({ publicKey: authority.publicKey, signatureOnly: true })).toBe(true);
      expect([certificate?.subject, certificate?.issuer]).toEqual(['CN=ann, O=gardeners', 'CN=authority']);
      expect(certificate?.getExtension(ExtendedKeyUsageExtension)?.usages).toEqual(['1.3.6.1.5.5.7.3.2']);
      expect(certificate?.getExtension(KeyUsagesExtension)).toMatchObject({ usages: 1, critical: true });
    },
  );

  test.each([
    [undefined, 365 * DAY - 300_000],
    [600, 600_000],
    [3600, HOUR],
    [86_400, DAY - 300_000],
    [10 * 365 * 86_400, 365 * DAY - 300_000],
  ])('for %s seconds ends %s ms later', async (expirationSeconds, lifetime) => {
    const on = await cluster();
    await on.api.create(PATH, await request('ann', expirationSeconds === undefined ? {} : { expirationSeconds }));
    await decide(on, 'ann');
    const certificate = await signed(on, 'ann');
    const now = on.connection.now().getTime();
    expect(certificate?.notAfter.getTime()).toBe(now + lifetime);
    expect(certificate?.notBefore.getTime()).toBe(now - 300_000);
  });

  test('of a kubelet’s serving certificate keeps its names', async () => {
    const on = await cluster();
    const names = [
      { type: 'dns' as const, value: 'n.example' },
      { type: 'ip' as const, value: '10.0.0.1' },
    ];
    const wanted = { subject: 'CN=system:node:n,O=system:nodes', signerName: KUBELET_SERVING, names };
    await on.api.create(PATH, await request('n', { ...wanted, usages: ['digital signature', 'server auth'] }));
    await decide(on, 'n');
    const certificate = await signed(on, 'n');
    expect(certificate?.getExtension(SubjectAlternativeNameExtension)?.names.toJSON()).toEqual(names);
  });

  test.each<[string, Wanted, string]>([
    [
      'usage of a client',
      { usages: ['client auth', 'server auth'] },
      'invalid usage for client certificate: server auth',
    ],
    ['no client', { usages: ['digital signature'] }, 'missing required usage for client certificate: client auth'],
    [
      'organization of a kubelet',
      { signerName: KUBELET_SERVING, usages: ['server auth'] },
      'subject organization is not system:nodes',
    ],
    [
      'names of a kubelet',
      { subject: 'CN=system:node:n,O=system:nodes', signerName: KUBELET_SERVING, usages: ['server auth'] },
      'DNS or IP subjectAltName is required',
    ],
    [
      'name of a node',
      {
        subject: 'CN=n,O=system:nodes',
        signerName: KUBELET_CLIENT,
        usages: ['digital signature', 'client auth'],
      },
      'subject common name does not begin with system:node:',
    ],
    [
      'usages of a kubelet',
      { subject: 'CN=system:node:n,O=system:nodes', signerName: KUBELET_CLIENT, usages: ['client auth'] },
      'usages did not match [client auth digital signature key encipherment]',
    ],
    [
      'names where none belong',
      {
        subject: 'CN=system:node:n,O=system:nodes',
        signerName: KUBELET_CLIENT,
        usages: ['digital signature', 'client auth'],
        names: [{ type: 'dns', value: 'n' }],
      },
      'DNS subjectAltNames are not allowed',
    ],
  ])('fails for a wrong %s', async (_, wanted, message) => {
    const on = await cluster();
    await on.api.create(PATH, await request('x', wanted));
    await decide(on, 'x');
    expect(conditionsOf(await on.api.get(`${PATH}/x`)).at(-1)).toEqual(['Failed', 'SignerValidationFailure', message]);
    expect(await signed(on, 'x')).toBeUndefined();
  });

  test('leaves alone what is denied, of another signer, or while the loop is off', async () => {
    const on = await cluster();
    await on.api.create(PATH, await request('denied'));
    await decide(on, 'denied', 'Denied');
    await on.api.create(PATH, await request('other', { signerName: 'example.com/mine' }));
    await decide(on, 'other');
    const off = await cluster('ecdsa', ['namespace']);
    await off.api.create(PATH, await request('off'));
    await decide(off, 'off');
    expect([await signed(on, 'denied'), await signed(on, 'other'), await signed(off, 'off')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

test('a request of a kubelet is approved and signed once its user may make it', async () => {
  const on = await cluster();
  const wanted = { subject: 'CN=system:node:n,O=system:nodes', signerName: KUBELET_CLIENT };
  const usages = ['digital signature', 'key encipherment', 'client auth'];
  const api = on.connection.api;
  const body = JSON.stringify(await request('n', { ...wanted, usages }));
  await on.api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'bootstrappers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-bootstrapper' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bea' }],
  });
  const headers = { 'content-type': 'application/json', 'impersonate-user': 'bea' };
  const made = await api(new Request(`https://loopback${PATH}`, { method: 'POST', headers, body }));
  expect(made.status).toBe(201);
  await on.settle();
  expect(conditionsOf(await on.api.get(`${PATH}/n`))).toEqual([]);
  await on.api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'approval' },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
    },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bea' }],
  });
  await on.pass(61_000);
  expect(conditionsOf(await on.api.get(`${PATH}/n`))).toEqual([
    ['Approved', 'AutoApproved', 'Auto approving kubelet client certificate after SubjectAccessReview.'],
  ]);
  expect((await signed(on, 'n'))?.subject).toBe('CN=system:node:n, O=system:nodes');
});

describe('cleaning', () => {
  const present = async (on: Cluster) => on.names(PATH);

  test.each<[string, string | undefined, Wanted, number]>([
    ['pending', undefined, {}, DAY],
    ['denied', 'Denied', {}, HOUR],
    ['signed', 'Approved', {}, HOUR],
    ['approved for another signer', 'Approved', { signerName: 'example.com/mine' }, DAY],
    ['failed', 'Approved', { usages: ['server auth'] }, HOUR],
    ['signed for ten minutes', 'Approved', { expirationSeconds: 600 }, 600_000],
  ])('takes what is %s after its time, not before', async (_, decision, wanted, lifetime) => {
    const on = await cluster();
    await on.api.create(PATH, await request('x', wanted));
    await on.settle();
    if (decision !== undefined) await decide(on, 'x', decision);
    await on.pass(lifetime - 1000);
    expect(await present(on)).toEqual(['x']);
    await on.pass(1001);
    expect([await present(on), on.alarm]).toEqual([[], undefined]);
  });

  const token = (name: string, expiration?: string) => ({
    metadata: { name },
    type: 'bootstrap.kubernetes.io/token',
    stringData: { 'token-id': 'abcdef', ...(expiration !== undefined && { expiration }) },
  });

  test('takes bootstrap tokens when they expire, and those whose expiry cannot be read', async () => {
    const on = await cluster();
    const now = on.connection.now().getTime();
    await on.api.create(SECRETS, token('bootstrap-token-lasting'));
    await on.api.create(SECRETS, token('bootstrap-token-soon', new Date(now + HOUR).toISOString()));
    await on.api.create(SECRETS, token('bootstrap-token-gone', new Date(now - HOUR).toISOString()));
    await on.api.create(SECRETS, token('bootstrap-token-odd', 'tomorrow'));
    await on.settle();
    expect(await on.names(SECRETS)).toEqual(['bootstrap-token-lasting', 'bootstrap-token-soon']);
    await on.pass(HOUR);
    expect([await on.names(SECRETS), on.alarm]).toEqual([['bootstrap-token-lasting'], undefined]);
  });
});

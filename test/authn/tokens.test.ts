import { decodeJwt, SignJWT } from 'jose';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { authenticate } from '../../src/authn/index.ts';
import { serveConfiguration, serveKeys } from '../../src/authn/issuer.ts';
import { tokenReview } from '../../src/authn/reviews.ts';
import { serviceAccountKeys } from '../../src/authn/service-account-keys.ts';
import { parseTokenFile } from '../../src/authn/static-token.ts';
import { issueServiceAccountToken } from '../../src/authn/token-request.ts';
import type { Config } from '../../src/config.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';
import { makeConfig, makeContext, makeDeps, now, statusOf, store, userOf } from './support.ts';

const admin = userOf('admin', ['system:masters']);
const withToken = (value: string) => new Request('https://server/api', { headers: { authorization: value } });

describe('the Authorization header', () => {
  let config: Config;
  beforeAll(async () => {
    config = await makeConfig({ staticTokens: 'secret,ann,7,"dev,ops"\nother,bob,8' });
  });
  const ask = (value: string) => authenticate(withToken(value), makeDeps(config));

  test('names a user of the token file', async () => {
    const { user } = await ask('Bearer secret');
    expect(user).toEqual({ name: 'ann', uid: '7', groups: ['dev', 'ops', 'system:authenticated'], extra: {} });
    expect((await ask('bearer other')).user.groups).toEqual(['system:authenticated']);
  });

  test.each(['Bearer nope', 'bearer nope', 'Bearer secret2', 'Bearer aaaa.bbbb.cccc', 'Bearer nope more'])(
    'is 401 for %j',
    async (value) => {
      expect(await statusOf(ask(value))).toMatchObject({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
    },
  );

  test.each(['Bearer', 'Basic YTpi', 'Negotiate abc'])('is no credential as %j', async (value) => {
    expect(await ask(value)).toEqual({
      user: { name: 'system:anonymous', groups: ['system:unauthenticated'], extra: {} },
    });
  });

  test('with two spaces is ignored with a warning', async () => {
    const { user, warnings } = await ask('Bearer  secret');
    expect(user.name).toBe('system:anonymous');
    expect(warnings).toEqual([
      'the provided Authorization header contains extra space before the bearer token, and is ignored',
    ]);
  });
});

test('token files may quote, and skip what is no entry', () => {
  expect(parseTokenFile('# comment\n\na,"x ""y""",1,"g1, g2"\nbad\n')).toEqual([
    { token: 'a', user: { name: 'x "y"', uid: '1', groups: ['g1', 'g2'], extra: {} } },
  ]);
});

describe('service account tokens', () => {
  let config: Config;
  let keyspace: MemoryKeyspace;
  beforeAll(async () => {
    config = await makeConfig();
  });
  beforeEach(async () => {
    keyspace = memoryKeyspace();
    await store(keyspace, {
      '/registry/namespaces/web': { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'web' } },
      '/registry/serviceaccounts/web/robot': { metadata: { name: 'robot', namespace: 'web', uid: 'sa-1' } },
      '/registry/pods/web/p': {
        metadata: { name: 'p', namespace: 'web', uid: 'pod-1' },
        spec: { serviceAccountName: 'robot', nodeName: 'n1' },
      },
      '/registry/pods/web/q': { metadata: { name: 'q', uid: 'pod-2' }, spec: { serviceAccountName: 'other' } },
      '/registry/minions/n1': { metadata: { name: 'n1', uid: 'node-1' } },
    });
  });

  const request = async (spec: object, name = 'robot', namespace = 'web') => {
    const ctx = await makeContext(keyspace, admin, {
      namespace,
      name,
      resource: 'serviceaccounts',
      subresource: 'token',
    });
    return issueServiceAccountToken(config, ctx, { metadata: {}, spec: { ...spec } });
  };
  const tokenOf = async (spec: object) => ((await request(spec)).status as { token: string }).token;
  const ask = (token: string, at = now) => authenticate(withToken(`Bearer ${token}`), makeDeps(config, keyspace, at));

  test('carry issuer, audience, subject and account', async () => {
    const answer = await request({ expirationSeconds: 600 });
    expect(answer).toMatchObject({
      kind: 'TokenRequest',
      metadata: { name: 'robot', namespace: 'web', uid: 'sa-1', creationTimestamp: '2026-11-29T12:00:00Z' },
      spec: { audiences: ['https://kubernetes.default.svc'], expirationSeconds: 600, boundObjectRef: null },
      status: { expirationTimestamp: '2026-11-29T12:10:00Z' },
    });
    const { jti, ...claims } = decodeJwt((answer.status as { token: string }).token);
    const at = now.getTime() / 1000;
    expect(claims).toEqual({
      aud: ['https://kubernetes.default.svc'],
      exp: at + 600,
      iat: at,
      iss: 'https://kubernetes.default.svc',
      'kubernetes.io': { namespace: 'web', serviceaccount: { name: 'robot', uid: 'sa-1' } },
      nbf: at,
      sub: 'system:serviceaccount:web:robot',
    });
    expect(jti).toBeTypeOf('string');
  });

  test('authenticate the account', async () => {
    const { user } = await ask(await tokenOf({}));
    expect(user).toMatchObject({
      name: 'system:serviceaccount:web:robot',
      uid: 'sa-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:web', 'system:authenticated'],
    });
  });

  test('bound to a pod name it and its node', async () => {
    const token = await tokenOf({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p' } });
    expect(decodeJwt(token)['kubernetes.io']).toEqual({
      namespace: 'web',
      pod: { name: 'p', uid: 'pod-1' },
      node: { name: 'n1', uid: 'node-1' },
      serviceaccount: { name: 'robot', uid: 'sa-1' },
    });
    const { extra } = (await ask(token)).user;
    expect(extra['authentication.kubernetes.io/pod-name']).toEqual(['p']);
    expect(extra['authentication.kubernetes.io/node-name']).toEqual(['n1']);
    await keyspace.propose({ conditions: [], operations: [{ type: 'delete', key: '/registry/pods/web/p' }] });
    expect((await statusOf(ask(token))).code).toBe(401);
  });

  test('end with their time, within a minute', async () => {
    const token = await tokenOf({ expirationSeconds: 600 });
    expect((await ask(token, new Date(now.getTime() + 650_000))).user.name).toContain('robot');
    expect((await statusOf(ask(token, new Date(now.getTime() + 661_000)))).code).toBe(401);
    expect((await statusOf(ask(token, new Date(now.getTime() - 61_000)))).code).toBe(401);
  });

  test('are worth nothing for an account made anew', async () => {
    const token = await tokenOf({});
    await store(keyspace, { '/registry/serviceaccounts/web/robot': { metadata: { name: 'robot', uid: 'sa-2' } } });
    expect((await statusOf(ask(token))).code).toBe(401);
  });

  test('of another key, another algorithm or none are refused', async () => {
    const other = await makeConfig();
    const [key] = await serviceAccountKeys(other);
    const forged = await new SignJWT({ ...decodeJwt(await tokenOf({})) })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign(key!.privateKey);
    expect((await statusOf(ask(forged))).code).toBe(401);
    const [, payload] = (await tokenOf({})).split('.');
    const none = `${btoa(JSON.stringify({ alg: 'none' })).replaceAll('=', '')}.${payload}.`;
    expect((await statusOf(ask(none))).code).toBe(401);
  });

  test('for others are not for the server, and reviews tell for whom they are', async () => {
    const token = await tokenOf({ audiences: ['vault', 'mail'] });
    expect((await statusOf(ask(token))).code).toBe(401);
    const ctx = await makeContext(keyspace, admin);
    const review = (spec: object) =>
      tokenReview(config, ctx, { kind: 'TokenReview', metadata: {}, spec: { token, ...spec } });
    expect((await review({ audiences: ['mail', 'x'] })).status).toMatchObject({
      authenticated: true,
      audiences: ['mail'],
    });
    expect((await review({})).status).toEqual({
      user: {},
      error:
        '[invalid bearer token, token audiences ["vault" "mail"] is invalid for the target audiences ["https://kubernetes.default.svc"]]',
    });
    expect((await review({ token: 'garbage' })).status).toEqual({ user: {}, error: 'invalid bearer token' });
    expect((await statusOf(review({ token: '' }))).message).toBe('token is required for TokenReview in authentication');
  });

  test.each([
    [{ expirationSeconds: 599 }, 422, 'may not specify a duration less than 10 minutes'],
    [{ expirationSeconds: 4294967297 }, 422, 'may not specify a duration larger than 2^32 seconds'],
    [{ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'none' } }, 404, 'pods "none" not found'],
    [{ boundObjectRef: { apiVersion: 'v1', kind: 'Pod' } }, 400, 'Name parameter required.'],
    [{ boundObjectRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'p' } }, 400, 'type /v1, Kind=ConfigMap'],
    [{ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'q' } }, 400, 'different serviceaccount name'],
    [{ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'x' } }, 409, 'the bound object reference (x)'],
  ])('are refused for %j', async (spec, code, message) => {
    const status = await statusOf(request(spec));
    expect(status.code).toBe(code);
    expect(status.message).toContain(message);
  });

  test('are refused for what does not exist', async () => {
    expect((await statusOf(request({}, 'nobody'))).message).toBe('serviceaccounts "nobody" not found');
    expect((await statusOf(request({}, 'robot', 'none'))).message).toBe('namespaces "none" not found');
  });
});

describe('the issuer', () => {
  test('publishes its keys and its configuration', async () => {
    const config = await makeConfig();
    const ask = (accept?: string) =>
      new Request('https://server/', accept === undefined ? {} : { headers: { accept } });
    const keys = await serveKeys(config, ask());
    expect(keys.headers.get('content-type')).toBe('application/jwk-set+json');
    const [key] = ((await keys.json()) as { keys: Record<string, string>[] }).keys;
    expect(Object.keys(key!).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    expect((await statusOf(serveKeys(config, ask('application/json')))).code).toBe(406);
    expect(await (await serveConfiguration(config, ask())).json()).toEqual({
      issuer: 'https://kubernetes.default.svc',
      jwks_uri: 'https://127.0.0.1:6443/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  });
});

describe('bootstrap tokens', () => {
  const data = (fields: Record<string, string>) =>
    Object.fromEntries(Object.entries(fields).map(([k, v]) => [k, btoa(v)]));
  const good = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' };
  const ask = async (fields: Record<string, string>, token = 'abcdef.0123456789abcdef') => {
    const keyspace = memoryKeyspace();
    await store(keyspace, {
      '/registry/secrets/kube-system/bootstrap-token-abcdef': {
        metadata: { name: 'bootstrap-token-abcdef' },
        type: 'bootstrap.kubernetes.io/token',
        data: data(fields),
      },
    });
    return authenticate(withToken(`Bearer ${token}`), makeDeps(await makeConfig(), keyspace));
  };

  test('name a bootstrapper', async () => {
    const { user } = await ask({ ...good, 'auth-extra-groups': 'system:bootstrappers:team' });
    expect(user.name).toBe('system:bootstrap:abcdef');
    expect(user.groups).toEqual(['system:bootstrappers', 'system:bootstrappers:team', 'system:authenticated']);
  });

  test.each([
    [{ ...good, expiration: '2026-11-29T11:59:00Z' }, undefined],
    [{ ...good, 'usage-bootstrap-authentication': 'false' }, undefined],
    [{ ...good, 'auth-extra-groups': 'system:masters' }, undefined],
    [good, 'abcdef.0123456789abcdeX'],
    [good, 'abcdef.0123456789abcdee'],
  ])('are refused: %j %s', async (fields, token) => {
    expect((await statusOf(ask(fields, token))).code).toBe(401);
  });
});

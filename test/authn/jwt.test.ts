import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { authenticate } from '../../src/authn/index.ts';
import { tokenReview } from '../../src/authn/reviews.ts';
import { type Config, parseConfig } from '../../src/config.ts';
import type { Outbound } from '../../src/outbound/index.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';
import { makeContext, makeDeps, now, statusOf, userOf } from './support.ts';

const seconds = Math.floor(now.getTime() / 1000);
const issuer = 'https://id.example/realm';
const algorithms = ['RS256', 'PS384', 'ES256', 'ES512'] as const;

interface Signer {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

async function signer(kid: string, alg: string = 'ES256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid } };
}

/** A provider in memory: its documents by URL, and what was asked of it. */
class MemoryProvider {
  readonly documents = new Map<string, unknown>();
  readonly asked: string[] = [];
  maxAge: number | undefined;
  down = false;

  publish(url: string, ...keys: Signer[]): void {
    this.documents.set(`${url}/.well-known/openid-configuration`, { issuer: url, jwks_uri: `${url}/keys` });
    this.documents.set(`${url}/keys`, { keys: keys.map(({ jwk }) => jwk) });
  }

  readonly outbound: Outbound = async ({ url }) => {
    this.asked.push(url);
    if (this.down) throw new Error('connection refused');
    const document = this.documents.get(url);
    if (document === undefined) return new Response('', { status: 404 });
    const response = new Response(typeof document === 'string' ? document : JSON.stringify(document));
    if (this.maxAge !== undefined) response.headers.set('cache-control', `public, max-age=${this.maxAge}`);
    return response;
  };
}

const claimsOf = (more: object = {}) => ({ iss: issuer, aud: 'cluster', sub: 'ann', exp: seconds + 60, ...more });

const sign = ({ kid, alg, privateKey }: Signer, more: object = {}) =>
  new SignJWT(claimsOf(more)).setProtectedHeader({ alg, kid }).sign(privateKey);

const plain = (more: object = {}, mappings: object = { username: { claim: 'sub', prefix: '' } }) => ({
  issuer: { url: issuer, audiences: ['cluster'] },
  claimMappings: mappings,
  ...more,
});

let keys: Signer;
let provider: MemoryProvider;
beforeAll(async () => {
  keys = await signer('one');
});
beforeEach(() => {
  provider = new MemoryProvider();
  provider.publish(issuer, keys);
  vi.spyOn(console, 'warn').mockReturnValue(undefined);
});

const tenant = { uid: 'tenant-1', name: 'default', replicas: [1] };
const configured = (...jwt: object[]) => parseConfig(JSON.stringify({ tenant, authentication: { jwt } }));
const request = (token: string) => new Request('https://server/api', { headers: { authorization: `Bearer ${token}` } });

function asker(config: Config) {
  return async (token: string, at = now) =>
    (await authenticate(request(token), makeDeps(config, memoryKeyspace(), at, { outbound: provider.outbound }))).user;
}

/** Why a token is refused, as token reviews tell. */
async function reason(config: Config, token: string): Promise<string> {
  const ctx = { ...(await makeContext(memoryKeyspace(), userOf('admin'))), outbound: provider.outbound };
  const body = { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', metadata: {}, spec: { token } };
  return (await tokenReview(config, ctx, body)).status as unknown as Promise<string>;
}

describe('OpenID tokens', () => {
  test.each(algorithms)('signed with %s name their user', async (alg) => {
    const own = await signer('own', alg);
    provider.publish(issuer, own);
    const user = await asker(configured(plain()))(await sign(own, { jti: 'x1' }));
    expect(user).toEqual({
      name: 'ann',
      groups: ['system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=x1'] },
    });
  });

  test.each([
    ['expired', { exp: seconds - 1 }, 'token is expired'],
    ['without an expiry', { exp: undefined }, 'token is expired'],
    ['not valid yet', { nbf: seconds + 61 }, 'before the nbf'],
    ['for another audience', { aud: 'other' }, 'expected audience in ["cluster"] got ["other"]'],
    ['without its user', { sub: undefined }, 'parse username claims "sub": claim not present'],
    ['whose user is no text', { sub: 7 }, 'parse username claims "sub"'],
  ])('%s are refused', async (_name, more, why) => {
    const config = configured(plain());
    const token = await sign(keys, more);
    expect(await statusOf(asker(config)(token))).toMatchObject({ code: 401 });
    expect(JSON.stringify(await reason(config, token)).replaceAll('\\"', '"')).toContain(why);
  });

  test('signed by nobody, by a stranger, or with a public key as a secret are refused', async () => {
    const ask = asker(configured(plain()));
    const stranger = { ...(await signer('one')), kid: 'one' };
    const [head, body] = (await sign(keys)).split('.');
    const none = btoa(JSON.stringify({ alg: 'none' })).replaceAll('=', '');
    const secret = new TextEncoder().encode(JSON.stringify(keys.jwk));
    const symmetric = await new SignJWT(claimsOf()).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(secret);
    for (const token of [await sign(stranger), `${none}.${body}.`, `${head}.${body}.AAAA`, symmetric])
      expect(await statusOf(ask(token))).toMatchObject({ code: 401 });
  });

  test('of an issuer that is not configured ask no provider', async () => {
    const ask = asker(configured(plain()));
    expect(await statusOf(ask(await sign(keys, { iss: 'https://other.example' })))).toMatchObject({ code: 401 });
    expect(provider.asked).toEqual([]);
  });

  test('of several issuers go to their own', async () => {
    const second = 'https://second.example';
    const other = await signer('one');
    provider.publish(second, other);
    const more = {
      ...plain({}, { username: { claim: 'sub', prefix: 'second:' } }),
      issuer: { url: second, audiences: ['b'] },
    };
    const ask = asker(configured(plain(), more));
    expect((await ask(await sign(other, { iss: second, aud: ['a', 'b'] }))).name).toBe('second:ann');
    expect((await ask(await sign(keys))).name).toBe('ann');
    expect(await statusOf(ask(await sign(keys, { iss: second, aud: 'b' })))).toMatchObject({ code: 401 });
  });

  test('are verified by a discovery document of another place', async () => {
    const elsewhere = 'https://inside.example/discovery';
    provider.documents.set(elsewhere, { issuer, jwks_uri: `${issuer}/keys` });
    provider.documents.delete(`${issuer}/.well-known/openid-configuration`);
    const ask = asker(
      configured({ ...plain(), issuer: { url: issuer, discoveryURL: elsewhere, audiences: ['cluster'] } }),
    );
    expect((await ask(await sign(keys))).name).toBe('ann');
  });

  test('are refused when the provider says that it is another', async () => {
    provider.documents.set(`${issuer}/.well-known/openid-configuration`, {
      issuer: 'https://evil.example',
      jwks_uri: `${issuer}/keys`,
    });
    expect(await statusOf(asker(configured(plain()))(await sign(keys)))).toMatchObject({ code: 401 });
  });
});

describe('the keys of a provider', () => {
  const later = (milliseconds: number) => new Date(now.getTime() + milliseconds);

  test('are read once, and again when one is not known', async () => {
    const ask = asker(configured(plain()));
    await ask(await sign(keys));
    await ask(await sign(keys));
    expect(provider.asked).toHaveLength(2);
    const next = await signer('two');
    provider.publish(issuer, keys, next);
    expect((await ask(await sign(next), later(2000))).name).toBe('ann');
    expect((await ask(await sign(keys), later(2000))).name).toBe('ann');
    expect(provider.asked).toHaveLength(3);
  });

  test('are not read again for each token that names one which nobody has', async () => {
    const ask = asker(configured(plain()));
    await ask(await sign(keys));
    const unknown = await sign(await signer('nobody'));
    for (let i = 0; i < 5; i++) expect(await statusOf(ask(unknown, later(10 * i)))).toMatchObject({ code: 401 });
    expect(provider.asked).toHaveLength(2);
  });

  test('that were taken back are refused once the answer is too old', async () => {
    provider.maxAge = 30;
    const ask = asker(configured(plain()));
    const token = await sign(keys, { exp: seconds + 3600 });
    await ask(token);
    provider.publish(issuer, await signer('two'));
    await ask(token, later(29_000));
    expect(await statusOf(ask(token, later(31_000)))).toMatchObject({ code: 401 });
  });

  test('are good while the provider is away, and asked for again only after a while', async () => {
    provider.maxAge = 1;
    const ask = asker(configured(plain()));
    const token = await sign(keys, { exp: seconds + 3600 });
    await ask(token);
    provider.down = true;
    for (let i = 0; i < 5; i++) expect((await ask(token, later(2000 + i))).name).toBe('ann');
    expect(provider.asked).toHaveLength(3);
  });
});

describe('claims become a user', () => {
  const user = async (jwt: object, claims: object) => asker(configured(jwt))(await sign(keys, claims));

  test('with prefixes, groups and uid', async () => {
    const mappings = {
      username: { claim: 'email', prefix: 'oidc:' },
      groups: { claim: 'roles', prefix: 'r:' },
      uid: { claim: 'sub' },
    };
    expect(await user(plain({}, mappings), { email: 'a@b.c', email_verified: true, roles: ['x', 'y'] })).toEqual({
      name: 'oidc:a@b.c',
      uid: 'ann',
      groups: ['r:x', 'r:y', 'system:authenticated'],
      extra: {},
    });
    expect((await user(plain({}, mappings), { email: 'a@b.c', roles: 'x' })).groups).toEqual([
      'r:x',
      'system:authenticated',
    ]);
    expect(await statusOf(user(plain({}, mappings), { email: 'a@b.c', email_verified: false }))).toMatchObject({
      code: 401,
    });
  });

  test('by expressions', async () => {
    const mappings = {
      username: { expression: 'claims.realm.name + ":" + claims.sub' },
      groups: { expression: 'claims.roles.split(",")' },
      uid: { expression: '"u-" + string(claims.n)' },
      extra: [
        { key: 'example.org/team', valueExpression: 'claims.?team.orValue("")' },
        { key: 'example.org/dotted', valueExpression: 'claims.a__dot__b' },
      ],
    };
    expect(await user(plain({}, mappings), { realm: { name: 'r' }, roles: 'x,,y', n: 1.5, 'a.b': ['', 'v'] })).toEqual({
      name: 'r:ann',
      uid: 'u-1.5',
      groups: ['x', 'y', 'system:authenticated'],
      extra: { 'example.org/dotted': ['v'] },
    });
    expect(await statusOf(user(plain({}, mappings), { realm: { name: 'r' }, n: 1 }))).toMatchObject({ code: 401 });
  });

  test('only where every rule holds', async () => {
    const rules = {
      claimValidationRules: [
        { claim: 'hd', requiredValue: 'example.org' },
        { expression: 'claims.exp - claims.iat <= 120.0', message: 'too long' },
      ],
      userValidationRules: [{ expression: "!user.username.startsWith('system:')", message: 'reserved' }],
    };
    const good = { hd: 'example.org', iat: seconds };
    expect((await user(plain(rules), good)).name).toBe('ann');
    for (const bad of [{ hd: 'other' }, { hd: undefined }, { iat: seconds - 100 }, { sub: 'system:admin' }])
      expect(await statusOf(user(plain(rules), { ...good, ...bad }))).toMatchObject({ code: 401 });
  });

  test('with groups that another endpoint knows', async () => {
    const mappings = { username: { claim: 'sub', prefix: '' }, groups: { claim: 'groups', prefix: '' } };
    const other = 'https://groups.example';
    const theirs = await signer('g');
    provider.publish(other, theirs);
    provider.documents.set(`${other}/of`, await sign(theirs, { iss: other, groups: ['far'] }));
    const far = {
      _claim_names: { groups: 's' },
      _claim_sources: { s: { endpoint: `${other}/of`, access_token: 't' } },
    };
    expect((await user(plain({}, mappings), far)).groups).toEqual(['far', 'system:authenticated']);
    provider.documents.set(`${other}/of`, await sign(keys, { iss: other, groups: ['forged'] }));
    expect(await statusOf(user(plain({}, mappings), far))).toMatchObject({ code: 401 });
  });
});

describe('a configuration is refused with the path and the reason', () => {
  const at = (path: string) => `authentication.jwt[0].${path}`;
  const username = { claim: 'sub', prefix: '' };
  test.each<[object, string]>([
    [
      { ...plain(), issuer: { url: 'http://x', audiences: ['a'] } },
      at('issuer.url: Invalid value: "http://x": URL scheme must be https'),
    ],
    [{ ...plain(), issuer: { url: 'https://x?q=1', audiences: ['a'] } }, 'must not contain a query'],
    [{ ...plain(), issuer: { url: 'https://u:p@x', audiences: ['a'] } }, 'must not contain a username or password'],
    [
      { ...plain(), issuer: { url: 'https://kubernetes.default.svc', audiences: ['a'] } },
      'must not overlap with disallowed issuers',
    ],
    [{ ...plain(), issuer: { url: issuer, audiences: [] } }, at('issuer.audiences: Required value')],
    [{ ...plain(), issuer: { url: issuer, audiences: ['a', 'b'] } }, 'audienceMatchPolicy must be MatchAny'],
    [
      { ...plain(), issuer: { url: issuer, audiences: ['a'], certificateAuthority: 'x' } },
      at('issuer.certificateAuthority: Invalid value: "<omitted>"'),
    ],
    [plain({}, { username: {} }), at('claimMappings.username: Required value: claim or expression is required')],
    [plain({}, { username: { claim: 'sub' } }), at('claimMappings.username.prefix: Required value')],
    [
      plain({}, { username: { expression: 'claims.' } }),
      at('claimMappings.username.expression: Invalid value: "claims.": compilation failed: ERROR'),
    ],
    [plain({}, { username: { expression: 'claims.email' } }), 'claims.email_verified must be used'],
    [plain({}, { username, extra: [{ key: 'example.org/A', valueExpression: '"x"' }] }), 'must be lowercase'],
    [plain({}, { username, extra: [{ key: 'k8s.io/a', valueExpression: '"x"' }] }), 'are reserved for Kubernetes use'],
    [plain({}, { username, extra: [{ key: 'a', valueExpression: '"x"' }] }), 'must be a domain-prefixed path'],
    [plain({ claimValidationRules: [{ expression: 'claims.sub' }] }), 'must evaluate to bool'],
    [plain({ claimValidationRules: [{ claim: 'a', message: 'm' }] }), 'may not be specified when claim is set'],
    [plain({ userValidationRules: [{ expression: 'user.nobody == ""' }] }), "undefined field 'nobody'"],
    [plain({ more: 1 }), 'more'],
  ])('%#', (jwt, message) => {
    expect(() => configured(jwt)).toThrow(message);
  });

  test('two of one issuer', () => {
    expect(() => configured(plain(), plain())).toThrow(`jwt[1].issuer.url: Duplicate value: "${issuer}"`);
  });

  test('the address is trusted by any expression that looks whether it is verified', () => {
    const verified = { username: { expression: 'claims.email_verified == true ? claims.email : "nobody"' } };
    expect(() => configured(plain({}, verified))).not.toThrow();
    const rule = { claimValidationRules: [{ expression: 'claims.?email_verified.orValue(true) == true' }] };
    expect(() => configured(plain(rule, { username: { expression: 'claims.email' } }))).not.toThrow();
  });
});

import { describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { attributesOf } from '../../src/authz/attributes.ts';
import { authorizerChain } from '../../src/authz/chain.ts';
import { AuthorizerError, authorize, requireAllowed } from '../../src/authz/index.ts';
import { rulesOf } from '../../src/authz/rules.ts';
import { parseConfig } from '../../src/config.ts';
import { OutboundError, type OutboundRequest } from '../../src/outbound/index.ts';
import { RequestPolicy } from '../../src/policy/guard.ts';
import type { TenantUid } from '../../src/request/context.ts';
import { infoOf } from '../authn/support.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';
import { attributes, statusOf, userOf } from './support.ts';

const tenant = { uid: 'tenant-1', name: 'default', replicas: [1] };
const rules = (more: object = {}) => ({
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  failurePolicy: 'NoOpinion',
  connection: { server: 'https://authz.example/check', authorization: 'Bearer peer' },
  ...more,
});
const webhook = (name: string, more: object = {}) => ({ type: 'Webhook', name, webhook: rules(more) });

type Answer = JsonObject | Response | Error;

/** A cluster whose webhooks answer by `answer`. */
async function cluster(authorizers: object[], answer: (spec: JsonObject, request: OutboundRequest) => Answer) {
  const config = parseConfig(JSON.stringify({ tenant, authorization: { authorizers } }));
  const asked: { spec: JsonObject; request: OutboundRequest }[] = [];
  const pauses: number[] = [];
  const clock = { at: 0 };
  const outbound = async (request: OutboundRequest) => {
    const review = JSON.parse(request.body as string) as JsonObject;
    asked.push({ spec: review.spec as JsonObject, request });
    const given = answer(review.spec as JsonObject, request);
    if (given instanceof Error) throw given;
    return given instanceof Response
      ? given
      : Response.json({ apiVersion: review.apiVersion, kind: review.kind, status: given });
  };
  const sleep = async (milliseconds: number) => {
    pauses.push(milliseconds);
  };
  const chain = authorizerChain(config.authorization, { outbound, sleep }, () => new Date(clock.at));
  const policy = await RequestPolicy.open(crypto.randomUUID() as TenantUid, memoryKeyspace(), chain);
  const ask = (of: Parameters<typeof attributes>[0] = {}) => authorize(attributes(of), policy.data());
  return { ask, asked, pauses, clock, policy };
}

describe('a webhook authorizer', () => {
  test('is sent the review and decides', async () => {
    const { ask, asked } = await cluster([webhook('one')], ({ user }) =>
      user === 'ann' ? { allowed: true, reason: 'hers' } : user === 'eve' ? { allowed: false, denied: true } : {},
    );
    expect(await ask({ namespace: 'web', name: 'a' })).toEqual({ decision: 'allow', reason: 'hers' });
    expect(await ask({ user: userOf('eve') })).toEqual({ decision: 'deny', reason: '' });
    expect(await ask({ user: userOf('bob') })).toEqual({ decision: 'noOpinion', reason: '' });
    expect(asked[0]!.spec).toEqual({
      resourceAttributes: { namespace: 'web', verb: 'get', version: 'v1', resource: 'pods', name: 'a' },
      user: 'ann',
      groups: ['system:authenticated'],
    });
    expect(asked[0]!.request).toMatchObject({
      url: 'https://authz.example/check',
      method: 'POST',
      headers: { authorization: 'Bearer peer' },
      timeoutMilliseconds: 3000,
    });
    await ask({ isResourceRequest: false, path: '/x', version: '', resource: '' });
    expect(asked.at(-1)!.spec.nonResourceAttributes).toEqual({ path: '/x', verb: 'get' });
  });

  test('is told the selectors, and v1beta1 its own name of the groups', async () => {
    const { asked, policy } = await cluster([webhook('one', { subjectAccessReviewVersion: 'v1beta1' })], () => ({
      allowed: true,
    }));
    const query = new URLSearchParams({ labelSelector: 'app in (a,b),!old', fieldSelector: 'spec.nodeName=n1' });
    await requireAllowed(attributesOf(userOf('ann'), infoOf({ verb: 'list' }), query), policy);
    expect(asked[0]!.spec).toMatchObject({
      group: ['system:authenticated'],
      resourceAttributes: {
        fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] },
        labelSelector: {
          requirements: [
            { key: 'app', operator: 'In', values: ['a', 'b'] },
            { key: 'old', operator: 'DoesNotExist' },
          ],
        },
      },
    });
    expect(asked[0]!.spec.groups).toBeUndefined();
  });

  test('is not asked about superusers', async () => {
    const { ask, asked } = await cluster([webhook('one')], () => ({ denied: true }));
    expect((await ask({ user: userOf('root', ['system:masters']) })).decision).toBe('allow');
    expect(asked).toHaveLength(0);
  });

  test('is asked again when its answer is too old: a yes lives longer than a no', async () => {
    const ttls = { authorizedTTL: '10s', unauthorizedTTL: '1s' };
    const { ask, asked, clock } = await cluster([webhook('one', ttls)], ({ user }) => ({ allowed: user === 'ann' }));
    const both = async (at: number) => {
      clock.at = at;
      await ask();
      await ask({ user: userOf('bob') });
      return asked.length;
    };
    expect(await both(0)).toBe(2);
    expect(await both(999)).toBe(2);
    expect(await both(1500)).toBe(3);
    expect(await both(11_000)).toBe(5);
  });

  test('is asked each time where answers are not to be remembered, or the request is long', async () => {
    const off = { cacheAuthorizedRequests: false };
    const { ask, asked } = await cluster([webhook('one', off)], () => ({ allowed: true }));
    await ask();
    await ask();
    expect(asked).toHaveLength(2);
    const long = await cluster([webhook('one')], () => ({ allowed: true }));
    await long.ask({ name: 'x'.repeat(10_000) });
    await long.ask({ name: 'x'.repeat(10_000) });
    expect(long.asked).toHaveLength(2);
  });

  test.each<[string, () => Answer]>([
    ['500', () => new Response('', { status: 500 })],
    ['429', () => new Response('', { status: 429 })],
    ['503 with Retry-After', () => new Response('', { status: 503, headers: { 'retry-after': '1' } })],
  ])('is tried five times when it answers %s', async (_name, answer) => {
    vi.spyOn(console, 'warn').mockReturnValue(undefined);
    const { ask, asked, pauses } = await cluster([webhook('one')], answer);
    expect(await ask()).toMatchObject({ decision: 'noOpinion', error: expect.stringMatching(/answers \d+/) });
    expect(asked).toHaveLength(5);
    expect(pauses).toEqual([500, 750, 1125, 1687.5]);
  });

  test.each<[string, () => Answer]>([
    ['is away', () => new OutboundError({ method: 'POST', url: 'https://authz.example' }, 'connection refused')],
    ['answers 403', () => new Response('', { status: 403 })],
    ['answers no JSON', () => new Response('<html>')],
    ['answers another kind', () => Response.json({ apiVersion: 'v1', kind: 'Pod', status: { allowed: true } })],
    [
      'answers another version',
      () =>
        Response.json({
          apiVersion: 'authorization.k8s.io/v1beta1',
          kind: 'SubjectAccessReview',
          status: { allowed: true },
        }),
    ],
  ])('decides by its failure policy when it %s, and the request fails', async (_name, answer) => {
    vi.spyOn(console, 'warn').mockReturnValue(undefined);
    for (const [failurePolicy, decision] of [
      ['Deny', 'deny'],
      ['NoOpinion', 'noOpinion'],
    ]) {
      const { ask, asked, policy } = await cluster([webhook('one', { failurePolicy })], answer);
      expect(await ask()).toMatchObject({ decision, error: expect.any(String) });
      expect(asked).toHaveLength(1);
      await expect(requireAllowed(attributes({}), policy)).rejects.toThrow(AuthorizerError);
    }
  });

  test('that says yes and no says no', async () => {
    const { ask } = await cluster([webhook('one')], () => ({ allowed: true, denied: true }));
    expect(await ask()).toMatchObject({ decision: 'deny', error: expect.stringContaining('both allow and deny') });
  });

  test('is only asked where its conditions hold', async () => {
    const conditions = (...expressions: string[]) => ({
      matchConditionSubjectAccessReviewVersion: 'v1',
      matchConditions: expressions.map((expression) => ({ expression })),
    });
    const only = (...expressions: string[]) =>
      cluster([webhook('one', conditions(...expressions))], () => ({ allowed: true }));
    const web = await only('has(request.resourceAttributes)', "request.resourceAttributes.namespace == 'web'");
    expect((await web.ask({ namespace: 'web' })).decision).toBe('allow');
    expect((await web.ask({ namespace: '' })).decision).toBe('noOpinion');
    expect((await web.ask({ isResourceRequest: false, path: '/x' })).decision).toBe('noOpinion');
    expect(web.asked).toHaveLength(1);
    const mine = await only("'dev' in request.groups && request.uid == '' && !('k' in request.extra)");
    expect((await mine.ask({ user: userOf('x', ['dev']) })).decision).toBe('allow');
    const broken = await only("request.extra['k'][0] == 'v'");
    expect(await broken.ask()).toMatchObject({ decision: 'noOpinion', error: expect.stringContaining('no such key') });
    expect(broken.asked).toHaveLength(0);
    const decided = await only("request.extra['k'][0] == 'v'", 'false');
    expect(await decided.ask()).toEqual({ decision: 'noOpinion', reason: '' });
  });
});

describe('several authorizers', () => {
  test('are asked in order until one allows or denies', async () => {
    const { ask, asked } = await cluster([webhook('one'), webhook('two')], (_spec, { headers }) =>
      asked.length % 2 === 1 ? { reason: 'not mine' } : { allowed: headers !== undefined },
    );
    expect((await ask()).decision).toBe('allow');
    expect(asked).toHaveLength(2);
  });

  test('may be simple ones', async () => {
    const none = () => ({});
    expect((await (await cluster([{ type: 'AlwaysAllow', name: 'a' }], none)).ask()).decision).toBe('allow');
    const deny = await cluster([{ type: 'AlwaysDeny', name: 'a' }], none);
    expect(await statusOf(requireAllowed(attributes({}), deny.policy))).toMatchObject({
      code: 403,
      message: expect.stringContaining('Everything is forbidden.'),
    });
  });

  test('cannot all tell their rules', async () => {
    const { policy } = await cluster([{ type: 'RBAC', name: 'r' }, webhook('one')], () => ({}));
    expect(rulesOf(userOf('ann'), 'web', policy.data())).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: 'webhook authorizer does not support user rule resolution',
    });
  });
});

describe('a configuration is refused with the path and the reason', () => {
  const at = 'authorization.authorizers[0]';
  test.each<[object[], string]>([
    [[], 'authorization.authorizers: Required value'],
    [[{ type: 'X', name: 'a' }], `${at}.type: Unsupported value: "X"`],
    [[{ type: 'RBAC', name: '' }], `${at}.name: Required value`],
    [[{ type: 'RBAC', name: 'A_b' }], `${at}.name: Invalid value: "A_b": authorizer name is invalid`],
    [
      [
        { type: 'RBAC', name: 'a' },
        { type: 'RBAC', name: 'b' },
      ],
      'authorizers[1].type: Duplicate value: "RBAC"',
    ],
    [[webhook('a'), webhook('a')], 'authorizers[1].name: Duplicate value: "a"'],
    [[{ type: 'Webhook', name: 'a' }], `${at}.webhook: Required value: required when type=Webhook`],
    [[{ ...webhook('a'), type: 'RBAC' }], `${at}.webhook: Invalid value: "non-null"`],
    [[webhook('a', { timeout: '0s' })], `${at}.timeout: Required value`],
    [[webhook('a', { timeout: '31s' })], 'must be > 0s and <= 30s'],
    [[webhook('a', { timeout: 'soon' })], 'must be a duration'],
    [[webhook('a', { failurePolicy: 'Allow' })], `${at}.failurePolicy: Unsupported value: "Allow"`],
    [[webhook('a', { subjectAccessReviewVersion: 'v2' })], 'supported values: "v1", "v1beta1"'],
    [[webhook('a', { matchConditions: [{ expression: 'true' }] })], 'required if match conditions are specified'],
    [
      [
        webhook('a', {
          matchConditionSubjectAccessReviewVersion: 'v1',
          matchConditions: [{ expression: 'request.user' }],
        }),
      ],
      'must evaluate to bool but got string',
    ],
    [
      [
        webhook('a', {
          matchConditionSubjectAccessReviewVersion: 'v1',
          matchConditions: [{ expression: 'request.nobody' }],
        }),
      ],
      "undefined field 'nobody'",
    ],
  ])('%#', (authorizers, message) => {
    expect(() => parseConfig(JSON.stringify({ tenant, authorization: { authorizers } }))).toThrow(message);
  });

  test('a wrong ABAC policy', () => {
    expect(() => parseConfig(JSON.stringify({ tenant, authorization: { abacPolicy: '{}\nx' } }))).toThrow('line 2');
  });
});

import { describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../src/api/object.ts';
import { authenticate } from '../../src/authn/index.ts';
import { tokenReview } from '../../src/authn/reviews.ts';
import type { OutboundRequest } from '../../src/outbound/index.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';
import { makeConfig, makeContext, makeDeps, now, statusOf, userOf } from './support.ts';

const connection = { server: 'https://tokens.example/', authority: 'PEM', identity: { certificate: 'C', key: 'K' } };
const own = 'https://kubernetes.default.svc';

async function cluster(answer: (spec: JsonObject) => JsonObject | Response | Error, more: object = {}) {
  const tokenWebhook = { version: 'v1', cacheMilliseconds: 1000, connection, ...more };
  const config = await makeConfig({ staticTokens: 'local,tom,1', authentication: { tokenWebhook } });
  const asked: OutboundRequest[] = [];
  const outbound = async (request: OutboundRequest) => {
    asked.push(request);
    const review = JSON.parse(request.body as string) as JsonObject;
    const given = answer(review.spec as JsonObject);
    if (given instanceof Error) throw given;
    return given instanceof Response
      ? given
      : Response.json({ apiVersion: review.apiVersion, kind: 'TokenReview', status: given });
  };
  const ask = (token: string, milliseconds = 0) =>
    authenticate(
      new Request('https://server/', { headers: { authorization: `Bearer ${token}` } }),
      makeDeps(config, memoryKeyspace(), new Date(now.getTime() + milliseconds), { outbound }),
    );
  const review = async (token: string, audiences: string[] = []) => {
    const ctx = { ...(await makeContext(memoryKeyspace(), userOf('admin'))), outbound };
    const body = {
      kind: 'TokenReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec: { token, audiences },
    };
    return (await tokenReview(config, ctx, body)).status;
  };
  return { ask, asked, review };
}

const known = (spec: JsonObject): JsonObject =>
  spec.token === 'good'
    ? { authenticated: true, user: { username: 'ann', uid: '7', groups: ['dev'], extra: { k: ['v'] } } }
    : { authenticated: false };

describe('a token webhook', () => {
  test('says who a token is, for this server', async () => {
    const { ask, asked } = await cluster(known);
    expect((await ask('good')).user).toEqual({
      name: 'ann',
      uid: '7',
      groups: ['dev', 'system:authenticated'],
      extra: { k: ['v'] },
    });
    expect(JSON.parse(asked[0]!.body as string)).toMatchObject({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 'good', audiences: [own] },
    });
    expect(asked[0]).toMatchObject({ url: connection.server, authority: 'PEM', identity: connection.identity });
    expect(await statusOf(ask('bad'))).toMatchObject({ code: 401 });
  });

  test('is the last that is asked', async () => {
    const { ask, asked } = await cluster(known);
    expect((await ask('local')).user.name).toBe('tom');
    expect(asked).toEqual([]);
  });

  test('is asked once for a while, whatever it says', async () => {
    const { ask, asked } = await cluster(known);
    for (const at of [0, 500, 999]) {
      await ask('good', at);
      await statusOf(ask('bad', at));
    }
    expect(asked).toHaveLength(2);
    await ask('good', 1001);
    expect(asked).toHaveLength(3);
  });

  test('is asked each time where its answers are not to be remembered', async () => {
    const { ask, asked } = await cluster(known, { cacheMilliseconds: 0 });
    await ask('good');
    await ask('good');
    expect(asked).toHaveLength(2);
  });

  test('that fails is no answer, and is not remembered', async () => {
    vi.spyOn(console, 'warn').mockReturnValue(undefined);
    let down = true;
    const { ask, review } = await cluster((spec) => (down ? new Error('connection refused') : known(spec)));
    expect(await statusOf(ask('good'))).toMatchObject({ code: 401 });
    expect(await review('good')).toEqual({ user: {}, error: '[invalid bearer token, connection refused]' });
    down = false;
    expect((await ask('good')).user.name).toBe('ann');
  });

  test('is tried again when it is only busy', async () => {
    let times = 0;
    const { ask, asked } = await cluster((spec) => (times++ < 2 ? new Response('', { status: 429 }) : known(spec)));
    expect((await ask('good')).user.name).toBe('ann');
    expect(asked).toHaveLength(3);
  });

  test('answers for the audiences that it was asked for', async () => {
    const answer = (audiences: string[]): JsonObject => ({ authenticated: true, user: { username: 'ann' }, audiences });
    const elsewhere = await cluster(() => answer(['other']));
    expect(await statusOf(elsewhere.ask('good'))).toMatchObject({ code: 401 });
    expect(await elsewhere.review('good', ['other', 'third'])).toMatchObject({
      authenticated: true,
      audiences: ['other'],
    });
    const silent = await cluster(known);
    expect(await silent.review('good', ['other'])).toMatchObject({ error: 'invalid bearer token' });
  });

  test('never has its tokens in what is logged', async () => {
    const log = vi.spyOn(console, 'warn').mockReturnValue(undefined);
    const { ask } = await cluster(() => new Response('no such token: very-secret', { status: 403 }));
    await statusOf(ask('very-secret'));
    expect(log.mock.calls.flat().join(' ')).not.toContain('very-secret');
    expect(log).toHaveBeenCalled();
  });
});

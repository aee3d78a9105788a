import { text, texts } from '../api/fields.ts';
import { isObject, type JsonObject } from '../api/object.ts';
import type { Config } from '../config.ts';
import { ReviewError, sendReview } from '../outbound/review-client.ts';
import type { UserInfo } from '../request/context.ts';
import { apiAudiences } from './audiences.ts';
import { ExpiringCache, hex } from './cache.ts';
import type { TokenDeps } from './index.ts';
import { TokenFault, type TokenIdentity } from './token.ts';

const TIMEOUT_MILLISECONDS = 30_000;
const CACHED_ANSWERS = 4096;

function userOf(user: JsonObject): UserInfo {
  const uid = text(user.uid);
  const extra = Object.entries(isObject(user.extra) ? user.extra : {}).map(
    ([key, value]) => [key, texts(value)] as const,
  );
  return {
    name: text(user.username),
    ...(uid === '' ? {} : { uid }),
    groups: texts(user.groups),
    extra: Object.fromEntries(extra),
  };
}

/** Answers by token: for how long is the configuration's. The isolate's, by configuration. */
const answers = new WeakMap<Config, ExpiringCache<JsonObject>>();

function answersOf(config: Config): ExpiringCache<JsonObject> {
  const known = answers.get(config);
  if (known !== undefined) return known;
  const made = new ExpiringCache<JsonObject>(
    CACHED_ANSWERS,
    config.authentication.tokenWebhook?.cacheMilliseconds ?? 0,
  );
  answers.set(config, made);
  return made;
}

/** A name for a token and what it is asked for: a digest, so that no token is kept. */
async function keyOf(token: string, audiences: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([token, audiences]));
  return hex(await crypto.subtle.digest('SHA-256', bytes));
}

async function ask(token: string, audiences: readonly string[], deps: TokenDeps): Promise<JsonObject> {
  const webhook = deps.config.authentication.tokenWebhook!;
  const review = {
    apiVersion: `authentication.k8s.io/${webhook.version}`,
    kind: 'TokenReview',
    spec: { token, audiences: [...audiences] },
  };
  try {
    return await sendReview(review, webhook.connection, TIMEOUT_MILLISECONDS, deps);
  } catch (error) {
    if (!(error instanceof ReviewError)) throw error;
    console.warn(`webhook authenticator: ${error.message}`);
    throw new TokenFault(error.message);
  }
}

/**
 * Tokens that a webhook knows: it is sent a TokenReview, and its answer, yes or no, is remembered for as long as the
 * configuration says. One that fails is asked again by the next request.
 */
export async function webhookToken(
  token: string,
  audiences: readonly string[],
  deps: TokenDeps,
): Promise<TokenIdentity | undefined> {
  const { tokenWebhook } = deps.config.authentication;
  if (tokenWebhook === undefined) return undefined;
  const known = answersOf(deps.config);
  const key = await keyOf(token, audiences);
  const now = deps.now().getTime();
  let status = known.get(key, now);
  if (status === undefined) {
    status = await ask(token, audiences, deps);
    if (tokenWebhook.cacheMilliseconds > 0) known.set(key, status, now);
  }
  const given = texts(status.audiences);
  const good = (given.length === 0 ? apiAudiences(deps) : given).filter((audience) => audiences.includes(audience));
  if (good.length === 0) return undefined;
  if (status.authenticated === true) return { user: userOf(isObject(status.user) ? status.user : {}), audiences: good };
  const why = text(status.error);
  if (why !== '') throw new TokenFault(why);
  return undefined;
}

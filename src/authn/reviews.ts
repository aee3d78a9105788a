import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import type { Config } from '../config.ts';
import { unreachable } from '../outbound/index.ts';
import type { RequestContext, UserInfo } from '../request/context.ts';
import { badRequest } from '../status/status.ts';
import { apiAudiences } from './audiences.ts';
import { authenticateToken } from './bearer.ts';
import { TokenFault } from './token.ts';

const API_VERSION = 'authentication.k8s.io/v1';

/** authentication.k8s.io/v1 UserInfo. */
function userInfo({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** SelfSubjectReview: who the server thinks the asker is; all of the body is ignored. */
export async function selfSubjectReview(ctx: RequestContext): Promise<KubeObject> {
  return {
    kind: 'SelfSubjectReview',
    apiVersion: API_VERSION,
    metadata: { creationTimestamp: `${ctx.now().toISOString().slice(0, 19)}Z` },
    status: { userInfo: userInfo(ctx.user) },
  };
}

function invalidToken(fault: unknown): JsonObject {
  if (fault === undefined) return { user: {}, error: 'invalid bearer token' };
  if (fault instanceof TokenFault) return { user: {}, error: `[invalid bearer token, ${fault.message}]` };
  throw fault;
}

async function reviewToken(
  config: Config,
  ctx: RequestContext,
  token: string,
  audiences: string[],
): Promise<JsonObject> {
  try {
    const { tenant, keyspace, now, outbound = unreachable, sleep = async () => undefined } = ctx;
    const deps = { config, tenant, keyspace, now, outbound, sleep };
    const identity = await authenticateToken(token, audiences, deps);
    if (identity === undefined) return invalidToken(undefined);
    const own = identity.audiences ?? apiAudiences(deps).filter((a) => audiences.includes(a));
    if (own.length === 0) throw new TokenFault('the token is not meant for any of the audiences');
    return { authenticated: true, user: userInfo(identity.user), audiences: own };
  } catch (error) {
    return invalidToken(error);
  }
}

/** TokenReview: who a token is and for which of the audiences it is good; a bad one is told in `status.error`. */
export async function tokenReview(config: Config, ctx: RequestContext, body: KubeObject): Promise<KubeObject> {
  const spec = isObject(body.spec) ? body.spec : {};
  const token = typeof spec.token === 'string' ? spec.token : '';
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const isText = (v: JsonValue): v is string => typeof v === 'string';
  const asked = Array.isArray(spec.audiences) ? spec.audiences.filter(isText) : [];
  const audiences = asked.length === 0 ? apiAudiences({ config }) : asked;
  const { namespace: _namespace, ...metadata } = body.metadata;
  return { ...body, metadata, status: await reviewToken(config, ctx, token, audiences) };
}

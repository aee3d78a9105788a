import type { Config } from '../config.ts';
import type { Keyspace } from '../keyspace/types.ts';
import type { Outbound } from '../outbound/index.ts';
import type { TenantUid, UserInfo } from '../request/context.ts';
import { StatusError, unauthorized } from '../status/status.ts';
import { anonymous } from './anonymous.ts';
import { bearerToken } from './bearer.ts';
import { requestHeader } from './request-header.ts';
import { clientCertificate } from './x509.ts';

/** What authenticators of tokens may look at besides the token. */
export interface TokenDeps {
  config: Config;
  tenant: TenantUid;
  /** The bare keyspace: bound objects of tokens are read from it. */
  keyspace: Keyspace;
  now: () => Date;
  /** Reaches providers of tokens and webhooks. */
  outbound: Outbound;
  /** Waits so many milliseconds. */
  sleep: (milliseconds: number) => Promise<void>;
}

/** What authenticators may look at besides the request. */
export interface AuthenticationDeps extends TokenDeps {
  /** Path of the request, which may be open to anonymous users. */
  path: string;
  /** Identity of a call that the process makes to itself (control loops); nothing from outside can set it. */
  loopback?: UserInfo;
}

export interface Authenticated {
  user: UserInfo;
  /** Texts for `Warning: 299` headers. */
  warnings?: string[];
}

/** What an authenticator found: who it is, or only what is to be warned of. */
export type Finding = Authenticated | { user?: undefined; warnings: string[] };

/** Answers undefined where the request carries no credential of its kind; throws Unauthorized for a bad one. */
export type Authenticator = (
  request: Request,
  deps: AuthenticationDeps,
) => Promise<Finding | undefined> | Finding | undefined;

const loopback: Authenticator = (_request, deps) => (deps.loopback === undefined ? undefined : { user: deps.loopback });

/** In the order that they are asked: the first that knows the request decides. */
export const authenticators: readonly Authenticator[] = [loopback, requestHeader, clientCertificate, bearerToken];

/**
 * The authentication stage: who a request comes from. A bad credential is only forgiven when another one is good;
 * else it is 401, on public paths too. Without any credential it is the anonymous user, where there is one.
 */
export async function authenticate(request: Request, deps: AuthenticationDeps): Promise<Authenticated> {
  let refused = false;
  const warnings: string[] = [];
  const warned = () => (warnings.length === 0 ? {} : { warnings });
  for (const authenticator of authenticators) {
    try {
      const result = await authenticator(request, deps);
      warnings.push(...(result?.warnings ?? []));
      if (result?.user !== undefined) return { user: result.user, ...warned() };
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 401) throw error;
      refused = true;
    }
  }
  if (refused) throw unauthorized();
  return { ...anonymous(deps), ...warned() };
}

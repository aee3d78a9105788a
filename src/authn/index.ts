import type { Config } from '../config.ts';
import type { Keyspace } from '../keyspace/types.ts';
import type { TenantUid, UserInfo } from '../request/context.ts';
import { StatusError, unauthorized } from '../status/status.ts';
import { anonymous } from './anonymous.ts';
import { bearerToken } from './bearer.ts';
import { clientCertificate } from './x509.ts';

/** What authenticators may look at besides the request. */
export interface AuthenticationDeps {
  config: Config;
  tenant: TenantUid;
  /** The bare keyspace: bound objects of tokens are read from it. */
  keyspace: Keyspace;
  now: () => Date;
  /** Identity of a call that the process makes to itself (control loops); nothing from outside can set it. */
  loopback?: UserInfo;
}

export interface Authenticated {
  user: UserInfo;
  /** Texts for `Warning: 299` headers. */
  warnings?: string[];
}

/** Answers undefined where the request carries no credential of its kind; throws Unauthorized for a bad one. */
export type Authenticator = (
  request: Request,
  deps: AuthenticationDeps,
) => Promise<Authenticated | undefined> | Authenticated | undefined;

const loopback: Authenticator = (_request, deps) => (deps.loopback === undefined ? undefined : { user: deps.loopback });

/** In the order that they are asked: the first that knows the request decides. */
export const authenticators: readonly Authenticator[] = [loopback, clientCertificate, bearerToken];

/**
 * The authentication stage: who a request comes from. A bad credential is only forgiven when another one is good;
 * else it is 401, on public paths too. Without any credential it is the anonymous user.
 */
export async function authenticate(request: Request, deps: AuthenticationDeps): Promise<Authenticated> {
  let refused = false;
  for (const authenticator of authenticators) {
    try {
      const result = await authenticator(request, deps);
      if (result !== undefined) return result;
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 401) throw error;
      refused = true;
    }
  }
  if (refused) throw unauthorized();
  return anonymous();
}

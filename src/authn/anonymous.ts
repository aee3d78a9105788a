import type { UserInfo } from '../request/context.ts';
import { unauthorized } from '../status/status.ts';
import type { Authenticated, AuthenticationDeps } from './index.ts';

export const ANONYMOUS = 'system:anonymous';
export const AUTHENTICATED = 'system:authenticated';
export const UNAUTHENTICATED = 'system:unauthenticated';

/** The user with the group of all that are known, which anonymous ones do not get. */
export function withAuthenticated(user: UserInfo): UserInfo {
  if (user.name === ANONYMOUS || user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED))
    return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}

export const anonymousUser = (): UserInfo => ({ name: ANONYMOUS, groups: [UNAUTHENTICATED], extra: {} });

/**
 * The user of requests without credentials; what it may see is up to authorization. Throws Unauthorized where the
 * configuration has none, or none for the path.
 */
export function anonymous({ config, path }: Pick<AuthenticationDeps, 'config' | 'path'>): Authenticated {
  const { enabled, conditions } = config.authentication.anonymous;
  const allowed = enabled && (conditions.length === 0 || conditions.some((condition) => condition.path === path));
  if (!allowed) throw unauthorized();
  return { user: anonymousUser() };
}

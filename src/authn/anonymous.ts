import type { Authenticated } from './index.ts';

export const ANONYMOUS = 'system:anonymous';
export const AUTHENTICATED = 'system:authenticated';
export const UNAUTHENTICATED = 'system:unauthenticated';

/** The user of requests without credentials; what it may see is up to authorization. */
export function anonymous(): Authenticated {
  return { user: { name: ANONYMOUS, groups: [UNAUTHENTICATED], extra: {} } };
}

import type { TokenDeps } from './index.ts';

/** The audiences that this server itself is. */
export const apiAudiences = (deps: Pick<TokenDeps, 'config'>): string[] => [deps.config.serviceAccountIssuer];

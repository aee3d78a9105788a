import { unauthorized } from '../status/status.ts';
import { withAuthenticated } from './anonymous.ts';
import { apiAudiences } from './audiences.ts';
import { bootstrapToken } from './bootstrap-token.ts';
import type { Authenticator, TokenDeps } from './index.ts';
import { jwtToken } from './jwt/index.ts';
import { serviceAccountToken } from './service-account-token.ts';
import { staticToken } from './static-token.ts';
import { type TokenAuthenticator, TokenFault, type TokenIdentity } from './token.ts';
import { webhookToken } from './token-webhook.ts';

const EXTRA_SPACE = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

/** In the order that they are asked. */
export const tokenAuthenticators: readonly TokenAuthenticator[] = [
  staticToken,
  serviceAccountToken,
  bootstrapToken,
  jwtToken,
  webhookToken,
];

/**
 * Who a token is, for one of `audiences`. Undefined when no authenticator knows it; throws an Error whose message
 * joins the reasons when some did and refused it.
 */
export async function authenticateToken(
  token: string,
  audiences: readonly string[],
  deps: TokenDeps,
): Promise<TokenIdentity | undefined> {
  const faults: string[] = [];
  for (const authenticator of tokenAuthenticators) {
    try {
      const identity = await authenticator(token, audiences, deps);
      if (identity !== undefined) return { ...identity, user: withAuthenticated(identity.user) };
    } catch (error) {
      if (!(error instanceof TokenFault)) throw error;
      faults.push(error.message);
    }
  }
  if (faults.length > 0) throw new TokenFault(faults.join(', '));
  return undefined;
}

/**
 * `Authorization: Bearer TOKEN`. Other schemes and an empty token are no credential; two spaces before the token make
 * it ignored with a warning. Throws Unauthorized for a token that nobody takes.
 */
export const bearerToken: Authenticator = async (request, deps) => {
  const header = (request.headers.get('authorization') ?? '').trim();
  const [scheme, token, ...rest] = header.split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined) return undefined;
  if (token === '') return rest.length > 0 ? { warnings: [EXTRA_SPACE] } : undefined;
  const identity = await authenticateToken(token, apiAudiences(deps), deps).catch((error: unknown) => {
    if (error instanceof TokenFault) return undefined;
    throw error;
  });
  if (identity === undefined) throw unauthorized();
  return { user: identity.user };
};

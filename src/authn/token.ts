import type { UserInfo } from '../request/context.ts';
import type { TokenDeps } from './index.ts';

/** A token that some authenticator took: whose it is, and for which of the asked audiences it is good. */
export interface TokenIdentity {
  user: UserInfo;
  /** Undefined for kinds of tokens that know no audiences. */
  audiences?: string[];
}

/** Answers undefined for tokens of another kind; throws an Error with the reason for a bad one. */
export type TokenAuthenticator = (
  token: string,
  audiences: readonly string[],
  deps: TokenDeps,
) => Promise<TokenIdentity | undefined>;

/** Why a token that was recognised is not good; the text is shown in token reviews. */
export class TokenFault extends Error {}

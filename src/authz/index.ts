import type { Keyspace } from '../keyspace/types.ts';
import type { PolicyBundle } from '../policy/bundle.ts';
import type { RequestPolicy } from '../policy/guard.ts';
import type { RequestInfo, UserInfo } from '../request/context.ts';
import { type Attributes, attributesOf, forbiddenError, type Verdict } from './attributes.ts';
import type { AuthorizerChain } from './chain.ts';
import { aggregate } from './rbac.ts';

/** What authorizers may look at besides the attributes. */
export interface AuthorizationData {
  bundle: PolicyBundle;
  keyspace: Keyspace;
  chain: AuthorizerChain;
}

const SUPERUSERS = 'system:masters';

/** Whether every authorization of this user is allowed without a look at the policy. */
export const isSuperuser = (user: UserInfo): boolean => user.groups.includes(SUPERUSERS);

/** The authorizers did not come to an answer: the request fails with 500. */
export class AuthorizerError extends Error {}

/**
 * Asks the authorizers: the first that allows or denies decides, and nobody is asked about superusers. Without an opinion
 * of any, the reasons and errors are joined.
 */
export async function authorize(attributes: Attributes, data: AuthorizationData): Promise<Verdict> {
  if (isSuperuser(attributes.user)) return { decision: 'allow', reason: '' };
  const reasons: string[] = [];
  const errors: string[] = [];
  for (const authorizer of data.chain.authorizers) {
    const verdict = await authorizer(attributes, data);
    if (verdict.decision !== 'noOpinion') return verdict;
    if (verdict.reason !== '') reasons.push(verdict.reason);
    if (verdict.error !== undefined) errors.push(verdict.error);
  }
  const verdict: Verdict = { decision: 'noOpinion', reason: reasons.join('\n') };
  return errors.length === 0 ? verdict : { ...verdict, error: aggregate(errors) };
}

/**
 * Throws the 403 where the attributes are not allowed under the request's policy, AuthorizerError where nobody could tell. `told` hears each verdict, also those
 * of decisions that are made again.
 */
export async function requireAllowed(
  attributes: Attributes,
  policy: RequestPolicy,
  told: (verdict: Verdict) => void = () => undefined,
): Promise<void> {
  if (isSuperuser(attributes.user)) {
    told({ decision: 'allow', reason: '' });
    return;
  }
  await policy.decide(async (bundle) => {
    const verdict = await authorize(attributes, policy.data(bundle));
    told(verdict);
    if (verdict.decision === 'allow') return;
    if (verdict.error !== undefined) throw new AuthorizerError(verdict.error);
    throw forbiddenError(attributes, verdict.reason);
  });
}

/**
 * The authorization stage: throws the 403 of a request that its user may not make. The decision is made again by
 * `policy` whenever an answer shows a newer policy.
 */
export async function authorizeRequest(
  user: UserInfo,
  info: RequestInfo,
  query: URLSearchParams,
  policy: RequestPolicy,
  told?: (verdict: Verdict) => void,
): Promise<void> {
  await requireAllowed(attributesOf(user, info, query), policy, told);
}

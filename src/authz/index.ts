import type { Keyspace } from '../keyspace/types.ts';
import type { PolicyBundle } from '../policy/bundle.ts';
import type { RequestPolicy } from '../policy/guard.ts';
import type { RequestInfo, UserInfo } from '../request/context.ts';
import { type Attributes, attributesOf, forbiddenError, type Verdict } from './attributes.ts';
import { authorizeByNode } from './node.ts';
import { authorizeByRbac } from './rbac.ts';

/** What authorizers may look at besides the attributes. */
export interface AuthorizationData {
  bundle: PolicyBundle;
  keyspace: Keyspace;
}

export type Authorizer = (attributes: Attributes, data: AuthorizationData) => Verdict | Promise<Verdict>;

const SUPERUSERS = 'system:masters';

/** Whether every authorization of this user is allowed without a look at the policy. */
export const isSuperuser = (user: UserInfo): boolean => user.groups.includes(SUPERUSERS);

const superusers: Authorizer = ({ user }) => ({ decision: isSuperuser(user) ? 'allow' : 'noOpinion', reason: '' });
const rbac: Authorizer = (attributes, { bundle }) => authorizeByRbac(bundle.rbac, attributes);
const node: Authorizer = (attributes, { keyspace }) => authorizeByNode(attributes, keyspace);

/** In the order that they are asked: the first that allows or denies decides. */
export const authorizers: readonly Authorizer[] = [superusers, node, rbac];

/** Asks the authorizers; without an opinion of any, the reasons are joined and the answer is no opinion. */
export async function authorize(attributes: Attributes, data: AuthorizationData): Promise<Verdict> {
  const reasons: string[] = [];
  for (const authorizer of authorizers) {
    const verdict = await authorizer(attributes, data);
    if (verdict.decision !== 'noOpinion') return verdict;
    if (verdict.reason !== '') reasons.push(verdict.reason);
  }
  return { decision: 'noOpinion', reason: reasons.join('\n') };
}

/**
 * Throws the 403 where the attributes are not allowed under the request's policy. `told` hears each verdict, also those
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
    const verdict = await authorize(attributes, { bundle, keyspace: policy.bare });
    told(verdict);
    if (verdict.decision !== 'allow') throw forbiddenError(attributes, verdict.reason);
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

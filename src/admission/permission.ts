import type { Attributes as Question } from '../authz/attributes.ts';
import { authorize, isSuperuser } from '../authz/index.ts';
import type { RequestContext } from '../request/context.ts';
import type { StatusError } from '../status/status.ts';

/** A question to the authorizers about a resource; what is left out is empty. */
export type Wanted = Partial<Omit<Question, 'user'>> & { verb: string; resource: string };

/** The attributes of a question about the user of the request. */
export const question = ({ user }: RequestContext, wanted: Wanted): Question => ({
  user,
  isResourceRequest: true,
  path: '',
  group: '',
  version: '*',
  subresource: '',
  namespace: '',
  name: '',
  ...wanted,
});

/** Refuses unless the user of the request may do one of these things, under the policy that the write commits under. */
export async function requireAny(
  ctx: RequestContext,
  wanted: readonly Wanted[],
  refusal: (reason: string) => StatusError,
): Promise<void> {
  if (ctx.policy === undefined || isSuperuser(ctx.user)) return;
  const { policy } = ctx;
  await policy.decide(async (bundle) => {
    let reason = '';
    for (const one of wanted) {
      const verdict = await authorize(question(ctx, one), policy.data(bundle));
      if (verdict.decision === 'allow') return;
      reason = verdict.reason;
    }
    throw refusal(reason);
  });
}

/** Refuses unless the user may do something for a signer: for it by name, or for all of its domain. */
export async function requireSigner(
  ctx: RequestContext,
  verb: string,
  signer: string,
  refusal: () => StatusError,
): Promise<void> {
  const names = [signer, `${signer.split('/')[0]}/*`];
  const wanted = names.map((name) => ({ verb, group: 'certificates.k8s.io', resource: 'signers', name }));
  await requireAny(ctx, wanted, refusal);
}

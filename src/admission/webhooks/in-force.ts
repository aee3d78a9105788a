import type { KubeObject } from '../../api/object.ts';
import type { AdmissionPolicies } from '../../policy/admission-policies.ts';
import { sameConfigurations } from '../../policy/admission-policies.ts';
import { StatusError } from '../../status/status.ts';
import type { Attributes } from '../chain.ts';
import { CallFailure, type Invocation } from './call.ts';

/** The webhook configurations in force, in the order of their names. Costs nothing where there are none. */
export async function configurationsFor(
  { ctx: { policy } }: Attributes,
  kind: keyof AdmissionPolicies['webhooks'],
): Promise<readonly KubeObject[]> {
  if (policy === undefined) return [];
  return policy.follow(`${kind} webhooks`, ({ admission }) => admission.webhooks[kind], sameConfigurations);
}

/** Does a call to a webhook and counts it in the metrics. */
export async function observed<T>(
  { webhook }: Invocation,
  { ctx, operation }: Attributes,
  type: 'admit' | 'validating',
  call: () => Promise<T>,
): Promise<T> {
  const started = Date.now();
  const { name } = webhook;
  const done = (code: number, rejected: boolean) =>
    ctx.webhookMetrics?.called({ name, operation, type, code, rejected, seconds: (Date.now() - started) / 1000 });
  try {
    const result = await call();
    done(200, false);
    return result;
  } catch (error) {
    const isFailure = error instanceof CallFailure;
    const code = isFailure ? error.code : error instanceof StatusError ? error.status.code : 0;
    const rejected = !(isFailure && webhook.ignoresFailures);
    done(code, rejected);
    const errorType = isFailure ? 'calling_webhook_error' : 'no_error';
    if (rejected) ctx.webhookMetrics?.rejected({ name, operation, type, code, errorType });
    else ctx.webhookMetrics?.failedOpen(name, type);
    throw error;
  }
}

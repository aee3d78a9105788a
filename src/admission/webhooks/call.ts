import { CONDITIONS_BUDGET, Evaluator, withDecisions } from '../../cel/expressions.ts';
import type { Decisions } from '../../cel/library/authorizer.ts';
import { matchConditions } from '../../cel/match-conditions.ts';
import { callHook, HookError } from '../../outbound/hook.ts';
import type { Resource } from '../../registry/resource.ts';
import { badRequest, forbidden, internalError, StatusError } from '../../status/status.ts';
import { type Attributes, subjectOf } from '../chain.ts';
import { matchRequest, type NamespaceReader } from '../matching/match.ts';
import { bindingsOf, deciderOf } from '../policies/inputs.ts';
import { type Versioned, versioned } from '../versions.ts';
import { type Answer, InvalidReview, makeReview, readAnswer, reviewVersion } from './review.ts';
import type { Webhook } from './webhook.ts';

/** A webhook could not be asked, or gave no answer to go by; its failure policy decides. */
export class CallFailure extends Error {
  readonly code: number;
  constructor(webhook: Webhook, reason: string, code: number) {
    super(`failed calling webhook ${JSON.stringify(webhook.name)}: ${reason}`);
    this.code = code;
  }
}

/** A webhook that is to be asked about a request, and what the request was matched as. */
export interface Invocation {
  webhook: Webhook;
  row: Resource;
}

const NO_VARIABLES = new Map();

/** Whether a webhook is to be asked. Throws 403 where its match conditions fail and its failure policy is Fail. */
export async function invocationOf(
  webhook: Webhook,
  attributes: Attributes,
  namespace: NamespaceReader,
): Promise<Invocation | undefined> {
  if (webhook.match.rules.length === 0) return undefined;
  const row = await matchRequest(webhook.match, attributes, namespace);
  if (row === undefined || webhook.conditions.length === 0) return row && { webhook, row };
  const decisions: Decisions = new Map();
  const objects = await versioned(attributes, row);
  const bindings = bindingsOf({ attributes, row, objects, params: undefined, namespace: undefined, decisions });
  const verdict = await withDecisions(decisions, deciderOf(attributes.ctx), () =>
    matchConditions(webhook.conditions, new Evaluator(bindings, NO_VARIABLES, CONDITIONS_BUDGET)),
  );
  if ('matches' in verdict) {
    if (verdict.matches) return { webhook, row };
    return undefined;
  }
  if (webhook.ignoresFailures) return undefined;
  throw forbidden(subjectOf(attributes), attributes.name, verdict.error);
}

/** Asks a webhook. Throws {@link CallFailure}, and what refuses a request whatever the failure policy. */
export async function ask(
  { webhook, row }: Invocation,
  attributes: Attributes,
  objects: Versioned,
  mutating: boolean,
): Promise<Answer> {
  const { name } = webhook;
  if (attributes.dryRun && !webhook.takesDryRun)
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
  const version = reviewVersion(webhook.versions);
  if (version === undefined) {
    const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
    throw new CallFailure(webhook, `could not create admission objects: ${why}`, 400);
  }
  const uid = crypto.randomUUID();
  const review = makeReview(version, uid, { attributes, row, ...objects });
  try {
    const answered = await callHook(attributes.ctx, webhook.client, review, webhook.timeoutSeconds);
    const answer = readAnswer(answered, version, uid, mutating);
    for (const [key, value] of Object.entries(answer.annotations)) attributes.ctx.annotate?.(`${name}/${key}`, value);
    attributes.ctx.warnings.push(...answer.warnings);
    return answer;
  } catch (error) {
    if (error instanceof HookError)
      throw new CallFailure(webhook, `failed to call webhook: ${error.message}`, error.code);
    if (error instanceof InvalidReview)
      throw new CallFailure(webhook, `received invalid webhook response: ${error.message}`, 503);
    throw error;
  }
}

/** The refusal that a webhook's answer is. */
export function denial({ name }: Webhook, { result = {} }: Answer): StatusError {
  const by = `admission webhook ${JSON.stringify(name)} denied the request`;
  const code = typeof result.code === 'number' ? result.code : 0;
  const message = result.message || result.reason;
  return new StatusError({
    ...result,
    kind: 'Status',
    apiVersion: 'v1',
    metadata: (result.metadata as object | undefined) ?? {},
    status: 'Failure',
    message: message ? `${by}: ${message as string}` : `${by} without explanation`,
    code: Math.max(code, 400),
  } as StatusError['status']);
}

/** The refusal of a request because a webhook failed. */
export const failedClosed = (failure: CallFailure): StatusError => internalError(failure.message);

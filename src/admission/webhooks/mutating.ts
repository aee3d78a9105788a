import { stringifyJson } from '../../codec/json.ts';
import { internalError, StatusError } from '../../status/status.ts';
import { type Attributes, type Plugin, Reinvocation } from '../chain.ts';
import { isExempt, NamespaceReader } from '../matching/match.ts';
import { Rounds } from '../rounds.ts';
import { versioned } from '../versions.ts';
import { ask, CallFailure, denial, failedClosed, type Invocation, invocationOf } from './call.ts';
import { configurationsFor, observed } from './in-force.ts';
import { applyPatchTo, operationsOf } from './patch.ts';
import { webhooksOf } from './webhook.ts';

const NAME = 'MutatingAdmissionWebhook';
const MUTATION = 'mutation.webhook.admission.k8s.io/';
const PATCH = 'patch.webhook.admission.k8s.io/';

/** Asks one webhook and lets it change the object; tells whether it did. Throws what refuses. */
async function mutate(invocation: Invocation, attributes: Attributes, key: string): Promise<boolean> {
  const { webhook, row } = invocation;
  const { ctx } = attributes;
  const note = { configuration: webhook.configuration, webhook: webhook.name };
  let mutated = false;
  try {
    const objects = await versioned(attributes, row);
    const answer = await ask(invocation, attributes, objects, true);
    if (!answer.allowed) throw denial(webhook, answer);
    const operations = operationsOf(webhook, answer);
    if (operations.length === 0) return false;
    if (objects.object === undefined) {
      const why = 'attempted to modify the object, which is not supported for this operation';
      throw internalError(`admission webhook ${JSON.stringify(webhook.name)} ${why}`);
    }
    mutated = await applyPatchTo(attributes, row, objects.object, operations);
    if (ctx.audit?.covers('Request'))
      ctx.annotate?.(`${PATCH}${key}`, stringifyJson({ ...note, patch: operations, patchType: 'JSONPatch' }));
    return mutated;
  } finally {
    ctx.annotate?.(`${MUTATION}${key}`, stringifyJson({ ...note, mutated }));
  }
}

/** Calls the mutating webhooks that ask for a request, one after another; the first refusal ends it. */
export const mutatingAdmissionWebhook: Plugin = {
  name: NAME,
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  admit: async (attributes) => {
    if (isExempt(attributes)) return;
    const configurations = await configurationsFor(attributes, 'mutating');
    if (configurations.length === 0) return;
    attributes.reinvocation ??= new Reinvocation();
    const { reinvocation } = attributes;
    const rounds = reinvocation.stateOf(NAME, () => new Rounds());
    if (reinvocation.isSecond && rounds.hasChanged(attributes.object)) rounds.changed();
    const namespace = new NamespaceReader(attributes);
    for (const [index, webhook] of webhooksOf(configurations).entries()) {
      const invocation = await invocationOf(webhook, attributes, namespace);
      if (invocation === undefined || (reinvocation.isSecond && !rounds.isDue(webhook.uid))) continue;
      const key = `round_${reinvocation.isSecond ? 1 : 0}_index_${index}`;
      if (await round(invocation, attributes, key)) {
        rounds.changed();
        reinvocation.want();
      }
      if (webhook.reinvoked) rounds.called(webhook.uid);
    }
    rounds.leave(attributes.object);
  },
};

/** Asks a webhook and applies its failure policy; tells whether it changed the object. */
async function round(invocation: Invocation, attributes: Attributes, key: string): Promise<boolean> {
  const { webhook } = invocation;
  try {
    return await observed(invocation, attributes, 'admit', () => mutate(invocation, attributes, key));
  } catch (error) {
    if (error instanceof StatusError || !(error instanceof CallFailure)) throw error;
    if (!webhook.ignoresFailures) throw failedClosed(error);
    attributes.ctx.annotate?.(`failed-open.${MUTATION}${key}`, webhook.name);
    return false;
  }
}

import type { Attributes, Plugin } from '../chain.ts';
import { isExempt, NamespaceReader } from '../matching/match.ts';
import { versioned } from '../versions.ts';
import { ask, CallFailure, denial, failedClosed, type Invocation, invocationOf } from './call.ts';
import { configurationsFor, observed } from './in-force.ts';
import { webhooksOf } from './webhook.ts';

const FAILED_OPEN = 'failed-open.validating.webhook.admission.k8s.io/';

/** Asks one webhook. Throws what refuses, its failure policy applied. */
async function askOne(invocation: Invocation, attributes: Attributes, index: number): Promise<void> {
  const { webhook, row } = invocation;
  try {
    await observed(invocation, attributes, 'validating', async () => {
      const answer = await ask(invocation, attributes, await versioned(attributes, row), false);
      if (!answer.allowed) throw denial(webhook, answer);
    });
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    if (!webhook.ignoresFailures) throw failedClosed(error);
    attributes.ctx.annotate?.(`${FAILED_OPEN}round_0_index_${index}`, webhook.name);
  }
}

/** Asks the validating webhooks that ask for a request, side by side; the refusal that comes first counts. */
export const validatingAdmissionWebhook: Plugin = {
  name: 'ValidatingAdmissionWebhook',
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  validate: async (attributes) => {
    if (isExempt(attributes)) return;
    const configurations = await configurationsFor(attributes, 'validating');
    if (configurations.length === 0) return;
    const namespace = new NamespaceReader(attributes);
    const invocations: Invocation[] = [];
    for (const webhook of webhooksOf(configurations)) {
      const invocation = await invocationOf(webhook, attributes, namespace);
      if (invocation !== undefined) invocations.push(invocation);
    }
    const refusals: unknown[] = [];
    await Promise.all(
      invocations.map((invocation, i) =>
        askOne(invocation, attributes, i).catch((error: unknown) => {
          refusals.push(error);
        }),
      ),
    );
    if (refusals.length > 0) throw refusals[0];
  },
};

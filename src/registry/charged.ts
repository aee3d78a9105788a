import type { Attributes } from '../admission/chain.ts';
import { charge } from '../admission/chain.ts';
import { pluginsOf } from '../admission/plugins.ts';
import type { Batch, ProposeResult } from '../keyspace/types.ts';
import { internalError } from '../status/status.ts';

/** Milliseconds for which a write tries to be charged while others are. */
const DEADLINE_MS = 10_000;

/**
 * Commits a batch with what the write costs (quota). Where others were charged meanwhile only the charge is decided
 * again, not the write. What fails otherwise is told by the condition's index in the batch. `attributes` undefined:
 * a write of the server's own, which costs nothing.
 */
export async function proposeCharged(
  attributes: Attributes | undefined,
  keyspace: Attributes['ctx']['keyspace'],
  batch: Batch,
): Promise<ProposeResult> {
  if (attributes === undefined) return keyspace.propose(batch);
  const deadline = Date.now() + DEADLINE_MS;
  for (let contended = false; ; contended = true) {
    const outcome = await charge(pluginsOf(attributes.ctx), attributes, contended, (charges) => {
      if (charges.length === 0) return keyspace.propose(batch);
      return keyspace.propose({
        conditions: [...batch.conditions, ...charges.flatMap(({ conditions }) => conditions)],
        operations: [...batch.operations, ...charges.flatMap(({ operations }) => operations)],
      });
    });
    if (outcome !== undefined && !isOfCharge(outcome, batch)) return outcome;
    if (Date.now() > deadline) throw internalError('resource quota evaluation timed out');
  }
}

/** Whether what failed is a condition of the charge. */
const isOfCharge = (result: ProposeResult, { conditions }: Batch): boolean =>
  !result.ok && 'failed' in result && result.failed >= conditions.length;

/** Asks what a write would cost, for a dry run. Throws 403 where that is too much. */
export async function assessCharge(attributes: Attributes): Promise<void> {
  await charge(pluginsOf(attributes.ctx), attributes, false, async () => undefined);
}

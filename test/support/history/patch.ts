import type { Truth } from './truth.ts';
import type { Operation } from './types.ts';

/**
 * Operations of unknown outcome as the committed history settles them: a write that is in it happened at some time after
 * its start, one that is not never did. Deletes carry no value and stay open, unless every deletion of the key is some
 * other's.
 */
export function settleUnknown(operations: readonly Operation[], truth: Truth): Operation[] {
  const puts = truth.steps.filter(({ type }) => type === 'put');
  const revisions = new Map(puts.map(({ value, revision }) => [value, revision]));
  const open = openDeletions(operations, truth);
  return operations.flatMap((operation): Operation[] => {
    const { request, outcome } = operation;
    if (outcome.type !== 'unknown' || request.type === 'get') return [operation];
    if (request.type === 'delete') return open.has(operation.key) ? [operation] : [];
    const revision = revisions.get(request.value);
    return revision === undefined ? [] : [{ ...operation, outcome: { type: 'done', revision } }];
  });
}

/**
 * Keys with a deletion in the history that no acknowledged delete made. One that found nothing to delete is told the
 * revision of the time, which is another key's.
 */
function openDeletions(operations: readonly Operation[], truth: Truth): Set<string> {
  const claimed = new Set<string>();
  for (const { key, request, outcome } of operations) {
    if (request.type === 'delete' && outcome.type === 'done' && outcome.revision !== undefined)
      claimed.add(`${key}@${outcome.revision}`);
  }
  return new Set(
    truth.steps.flatMap(({ type, key, revision }) =>
      type === 'delete' && !claimed.has(`${key}@${revision}`) ? [key] : [],
    ),
  );
}

import type { Truth } from './truth.ts';
import type { Operation } from './types.ts';

/**
 * Operations of unknown outcome as the committed history settles them: a write that is in it happened at some time after
 * its start and met what the history says, one that is not never did. Deletes carry no value: a deletion that no
 * acknowledged delete made is the work of one of those of the key that got no answer, at the earliest when the first of
 * them began. Where acknowledged deletes do not tell their revision that cannot be said, and the unanswered ones stay
 * open. An acknowledged put met what the history says.
 */
export function settleUnknown(operations: readonly Operation[], truth: Truth): Operation[] {
  const puts = new Map(truth.steps.flatMap((step) => (step.type === 'put' ? [[step.value, step.revision]] : [])));
  const done = (operation: Operation, revision: number): Operation => {
    const before = truth.at(revision)?.replaced;
    const replaced = before === undefined ? null : { value: before.value, revision: before.revision };
    return { ...operation, outcome: { type: 'done', revision, replaced } };
  };
  const unanswered = new Map<string, Operation>();
  const deletesTell = operations.every(
    ({ request, outcome }) => request.type !== 'delete' || outcome.type !== 'done' || outcome.revision !== undefined,
  );
  const settled = operations.flatMap((operation): Operation[] => {
    const { key, request, outcome } = operation;
    if (request.type === 'put' && (outcome.type === 'unknown' || outcome.type === 'done')) {
      const revision = puts.get(request.value);
      if (revision !== undefined) return [done(operation, revision)];
      return outcome.type === 'done' ? [operation] : [];
    }
    if (request.type !== 'delete' || outcome.type !== 'unknown' || !deletesTell) return [operation];
    const other = unanswered.get(key);
    // Which of them it was is not known, so its condition is not known either.
    if (other === undefined || other.start > operation.start)
      unanswered.set(key, { ...operation, request: { type: 'delete' } });
    return [];
  });
  if (!deletesTell) return settled;
  for (const { key, revision } of unclaimed(operations, truth)) {
    const first = unanswered.get(key);
    if (first !== undefined) settled.push(done(first, revision));
  }
  return settled;
}

/**
 * Deletions that no acknowledged delete made. One that found nothing made none, though it is told the revision of the
 * time, which may be that of the same key's deletion just before.
 */
function unclaimed(operations: readonly Operation[], truth: Truth) {
  const claimed = new Set<string>();
  for (const { key, request, outcome } of operations) {
    const deleted = request.type === 'delete' && outcome.type === 'done' && outcome.replaced !== null;
    if (deleted && outcome.revision !== undefined) claimed.add(`${key}@${outcome.revision}`);
  }
  return truth.steps.filter(({ type, key, revision }) => type === 'delete' && !claimed.has(`${key}@${revision}`));
}

import { selects, type Truth } from './truth.ts';
import type { Listing, Operation } from './types.ts';

/** Revisions rise in real time: a write that began after another was acknowledged has a higher one. */
export function revisionsRise(operations: readonly Operation[]): string[] {
  const writes = operations.flatMap(({ start, end, outcome, key, request }) => {
    const told = outcome.type === 'done' && request.type === 'put' && outcome.revision !== undefined;
    return told ? [{ start, end, key, revision: outcome.revision! }] : [];
  });
  const byEnd = [...writes].sort((a, b) => a.end - b.end);
  const faults: string[] = [];
  let ended = 0;
  let highest = { revision: 0, key: '' };
  for (const write of [...writes].sort((a, b) => a.start - b.start)) {
    for (; ended < byEnd.length && byEnd[ended]!.end < write.start; ended++) {
      if (byEnd[ended]!.revision > highest.revision) highest = byEnd[ended]!;
    }
    if (write.revision <= highest.revision)
      faults.push(`${write.key} got ${write.revision} after ${highest.key} had got ${highest.revision}`);
  }
  return faults;
}

/** Every acknowledged write is in the history once, at the revision of its answer; one of unknown outcome at most once. */
export function exactlyOnce(operations: readonly Operation[], truth: Truth): string[] {
  const times = new Map<string, number[]>();
  for (const { type, value, revision } of truth.steps) {
    if (type === 'put') times.set(value, [...(times.get(value) ?? []), revision]);
  }
  return operations.flatMap(({ request, outcome }) => {
    if (request.type !== 'put') return [];
    const at = times.get(request.value) ?? [];
    if (at.length > 1) return [`${request.value} was written ${at.length} times: ${at.join()}`];
    if (outcome.type === 'failed' && at.length > 0) return [`${request.value} was refused and is there at ${at[0]}`];
    if (outcome.type !== 'done') return [];
    if (at.length === 0) return [`${request.value} was acknowledged and is lost`];
    const told = outcome.revision === undefined || outcome.revision === at[0];
    return told ? [] : [`${request.value} was acknowledged as ${outcome.revision} and is at ${at[0]}`];
  });
}

/** What was shown as a revision's record is what was committed at it. */
export function answersAgree(operations: readonly Operation[], truth: Truth): string[] {
  return operations.flatMap(({ key, outcome }) => {
    const shown = outcome.type === 'read' ? outcome.record : outcome.type === 'failed' ? outcome.current : undefined;
    if (shown === undefined || shown === null) return [];
    const step = truth.at(shown.revision);
    const same = step?.key === key && step.type === 'put' && step.value === shown.value;
    return same ? [] : [`${key} was shown as ${shown.value} at ${shown.revision}, committed is ${step?.value}`];
  });
}

/** A list is the state of its revision, and a linearizable one has all that was acknowledged before it was asked for. */
export function listsShowOneState(lists: readonly Listing[], operations: readonly Operation[], truth: Truth): string[] {
  const faults: string[] = [];
  const acknowledged = operations
    .flatMap(({ end, outcome }) => (outcome.type === 'done' && outcome.revision ? [{ end, at: outcome.revision }] : []))
    .sort((a, b) => a.end - b.end);
  for (const list of lists) {
    const wanted = truth.state(list.revision, (change) => selects(list, change));
    const got = list.records.map(({ key, revision, value }) => `${key}@${revision}=${value}`).join(' ');
    const right = wanted.map(({ key, revision, value }) => `${key}@${revision}=${value}`).join(' ');
    if (got !== right)
      faults.push(`${list.client} listed ${list.prefix} at ${list.revision} as [${got}], not [${right}]`);
    if (!list.linearizable) continue;
    let floor = 0;
    for (const { end, at } of acknowledged) {
      if (end >= list.start) break;
      floor = Math.max(floor, at);
    }
    if (list.revision < floor) faults.push(`${list.client} listed at ${list.revision} after ${floor} was acknowledged`);
  }
  return faults;
}

import { isObject, type JsonObject, type JsonValue } from '../../src/api/object.ts';

/** What emptying a namespace has met. */
export interface ContentReport {
  /** Instances left, by `resource.group`. */
  remaining: Map<string, number>;
  /** Instances that wait, by finalizer. */
  finalizers: Map<string, number>;
  /** Faults of deleting. */
  faults: string[];
}

interface Finding {
  reason: string;
  message: string;
}

/** Condition types in their order, each with what it says when all is well. */
const conditions: readonly { type: string; well: Finding; find: (report: ContentReport) => Finding | undefined }[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    well: { reason: 'ResourcesDiscovered', message: 'All resources successfully discovered' },
    find: () => undefined,
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    well: { reason: 'ParsedGroupVersions', message: 'All legacy kube types successfully parsed' },
    find: () => undefined,
  },
  {
    type: 'NamespaceDeletionContentFailure',
    well: { reason: 'ContentDeleted', message: 'All content successfully deleted, may be waiting on finalization' },
    find: ({ faults }) =>
      faults.length === 0
        ? undefined
        : {
            reason: 'ContentDeletionFailed',
            message: `Failed to delete all resource types, ${faults.length} remaining: ${[...faults].sort().join(', ')}`,
          },
  },
  {
    type: 'NamespaceContentRemaining',
    well: { reason: 'ContentRemoved', message: 'All content successfully removed' },
    find: ({ remaining }) =>
      counted(
        remaining,
        'SomeResourcesRemain',
        'Some resources are remaining: ',
        (name, n) => `${name} has ${n} resource instances`,
      ),
  },
  {
    type: 'NamespaceFinalizersRemaining',
    well: { reason: 'ContentHasNoFinalizers', message: 'All content-preserving finalizers finished' },
    find: ({ finalizers }) =>
      counted(
        finalizers,
        'SomeFinalizersRemain',
        'Some content in the namespace has finalizers remaining: ',
        (name, n) => `${name} in ${n} resource instances`,
      ),
  },
];

function counted(
  counts: ReadonlyMap<string, number>,
  reason: string,
  intro: string,
  show: (name: string, count: number) => string,
): Finding | undefined {
  if (counts.size === 0) return undefined;
  const parts = [...counts].map(([name, count]) => show(name, count)).sort();
  return { reason, message: `${intro}${parts.join(', ')}` };
}

/**
 * The conditions of a terminating namespace after a look at its content, or undefined where nothing has changed.
 * A condition's time moves only with its status.
 */
export function nextConditions(old: JsonValue | undefined, report: ContentReport, now: Date): JsonObject[] | undefined {
  const before = Array.isArray(old) ? old.filter(isObject) : [];
  const after = [...before];
  const time = `${now.toISOString().slice(0, 19)}Z`;
  let changed = false;
  for (const { type, well, find } of conditions) {
    const finding = find(report);
    const { reason, message } = finding ?? well;
    const status = finding === undefined ? 'False' : 'True';
    const at = after.findIndex((c) => c.type === type);
    const known = after[at];
    if (known?.status === status && known.reason === reason && known.message === message) continue;
    const lastTransitionTime = known?.status === status ? (known.lastTransitionTime ?? time) : time;
    const next = { type, status, lastTransitionTime, reason, message };
    if (at < 0) after.push(next);
    else after[at] = next;
    changed = true;
  }
  return changed ? after : undefined;
}

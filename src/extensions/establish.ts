import { at, condition, mapOf, objects } from '../api/fields.ts';
import { deepEqual, type JsonObject, type JsonValue } from '../api/object.ts';
import { bundleFault } from '../api/validation/ca-bundle.ts';

/** Finalizer that keeps a deleted definition until its objects are gone. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';
const APPROVED = 'api-approved.kubernetes.io';

interface Names {
  plural: string;
  singular?: string;
  kind: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}
/** A condition of a definition's status, without its time. */
export interface Condition {
  type: string;
  status: 'True' | 'False';
  reason: string;
  message: string;
}

const namesOf = (value: JsonValue | undefined): Names => {
  const names = mapOf(value) as Partial<Names>;
  return { ...names, plural: names.plural ?? '', kind: names.kind ?? '' };
};

/** Names that the other definitions of the group have been given. */
function taken(definition: JsonObject, others: readonly JsonObject[]): { resources: Set<string>; kinds: Set<string> } {
  const group = mapOf(definition.spec).group;
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const other of others) {
    if (mapOf(other.spec).group !== group || mapOf(other.metadata).name === mapOf(definition.metadata).name) continue;
    const names = namesOf(mapOf(other.status).acceptedNames);
    for (const name of [names.plural, names.singular, ...(names.shortNames ?? [])]) if (name) resources.add(name);
    for (const kind of [names.kind, names.listKind]) if (kind) kinds.add(kind);
  }
  return { resources, kinds };
}

const inUse = (name: string) => `${JSON.stringify(name)} is already in use`;

function acceptNames(
  requested: Names,
  accepted: Names,
  group: ReturnType<typeof taken>,
): { names: Names; condition: Condition } {
  const names: Names = { ...accepted };
  let refused: { reason: string; message: string } | undefined;
  const claim = <K extends 'plural' | 'singular' | 'kind' | 'listKind'>(key: K, from: Set<string>, reason: string) => {
    const wanted = requested[key];
    if (wanted === undefined || wanted === accepted[key] || !from.has(wanted)) names[key] = wanted as Names[K];
    else refused = { reason, message: inUse(wanted) };
  };
  claim('plural', group.resources, 'PluralConflict');
  claim('singular', group.resources, 'SingularConflict');
  const clashing = (requested.shortNames ?? []).filter(
    (s) => !accepted.shortNames?.includes(s) && group.resources.has(s),
  );
  if (clashing.length > 0)
    refused = {
      reason: 'ShortNamesConflict',
      message: clashing.length === 1 ? inUse(clashing[0]!) : `[${clashing.map(inUse).join(', ')}]`,
    };
  else names.shortNames = requested.shortNames;
  claim('kind', group.kinds, 'KindConflict');
  claim('listKind', group.kinds, 'ListKindConflict');
  names.categories = requested.categories;
  const condition: Condition =
    refused === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...refused };
  return { names, condition };
}

function approval(definition: JsonObject): Condition | undefined {
  const group = mapOf(definition.spec).group;
  if (typeof group !== 'string' || !/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return undefined;
  const annotation = mapOf(mapOf(definition.metadata).annotations)[APPROVED];
  const type = 'KubernetesAPIApprovalPolicyConformant';
  if (typeof annotation !== 'string' || annotation === '') {
    const message = `protected groups must have approval annotation "${APPROVED}", see https://github.com/kubernetes/enhancements/pull/1111`;
    return { type, status: 'False', reason: 'MissingAnnotation', message };
  }
  if (annotation.startsWith('unapproved')) {
    return {
      type,
      status: 'False',
      reason: 'UnapprovedAnnotation',
      message: `not approved: ${JSON.stringify(annotation)}`,
    };
  }
  if (URL.canParse(annotation))
    return { type, status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${annotation}` };
  const message = `protected groups must have approval annotation "${APPROVED}" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`;
  return { type, status: 'False', reason: 'InvalidAnnotation', message };
}

/** Whether the names of a definition have been accepted or refused. */
export const namesDecided = (definition: JsonObject): boolean =>
  condition(mapOf(definition.status).conditions, 'NamesAccepted') !== undefined;

/** Sets conditions in a status, keeping the time of those whose status stays. `now` is RFC 3339 in seconds. */
export function withConditions(status: JsonObject, conditions: readonly Condition[], now: string): JsonObject {
  const list = objects(status.conditions).map((c) => ({ ...c }));
  for (const { type, status: state, reason, message } of conditions) {
    const old = condition(list, type);
    if (old === undefined) list.push({ type, status: state, lastTransitionTime: now, reason, message });
    else
      Object.assign(old, {
        status: state,
        reason,
        message,
        ...(old.status === state ? {} : { lastTransitionTime: now }),
      });
  }
  return { ...status, conditions: list };
}

const hasBadBundle = (definition: JsonObject): boolean =>
  bundleFault(at(definition, 'spec', 'conversion', 'webhook', 'clientConfig', 'caBundle')) !== undefined;

/**
 * The status that a definition has once its names were compared with those of the others in its group (all definitions
 * may be given): accepted names, NamesAccepted, Established, and the approval of protected groups. Returns `undefined`
 * when nothing changes.
 */
export function establish(definition: JsonObject, others: readonly JsonObject[], now: string): JsonObject | undefined {
  const status = mapOf(definition.status);
  const { names, condition: accepted } = acceptNames(
    namesOf(mapOf(definition.spec).names),
    namesOf(status.acceptedNames),
    taken(definition, others),
  );
  const old = condition(status.conditions, 'Established');
  const conditions = [accepted];
  if (old?.status !== 'True') {
    conditions.push(
      accepted.status === 'True' && hasBadBundle(definition)
        ? {
            type: 'Established',
            status: 'False',
            reason: 'InvalidCABundle',
            message: 'The conversion webhook CABundle is invalid',
          }
        : accepted.status === 'True'
          ? {
              type: 'Established',
              status: 'True',
              reason: 'InitialNamesAccepted',
              message: 'the initial names have been accepted',
            }
          : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
    );
  }
  const approved = approval(definition);
  if (approved !== undefined) conditions.push(approved);
  const acceptedNames = Object.fromEntries(Object.entries(names).filter(([, v]) => v !== undefined)) as JsonObject;
  const next = withConditions({ ...status, acceptedNames }, conditions, now);
  return deepEqual(next, status) ? undefined : next;
}

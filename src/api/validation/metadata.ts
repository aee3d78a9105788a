import type { Resource } from '../../registry/resource.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, isObject, type JsonObject, type JsonValue, type KubeObject, type ObjectMeta } from '../object.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';
import { dnsLabelErrors, type NameRule, nameRule, pathSegment } from './names.ts';

/** Most bytes that the keys and values of all annotations of an object may have together. */
export const ANNOTATIONS_LIMIT = 262144;
const MANAGER_LIMIT = 128;
const SUBRESOURCE_LIMIT = 256;
const IMMUTABLE = 'field is immutable';
const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/**
 * Which checks of the metadata a resource's own update validation repeats after the common ones: upstream lists a fault
 * once for each time it is found. `update`: the comparison with the old object; `create`: the checks of a new one.
 */
type Repeats = readonly ('update' | 'create')[];
const repeats: ReadonlyMap<string, Repeats> = new Map([
  ...[
    ...['apps/daemonsets', 'apps/deployments', 'apps/replicasets', 'apps/statefulsets', 'batch/cronjobs'],
    ...[
      'autoscaling/horizontalpodautoscalers',
      'events.k8s.io/events',
      'certificates.k8s.io/certificatesigningrequests',
    ],
    ...['networking.k8s.io/networkpolicies', 'networking.k8s.io/servicecidrs', 'resource.k8s.io/resourceslices'],
    'resource.k8s.io/resourceclaimtemplates',
    ...['scheduling.k8s.io/priorityclasses', 'storage.k8s.io/csidrivers', '/podtemplates', '/replicationcontrollers'],
    ...['/resourcequotas', '/services', 'apiextensions.k8s.io/customresourcedefinitions', 'coordination.k8s.io/leases'],
  ].map((key): [string, Repeats] => [key, ['update']]),
  ...[
    ...['admissionregistration.k8s.io/mutatingadmissionpolicies', 'discovery.k8s.io/endpointslices', '/limitranges'],
    ...['admissionregistration.k8s.io/mutatingadmissionpolicybindings', 'flowcontrol.apiserver.k8s.io/flowschemas'],
    ...['admissionregistration.k8s.io/mutatingwebhookconfigurations', 'storage.k8s.io/volumeattachments'],
    ...['admissionregistration.k8s.io/validatingadmissionpolicies', 'storage.k8s.io/csinodes'],
    ...['admissionregistration.k8s.io/validatingadmissionpolicybindings'],
    ...['admissionregistration.k8s.io/validatingwebhookconfigurations'],
    ...['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations'],
  ].map((key): [string, Repeats] => [key, ['create']]),
  ['/persistentvolumes', ['create', 'create']],
  ['resource.k8s.io/resourceclaims', ['create', 'update']],
  ['resource.k8s.io/deviceclasses', ['create', 'update']],
  ['policy/poddisruptionbudgets', []],
  ['/events', []],
]);

const looseFinalizers: ReadonlySet<string> = new Set([
  ...['admissionregistration.k8s.io', 'apiextensions.k8s.io', 'apiregistration.k8s.io', 'coordination.k8s.io'],
  'node.k8s.io',
]);

const byteLength = (text: string) => {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return bytes;
};

const strings = (value: unknown): [string, string][] =>
  isObject(value) ? Object.entries(value).map(([k, v]): [string, string] => [k, String(v ?? '')]) : [];

/** Causes of bad label keys and values; `field` is where the map stands. */
export function validateLabels(labels: unknown, field: string): StatusCause[] {
  const out: StatusCause[] = [];
  for (const [key, value] of strings(labels)) {
    for (const why of qualifiedNameErrors(key)) out.push(causes.invalid(field, key, why));
    for (const why of labelValueErrors(value)) out.push(causes.invalid(field, value, why));
  }
  return out;
}

/** Causes of bad annotation keys, and of more text than annotations may have together; `field` is where the map stands. */
export function validateAnnotations(annotations: unknown, field: string): StatusCause[] {
  const out: StatusCause[] = [];
  let total = 0;
  for (const [key, value] of strings(annotations)) {
    for (const why of qualifiedNameErrors(key.toLowerCase())) out.push(causes.invalid(field, key, why));
    total += byteLength(key) + byteLength(value);
  }
  if (total > ANNOTATIONS_LIMIT) out.push(causes.tooLong(field, ANNOTATIONS_LIMIT));
  return out;
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');

function validateOwnerReferences(meta: ObjectMeta, field: string): StatusCause[] {
  const out: StatusCause[] = [];
  let controller: string | undefined;
  for (const ref of meta.ownerReferences ?? []) {
    const apiVersion = text(ref.apiVersion);
    if (apiVersion === '') out.push(causes.invalid(`${field}.apiVersion`, apiVersion, 'version must not be empty'));
    for (const key of ['kind', 'name', 'uid'] as const) {
      if (text(ref[key]) === '') out.push(causes.invalid(`${field}.${key}`, '', 'must not be empty'));
    }
    if (apiVersion === 'v1' && ref.kind === 'Event') {
      out.push(causes.invalid(field, ref, '/v1, Kind=Event is disallowed from being an owner'));
    }
    if (ref.controller !== true) continue;
    const current = `${text(ref.kind)}/${text(ref.name)}`;
    if (controller !== undefined) {
      const why = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${current}`;
      out.push(causes.invalid(field, meta.ownerReferences, why));
    } else controller = current;
  }
  return out;
}

function validateFinalizers(meta: ObjectMeta, field: string): StatusCause[] {
  const finalizers = meta.finalizers ?? [];
  const out = finalizers.flatMap((name) => qualifiedNameErrors(name).map((why) => causes.invalid(field, name, why)));
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    out.push(causes.invalid(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
  return out;
}

/** Causes of a bad name of a field manager. */
export function validateFieldManager(manager: string, field: string): StatusCause[] {
  const out: StatusCause[] = [];
  if (byteLength(manager) > MANAGER_LIMIT) out.push(causes.tooLong(field, MANAGER_LIMIT));
  let position = 0;
  for (const char of manager) {
    const code = char.codePointAt(0) ?? 0;
    const point = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    if (/[\p{C}\p{Z}]/u.test(char) && char !== ' ') {
      out.push(causes.invalid(field, manager, `invalid character ${point} (at position ${position})`));
    }
    position += byteLength(char);
  }
  return out;
}

function validateManagedFields(meta: ObjectMeta, field: string): StatusCause[] {
  return (meta.managedFields ?? []).flatMap((entry, i) => {
    const at = `${field}[${i}]`;
    const out: StatusCause[] = [];
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') {
      out.push(causes.invalid(`${at}.operation`, entry.operation ?? '', 'must be `Apply` or `Update`'));
    }
    if (text(entry.fieldsType) !== '' && entry.fieldsType !== 'FieldsV1') {
      out.push(causes.invalid(`${at}.fieldsType`, entry.fieldsType, 'must be `FieldsV1`'));
    }
    out.push(...validateFieldManager(text(entry.manager), `${at}.manager`));
    if (text(entry.subresource).length > SUBRESOURCE_LIMIT) {
      out.push(causes.tooLong(`${at}.subresource`, SUBRESOURCE_LIMIT));
    }
    return out;
  });
}

function validateNames(meta: ObjectMeta, rule: NameRule): StatusCause[] {
  const out: StatusCause[] = [];
  const base = meta.generateName ?? '';
  if (base !== '') for (const why of rule(base, true)) out.push(causes.invalid('metadata.generateName', base, why));
  const name = meta.name ?? '';
  if (name === '') out.push(causes.required('metadata.name', 'name or generateName is required'));
  else for (const why of rule(name, false)) out.push(causes.invalid('metadata.name', name, why));
  return out;
}

function validateNew(meta: ObjectMeta, namespaced: boolean, rule: NameRule): StatusCause[] {
  const out = validateNames(meta, rule);
  const namespace = meta.namespace ?? '';
  if (namespaced) {
    if (namespace === '') out.push(causes.required('metadata.namespace'));
    else for (const why of dnsLabelErrors(namespace)) out.push(causes.invalid('metadata.namespace', namespace, why));
  } else if (namespace !== '') out.push(causes.forbidden('metadata.namespace', 'not allowed on this type'));
  const generation = meta.generation ?? 0;
  if (generation < 0) out.push(causes.invalid('metadata.generation', generation, 'must be greater than or equal to 0'));
  out.push(
    ...validateLabels(meta.labels, 'metadata.labels'),
    ...validateAnnotations(meta.annotations, 'metadata.annotations'),
    ...validateOwnerReferences(meta, 'metadata.ownerReferences'),
    ...validateFinalizers(meta, 'metadata.finalizers'),
    ...validateManagedFields(meta, 'metadata.managedFields'),
  );
  return out;
}

const orNull = (value: JsonValue | undefined) => value ?? null;

function immutable(meta: ObjectMeta, old: ObjectMeta): StatusCause[] {
  const fields = ['name', 'namespace', 'uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'];
  return fields
    .filter((key) => !deepEqual(orNull(meta[key]), orNull(old[key])))
    .map((key) => causes.invalid(`metadata.${key}`, orNull(meta[key]), IMMUTABLE));
}

function validateChange(meta: ObjectMeta, old: ObjectMeta): StatusCause[] {
  const out: StatusCause[] = [];
  if (typeof old.deletionTimestamp === 'string') {
    const known = new Set(old.finalizers ?? []);
    const fresh = [...new Set(meta.finalizers ?? [])].filter((name) => !known.has(name)).sort();
    if (fresh.length > 0) {
      const list = `[]string{${fresh.map((name) => JSON.stringify(name)).join(', ')}}`;
      const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
      out.push(causes.forbidden('metadata.finalizers', why));
    }
  }
  const version = meta.resourceVersion ?? '';
  if (version === '') out.push(causes.invalid('metadata.resourceVersion', version, 'must be specified for an update'));
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    out.push(causes.invalid('metadata.generation', meta.generation ?? 0, 'must not be decremented'));
  }
  out.push(
    ...immutable(meta, old),
    ...validateLabels(meta.labels, 'metadata.labels'),
    ...validateAnnotations(meta.annotations, 'metadata.annotations'),
    ...validateOwnerReferences(meta, 'metadata.ownerReferences'),
    ...validateManagedFields(meta, 'metadata.managedFields'),
  );
  return out;
}

function validateFinalizerForms(resource: Resource, meta: ObjectMeta): StatusCause[] {
  if (resource.custom !== undefined || looseFinalizers.has(resource.group)) return [];
  const why = 'name is neither a standard finalizer name nor is it fully qualified';
  return (meta.finalizers ?? []).flatMap((name, i) =>
    name.includes('/') || standardFinalizers.has(name) ? [] : [causes.invalid(`metadata.finalizers[${i}]`, name, why)],
  );
}

const keyOf = (resource: Resource) => `${resource.group}/${resource.resource}`;
const repeatsOf = (resource: Resource): Repeats =>
  repeats.get(keyOf(resource)) ?? (resource.custom === undefined ? ['update', 'create'] : ['update']);

function validateAsNew(resource: Resource, meta: ObjectMeta): StatusCause[] {
  const rule = nameRule(resource.group, resource.resource);
  return [...validateNew(meta, resource.namespaced, rule), ...validateFinalizerForms(resource, meta)];
}

/** Causes in the metadata of a new object, as the resource's own validation finds them; empty when it is valid. */
export function validateMetadata(resource: Resource, object: KubeObject): StatusCause[] {
  return repeatsOf(resource).length === 0 ? [] : validateAsNew(resource, object.metadata);
}

/** The checks that every resource gets after its own have passed: names that no URL could hold, and the rest again. */
export function validateCommonMetadata(resource: Pick<Resource, 'namespaced'>, object: KubeObject): StatusCause[] {
  return validateNew(object.metadata, resource.namespaced, pathSegment);
}

/**
 * Causes in the metadata of a changed object: first the common checks, then those that the resource repeats. A fault
 * is listed as often as upstream finds it. `subresource`: endpoints of a part only compare with the old object.
 */
export function validateMetadataUpdate(
  resource: Resource,
  object: KubeObject,
  old: KubeObject,
  subresource = '',
): StatusCause[] {
  const { metadata: meta } = object;
  const out = [...validateNew(meta, resource.namespaced, pathSegment), ...validateChange(meta, old.metadata)];
  if (out.length === 0 && subresource === '' && !meta.finalizers?.length) return out;
  const own: Repeats = subresource === '' ? repeatsOf(resource) : ['update'];
  for (const check of own) {
    if (check === 'create') out.push(...validateAsNew(resource, meta));
    else out.push(...validateChange(meta, old.metadata), ...validateFinalizerForms(resource, meta));
  }
  return out;
}

/** The metadata of any object, whose parts a decoder has already given their types. */
export function metadataOf(object: JsonObject): ObjectMeta {
  return (isObject(object.metadata) ? object.metadata : {}) as ObjectMeta;
}

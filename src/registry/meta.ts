import { apiServiceTerms, apiServiceWork } from '../aggregation/work.ts';
import { convertTo, storageVersion } from '../api/conversion.ts';
import { int } from '../api/fields.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import { namesDecided } from '../extensions/establish.ts';
import type { RecordMeta, ValueTag, WorkItem } from '../keyspace/types.ts';
import { builtins, type Resource } from './resource.ts';

/** Seconds that an event lives after its last write. */
export const EVENT_TTL = 3600;

type FieldsOf = (object: KubeObject) => Record<string, string>;

const at = (value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined => {
  let current = value;
  for (const key of path) current = isObject(current) ? current[key] : undefined;
  return current;
};
const text = (value: JsonValue | undefined): string =>
  value === undefined || value === null || typeof value === 'object' ? '' : String(value);

/** Selectable fields whose value is not simply the field at that path, by `group/resource`. */
const special: ReadonlyMap<string, FieldsOf> = new Map<string, FieldsOf>([
  [
    '/pods',
    (pod) => ({
      'spec.host': text(at(pod, ['spec', 'nodeName'])),
      'spec.hostNetwork': text(at(pod, ['spec', 'hostNetwork']) ?? false),
      'status.podIP': podIP(pod),
      'status.podIPs': '',
    }),
  ],
  ['/nodes', (node) => ({ 'spec.unschedulable': text(at(node, ['spec', 'unschedulable']) ?? false) })],
  ['/events', (event) => ({ source: text(at(event, ['source', 'component'])) || text(event.reportingComponent) })],
  ['batch/jobs', (job) => ({ 'status.successful': text(at(job, ['status', 'succeeded']) ?? 0) })],
  ['/replicationcontrollers', (rc) => ({ 'status.replicas': text(at(rc, ['status', 'replicas']) ?? 0) })],
]);

function podIP(pod: KubeObject): string {
  const ips = at(pod, ['status', 'podIPs']);
  return Array.isArray(ips) ? text(at(ips[0], ['ip'])) : '';
}

/** Another served row that reads the same records: its field selectors must find them too. */
interface Sibling {
  groupVersion: string;
  paths: readonly (readonly [string, readonly string[]])[];
}

interface Extractor {
  paths: readonly (readonly [string, readonly string[]])[];
  special: FieldsOf | undefined;
  siblings: readonly Sibling[];
}

const META_FIELDS: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);

function pathsOf(resource: Resource): [string, readonly string[]][] {
  return resource.fields.filter((f) => !META_FIELDS.has(f)).map((f) => [f, f.split('.')]);
}

function buildExtractor(resource: Resource): Extractor {
  const version = storageVersion(resource);
  const rows = [...builtins.values()]
    .map((group) => group.get(resource.resource))
    .filter((row) => row?.storage !== undefined && row.storage.prefix === resource.storage?.prefix) as Resource[];
  const stored = rows.find((row) => row.groupVersion === version) ?? resource;
  const others = rows.filter((row) => row.groupVersion !== version && pathsOf(row).length > 0);
  return {
    paths: pathsOf(stored),
    special: special.get(`${stored.group}/${stored.resource}`),
    siblings: others.map((row) => ({ groupVersion: row.groupVersion, paths: pathsOf(row) })),
  };
}

/** Extractors of the built-in resources by storage prefix; made once, as the registry itself. */
const extractors: ReadonlyMap<string, Extractor> = new Map(
  [...builtins.values()].flatMap((rows) =>
    [...rows.values()].flatMap((row): [string, Extractor][] =>
      row.storage === undefined ? [] : [[row.storage.prefix, buildExtractor(row)]],
    ),
  ),
);

function put(fields: Record<string, string>, object: KubeObject, paths: Extractor['paths']): void {
  for (const [name, path] of paths) {
    const value = text(at(object, path));
    if (value !== '') fields[name] = value;
  }
}

function selectableFields(resource: Resource, stored: KubeObject): Record<string, string> {
  const { name = '', namespace = '' } = stored.metadata;
  const fields: Record<string, string> = { 'metadata.name': name };
  if (namespace !== '') fields['metadata.namespace'] = namespace;
  if (resource.custom !== undefined) {
    if (resource.fields.length > META_FIELDS.size)
      put(fields, convertTo(stored, resource.groupVersion), pathsOf(resource));
    return fields;
  }
  const extractor = extractors.get(resource.storage?.prefix ?? '');
  if (extractor === undefined) return fields;
  put(fields, stored, extractor.paths);
  for (const sibling of extractor.siblings) put(fields, convertTo(stored, sibling.groupVersion), sibling.paths);
  for (const [key, value] of Object.entries(extractor.special?.(stored) ?? {})) {
    if (value === '') delete fields[key];
    else fields[key] = value;
  }
  return fields;
}

const uidsOfOwners = (object: KubeObject): string[] => (object.metadata.ownerReferences ?? []).map((ref) => ref.uid);

const isQuota = ({ kind, apiVersion }: KubeObject): boolean => kind === 'ResourceQuota' && apiVersion === 'v1';

/** The term that tells that a namespace has quotas. */
const quotaTerm = ({ metadata }: KubeObject): string => `quota:${metadata.namespace ?? ''}`;

function terms(stored: KubeObject): string[] {
  const { uid } = stored.metadata;
  const out = uid === undefined ? [] : [`uid:${uid}`];
  for (const owner of new Set(uidsOfOwners(stored))) out.push(`owner:${owner}`);
  const node = stored.kind === 'Pod' && stored.apiVersion === 'v1' ? text(at(stored, ['spec', 'nodeName'])) : '';
  if (node !== '') out.push(`node:${node}`);
  if (isQuota(stored)) out.push(quotaTerm(stored));
  return [...out, ...apiServiceTerms(stored)];
}

/** What replicas filter and index a record by, read off the object in its storage version. */
export function recordMeta(resource: Resource, stored: KubeObject, tag: ValueTag): RecordMeta {
  return {
    labels: (stored.metadata.labels as JsonObject | undefined as Record<string, string>) ?? {},
    fields: selectableFields(resource, stored),
    terms: terms(stored),
    tag,
  };
}

/** Seconds after which a record of this resource goes by itself, if it does; `eventTTL` for events. */
export function ttlOf(resource: Resource, eventTTL = EVENT_TTL): number | undefined {
  return resource.storage?.prefix === '/registry/events' ? eventTTL : undefined;
}

const DEPENDENTS_FINALIZERS: readonly string[] = ['foregroundDeletion', 'orphan'];

/** Whether a custom resource definition waits for its names to be accepted, or is ending. */
function needsSettling(object: KubeObject): boolean {
  if (object.kind !== 'CustomResourceDefinition' || object.apiVersion !== 'apiextensions.k8s.io/v1') return false;
  return !namesDecided(object) || object.metadata.deletionTimestamp !== undefined;
}

/** Whether the types in a policy's expressions have not been checked since its spec changed. */
function needsTypeCheck({ apiVersion, kind, metadata, status }: KubeObject): boolean {
  if (kind !== 'ValidatingAdmissionPolicy' || apiVersion !== 'admissionregistration.k8s.io/v1') return false;
  return int(metadata.generation) > int(at(status, ['observedGeneration']));
}

/** The parts of objects that quotas count by, for kinds that may count for less than before. */
const countedBy: Readonly<Record<string, (object: KubeObject) => unknown>> = {
  Pod: (pod) => [TERMINAL.has(text(at(pod, ['status', 'phase']))), pod.metadata.generation],
  Service: ({ spec }) => [at(spec, ['type']), at(spec, ['ports'])],
  PersistentVolumeClaim: (claim) => [at(claim, ['spec', 'resources']), at(claim, ['status', 'allocatedResources'])],
  ResourceQuota: ({ spec }) => spec,
};
const TERMINAL: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

/** Whether quotas of the namespace have to be counted again: one is new, or something may count for less. */
function needsCount(object: KubeObject, old: KubeObject | undefined): boolean {
  if (object.apiVersion !== 'v1') return false;
  if (old === undefined) return isQuota(object);
  const part = Object.hasOwn(countedBy, object.kind ?? '') ? countedBy[object.kind ?? ''] : undefined;
  return part !== undefined && JSON.stringify(part(object)) !== JSON.stringify(part(old));
}

const countAgain = (object: KubeObject): WorkItem => ({
  loop: 'resourcequota',
  item: object.metadata.namespace ?? '',
  ifTerm: quotaTerm(object),
});

/**
 * Work for the control loops that storing `object` makes, to be written in the same batch: owners to look for, dependents
 * to wait for or to orphan, a namespace to empty.
 */
export function workOfPut(key: string, object: KubeObject, old: KubeObject | undefined): WorkItem[] {
  const work: WorkItem[] = [];
  const { metadata } = object;
  const known = new Set(old === undefined ? [] : uidsOfOwners(old));
  if (uidsOfOwners(object).some((uid) => !known.has(uid))) {
    work.push({ loop: 'garbage-collector', item: `check-owners:${key}` });
  }
  if (object.kind === 'ClusterRole') work.push({ loop: 'clusterrole-aggregation', item: '' });
  if (needsCount(object, old)) work.push(countAgain(object));
  if (needsSettling(object)) work.push({ loop: 'customresourcedefinition', item: metadata.name ?? '' });
  if (needsTypeCheck(object)) work.push({ loop: 'validatingadmissionpolicy-status', item: metadata.name ?? '' });
  work.push(...apiServiceWork(object, old), ...credentialWork(object));
  if (object.kind === 'Namespace' && object.apiVersion === 'v1' && old === undefined) {
    work.push({ loop: 'namespace', item: metadata.name ?? '' });
  }
  if (metadata.deletionTimestamp !== undefined) {
    const waits = (metadata.finalizers ?? []).some((name) => DEPENDENTS_FINALIZERS.includes(name));
    if (waits) work.push({ loop: 'garbage-collector', item: `finalize:${key}` });
    if (object.kind === 'Namespace' && object.apiVersion === 'v1') {
      work.push({ loop: 'namespace', item: metadata.name ?? '' });
    }
  }
  return work;
}

/** Credentials that the control loops sign or remove when their time has come. */
function credentialWork({ kind, apiVersion, type, metadata }: KubeObject): WorkItem[] {
  const { namespace, name = '' } = metadata;
  if (kind === 'CertificateSigningRequest' && apiVersion === 'certificates.k8s.io/v1')
    return [{ loop: 'certificatesigningrequest', item: name }];
  const isToken = kind === 'Secret' && type === 'bootstrap.kubernetes.io/token' && namespace === 'kube-system';
  return isToken ? [{ loop: 'bootstraptoken', item: name }] : [];
}

/** Objects that the control loops put back into every namespace. */
const KEPT_IN_NAMESPACES: ReadonlySet<string> = new Set(['ServiceAccount default', 'ConfigMap kube-root-ca.crt']);

/** Work that the end of an object makes: its dependents have lost an owner. */
export function workOfDelete(object: KubeObject): WorkItem[] {
  const { uid, namespace = '', name = '' } = object.metadata;
  if (uid === undefined) return [];
  const work: WorkItem[] = [];
  if (object.kind === 'ClusterRole') work.push({ loop: 'clusterrole-aggregation', item: '' });
  if (KEPT_IN_NAMESPACES.has(`${object.kind} ${name}`)) work.push({ loop: 'namespace', item: namespace });
  if (namespace !== '' && object.kind !== 'Event') work.push(countAgain(object));
  work.push(...apiServiceWork(object, undefined, true));
  return [...work, { loop: 'garbage-collector', item: `owner-deleted:${uid}`, ifTerm: `owner:${uid}` }];
}

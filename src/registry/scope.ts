import type { Attributes } from '../admission/chain.ts';
import { ACTIVE, namespaceKey, namespaceRefusal } from '../admission/namespace-lifecycle.ts';
import { toStorage } from '../api/conversion.ts';
import { groupOf } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';
import { encodeStored } from '../codec/stored.ts';
import type { Condition, Operation, StoredRecord } from '../keyspace/types.ts';
import type { RequestContext } from '../request/context.ts';
import type { WriteOptions } from '../request/options.ts';
import { badRequest, plainError, type StatusError, type Subject } from '../status/status.ts';
import { customToStorage } from './custom.ts';
import { recordMeta, ttlOf, workOfPut } from './meta.ts';
import type { Resource } from './resource.ts';

export const OPTIMISTIC_LOCK =
  'the object has been modified; please apply your changes to the latest version and try again';

/** The endpoint and the object that a write goes to. */
export interface Scope {
  ctx: RequestContext;
  resource: Resource;
  /** Empty for the object itself. */
  subresource: string;
  namespace: string;
  /** Empty while the object has none. */
  name: string;
  options: Pick<WriteOptions, 'dryRun'>;
}

/** What a write left behind. `record`: as stored; absent where nothing was (dry run) or the object went. */
export interface Written {
  object: KubeObject;
  record?: StoredRecord;
}

/** More to commit in the same batch, for allocations. */
export interface Companions {
  conditions: Condition[];
  operations: Operation[];
  /** The refusal for the condition of that index, which did not hold; undefined: decide everything anew. */
  refused: (index: number) => StatusError | undefined;
}

/** Fills in what is allocated to an object, in place, and says what must commit with it. */
export type Allocate = (object: KubeObject, old: KubeObject | undefined) => Promise<Companions | undefined>;

/** Error subject: the plural of the resource. */
export const subject = ({ resource }: Pick<Scope, 'resource'>): Subject => ({
  group: resource.group,
  name: resource.resource,
});
/** Error subject of invalid objects: the kind, which a custom object may say wrongly. */
export const kindSubject = ({ resource }: Pick<Scope, 'resource'>, object?: KubeObject): Subject => ({
  group: groupOf(resource.storage?.apiVersion ?? resource.groupVersion),
  name: object?.kind ?? resource.kind,
});

/** Makes the object's namespace the request's. Throws 400 where the object names another. */
export function ensureNamespace(scope: Pick<Scope, 'resource' | 'namespace'>, object: KubeObject): void {
  const expected = scope.resource.namespaced ? scope.namespace : '';
  const { namespace = '' } = object.metadata;
  if (namespace === expected) {
    if (namespace === '') delete object.metadata.namespace;
    return;
  }
  if (namespace !== '' && expected !== '') {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (expected === '') delete object.metadata.namespace;
  else object.metadata.namespace = expected;
}

/** Attributes of an admission of this write. */
export function attributesOf(
  scope: Scope,
  operation: Attributes['operation'],
  object: KubeObject | undefined,
  old: KubeObject | undefined,
): Attributes {
  const { ctx, resource, subresource, name, options } = scope;
  const namespace = resource.group === '' && resource.resource === 'namespaces' ? name : scope.namespace;
  return { ctx, resource, subresource, operation, namespace, name, object, old, dryRun: options.dryRun };
}

/** The condition that a new object's namespace takes it, for resources that live in one. */
export function namespaceConditions({ resource, namespace }: Scope): Condition[] {
  if (!resource.namespaced) return [];
  return [{ type: 'field', key: namespaceKey(namespace), field: 'status.phase', value: ACTIVE }];
}

/** What etcd takes in one request by default, less what surrounds the value there: the key three times, and framing. */
const MAX_CUSTOM_VALUE = (1536 << 10) - 256;

function encode(scope: Scope, object: KubeObject) {
  const { resource } = scope;
  const { resourceVersion: _, ...metadata } = object.metadata;
  const bare = { ...object, metadata };
  const stored = resource.custom === undefined ? toStorage(bare, resource) : customToStorage(resource, bare);
  const { value, tag } = encodeStored(stored, resource.custom?.generation ?? 0);
  return { value, meta: recordMeta(resource, stored, tag) };
}

/**
 * Encodes an object within the size that upstream stores of a custom one. Where it would fit without its managed fields,
 * it loses them, as upstream's second try does; otherwise throws 500.
 */
function encodeWithinLimit(scope: Scope, object: KubeObject) {
  const encoded = encode(scope, object);
  if (scope.resource.custom === undefined || encoded.value.byteLength <= MAX_CUSTOM_VALUE) return encoded;
  if (object.metadata.managedFields === undefined) throw plainError('etcdserver: request is too large');
  delete object.metadata.managedFields;
  return encodeWithinLimit(scope, object);
}

/** The operation that stores an object in place of `old`, with the work that this makes. */
export function putOf(scope: Scope, key: string, object: KubeObject, old: KubeObject | undefined) {
  const ttlSeconds = ttlOf(scope.resource, scope.ctx.config?.eventTTLSeconds);
  const work = workOfPut(key, object, old);
  return {
    type: 'put',
    key,
    ...encodeWithinLimit(scope, object),
    ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
    ...(work.length === 0 ? {} : { work }),
  } satisfies Operation;
}

/** Reads a record so that an answer may rest on it: confirmed by a quorum. */
export async function readConfirmed(ctx: RequestContext, key: string): Promise<StoredRecord | undefined> {
  return (await ctx.keyspace.get([key], { type: 'linearizable' })).records[0];
}

/** Throws the refusal of a namespace that is missing or ending; admission asks that before anything else is checked. */
export async function requireLiveNamespace(scope: Scope): Promise<void> {
  if (!scope.resource.namespaced) return;
  const record = await readConfirmed(scope.ctx, namespaceKey(scope.namespace));
  if (record?.meta.fields['status.phase'] !== ACTIVE) {
    throw namespaceRefusal(record, scope.namespace, subject(scope), scope.name);
  }
}

/** Whether two stored values are the same. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.byteLength !== b.byteLength) return false;
  for (let i = 0; i < a.byteLength; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** The record that a committed put left. */
export function recordOf(put: Extract<Operation, { type: 'put' }>, created: number, modified: number): StoredRecord {
  return { key: put.key, value: put.value, meta: put.meta, createRevision: created, modRevision: modified };
}

import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from '../api/object.ts';
import { builtinKind } from '../apply/kind-type.ts';
import { updateManagedFields } from '../apply/managed-fields.ts';
import { encodeStored } from '../codec/stored.ts';
import type { Config } from '../config.ts';
import type { Condition, Keyspace, Operation, ValueTag } from '../keyspace/types.ts';
import { keyOf } from '../registry/keys.ts';
import { recordMeta, workOfPut } from '../registry/meta.ts';
import { builtins, type Resource } from '../registry/resource.ts';
import type { TenantUid } from '../request/context.ts';
import { type BootstrapObject, bootstrapObjects, timeOf } from './objects.ts';

/** The record that says which version of the bootstrap objects a tenant has. */
const MARKER = '/gunwale/bootstrap';
/** Raised whenever the objects change: tenants of an older version get what they miss. */
const VERSION = 1;
const ATTEMPTS = 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const plainTag: ValueTag = { storageVersion: '', schema: 0, typeMetaEnd: 0, resourceVersionAt: 0 };

/** Status that a controller of the server applies: who, and the key of the condition that it sets. */
const appliedStatus: Record<string, { manager: string; condition: string; reason: boolean }> = {
  flowschemas: { manager: 'api-priority-and-fairness-config-consumer-v1', condition: 'Dangling', reason: true },
  servicecidrs: { manager: 'kubernetes-service-cidr-controller', condition: 'Ready', reason: false },
};

function statusEntry(resource: Resource, now: Date): ManagedFieldsEntry[] {
  const applied = appliedStatus[resource.resource];
  if (applied === undefined) return [];
  const fields = ['lastTransitionTime', 'message', ...(applied.reason ? ['reason'] : []), 'status', 'type'];
  const condition = { '.': {}, ...Object.fromEntries(fields.map((f) => [`f:${f}`, {}])) };
  const fieldsV1 = {
    'f:status': { 'f:conditions': { [`k:{"type":${JSON.stringify(applied.condition)}}`]: condition } },
  };
  return [
    {
      manager: applied.manager,
      operation: 'Apply',
      apiVersion: resource.groupVersion,
      time: timeOf(now),
      fieldsType: 'FieldsV1',
      fieldsV1,
      subresource: 'status',
    },
  ];
}

function managedFields(
  { object, sent, manager }: BootstrapObject,
  resource: Resource,
  now: Date,
): ManagedFieldsEntry[] {
  const kind = builtinKind(resource.groupVersion, resource.kind);
  if (kind === undefined) return [];
  const resetFields = {
    [resource.groupVersion]: ['status', ...(resource.strategy.resetFields[resource.groupVersion] ?? [])],
  };
  const options = { manager, subresource: '', now, groupVersion: resource.groupVersion, kind, resetFields };
  const { managedFields: own } = updateManagedFields(undefined, sent ?? object, options).metadata;
  return [...statusEntry(resource, now), ...(own ?? [])];
}

/** The object as the server keeps it, members in the order of the API's types. */
function complete(entry: BootstrapObject, resource: Resource, now: Date): KubeObject {
  const { apiVersion = '', kind = '', metadata, ...rest } = entry.object;
  const { name = '', namespace, generation, labels, annotations } = metadata;
  const filled: ObjectMeta = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: crypto.randomUUID(),
    ...(generation === undefined ? {} : { generation }),
    creationTimestamp: timeOf(now),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    managedFields: managedFields(entry, resource, now),
  };
  return { kind, apiVersion, metadata: filled, ...rest };
}

function rowOf({ groupVersion, resource }: BootstrapObject): Resource {
  const row = builtins.get(groupVersion)?.get(resource);
  if (row === undefined) throw new TypeError(`no such resource: ${groupVersion} ${resource}`);
  return row;
}

/** A stable name in the form of an API server's identity: 26 base32 digits of the tenant's digest. */
async function identityOf(tenant: TenantUid): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(`gunwale/${tenant}`)));
  const digits = 'abcdefghijklmnopqrstuvwxyz234567';
  return `apiserver-${[...digest.subarray(0, 26)].map((b) => digits[b % 32]!).join('')}`;
}

function markerOperation(): Operation {
  const value = encoder.encode(JSON.stringify({ version: VERSION }));
  return { type: 'put', key: MARKER, value, meta: { labels: {}, fields: {}, terms: [], tag: plainTag } };
}

/**
 * Gives a tenant what a fresh cluster has by itself: namespaces, RBAC, flow control, priority classes, the `kubernetes`
 * service and what belongs to it. Writes what is missing in one batch and marks it done, so that later calls are one
 * read. Callers on different isolates may race: the batch's conditions let one of them win.
 */
export async function bootstrap(config: Config, tenant: TenantUid, keyspace: Keyspace, now: Date): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [marker] = (await keyspace.get([MARKER], { type: 'linearizable' })).records;
    const done = marker === undefined ? 0 : (JSON.parse(decoder.decode(marker.value)) as { version: number }).version;
    if (done >= VERSION) return;
    const entries = bootstrapObjects({ config, now, identity: await identityOf(tenant) });
    const rows = entries.map(rowOf);
    const keys = entries.map(({ object }, i) =>
      keyOf(rows[i]!, object.metadata.namespace ?? '', object.metadata.name ?? ''),
    );
    const { records } = await keyspace.get(keys, { type: 'linearizable' });
    const conditions: Condition[] = [
      marker === undefined
        ? { type: 'absent', key: MARKER }
        : { type: 'revision', key: MARKER, revision: marker.modRevision },
    ];
    const operations: Operation[] = [];
    const noted = new Set<string>();
    for (const [i, entry] of entries.entries()) {
      if (records[i] !== undefined) continue;
      const object = complete(entry, rows[i]!, now);
      const { value, tag } = encodeStored(object);
      conditions.push({ type: 'absent', key: keys[i]! });
      const work = workOfPut(keys[i]!, object, undefined).filter(({ loop, item }) => !noted.has(`${loop} ${item}`));
      for (const { loop, item } of work) noted.add(`${loop} ${item}`);
      operations.push({ type: 'put', key: keys[i]!, value, meta: recordMeta(rows[i]!, object, tag), work });
    }
    const result = await keyspace.propose({ conditions, operations: [...operations, markerOperation()] });
    if (result.ok) return;
  }
  throw new Error('bootstrap: another writer keeps winning');
}

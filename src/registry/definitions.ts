import { deepCopy, isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import { CLEANUP_FINALIZER, establish } from '../extensions/establish.ts';
import type { StoredRecord } from '../keyspace/types.ts';
import type { RequestContext } from '../request/context.ts';
import { StatusError } from '../status/status.ts';
import { deleteObject } from './delete.ts';
import { toObject } from './present.ts';
import { builtins, type Resource } from './resource.ts';
import type { Scope } from './scope.ts';
import { updateObject } from './update.ts';

const PARALLEL = 32;

const definitions = (): Resource => builtins.get('apiextensions.k8s.io/v1')!.get('customresourcedefinitions')!;

const scopeOf = (ctx: RequestContext, name: string): Scope => ({
  ctx,
  resource: definitions(),
  subresource: 'status',
  namespace: '',
  name,
  options: { dryRun: false },
});

/** Definitions that are read at a time. */
const READ_AT_ONCE = 64;

/**
 * The definitions of a group, which their keys tell (`plural.group`): those of other groups, of which a tenant may have
 * a thousand, are not read.
 */
async function definitionsOf(ctx: RequestContext, group: string): Promise<KubeObject[]> {
  const row = definitions();
  const prefix = `${row.storage!.prefix}/`;
  const keys: string[] = [];
  await eachPage(ctx, prefix, true, async (records) => {
    for (const { key } of records) if (key.slice(key.indexOf('.', prefix.length) + 1) === group) keys.push(key);
  });
  const out: KubeObject[] = [];
  for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
    const { records } = await ctx.keyspace.get(keys.slice(at, at + READ_AT_ONCE), { type: 'linearizable' });
    out.push(...records.flatMap((record) => (record === undefined ? [] : [toObject(row, record)])));
  }
  return out;
}

/** Goes over all records of a prefix, page by page. */
async function eachPage(
  ctx: RequestContext,
  prefix: string,
  keysOnly: boolean,
  visit: (records: StoredRecord[]) => Promise<void>,
): Promise<void> {
  let after = '';
  for (;;) {
    const page = await ctx.keyspace.list({ prefix, after, limit: 0, consistency: { type: 'linearizable' }, keysOnly });
    await visit(page.records);
    const last = page.records.at(-1);
    if (!page.more || last === undefined) return;
    after = last.key;
  }
}

/** Does what may find its object gone: others end definitions and their objects too. */
async function unlessGone(change: Promise<unknown>): Promise<void> {
  await change.catch((error: unknown) => {
    if (!(error instanceof StatusError) || error.status.reason !== 'NotFound') throw error;
  });
}

const groupOf = (definition: KubeObject) => (isObject(definition.spec) ? definition.spec.group : undefined);

/**
 * Accepts or refuses the names of the definitions of one group, and establishes those whose names are free: what
 * upstream's naming and establishing controllers do, at once. Its write is apart from the one that made it necessary,
 * as theirs are.
 */
export async function settleDefinitions(ctx: RequestContext, group: unknown): Promise<void> {
  const all = await definitionsOf(ctx, String(group));
  const own = all
    .filter((definition) => definition.metadata.deletionTimestamp === undefined)
    .sort((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? -1 : 1));
  for (const definition of own) {
    const others = all.filter((other) => other.metadata.name !== definition.metadata.name);
    const status = establish(definition, others, formatTime(ctx.now()));
    if (status === undefined) continue;
    const change = updateObject(scopeOf(ctx, definition.metadata.name!), {
      raw: true,
      transform: (existing) => {
        const next = deepCopy(existing!);
        next.status = establish(next, others, formatTime(ctx.now())) ?? next.status;
        return next;
      },
    });
    await unlessGone(change);
    definition.status = status;
  }
}

/** The row by which the objects of a definition are deleted: it need not be served any more. */
function rowOf(definition: KubeObject): Resource {
  const spec = definition.spec as JsonObject & {
    group: string;
    scope: string;
    names: JsonObject;
    versions: JsonObject[];
  };
  const version = String(spec.versions.find((v) => v.storage === true)?.name ?? '');
  const resource = String(spec.names.plural);
  const groupVersion = `${spec.group}/${version}`;
  return {
    ...definitions(),
    group: spec.group,
    version,
    groupVersion,
    resource,
    kind: String(spec.names.kind),
    namespaced: spec.scope === 'Namespaced',
    subresources: new Map(),
    subresourceStrategies: new Map(),
    storage: { apiVersion: groupVersion, prefix: `/registry/${spec.group}/${resource}` },
    custom: {
      schema: undefined,
      schemas: new Map(),
      generation: Number(definition.metadata.generation ?? 1),
      preserveUnknownFields: true,
      printerColumns: [],
    },
  };
}

function deleteRecord(ctx: RequestContext, row: Resource, record: StoredRecord): Promise<void> {
  const { name = '', namespace = '' } = toObject(row, record).metadata;
  const options = { dryRun: false };
  return unlessGone(deleteObject({ ctx, resource: row, subresource: '', namespace, name, options }, options, record));
}

async function deleteAll(ctx: RequestContext, row: Resource, prefix: string): Promise<void> {
  await eachPage(ctx, prefix, false, async (records) => {
    for (let at = 0; at < records.length; at += PARALLEL) {
      await Promise.all(records.slice(at, at + PARALLEL).map((record) => deleteRecord(ctx, row, record)));
    }
  });
}

/**
 * Deletes the objects of a definition that is going, and lets it go when none is left; objects with finalizers keep it
 * until they are gone themselves.
 */
export async function finishDefinition(ctx: RequestContext, name: string): Promise<void> {
  const key = `${definitions().storage!.prefix}/${name}`;
  const [record] = (await ctx.keyspace.get([key], { type: 'linearizable' })).records;
  const definition = record && toObject(definitions(), record);
  if (definition?.metadata.deletionTimestamp === undefined) return;
  const row = rowOf(definition);
  const prefix = `${row.storage!.prefix}/`;
  await deleteAll(ctx, row, prefix);
  const left = await ctx.keyspace.list({ prefix, limit: 1, consistency: { type: 'linearizable' }, keysOnly: true });
  if (left.records.length > 0) return;
  const released = updateObject(
    { ...scopeOf(ctx, name), subresource: '' },
    {
      internal: true,
      transform: (existing) => {
        const next = deepCopy(existing!);
        next.metadata.finalizers = (next.metadata.finalizers ?? []).filter((other) => other !== CLEANUP_FINALIZER);
        return next;
      },
    },
  );
  await unlessGone(released);
  await settleDefinitions(ctx, groupOf(definition));
}

import { deepCopy, isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import { formatTime } from '../api/time.ts';
import { CLEANUP_FINALIZER, establish } from '../extensions/establish.ts';
import type { RequestContext } from '../request/context.ts';
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

async function allDefinitions(ctx: RequestContext): Promise<KubeObject[]> {
  const row = definitions();
  const prefix = `${row.storage!.prefix}/`;
  const { records } = await ctx.keyspace.list({ prefix, limit: 0, consistency: { type: 'linearizable' } });
  return records.map((record) => toObject(row, record));
}

const groupOf = (definition: KubeObject) => (isObject(definition.spec) ? definition.spec.group : undefined);

/**
 * Accepts or refuses the names of the definitions of one group, and establishes those whose names are free: what
 * upstream's naming and establishing controllers do, at once. Its write is apart from the one that made it necessary,
 * as theirs are.
 */
export async function settleDefinitions(ctx: RequestContext, group: unknown): Promise<void> {
  const all = await allDefinitions(ctx);
  const own = all
    .filter((definition) => groupOf(definition) === group && definition.metadata.deletionTimestamp === undefined)
    .sort((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? -1 : 1));
  for (const definition of own) {
    const others = all.filter((other) => other.metadata.name !== definition.metadata.name);
    const status = establish(definition, others, formatTime(ctx.now()));
    if (status === undefined) continue;
    await updateObject(scopeOf(ctx, definition.metadata.name!), {
      raw: true,
      transform: (existing) => ({ ...deepCopy(existing!), status: deepCopy(status) }),
    });
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

/**
 * Deletes the objects of a definition that is going, and lets it go when none is left; objects with finalizers keep it
 * until they are gone themselves.
 */
export async function finishDefinition(ctx: RequestContext, name: string): Promise<void> {
  const definition = (await allDefinitions(ctx)).find((other) => other.metadata.name === name);
  if (definition?.metadata.deletionTimestamp === undefined) return;
  const row = rowOf(definition);
  const prefix = `${row.storage!.prefix}/`;
  const list = () => ctx.keyspace.list({ prefix, limit: 0, consistency: { type: 'linearizable' } });
  const options = { dryRun: false };
  const { records } = await list();
  for (let at = 0; at < records.length; at += PARALLEL) {
    await Promise.all(
      records.slice(at, at + PARALLEL).map((record) => {
        const { name: item = '', namespace = '' } = toObject(row, record).metadata;
        return deleteObject({ ctx, resource: row, subresource: '', namespace, name: item, options }, options, record);
      }),
    );
  }
  if ((await list()).records.length > 0) return;
  await updateObject(
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
  await settleDefinitions(ctx, groupOf(definition));
}

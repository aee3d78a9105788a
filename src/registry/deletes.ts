import type { KubeObject } from '../api/object.ts';
import { listJson } from '../codec/stored.ts';
import type { StoredRecord } from '../keyspace/types.ts';
import { readDeleteOptions } from '../request/body.ts';
import type { RequestContext } from '../request/context.ts';
import { parseListOptions } from '../request/list-options.ts';
import type { DeleteOptions } from '../request/options.ts';
import { StatusError } from '../status/status.ts';
import { finishDefinition } from './definitions.ts';
import { type Deleted, deletedStatus, deleteObject } from './delete.ts';
import { isDefinition } from './deletion.ts';
import { readRecords } from './list.ts';
import { canSplice, formOf, presenterOf, respond, toObject } from './present.ts';
import type { Resource } from './resource.ts';
import type { Scope } from './scope.ts';

/** Deletions of a collection that are under way at a time: they share commits. */
const PARALLEL = 32;

/** Whether this delete leaves dependents behind that the client may not expect to stay. */
function warnOfOrphans(ctx: RequestContext, resource: Resource, options: DeleteOptions): void {
  const silent = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (silent || resource.group !== 'batch' || resource.resource !== 'jobs') return;
  ctx.warnings.push(
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  );
}

function answerOf(scope: Scope, { object, marked }: Deleted): KubeObject {
  if (scope.resource.strategy.deleteReturnsObject || marked) return object;
  return deletedStatus(scope, object) as KubeObject;
}

/** DELETE of an object: answers with the object, or with a Status that names it. */
export async function serveDelete(ctx: RequestContext, resource: Resource): Promise<Response> {
  const form = formOf(ctx, resource, false);
  const options = await readDeleteOptions(ctx);
  warnOfOrphans(ctx, resource, options);
  const { namespace, name } = ctx.info;
  const scope: Scope = { ctx, resource, subresource: '', namespace, name, options };
  const deleted = await deleteObject(scope, options);
  if (isDefinition(resource) && !options.dryRun) await finishDefinition(ctx, name);
  if (resource.custom?.terminating) await finishDefinition(ctx, `${resource.resource}.${resource.group}`);
  const accepted = !deleted.gone && options.orphanDependents === false;
  const body = presenterOf(ctx, resource, form).object(answerOf(scope, deleted));
  return respond(ctx, body, form.contentType, accepted ? 202 : 200);
}

async function deleteOne(ctx: RequestContext, resource: Resource, options: DeleteOptions, record: StoredRecord) {
  const { name = '', namespace = '' } = toObject(resource, record).metadata;
  const scope: Scope = { ctx, resource, subresource: '', namespace, name, options };
  try {
    await deleteObject(scope, { ...options }, record);
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.reason !== 'NotFound') throw error;
  }
}

/** DELETE of a collection: answers with the list of what was there, as it was. */
export async function serveDeleteCollection(ctx: RequestContext, resource: Resource): Promise<Response> {
  const form = formOf(ctx, resource, true);
  const presenter = presenterOf(ctx, resource, form);
  const selection = parseListOptions(ctx.url.searchParams, resource);
  const options = await readDeleteOptions(ctx);
  warnOfOrphans(ctx, resource, options);
  const { records, metadata } = await readRecords(ctx, resource, selection);
  for (let at = 0; at < records.length; at += PARALLEL) {
    const batch = records.slice(at, at + PARALLEL);
    await Promise.all(batch.map((record) => deleteOne(ctx, resource, options, record)));
  }
  const plain = form.mediaType === 'application/json' && form.as === undefined && !form.pretty;
  const body =
    plain && records.every((record) => canSplice(resource, record))
      ? listJson(records, resource.listKind, resource.groupVersion, metadata, resource.custom !== undefined)
      : presenter.list(
          records.map((record) => toObject(resource, record)),
          metadata,
        );
  return respond(ctx, body, form.contentType);
}

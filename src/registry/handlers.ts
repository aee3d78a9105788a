import { deepCopy, isObject, type KubeObject } from '../api/object.ts';
import { objectJson } from '../codec/stored.ts';
import type { Decoded } from '../codec/typed.ts';
import { readBody, readObject } from '../request/body.ts';
import type { RequestContext } from '../request/context.ts';
import type { Negotiated } from '../request/negotiate.ts';
import { type WriteOptions, writeOptions } from '../request/options.ts';
import { allocatorOf } from './allocation.ts';
import { createObject } from './create.ts';
import { pruneCustom } from './custom.ts';
import { finishDefinition, settleDefinitions } from './definitions.ts';
import { isDefinition } from './deletion.ts';
import { checkName, createAuthorizer, defaulted, expectedOf, scopeOf } from './endpoint.ts';
import { managed } from './managers.ts';
import { applyPatch, patchKind } from './patch.ts';
import { canSplice, formOf, presenterOf, respond, toObject } from './present.ts';
import type { Resource } from './resource.ts';
import { ensureNamespace, type Scope, type Written } from './scope.ts';
import { updateObject } from './update.ts';

/** Reads the object of a create or update, with its defaults. */
async function readDefaulted(ctx: RequestContext, resource: Resource, subresource: string, options: WriteOptions) {
  const onDecoded = ({ object: decoded, strict }: Decoded) => [...strict, ...pruneCustom(resource, decoded)];
  const expected = expectedOf(resource, subresource);
  const object = (await readObject(ctx, expected, options.fieldValidation, onDecoded)) as KubeObject;
  object.metadata ??= {};
  return defaulted(resource, subresource, object);
}

/** Answers with what a write left, by copying the stored bytes where they are what the client wants. */
export function answerWritten(
  ctx: RequestContext,
  resource: Resource,
  form: Negotiated,
  { object, record }: Written,
  status: number,
): Response {
  const plain = form.mediaType === 'application/json' && form.as === undefined && !form.pretty;
  if (plain && record !== undefined && canSplice(resource, record)) {
    return respond(ctx, objectJson(record), form.contentType, status);
  }
  if (record !== undefined && resource.custom !== undefined) {
    return respond(ctx, presenterOf(ctx, resource, form).object(toObject(resource, record)), form.contentType, status);
  }
  if (record !== undefined) object.metadata.resourceVersion = String(record.modRevision);
  return respond(ctx, presenterOf(ctx, resource, form).object(object), form.contentType, status);
}

/** POST of a new object. */
export async function serveCreate(ctx: RequestContext, resource: Resource): Promise<Response> {
  const form = formOf(ctx, resource, false);
  const options = writeOptions(ctx.url.searchParams, 'CreateOptions');
  const object = await readDefaulted(ctx, resource, '', options);
  const scope = { ...scopeOf(ctx, resource, '', options), name: object.metadata.name ?? '' };
  const written = await createObject(scope, object, {
    manage: (decoded) => managed(scope, options, undefined, decoded),
    allocate: allocatorOf(scope),
  });
  await afterWrite(scope, written.object);
  return answerWritten(ctx, resource, form, written, 201);
}

/** What upstream's controllers of definitions do once one was written. */
async function afterWrite({ ctx, resource, options }: Scope, object: KubeObject): Promise<void> {
  if (resource.custom?.terminating) await finishDefinition(ctx, `${resource.resource}.${resource.group}`);
  if (options.dryRun || !isDefinition(resource) || !isObject(object.spec)) return;
  await settleDefinitions(ctx, object.spec.group);
}

/** PUT of an object, or of the part of it that a subresource is. */
export async function serveUpdate(ctx: RequestContext, resource: Resource, subresource: string): Promise<Response> {
  const form = formOf(ctx, resource, false);
  const options = writeOptions(ctx.url.searchParams, 'UpdateOptions');
  const body = await readDefaulted(ctx, resource, subresource, options);
  const scope = scopeOf(ctx, resource, subresource, options);
  ensureNamespace(scope, body);
  checkName(scope, body);
  const written = await updateObject(scope, {
    queues: !body.metadata.resourceVersion,
    transform: (existing) => managed(scope, options, existing, deepCopy(body)),
    ...(body.metadata.uid === undefined ? {} : { uid: body.metadata.uid }),
    authorizeCreate: createAuthorizer(scope),
    allocate: allocatorOf(scope),
  });
  await afterWrite(scope, written.object);
  return answerWritten(ctx, resource, form, written, written.created ? 201 : 200);
}

/** PATCH of an object, or of the part of it that a subresource is. */
export async function servePatch(ctx: RequestContext, resource: Resource, subresource: string): Promise<Response> {
  const kind = patchKind(ctx.request, resource);
  const form = formOf(ctx, resource, false);
  const bytes = await readBody(ctx.request);
  const options = writeOptions(ctx.url.searchParams, 'PatchOptions', kind === 'apply');
  const scope = scopeOf(ctx, resource, subresource, options);
  const patch = applyPatch(scope, kind, bytes, options);
  ctx.audit?.requestBytes(bytes, kind === 'apply' ? 'application/yaml' : 'application/json');
  const written = await updateObject(scope, {
    transform: patch,
    queues: true,
    createsMissing: kind === 'apply',
    authorizeCreate: createAuthorizer(scope),
    allocate: allocatorOf(scope),
  });
  await afterWrite(scope, written.object);
  return answerWritten(ctx, resource, form, written, written.created ? 201 : 200);
}

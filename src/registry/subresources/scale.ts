import { admit } from '../../admission/chain.ts';
import { pluginsOf } from '../../admission/plugins.ts';
import { objectAt, objectsAt } from '../../api/fields.ts';
import { deepCopy, isObject, type JsonObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import { managedFieldsFromScale, managedFieldsOfScale, type ReplicasPaths } from '../../apply/scale.ts';
import { readBody, readObject } from '../../request/body.ts';
import type { RequestContext } from '../../request/context.ts';
import { writeOptions } from '../../request/options.ts';
import { causes, internalError, invalid, notFound } from '../../status/status.ts';
import { checkName, createAuthorizer, expectedOf, scopeOf } from '../endpoint.ts';
import { keyOf } from '../keys.ts';
import { managed } from '../managers.ts';
import { applyPatch, patchKind } from '../patch.ts';
import { formOf, presenterOf, respond, toObject } from '../present.ts';
import type { Resource } from '../resource.ts';
import { attributesOf, ensureNamespace, readConfirmed, type Scope } from '../scope.ts';
import { type Update, updateObject } from '../update.ts';

/** The row of a resource's scale: the same names, another kind. */
function scaleRow({ custom: _, ...resource }: Resource): Resource {
  return { ...resource, group: 'autoscaling', version: 'v1', groupVersion: 'autoscaling/v1', kind: 'Scale' };
}

const split = (path: string): string[] => path.replace(/^\./, '').split('.');

function at(object: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let current = object;
  for (const key of path) current = isObject(current) ? current[key] : undefined;
  return current;
}

const specPathOf = (resource: Resource): string => resource.custom?.scale?.specReplicasPath ?? 'spec.replicas';
const replicasPaths = (resource: Resource): ReplicasPaths => ({
  [resource.groupVersion]: specPathOf(resource).replace(/^\./, ''),
});

/** A label selector as text, requirements in the order of their keys. */
function selectorText(selector: JsonObject): string {
  const terms = Object.entries(objectAt(selector, 'matchLabels')).map(([key, value]) => [
    key,
    `${key}=${String(value)}`,
  ]);
  for (const { key, operator, values } of objectsAt(selector, 'matchExpressions')) {
    const list = Array.isArray(values) ? values.map(String).sort().join(',') : '';
    const forms: Record<string, string> = {
      In: `${key} in (${list})`,
      NotIn: `${key} notin (${list})`,
      Exists: `${key}`,
      DoesNotExist: `!${key}`,
    };
    terms.push([String(key), forms[String(operator)] ?? '']);
  }
  return terms
    .sort(([a = ''], [b = '']) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, text]) => text)
    .join(',');
}

function selectorOf(resource: Resource, parent: KubeObject): string {
  const { labelSelectorPath } = resource.custom?.scale ?? {};
  if (resource.custom !== undefined) {
    const text = labelSelectorPath === undefined ? undefined : at(parent, split(labelSelectorPath));
    return typeof text === 'string' ? text : '';
  }
  const selector = objectAt(objectAt(parent, 'spec'), 'selector');
  return selectorText(resource.resource === 'replicationcontrollers' ? { matchLabels: selector } : selector);
}

/** The Scale that a parent shows. Throws 500 where a custom resource has no replicas to show. */
function scaleOf(resource: Resource, parent: KubeObject): KubeObject {
  const replicas = at(parent, split(specPathOf(resource)));
  if (resource.custom !== undefined && replicas === undefined) {
    throw internalError(`the spec replicas field ${JSON.stringify(specPathOf(resource))} does not exist`);
  }
  const current = at(parent, split(resource.custom?.scale?.statusReplicasPath ?? 'status.replicas'));
  const selector = selectorOf(resource, parent);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = parent.metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: { replicas: current ?? 0, ...(selector === '' ? {} : { selector }) },
  };
}

function withReplicas(resource: Resource, parent: KubeObject, scale: KubeObject): KubeObject {
  const out = deepCopy(parent);
  const path = split(specPathOf(resource));
  let target: JsonObject = out;
  for (const key of path.slice(0, -1)) {
    if (!isObject(target[key])) target[key] = {};
    target = target[key] as JsonObject;
  }
  target[path.at(-1)!] = objectAt(scale, 'spec').replicas ?? 0;
  const version = scale.metadata.resourceVersion;
  if (version === undefined && resource.custom === undefined) delete out.metadata.resourceVersion;
  else if (version !== undefined) out.metadata.resourceVersion = version;
  const entries = managedFieldsFromScale(
    parent.metadata.managedFields ?? [],
    scale.metadata.managedFields ?? [],
    resource.groupVersion,
    replicasPaths(resource),
  );
  if (entries.length === 0) delete out.metadata.managedFields;
  else out.metadata.managedFields = entries;
  return out;
}

function validateScale(scale: KubeObject): void {
  const replicas = objectAt(scale, 'spec').replicas ?? 0;
  if (typeof replicas !== 'number' || replicas >= 0) return;
  const fault = causes.invalid('spec.replicas', replicas, 'must be greater than or equal to 0');
  throw invalid({ group: 'autoscaling', name: 'Scale' }, scale.metadata.name ?? '', [fault]);
}

/** How a change of the Scale changes its parent. */
function parentTransform(scope: Scope, change: (scale: KubeObject) => KubeObject): Update['transform'] {
  const { resource } = scope;
  return async (parent) => {
    const shown = scaleOf(resource, parent!);
    const owners = managedFieldsOfScale(parent!.metadata.managedFields ?? [], replicasPaths(resource));
    if (owners.length > 0) shown.metadata.managedFields = owners;
    const scale = change(shown);
    await admit(pluginsOf(scope.ctx), attributesOf(scope, 'UPDATE', scale, shown));
    if (resource.custom === undefined) validateScale(scale);
    return withReplicas(resource, parent!, scale);
  };
}

/** GET, PUT and PATCH of a resource's scale. */
export async function serveScale(ctx: RequestContext, resource: Resource, verb: string): Promise<Response> {
  const row = scaleRow(resource);
  const form = formOf(ctx, row, false);
  const answer = (parent: KubeObject) =>
    respond(ctx, presenterOf(ctx, row, form).object(scaleOf(resource, parent)), form.contentType);
  if (verb === 'get') return answer(await currentParent(ctx, resource));
  const [scope, update] = verb === 'patch' ? await patchOf(ctx, resource, row) : await putOf(ctx, resource, row);
  const { object, record } = await updateObject(scope, update);
  if (record !== undefined) object.metadata.resourceVersion = String(record.modRevision);
  return answer(object);
}

async function currentParent(ctx: RequestContext, resource: Resource): Promise<KubeObject> {
  const { namespace, name } = ctx.info;
  const record = await readConfirmed(ctx, keyOf(resource, namespace, name));
  if (record === undefined) throw notFound({ group: resource.group, name: resource.resource }, name);
  return toObject(resource, record);
}

async function patchOf(ctx: RequestContext, resource: Resource, row: Resource): Promise<[Scope, Update]> {
  const kind = patchKind(ctx.request, row);
  const bytes = await readBody(ctx.request);
  const options = writeOptions(ctx.url.searchParams, 'PatchOptions', kind === 'apply');
  const scope = scopeOf(ctx, resource, 'scale', options);
  const patch = applyPatch({ ...scope, resource: row }, kind, bytes, options);
  const shows = (parent: KubeObject) => scaleOf(resource, parent);
  return [scope, { transform: parentTransform(scope, patch), shows, authorizeCreate: createAuthorizer(scope) }];
}

async function putOf(ctx: RequestContext, resource: Resource, row: Resource): Promise<[Scope, Update]> {
  const options = writeOptions(ctx.url.searchParams, 'UpdateOptions');
  const body = (await readObject(ctx, expectedOf(resource, 'scale'), options.fieldValidation)) as KubeObject;
  body.metadata ??= {};
  const scope = scopeOf(ctx, resource, 'scale', options);
  ensureNamespace(scope, body);
  checkName(scope, body);
  const own: Scope = { ...scope, resource: row };
  const { uid } = body.metadata;
  return [
    scope,
    {
      transform: parentTransform(scope, (shown) => managed(own, options, shown, deepCopy(body))),
      shows: (parent) => scaleOf(resource, parent),
      ...(uid === undefined ? {} : { uid }),
    },
  ];
}

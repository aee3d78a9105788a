import { condition, mapOf, objects, text, texts } from '../api/fields.ts';
import { isObject, type JsonObject } from '../api/object.ts';
import { compareVersions } from '../discovery/version.ts';
import { readClientConfig } from '../outbound/client-config.ts';
import type { CustomResource, Resource, Strategy, Subresource, Verb } from '../registry/resource.ts';

const verbs: ReadonlySet<Verb> = new Set([
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
]);
const subresourceVerbs: ReadonlySet<Verb> = new Set(['get', 'patch', 'update']);

/**
 * The rows of a CustomResourceDefinition's served versions, or none while it is not Established. `generationRises` is
 * `['*']`: any change outside metadata (and outside status, where that is a subresource) raises the generation.
 */
export async function customResources(crd: JsonObject): Promise<Resource[]> {
  const spec = mapOf(crd.spec);
  const established = condition(mapOf(crd.status).conditions, 'Established')?.status === 'True';
  if (!established || !Array.isArray(spec.versions)) return [];
  const versions = spec.versions.filter(isObject);
  const storage = versions.find((v) => v.storage === true);
  return Promise.all(versions.filter((v) => v.served === true).map((v) => row(crd, spec, v, text(storage?.name))));
}

async function row(crd: JsonObject, spec: JsonObject, version: JsonObject, storageVersion: string): Promise<Resource> {
  const group = text(spec.group);
  const names = mapOf(mapOf(crd.status).acceptedNames ?? spec.names);
  const plural = text(names.plural);
  const kind = text(names.kind);
  const name = text(version.name);
  const hasStatus = isObject(mapOf(version.subresources).status);
  const groupVersion = `${group}/${name}`;
  const strategy = customStrategy(hasStatus ? { [groupVersion]: ['status'] } : {});
  const statusStrategy = customStrategy({ [groupVersion]: ['metadata', 'spec'] });
  const selectable = objects(version.selectableFields);
  return {
    group,
    version: name,
    groupVersion,
    resource: plural,
    singular: text(names.singular),
    kind,
    listKind: text(names.listKind) || `${kind}List`,
    namespaced: spec.scope === 'Namespaced',
    verbs,
    shortNames: texts(names.shortNames),
    categories: texts(names.categories),
    subresources: subresources(group, name, kind, version),
    storage: { apiVersion: `${group}/${storageVersion}`, prefix: `/registry/${group}/${plural}` },
    storageVersionHash: await storageVersionHash(`${group}/${storageVersion}/${kind}`),
    strategy,
    subresourceStrategies: new Map(hasStatus ? [['status', statusStrategy]] : []),
    fields: ['metadata.name', 'metadata.namespace', ...selectable.map((f) => text(f.jsonPath).replace(/^\./, ''))],
    unknownFieldMessage: 'field label not supported: <field>',
    custom: custom(crd, spec, version),
  };
}

function customStrategy(resetFields: Strategy['resetFields']): Strategy {
  return {
    allowCreateOnUpdate: false,
    allowUnconditionalUpdate: false,
    gracefulDelete: false,
    deleteReturnsObject: false,
    generationRises: ['*'],
    keepsOld: [],
    onCreate: {},
    resetFields,
    stored: true,
  };
}

function subresources(group: string, version: string, kind: string, of: JsonObject): Map<string, Subresource> {
  const declared = mapOf(of.subresources);
  const out = new Map<string, Subresource>();
  if (isObject(declared.status)) out.set('status', { name: 'status', group, version, kind, verbs: subresourceVerbs });
  if (isObject(declared.scale)) {
    out.set('scale', { name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: subresourceVerbs });
  }
  return out;
}

function custom(crd: JsonObject, spec: JsonObject, version: JsonObject): CustomResource {
  const scale = mapOf(version.subresources).scale;
  const generation = mapOf(crd.metadata).generation;
  const columns = Array.isArray(version.additionalPrinterColumns) ? version.additionalPrinterColumns : [];
  return {
    schema: mapOf(version.schema).openAPIV3Schema,
    schemas: schemas(spec),
    ...deprecation(spec, version),
    ...conversion(mapOf(spec.conversion)),
    generation: typeof generation === 'number' ? generation : 1,
    preserveUnknownFields: spec.preserveUnknownFields === true,
    ...(mapOf(crd.metadata).deletionTimestamp === undefined ? {} : { terminating: true }),
    printerColumns: columns as CustomResource['printerColumns'],
    ...(isObject(scale) ? { scale: scale as unknown as NonNullable<CustomResource['scale']> } : {}),
  };
}

function schemas(spec: JsonObject): Map<string, unknown> {
  const versions = objects(spec.versions);
  return new Map(
    versions.map((v) => [`${text(spec.group)}/${text(v.name)}`, mapOf(v.schema).openAPIV3Schema as unknown]),
  );
}

/** The webhook that converts between the versions, where one does. */
function conversion({ strategy, webhook }: JsonObject): Pick<CustomResource, 'conversion'> {
  if (strategy !== 'Webhook' || !isObject(webhook)) return {};
  const client = readClientConfig(mapOf(webhook.clientConfig));
  return { conversion: { client, versions: texts(webhook.conversionReviewVersions) } };
}

/** The warning of a deprecated version: its own, or one that names the newest version to use instead. */
function deprecation(spec: JsonObject, version: JsonObject): { deprecation?: string } {
  if (version.deprecated !== true) return {};
  if (typeof version.deprecationWarning === 'string') return { deprecation: version.deprecationWarning };
  const group = text(spec.group);
  const kind = text(mapOf(spec.names).kind);
  const name = text(version.name);
  const versions = objects(spec.versions);
  const [newest] = versions
    .filter((v) => v.served === true && v.deprecated !== true && compareVersions(text(v.name), name) < 0)
    .map((v) => text(v.name))
    .sort(compareVersions);
  const instead = newest === undefined ? '' : `; use ${group}/${newest} ${kind}`;
  return { deprecation: `${group}/${name} ${kind} is deprecated${instead}` };
}

/** The first eight bytes of the SHA-256 of `group/version/kind`, in base64, as discovery shows it. */
async function storageVersionHash(groupVersionKind: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(groupVersionKind)));
  return btoa(String.fromCharCode(...digest.subarray(0, 8)));
}

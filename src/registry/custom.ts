import { objects } from '../api/fields.ts';
import { deepCopy, isObject, type JsonValue, type KubeObject } from '../api/object.ts';
import { coerceEmbedded } from '../extensions/embedded.ts';
import { unknownFormats } from '../extensions/formats.ts';
import { applySchemaDefaults, dropNulls, prune, type Structural } from '../extensions/structural.ts';
import { isDefinition } from './deletion.ts';
import type { Resource } from './resource.ts';

const schemaOf = (resource: Resource) => resource.custom?.schema as Structural | undefined;
const told = (path: string) => `unknown field ${JSON.stringify(path)}`;

/**
 * Drops what the schema of a custom resource does not name, in place, and nulls that it does not allow; tells what it
 * did not name, as a strict reading does. Metadata of embedded objects gets its type. Throws a DecodeError where it cannot.
 */
export function pruneCustom(resource: Resource, object: KubeObject): string[] {
  if (resource.custom === undefined) return [];
  const schema = schemaOf(resource);
  const unknown = resource.custom.preserveUnknownFields ? [] : prune(object as JsonValue, schema);
  if (!resource.custom.preserveUnknownFields) dropNulls(object, schema);
  return [...unknown.map(told), ...coerceEmbedded(object, schema)];
}

/** Fills in the defaults of the schema of a custom resource, in place. */
export function defaultCustom(resource: Resource, object: KubeObject): void {
  applySchemaDefaults(object as JsonValue, schemaOf(resource));
}

function pruneTo(resource: Resource, object: KubeObject, schema: Structural | undefined): void {
  if (schema === undefined || resource.custom?.preserveUnknownFields === true) return;
  prune(object as JsonValue, schema);
  dropNulls(object, schema);
}

/**
 * A stored custom object, which is changed, in the version of a row: pruned and defaulted by the schema of the version
 * that it was stored in, unless it is `current`, and pruned by that of the row's.
 */
export function readCustom(resource: Resource, object: KubeObject, current: boolean): KubeObject {
  if (!current) settleStored(resource, object);
  if (object.apiVersion === resource.groupVersion) return object;
  object.apiVersion = resource.groupVersion;
  return pruneToVersion(resource, object);
}

/** A stored custom object, which is changed, as the schema has it by now of the version that it was stored in. */
export function settleStored(resource: Resource, object: KubeObject): void {
  const schema = resource.custom?.schemas.get(object.apiVersion ?? '') as Structural | undefined;
  pruneTo(resource, object, schema);
  applySchemaDefaults(object as JsonValue, schema);
}

/** Drops from a custom object, in place, what the schema of its version does not name. */
export function pruneToVersion(resource: Resource, object: KubeObject): KubeObject {
  pruneTo(resource, object, resource.custom?.schemas.get(object.apiVersion ?? '') as Structural | undefined);
  return object;
}

/**
 * A custom object in the version that its definition stores, with the fields that this knows; where a webhook converts,
 * that is done on the way to the store (conversion/keyspace.ts).
 */
export function customToStorage(resource: Resource, object: KubeObject): KubeObject {
  const { apiVersion } = resource.storage ?? {};
  if (apiVersion === undefined || apiVersion === object.apiVersion || resource.custom?.conversion) return object;
  const out = deepCopy({ ...object, apiVersion });
  pruneTo(resource, out, resource.custom?.schemas.get(apiVersion) as Structural | undefined);
  return out;
}

const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);

/** Warnings about the finalizers that a write brings to a custom object. */
function finalizerWarnings(object: KubeObject, old?: KubeObject): string[] {
  const known = new Set([...STANDARD_FINALIZERS, ...(old?.metadata.finalizers ?? [])]);
  const names = [...new Set(object.metadata.finalizers ?? [])].filter(
    (name) => !name.includes('/') && !known.has(name),
  );
  return names.sort().map((name) => {
    const form = name.includes('.') ? 'name including a path (/)' : 'name';
    const why = `prefer a domain-qualified finalizer ${form} to avoid accidental conflicts with other finalizer writers`;
    return `metadata.finalizers: ${JSON.stringify(name)}: ${why}`;
  });
}

function formatsOf(definition: KubeObject | undefined): string[] {
  const spec = isObject(definition?.spec) ? definition.spec : {};
  const versions = objects(spec.versions);
  const schemas = versions.map(({ schema }) => (isObject(schema) ? schema.openAPIV3Schema : undefined));
  return [...new Set(schemas.filter(isObject).flatMap((schema) => [...unknownFormats(schema as Structural)]))];
}

/** Warnings about what a write brings to a custom object, or to the schemas of a definition. */
export function writeWarnings(resource: Resource, object: KubeObject, old?: KubeObject): string[] {
  if (resource.custom !== undefined) return finalizerWarnings(object, old);
  if (!isDefinition(resource)) return [];
  const known = new Set(formatsOf(old));
  return formatsOf(object)
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

/** Whether a definition, as stored, still makes the row that a client is served by. */
export function isCurrentDefinition(resource: Resource, definition: KubeObject): boolean {
  const spec = isObject(definition.spec) ? definition.spec : {};
  const versions = objects(spec.versions);
  const served = versions.some((v) => v.name === resource.version && v.served === true);
  return served && (definition.metadata.generation ?? 1) === resource.custom?.generation;
}

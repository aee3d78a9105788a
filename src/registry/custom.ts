import type { JsonValue, KubeObject } from '../api/object.ts';
import { applySchemaDefaults, prune, type Structural } from '../extensions/structural.ts';
import type { Resource } from './resource.ts';

const schemaOf = (resource: Resource) => resource.custom?.schema as Structural | undefined;

/** Drops what the schema of a custom resource does not name, in place; tells what that was, as a strict reading does. */
export function pruneCustom(resource: Resource, object: KubeObject): string[] {
  if (resource.custom === undefined || resource.custom.preserveUnknownFields) return [];
  return prune(object as JsonValue, schemaOf(resource)).map((path) => `unknown field ${JSON.stringify(path)}`);
}

/** Fills in the defaults of the schema of a custom resource, in place. */
export function defaultCustom(resource: Resource, object: KubeObject): void {
  applySchemaDefaults(object as JsonValue, schemaOf(resource));
}

/** Warnings that a new custom object gets. */
export function customWarnings(object: KubeObject): string[] {
  const names = (object.metadata.finalizers ?? []).filter((name) => !name.includes('/'));
  return names.map(
    (name) =>
      `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
  );
}

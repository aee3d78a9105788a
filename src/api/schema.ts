import types from './tables/types.json';

/** A node of a published schema. `$ref` is the bare definition name. */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  default?: unknown;
  enum?: string[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema;
  oneOf?: Schema[];
  'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: 'atomic' | 'granular';
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-unions'?: unknown[];
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

const definitions = (types as unknown as { definitions: Record<string, Schema> }).definitions;

/** Isolate cache, constant once built: definition name by `groupVersion kind`. */
let byKind: Map<string, string> | undefined;

function kinds(): Map<string, string> {
  if (byKind !== undefined) return byKind;
  byKind = new Map();
  for (const name of Object.keys(definitions)) {
    for (const { group, version, kind } of definitions[name]?.['x-kubernetes-group-version-kind'] ?? []) {
      byKind.set(`${group === '' ? version : `${group}/${version}`} ${kind}`, name);
    }
  }
  return byKind;
}

/** The definition of that name (`io.k8s.api.core.v1.Pod`). */
export function definition(name: string): Schema | undefined {
  return Object.hasOwn(definitions, name) ? definitions[name] : undefined;
}

/** Name of the definition that describes a kind; lists, Status, DeleteOptions and WatchEvent included. */
export function definitionName(groupVersion: string, kind: string): string | undefined {
  return kinds().get(`${groupVersion} ${kind}`);
}

/** The definition that describes a kind; lists, Status, DeleteOptions and WatchEvent included. */
export function definitionFor(groupVersion: string, kind: string): Schema | undefined {
  const name = definitionName(groupVersion, kind);
  return name === undefined ? undefined : definitions[name];
}

/** The node itself, or what its `$ref` names. A reference to nothing gives the empty schema. */
export function resolve(node: Schema): Schema {
  return node.$ref === undefined ? node : (definition(node.$ref) ?? {});
}

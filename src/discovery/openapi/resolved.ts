import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import type { Structural } from '../../extensions/structural.ts';
import type { Resource } from '../../registry/resource.ts';
import { bareDefinition, builtinDefinitions } from './builtin.ts';
import { objectDefinition } from './custom.ts';
import type { Definition, GroupVersionKind } from './model.ts';

/** Schemas of kinds with what they refer to in its place (k8s.io/apiserver, pkg/cel/openapi/resolver). */

const keyOf = ({ group, version, kind }: Pick<Resource, 'group' | 'version' | 'kind'>) => `${group}/${version}/${kind}`;

function readNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const name of builtinDefinitions) {
    const kinds = bareDefinition(name)?.['x-kubernetes-group-version-kind'];
    for (const kind of Array.isArray(kinds) ? kinds : []) names.set(keyOf(kind as GroupVersionKind), name);
  }
  return names;
}

/** Isolate cache of the names of built-in kinds' definitions; made when a schema is first asked for. */
const memo: { names?: ReadonlyMap<string, string> } = {};

/** What stands where a definition leads back to itself. */
const CIRCULAR: JsonObject = { type: 'object' };

function resolve(schema: JsonObject, within: ReadonlySet<string>): JsonObject {
  const { $ref } = schema;
  if (typeof $ref === 'string') {
    if (within.has($ref)) return CIRCULAR;
    return resolve(bareDefinition($ref) ?? CIRCULAR, new Set([...within, $ref]));
  }
  const inner = (part: JsonValue | undefined) => (isObject(part) ? resolve(part, within) : part);
  const out: JsonObject = { ...schema };
  if (schema.format === 'int-or-string') out['x-kubernetes-int-or-string'] = true;
  if (isObject(schema.properties)) {
    out.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, part]) => [name, inner(part) as JsonValue]),
    );
  }
  if (isObject(schema.items)) out.items = inner(schema.items) as JsonValue;
  if (isObject(schema.additionalProperties)) out.additionalProperties = inner(schema.additionalProperties) as JsonValue;
  return out;
}

function definitionOf(kind: GroupVersionKind, rows: readonly Resource[]): Definition | undefined {
  memo.names ??= readNames();
  const name = memo.names.get(keyOf(kind));
  if (name !== undefined) return resolve({ $ref: name }, new Set());
  const row = rows.find((one) => keyOf(one) === keyOf(kind));
  return row === undefined ? undefined : resolve(objectDefinition(row, bareDefinition), new Set());
}

/** The whole schema of a kind, built in or of custom resources (`rows`); undefined where none is known. */
export const resolvedSchema = (kind: GroupVersionKind, rows: readonly Resource[]): Structural | undefined =>
  definitionOf(kind, rows) as Structural | undefined;

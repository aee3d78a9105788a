import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../api/object.ts';
import type { FieldType, KindType } from './kind-type.ts';
import { mergeValues } from './merge-values.ts';
import { typeErrors } from './type-errors.ts';

/** Paths of atomic lists and maps that a configuration mentions. */
function atomicPaths(type: FieldType, value: JsonValue, path: string): string[] {
  const out: string[] = [];
  if (isObject(value) && type.map !== undefined) {
    if (type.map.atomic) out.push(path);
    for (const [key, child] of Object.entries(value)) {
      if (child === undefined) continue;
      out.push(...atomicPaths(type.map.fields.get(key)?.type ?? type.map.element ?? {}, child, `${path}.${key}`));
    }
  }
  if (Array.isArray(value) && type.list !== undefined) {
    const { atomic, element } = type.list;
    if (atomic) out.push(path);
    for (const [i, item] of value.entries()) out.push(...atomicPaths(element, item, `${path}[${i}]`));
  }
  return out;
}

/** What was merged, or why it was not. */
export type Merged = { value: JsonObject } | { error: string };

/**
 * Merges a configuration into an object without regard to owners (ApplyStructuredMergeDiff of k8s.io/apiserver). What is
 * atomic may not be part of it, since the rest of it would be lost.
 */
export function mergeConfiguration({ type }: KindType, object: KubeObject, configuration: JsonObject): Merged {
  const wrong = typeErrors(type, configuration);
  if (wrong !== undefined) return { error: `failed to convert patch object to typed object: ${wrong}` };
  const atomic = atomicPaths(type, configuration, '');
  if (atomic.length > 0) {
    const why = `may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}`;
    return { error: `invalid ApplyConfiguration: ${why}` };
  }
  return { value: mergeValues(type, object, configuration) as JsonObject };
}

import type { JsonObject, JsonValue } from '../api/object.ts';
import type { Environment } from './environment.ts';
import { toJson } from './json-values.ts';
import { mutationFunctions } from './kubernetes.ts';
import { type CelType, DYN, STRING, struct } from './types.ts';
import { CelList, CelMap, Optional, type Value } from './values.ts';

/**
 * Types that mutating policies construct: `Object` and, for each of its fields, `Object.field`; `JSONPatch`
 * (k8s.io/apiserver, pkg/cel/mutation).
 */

const OBJECT = 'Object';
const anyField: CelType['fields'] = { get: () => DYN };
const jsonPatchFields = new Map<string, CelType>([
  ['op', STRING],
  ['path', STRING],
  ['from', STRING],
  ['value', DYN],
]);
const jsonPatchType = struct('JSONPatch', jsonPatchFields);

function structType(name: string): CelType | undefined {
  if (name === jsonPatchType.name) return jsonPatchType;
  return name === OBJECT || name.startsWith(`${OBJECT}.`) ? { ...struct(name), fields: anyField } : undefined;
}

/** An environment in which objects and patches may be constructed. */
export const mutationEnvironment = (base: Environment): Environment => ({
  ...base,
  functions: mutationFunctions,
  structType,
});

/** What is wrong with the names of constructed types: each has to be the path of the field that it stands in. */
function nameFaults(value: Value, path: string): string[] {
  if (value instanceof Optional) return value.present ? nameFaults(value.value, path) : [];
  if (value instanceof CelList) return [...value].flatMap((item) => nameFaults(item, path));
  if (!(value instanceof CelMap)) return [];
  const { typeName } = value;
  const isObject = typeName === OBJECT || (typeName?.startsWith(`${OBJECT}.`) ?? false);
  if (!isObject)
    return typeName === undefined ? [...value.keys()].flatMap((key) => nameFaults(value.get(key)!, path)) : [];
  const own =
    typeName === path
      ? []
      : [
          `unexpected type name ${JSON.stringify(typeName)}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`,
        ];
  return [...own, ...[...value.keys()].flatMap((key) => nameFaults(value.get(key)!, `${path}.${String(key)}`))];
}

/** What an expression made, as JSON; or why it is not that. */
export type Made<T> = { value: T } | { error: string };

function checked(value: Value): Made<JsonValue> {
  const root = value instanceof CelMap ? value.typeName : undefined;
  const faults = nameFaults(value, root ?? OBJECT);
  return faults.length > 0 ? { error: `type mismatch: ${faults.join('\n')}` } : { value: toJson(value) };
}

/** The configuration that an ApplyConfiguration expression made. */
export const applyConfigurationOf = (value: Value): Made<JsonValue> => checked(value);

/** The operations that a JSONPatch expression made. */
export function jsonPatchOf(value: Value): Made<JsonObject[]> {
  const operations: JsonObject[] = [];
  for (const item of value instanceof CelList ? value : []) {
    if (!(item instanceof CelMap))
      return { error: 'type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch' };
    const made = item.get('value');
    if (made instanceof CelMap && made.typeName?.startsWith(OBJECT)) {
      const inner = checked(made);
      if ('error' in inner) return inner;
    }
    operations.push(toJson(item) as JsonObject);
  }
  return { value: operations };
}

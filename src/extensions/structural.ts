import { deepCopy, isObject, type JsonObject, type JsonValue, setKey } from '../api/object.ts';

/** A structural schema: `openAPIV3Schema` of a CustomResourceDefinition version, as the API has it. */
export interface Structural {
  type?: string;
  format?: string;
  nullable?: boolean;
  default?: JsonValue;
  properties?: Record<string, Structural>;
  additionalProperties?: boolean | Structural;
  items?: Structural;
  required?: string[];
  enum?: JsonValue[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  allOf?: Structural[];
  anyOf?: Structural[];
  oneOf?: Structural[];
  not?: Structural;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: string;
}

const TYPE_META = new Set(['apiVersion', 'kind', 'metadata']);

const property = (schema: Structural, key: string): Structural | undefined =>
  schema.properties !== undefined && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;
/** Schema of the values of a map; `{}` where any value is allowed, `undefined` where the schema is no map. */
function mapValues(schema: Structural): Structural | undefined {
  const values = schema.additionalProperties;
  if (values === undefined || values === false) return undefined;
  return values === true ? { 'x-kubernetes-preserve-unknown-fields': true } : values;
}

class Pruner {
  readonly unknown: string[] = [];

  /** `preserve`: fields that no schema names are kept (only their known parts are pruned). */
  prune(
    value: JsonValue | undefined,
    schema: Structural | undefined,
    path: string,
    root: boolean,
    preserve = false,
  ): void {
    const keep = preserve || schema?.['x-kubernetes-preserve-unknown-fields'] === true;
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) this.prune(item, schema?.items, `${path}[${i}]`, false, keep);
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) this.#field(value, key, schema, path, root, keep);
    }
  }

  #field(
    object: JsonObject,
    key: string,
    schema: Structural | undefined,
    path: string,
    root: boolean,
    keep: boolean,
  ): void {
    if ((root || schema?.['x-kubernetes-embedded-resource'] === true) && TYPE_META.has(key)) return;
    const at = path === '' ? key : `${path}.${key}`;
    const known = schema === undefined ? undefined : (property(schema, key) ?? mapValues(schema));
    if (known !== undefined) this.prune(object[key], known, at, false);
    else if (!keep) {
      this.unknown.push(at);
      delete object[key];
    }
  }
}

/**
 * Removes, in place, every field that the schema does not name, and returns their paths, sorted. `kind`, `apiVersion`
 * and `metadata` of the object (`root`) and of embedded resources stay.
 */
export function prune(object: JsonValue, schema: Structural | undefined, root = true): string[] {
  const pruner = new Pruner();
  pruner.prune(object, schema, '', root);
  return pruner.unknown.sort();
}

const dropsNull = (value: JsonValue | undefined, schema: Structural | undefined) =>
  value === null && schema !== undefined && schema.nullable !== true;

/**
 * Fills in, in place, the defaults of the schema. A null where the schema is not nullable counts as absent: it takes the
 * default, or goes where there is none (in a list it stays, for validation to refuse).
 */
export function applySchemaDefaults(value: JsonValue | undefined, schema: Structural | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      if (dropsNull(item, schema.items) && schema.items?.default !== undefined)
        value[i] = deepCopy(schema.items.default);
      applySchemaDefaults(value[i], schema.items);
    }
    return;
  }
  if (!isObject(value)) return;
  for (const [key, known] of Object.entries(schema.properties ?? {})) {
    const absent = !Object.hasOwn(value, key) || value[key] === undefined || dropsNull(value[key], known);
    if (!absent) continue;
    if (known.default !== undefined) setKey(value, key, deepCopy(known.default));
    else delete value[key];
  }
  for (const key of Object.keys(value)) {
    const known = property(schema, key) ?? mapValues(schema);
    if (property(schema, key) === undefined && dropsNull(value[key], known)) {
      if (known?.default !== undefined) setKey(value, key, deepCopy(known.default));
      else if (known?.type !== undefined) delete value[key];
    }
    applySchemaDefaults(value[key], known);
  }
}

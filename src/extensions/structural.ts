import { deepCopy, isObject, type JsonObject, type JsonValue, setKey } from '../api/object.ts';

/** A rule of `x-kubernetes-validations`, as the API has it. */
export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

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
  'x-kubernetes-validations'?: ValidationRule[];
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

/** The schema of a member of an object: of the property, or of the values of a map. */
const memberOf = (schema: Structural | undefined, key: string): Structural | undefined =>
  schema === undefined ? undefined : (property(schema, key) ?? mapValues(schema));

/** Whether a value is a null where none may be. */
const isForbiddenNull = (value: JsonValue | undefined, schema: Structural | undefined): schema is Structural =>
  value === null && schema !== undefined && schema.nullable !== true;

/**
 * Removes, in place, nulls where the schema is not nullable and has no default to take their place. In a list they
 * stay, for validation to refuse.
 */
export function dropNulls(value: JsonValue | undefined, schema: Structural | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, schema.items);
    return;
  }
  if (!isObject(value)) return;
  for (const key of Object.keys(value)) {
    const known = memberOf(schema, key);
    if (isForbiddenNull(value[key], known) && known.default === undefined && isTyped(schema, key)) delete value[key];
    else dropNulls(value[key], known);
  }
}

/** Maps of any values take nulls as well. */
const isTyped = (schema: Structural, key: string) =>
  property(schema, key) !== undefined || isObject(schema.additionalProperties);

/** Fills in, in place, the defaults of the schema. A null where the schema is not nullable counts as absent. */
export function applySchemaDefaults(value: JsonValue | undefined, schema: Structural | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      if (isForbiddenNull(item, schema.items) && schema.items?.default !== undefined)
        value[i] = deepCopy(schema.items.default);
      applySchemaDefaults(value[i], schema.items);
    }
    return;
  }
  if (!isObject(value)) return;
  for (const [key, known] of Object.entries(schema.properties ?? {})) {
    if (known.default === undefined) continue;
    const present = Object.hasOwn(value, key) ? value[key] : undefined;
    if (present === undefined || isForbiddenNull(present, known)) setKey(value, key, deepCopy(known.default));
  }
  for (const key of Object.keys(value)) {
    const known = memberOf(schema, key);
    const inMap = property(schema, key) === undefined;
    if (inMap && isForbiddenNull(value[key], known) && known.default !== undefined)
      setKey(value, key, deepCopy(known.default));
    applySchemaDefaults(value[key], known);
  }
}

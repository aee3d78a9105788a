import { embeddedFaults } from '../../extensions/embedded.ts';
import { listTypeFaults } from '../../extensions/list-types.ts';
import { hasRules, validateRules } from '../../extensions/rule-validation.ts';
import { ratchet, validateSchema } from '../../extensions/schema-validation.ts';
import type { Structural } from '../../extensions/structural.ts';
import type { CustomResource, Resource } from '../../registry/resource.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { isObject, type JsonValue, type KubeObject } from '../object.ts';

const MAX_INT32 = 2 ** 31 - 1;

const goType = (value: JsonValue): string => {
  if (value === null) return '<nil>';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return '[]interface {}';
  return isObject(value) ? 'map[string]interface {}' : 'float64';
};

function at(object: KubeObject, path: string): JsonValue | undefined {
  let current: JsonValue | undefined = object;
  for (const key of path.replace(/^\./, '').split('.')) current = isObject(current) ? current[key] : undefined;
  return current;
}

function replicasFaults(object: KubeObject, path: string): StatusCause[] {
  const value = at(object, path);
  if (value === undefined) return [];
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value))) {
    const shown = typeof value === 'object' ? JSON.stringify(value) : String(value);
    const why = `${path} accessor error: ${shown} is of the type ${goType(value)}, expected int64`;
    return [causes.invalid(path, 0, why)];
  }
  if (value < 0) return [causes.invalid(path, value, 'should be a non-negative integer')];
  return value > MAX_INT32 ? [causes.invalid(path, value, `should be less than or equal to ${MAX_INT32}`)] : [];
}

/** Causes in the fields that the scale subresource shows. */
function scaleFaults(object: KubeObject, scale: CustomResource['scale']): StatusCause[] {
  if (scale === undefined) return [];
  return [...replicasFaults(object, scale.specReplicasPath), ...replicasFaults(object, scale.statusReplicasPath)];
}

/** Causes of a custom object that says to be of another kind than its resource; nothing else of it is looked at. */
export function typeFaults(resource: Resource, object: KubeObject): StatusCause[] {
  if (object.kind === resource.kind) return [];
  return [causes.invalid('kind', object.kind ?? '', `must be ${resource.kind}`)];
}

/** Reasons of causes that keep rules from being evaluated: the rules could not rely on the schema. */
const BLOCKING: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);
const UNCHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete ' +
  'validation';

/**
 * Causes beyond the metadata of a custom object, with those that an update is forgiven for left out; what is wrong
 * with parts that rules find fault with, and that are as they were, is added to the warnings.
 */
export function customFaults(
  custom: CustomResource,
  object: KubeObject,
  old: KubeObject | undefined,
  warnings: string[],
): StatusCause[] {
  const schema = custom.schema as Structural | undefined;
  const scale = scaleFaults(object, custom.scale);
  if (schema === undefined) return scale;
  const found = validateSchema(object, schema);
  const faults = [
    ...(old === undefined || found.length === 0 ? found : ratchet(found, object, old)),
    ...scale,
    ...embeddedFaults(object, schema),
    ...listTypeFaults(object, schema, old),
  ];
  if (!hasRules(schema)) return faults;
  if (faults.some(({ reason = '' }) => BLOCKING.has(reason))) {
    return [...faults, causes.invalid('<nil>', null, UNCHECKED)];
  }
  return [...faults, ...validateRules(schema, object, old, warnings)];
}

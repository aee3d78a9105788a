import { deepCopy, deepEqual, isObject, type JsonValue } from '../api/object.ts';
import { DecodeError } from '../codec/typed.ts';
import { causes, type StatusCause } from '../status/status.ts';
import { coerceEmbedded, embeddedFaults } from './embedded.ts';
import { validateSchema } from './schema-validation.ts';
import { prune } from './structural.ts';
import { propertiesOf, type RawSchema, schemaAt } from './structural-rules.ts';

/** A cause whose field was found inside of the value at `at`. */
const below = (at: string, cause: StatusCause): StatusCause => {
  const { field = '' } = cause;
  return { ...cause, field: field === '' || field === '<nil>' ? at : `${at}.${field}` };
};

function faultsOf(value: JsonValue, schema: RawSchema, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const pruned = deepCopy(value);
  prune(pruned, schema, schema['x-kubernetes-embedded-resource'] === true);
  if (!deepEqual(pruned, value)) out.push(causes.invalid(at, value, 'must not have unknown fields'));
  try {
    coerceEmbedded(deepCopy(value), schema);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return [...out, causes.invalid(at, value, error.message)];
  }
  const embedded = embeddedFaults(value, schema);
  const found = embedded.length > 0 ? embedded : validateSchema(value, schema);
  return [...out, ...found.map((cause) => below(at, cause))];
}

/** Causes of defaults that are not values of their own schema; `at` is where the schema stands. */
export function defaultFaults(schema: RawSchema, at: string, root = true): StatusCause[] {
  const out: StatusCause[] = [];
  if (schema.default !== undefined) out.push(...faultsOf(schema.default, schema, `${at}.default`));
  const items = schemaAt(schema.items);
  if (items !== undefined) out.push(...defaultFaults(items, `${at}.items`, false));
  const resource = root || schema['x-kubernetes-embedded-resource'] === true;
  for (const [name, property] of propertiesOf(schema)) {
    if (resource && name === 'metadata' && !isObject(property.default)) continue;
    out.push(...defaultFaults(property, `${at}.properties[${name}]`, false));
  }
  return out;
}

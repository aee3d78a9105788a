/** Types whose JSON form is not an object of their wire fields. */
import type { JsonValue } from '../api/object.ts';
import { canonicalQuantity, canonicalResource, QuantityError } from '../api/quantity.ts';
import { canonicalMicroTime, canonicalTime, TimeError } from '../api/time.ts';

const META = 'k8s.io.apimachinery.pkg.apis.meta.v1.';
const EXTENSIONS = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.';

/** A value of the wrong JSON type for a custom type: `goType` is what Go says that it wanted. */
export class WrongType extends Error {
  readonly goType: string;
  constructor(goType: string) {
    super(goType);
    this.goType = goType;
  }
}
/** A value that the type itself refuses; the message stands alone. */
export class Refused extends Error {}

/** Reads a JSON value (never null) into the canonical one. `literal` gives a number as it was written. */
type ReadJson = (value: JsonValue, literal: () => string) => JsonValue;

const time =
  (canonical: (text: string) => string): ReadJson =>
  (value) => {
    if (typeof value !== 'string') throw new WrongType('string');
    return refusing(TimeError, () => canonical(value));
  };

const quantity =
  (canonical: (text: string) => string): ReadJson =>
  (value, literal) => {
    const text =
      typeof value === 'string' ? value : typeof value === 'object' || typeof value === 'boolean' ? '{}' : literal();
    return refusing(QuantityError, () => canonical(text.trim()));
  };

/** A quantity in a resource list (limits, requests, capacity). */
export const readResource = quantity(canonicalResource);

const intOrString: ReadJson = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number' || (value | 0) !== value) throw new WrongType('int32');
  return value;
};

const raw: ReadJson = (value) => value;

/** Readers by message name, for types that need nothing but the value. */
export const readers: ReadonlyMap<string, ReadJson> = new Map<string, ReadJson>([
  [`${META}Time`, time(canonicalTime)],
  [`${META}MicroTime`, time(canonicalMicroTime)],
  [`${META}FieldsV1`, raw],
  ['k8s.io.apimachinery.pkg.api.resource.Quantity', quantity(canonicalQuantity)],
  ['k8s.io.apimachinery.pkg.util.intstr.IntOrString', intOrString],
  ['k8s.io.apimachinery.pkg.runtime.RawExtension', raw],
  [`${EXTENSIONS}JSON`, raw],
]);

/** What a schema-or-something-else field takes beside a schema; `undefined`: the value must be a schema. */
type Alternative = (value: JsonValue) => 'keep' | 'schemas' | 'schema' | undefined;

/** Unions of a JSON schema and something else, by message name. */
export const schemaUnions: ReadonlyMap<string, { schema: string; alternative: Alternative; refusal: string }> = new Map(
  [
    [
      `${EXTENSIONS}JSONSchemaPropsOrBool`,
      {
        schema: `${EXTENSIONS}JSONSchemaProps`,
        alternative: (v) => (typeof v === 'boolean' ? 'keep' : isPlainObject(v) ? 'schema' : undefined),
        refusal: 'boolean or JSON schema expected',
      },
    ],
    [
      `${EXTENSIONS}JSONSchemaPropsOrArray`,
      {
        schema: `${EXTENSIONS}JSONSchemaProps`,
        alternative: (v) => (Array.isArray(v) ? 'schemas' : isPlainObject(v) ? 'schema' : undefined),
        refusal: 'array or JSON schema expected',
      },
    ],
    [
      `${EXTENSIONS}JSONSchemaPropsOrStringArray`,
      {
        schema: `${EXTENSIONS}JSONSchemaProps`,
        alternative: (v) => (Array.isArray(v) ? 'keep' : isPlainObject(v) ? 'schema' : undefined),
        refusal: 'array or JSON schema expected',
      },
    ],
  ],
);

/** Whether a message has a JSON form of its own. */
export function isCustom(name: string): boolean {
  return readers.has(name) || schemaUnions.has(name);
}

function isPlainObject(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refusing<T>(kind: new (message: string) => Error, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof kind) throw new Refused(error.message);
    throw error;
  }
}

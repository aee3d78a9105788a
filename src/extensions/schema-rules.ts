import { oneOf } from '../api/validation/checks.ts';
import { causes, type StatusCause } from '../status/status.ts';
import { propertiesOf, type RawSchema, schemaAt } from './structural-rules.ts';

/** Words of OpenAPI and Kubernetes in a schema: which are allowed, with which others. */

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const META_FIELDS: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);
const LIST_TYPE = 'x-kubernetes-list-type';
const MAP_TYPE = 'x-kubernetes-map-type';
const MAP_KEYS = 'x-kubernetes-list-map-keys';

/** Where in an object a schema stands, as far as it matters to the rules. */
interface Place {
  /** Why no default may be set here. */
  noDefaults?: string;
  inMetadata: boolean;
  root: boolean;
}

const isFilled = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length > 0;

/** Words that no schema may have, with the test that they are there. */
const REFUSED: readonly (readonly [string, (value: unknown) => boolean])[] = [
  ['id', (v) => v !== undefined && v !== ''],
  ['additionalItems', (v) => v !== undefined],
  ['patternProperties', isFilled],
  ['definitions', isFilled],
  ['dependencies', (v) => v !== undefined],
  ['$ref', (v) => v !== undefined],
];

function plainRules(schema: RawSchema, at: string, place: Place): StatusCause[] {
  const out: StatusCause[] = [];
  if (schema.type !== undefined && schema.type !== '') out.push(...oneOf(schema.type, `${at}.type`, TYPES, false));
  if (schema.default !== undefined && place.noDefaults !== undefined) {
    out.push(causes.forbidden(`${at}.default`, `must not be set ${place.noDefaults}`));
  }
  for (const [word, present] of REFUSED) {
    if (present(schema[word])) out.push(causes.forbidden(`${at}.${word}`, `${word} is not supported`));
  }
  if (schema.type === 'null') {
    out.push(causes.forbidden(`${at}.type`, 'type cannot be set to null, use nullable as an alternative'));
  }
  if (Array.isArray(schema.items)) {
    out.push(causes.forbidden(`${at}.items`, 'items must be a schema object and not an array'));
  }
  if (place.inMetadata && schema['x-kubernetes-embedded-resource'] === true) {
    out.push(causes.forbidden(`${at}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  }
  if (schema.uniqueItems === true) {
    const why = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    out.push(causes.forbidden(`${at}.uniqueItems`, why));
  }
  return out;
}

/** A cause where a word stands on a schema of another type than it is for. */
function needsType(schema: RawSchema, at: string, word: string, type: string): StatusCause[] {
  if (schema[word] === undefined || schema.type === type) return [];
  const why = `must be ${type} if ${word} is specified`;
  return [schema.type ? causes.invalid(`${at}.type`, schema.type, why) : causes.required(`${at}.type`, why)];
}

function setRules(schema: RawSchema, at: string): StatusCause[] {
  const items = schemaAt(schema.items);
  if (schema.type !== 'array' || schema[LIST_TYPE] !== 'set' || items === undefined) return [];
  const why = `must be atomic as item of a list with ${LIST_TYPE}=set`;
  if (items.type === 'array' && items[LIST_TYPE] !== undefined && items[LIST_TYPE] !== 'atomic') {
    return [causes.invalid(`${at}.items.${LIST_TYPE}`, items[LIST_TYPE], why)];
  }
  if (items.type !== 'object' || items[MAP_TYPE] === 'atomic') return [];
  return [causes.invalid(`${at}.items.${MAP_TYPE}`, items[LIST_TYPE] ?? null, why)];
}

function keyRules(schema: RawSchema, at: string, keys: readonly string[]): StatusCause[] {
  const out: StatusCause[] = [];
  const items = schemaAt(schema.items);
  if (keys.length === 0) out.push(causes.required(`${at}.${MAP_KEYS}`, `must not be empty if ${LIST_TYPE} is map`));
  if (schema.items === undefined) {
    out.push(causes.required(`${at}.items`, `must have a schema if ${LIST_TYPE} is map`));
  }
  if (items === undefined) return out;
  if (items.type !== 'object') {
    const why = `must be object if parent array's ${LIST_TYPE} is map`;
    return [...out, causes.invalid(`${at}.items.type`, items.type ?? '', why)];
  }
  const known = new Map(propertiesOf(items));
  for (const [i, key] of keys.entries()) {
    const type = known.get(key)?.type;
    if (!known.has(key)) {
      out.push(causes.invalid(`${at}.${MAP_KEYS}`, keys, 'entries must all be names of item properties'));
    } else if (type === 'array' || type === 'object') {
      const why = `must be a scalar type if parent array's ${LIST_TYPE} is map`;
      out.push(causes.invalid(`${at}.items.properties[${key}].type`, items.type, why));
    }
    if (keys.indexOf(key) < i)
      out.push(causes.invalid(`${at}.${MAP_KEYS}`, keys, 'must not contain duplicate entries'));
  }
  return out;
}

/** Keys of map lists are given or have a default; items of sets and map lists are never null. */
function itemRules(schema: RawSchema, at: string, keys: readonly string[]): StatusCause[] {
  const items = schemaAt(schema.items);
  const listType = schema[LIST_TYPE];
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return [];
  const out: StatusCause[] = [];
  if (items.nullable === true) {
    out.push(causes.forbidden(`${at}.items.nullable`, `cannot be nullable when ${LIST_TYPE} is ${listType}`));
  }
  if (listType === 'set') return out;
  const known = new Map(propertiesOf(items));
  for (const key of keys) {
    const property = known.get(key);
    if (property === undefined) continue;
    const path = `${at}.items.properties[${key}]`;
    const because = `this property is in ${MAP_KEYS}, so it`;
    if (!items.required?.includes(key) && property.default === undefined) {
      out.push(causes.required(`${path}.default`, `${because} must have a default or be a required property`));
    }
    if (property.nullable === true) out.push(causes.forbidden(`${path}.nullable`, `${because} cannot be nullable`));
  }
  return out;
}

function extensionRules(schema: RawSchema, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const preserve = 'x-kubernetes-preserve-unknown-fields';
  const keys = schema[MAP_KEYS] ?? [];
  const listType = schema[LIST_TYPE];
  if (schema[preserve] === false) out.push(causes.invalid(`${at}.${preserve}`, false, 'must be true or undefined'));
  out.push(...needsType(schema, at, MAP_TYPE, 'object'));
  if (schema[MAP_TYPE] !== undefined) {
    out.push(...oneOf(schema[MAP_TYPE], `${at}.${MAP_TYPE}`, ['atomic', 'granular'], false));
  }
  out.push(...needsType(schema, at, LIST_TYPE, 'array'), ...setRules(schema, at));
  if (listType !== undefined) out.push(...oneOf(listType, `${at}.${LIST_TYPE}`, ['atomic', 'set', 'map'], false));
  if (keys.length > 0 && listType !== 'map') {
    const why = `must be map if ${MAP_KEYS} is non-empty`;
    const path = `${at}.${LIST_TYPE}`;
    out.push(listType === undefined ? causes.required(path, why) : causes.invalid(path, listType, why));
  }
  if (listType === 'map') out.push(...keyRules(schema, at, keys));
  return [...out, ...itemRules(schema, at, keys)];
}

function placeOf(name: string, schema: RawSchema, place: Place): Place {
  const isResource = place.root || schema['x-kubernetes-embedded-resource'] === true;
  if (!isResource || !META_FIELDS.has(name)) return { ...place, root: false };
  const noDefaults = place.root ? `in top-level ${name}` : place.noDefaults;
  return { inMetadata: true, root: false, ...(noDefaults === undefined ? {} : { noDefaults }) };
}

function rules(schema: RawSchema, at: string, place: Place): StatusCause[] {
  const out = plainRules(schema, at, place);
  const inner: Place = { ...place, root: false };
  const { additionalProperties } = schema;
  const values = schemaAt(additionalProperties);
  if (additionalProperties !== undefined) {
    if (propertiesOf(schema).length > 0 && additionalProperties !== true) {
      const why = 'additionalProperties and properties are mutual exclusive';
      out.push(causes.forbidden(`${at}.additionalProperties`, why));
    }
    const noDefaults = 'inside additionalProperties applying to object metadata';
    const below = place.inMetadata ? { ...inner, noDefaults } : inner;
    if (values !== undefined) out.push(...rules(values, `${at}.additionalProperties`, below));
  }
  for (const [name, property] of propertiesOf(schema)) {
    out.push(...rules(property, `${at}.properties[${name}]`, placeOf(name, schema, place)));
  }
  const not = schemaAt(schema.not);
  if (not !== undefined) out.push(...rules(not, `${at}.not`, inner));
  for (const word of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [i, branch] of (schema[word] ?? []).entries()) {
      out.push(...rules(branch as RawSchema, `${at}.${word}[${i}]`, inner));
    }
  }
  const items = schemaAt(schema.items);
  if (items !== undefined) out.push(...rules(items, `${at}.items`, inner));
  return [...out, ...extensionRules(schema, at)];
}

/** Why the words of a whole schema are not allowed; `at` is where it stands. */
export function schemaFaults(schema: RawSchema, at: string): StatusCause[] {
  return rules(schema, at, { inMetadata: false, root: true });
}

import { deepEqual, isObject, type JsonObject } from '../api/object.ts';
import { causes, type StatusCause } from '../status/status.ts';
import { patternError } from './patterns.ts';
import type { Structural } from './structural.ts';

/** What a schema must be like to be structural (upstream's rules, which make pruning and defaulting possible). */

/** A schema with the words that are none of a structural one. */
export type RawSchema = Structural & JsonObject;
type Level = 'root' | 'item' | 'field';

const EMBEDDED = 'x-kubernetes-embedded-resource';
const INT_OR_STRING = 'x-kubernetes-int-or-string';
const PRESERVE = 'x-kubernetes-preserve-unknown-fields';

export const schemaAt = (value: unknown): RawSchema | undefined => (isObject(value) ? (value as RawSchema) : undefined);
export const propertiesOf = (schema: Structural): [string, RawSchema][] =>
  Object.entries(schema.properties ?? {}).map(([key, value]) => [key, value as RawSchema]);
const branches = (schema: RawSchema, word: 'allOf' | 'anyOf' | 'oneOf'): RawSchema[] =>
  (schema[word] ?? []) as RawSchema[];

const MISSING: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

const intOrString = [{ type: 'integer' }, { type: 'string' }];
const isIntOrString = (list: readonly RawSchema[] | undefined) => deepEqual([...(list ?? [])], intOrString);

function typeRules(schema: RawSchema, level: Level, at: string): StatusCause[] {
  const { type = '' } = schema;
  const embedded = schema[EMBEDDED] === true;
  const out: StatusCause[] = [];
  if (embedded && type !== 'object') {
    const why = `must be object if ${EMBEDDED} is true`;
    out.push(type === '' ? causes.required(`${at}.type`, why) : causes.invalid(`${at}.type`, type, why));
  } else if (type === '' && schema[INT_OR_STRING] !== true && schema[PRESERVE] !== true) {
    out.push(causes.required(`${at}.type`, MISSING[level]));
  }
  if (embedded && schema.additionalProperties !== undefined) {
    out.push(causes.forbidden(`${at}.additionalProperties`, `must not be used if ${EMBEDDED} is set`));
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    out.push(causes.invalid(`${at}.type`, type, 'must be object at the root'));
  }
  if (embedded && schema[PRESERVE] !== true && propertiesOf(schema).length === 0) {
    const why = `must not be empty if ${EMBEDDED} is true without ${PRESERVE}`;
    out.push(causes.required(`${at}.properties`, why));
  }
  return out;
}

/** Whether a schema of metadata says nothing but how name and generateName must look. */
function onlyNames({ type: _t, default: _d, ...rest }: RawSchema): boolean {
  const keys = Object.keys(rest).filter((key) => rest[key] !== undefined);
  if (keys.some((key) => key !== 'properties')) return false;
  return propertiesOf(rest as Structural).every(([name]) => name === 'name' || name === 'generateName');
}

function metaRules(schema: RawSchema, level: Level, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const isResource = level === 'root' || schema[EMBEDDED] === true;
  for (const [name, { type = '' }] of propertiesOf(schema)) {
    const wanted = { kind: 'string', apiVersion: 'string', metadata: 'object' }[name];
    if (!isResource || wanted === undefined || type === wanted) continue;
    out.push(causes.invalid(`${at}.properties[${name}].type`, type, `must be ${wanted}`));
  }
  const metadata = propertiesOf(schema).find(([name]) => name === 'metadata')?.[1];
  if (level === 'root' && metadata !== undefined && !onlyNames(metadata)) {
    const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    out.push(causes.forbidden(`${at}.properties[metadata]`, why));
  }
  return out;
}

/** What must be true of a schema and all below it, outside of value validations. */
function invariants(schema: RawSchema, level: Level, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const items = schemaAt(schema.items);
  if (schema.type === 'array' && items === undefined) out.push(causes.required(`${at}.items`, 'must be specified'));
  if (items !== undefined) out.push(...invariants(items, 'item', `${at}.items`));
  for (const [name, property] of propertiesOf(schema)) {
    out.push(...invariants(property, 'field', `${at}.properties[${name}]`));
  }
  if (schema.additionalProperties !== undefined && level === 'root') {
    out.push(causes.forbidden(`${at}.additionalProperties`, 'must not be used at the root'));
  }
  const values = schemaAt(schema.additionalProperties);
  if (values !== undefined) out.push(...invariants(values, 'field', `${at}.additionalProperties`));
  for (const word of [PRESERVE, EMBEDDED] as const) {
    if (schema[INT_OR_STRING] !== true || schema[word] !== true) continue;
    out.push(causes.invalid(`${at}.${word}`, true, `must be false if ${INT_OR_STRING} is true`));
  }
  const [first] = branches(schema, 'allOf');
  const skip = {
    anyOf: isIntOrString(schema.anyOf as RawSchema[]),
    firstAllOf: isIntOrString(first?.anyOf as RawSchema[]),
  };
  out.push(...valueRules(schema, at, skip.anyOf, skip.firstAllOf));
  return [...out, ...typeRules(schema, level, at), ...metaRules(schema, level, at)];
}

/** The value validations of a schema: what their branches must not have. */
function valueRules(schema: RawSchema, at: string, skipAnyOf: boolean, skipFirstAllOf: boolean): StatusCause[] {
  const out: StatusCause[] = [];
  for (const word of ['anyOf', 'allOf', 'oneOf'] as const) {
    if (word === 'anyOf' && skipAnyOf) continue;
    for (const [i, branch] of branches(schema, word).entries()) {
      out.push(...nestedRules(branch, `${at}.${word}[${i}]`, word === 'allOf' && i === 0 && skipFirstAllOf));
    }
  }
  const not = schemaAt(schema.not);
  if (not !== undefined) out.push(...nestedRules(not, `${at}.not`, false));
  const error = schema.pattern === undefined || schema.pattern === '' ? undefined : patternError(schema.pattern);
  if (error !== undefined) {
    out.push(
      causes.invalid(`${at}.pattern`, schema.pattern, `must be a valid regular expression, but isn't: ${error}`),
    );
  }
  return out;
}

/** Words that a branch of a value validation must not have, with what must be of them instead. */
const FORBIDDEN: readonly (readonly [string, string])[] = [
  ['type', 'empty'],
  ['additionalProperties', 'undefined'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  [PRESERVE, 'false'],
  [EMBEDDED, 'false'],
  [INT_OR_STRING, 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
];

const isSet = (value: unknown) =>
  value !== undefined && value !== false && value !== '' && !(Array.isArray(value) && value.length === 0);

function nestedRules(schema: RawSchema, at: string, skipAnyOf: boolean): StatusCause[] {
  const out = valueRules(schema, at, skipAnyOf, false);
  const items = schemaAt(schema.items);
  if (items !== undefined) out.push(...nestedRules(items, `${at}.items`, false));
  for (const [name, property] of propertiesOf(schema)) {
    out.push(...nestedRules(property, `${at}.properties[${name}]`, false));
  }
  for (const [word, state] of FORBIDDEN) {
    const present = word === 'additionalProperties' ? schema[word] !== undefined : isSet(schema[word]);
    if (present) out.push(causes.forbidden(`${at}.${word}`, `must be ${state} to be structural`));
  }
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, 'metadata')) {
    out.push(causes.forbidden(`${at}.properties[metadata]`, 'must not be specified in a nested context'));
  }
  return out;
}

/** Whether what value validations speak of is specified outside of them too. */
function completeness(values: RawSchema, schema: RawSchema | undefined, at: string, from: string): StatusCause[] {
  if (schema === undefined) return [causes.required(at, `because it is defined in ${from}`)];
  const out: StatusCause[] = [];
  const nested = (branch: RawSchema, path: string) => out.push(...nestedCompleteness(branch, schema, at, path));
  const not = schemaAt(values.not);
  if (not !== undefined) nested(not, `${from}.not`);
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [i, branch] of branches(values, word).entries()) nested(branch, `${from}.${word}[${i}]`);
  }
  return out;
}

function nestedCompleteness(values: RawSchema, schema: RawSchema, at: string, from: string): StatusCause[] {
  const out = completeness(values, schema, at, from);
  const items = schemaAt(values.items);
  const into = (inner: RawSchema, known: RawSchema | undefined, path: string, fromPath: string) =>
    known === undefined
      ? out.push(causes.required(path, `because it is defined in ${fromPath}`))
      : out.push(...nestedCompleteness(inner, known, path, fromPath));
  if (items !== undefined) into(items, schemaAt(schema.items), `${at}.items`, `${from}.items`);
  for (const [name, property] of propertiesOf(values)) {
    const known = propertiesOf(schema).find(([key]) => key === name)?.[1];
    into(property, known, `${at}.properties[${name}]`, `${from}.properties[${name}]`);
  }
  return out;
}

const shown = ({ field, message }: StatusCause) => `${field}: ${message}`;

/** Why a schema is not structural, sorted; `at` is where it stands. */
export function structuralFaults(schema: RawSchema, at: string): StatusCause[] {
  const all = [...invariants(schema, 'root', at), ...completeness(schema, schema, at, at)];
  return all.sort((a, b) => (shown(a) < shown(b) ? -1 : shown(a) > shown(b) ? 1 : 0));
}

const UNSUPPORTED = ['id', '$schema', '$ref', 'patternProperties', 'dependencies', 'additionalItems', 'definitions'];

/** Whether a schema has words that keep it from being read as a structural one at all. */
export function isUnreadable(schema: RawSchema): boolean {
  const { additionalProperties, items, not } = schema;
  if (UNSUPPORTED.some((word) => isSet(schema[word])) || Array.isArray(items)) return true;
  const inner = [items, not, additionalProperties].map(schemaAt).filter((s) => s !== undefined);
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const) inner.push(...branches(schema, word));
  return [...inner, ...propertiesOf(schema).map(([, property]) => property)].some(isUnreadable);
}

import { isObject } from '../api/object.ts';
import type { Structural } from '../extensions/structural.ts';
import type { Range } from './cost-numbers.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  STRING,
  struct,
  TIMESTAMP,
} from './types.ts';

/** What a schema tells of a value's type and size (k8s.io/apiserver, pkg/cel/common/schemas.go). */
export interface Declaration {
  type: CelType;
  /** Members or bytes at most; 0 where that is of no matter. */
  maxElements: number;
  /** Bytes of JSON that a value takes at least. */
  minSize: number;
  /** Of members of lists, and values of maps. */
  element?: Declaration;
  /** By the names that expressions use. */
  fields?: ReadonlyMap<string, Declaration>;
}

/** The largest request body. */
export const MAX_REQUEST = 3 * 1024 * 1024;
const MAX_TEXT = MAX_REQUEST - 2;
const TIME_SIZE = 32;
const DATE_SIZE = 12;

const RESERVED: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace return ' +
    'var void while'
  ).split(' '),
);
const UNESCAPED = /__|[./-]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** The name by which an expression selects a field; `undefined` where it cannot. */
export function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(UNESCAPED, (part) => ESCAPES[part]!);
}

const UNESCAPES: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' };

/** The field that an expression selects by a name. */
export function unescapeName(name: string): string {
  if (!name.includes('__')) return name;
  return name.replace(/__([^_]+)__/g, (all, word: string) => {
    if (Object.hasOwn(UNESCAPES, word)) return UNESCAPES[word]!;
    return RESERVED.has(word) && all === name ? word : all;
  });
}

const scalar = (type: CelType, minSize: number, maxElements = 0): Declaration => ({ type, minSize, maxElements });
const atLeastZero = (value: number) => Math.max(0, value);

function stringDeclaration(schema: Structural): Declaration {
  const { maxLength } = schema;
  switch (schema.format) {
    case 'byte':
      return scalar(BYTES, 2, maxLength === undefined ? MAX_TEXT : atLeastZero(maxLength));
    case 'duration':
      return scalar(DURATION, 3, TIME_SIZE);
    case 'date':
      return scalar(TIMESTAMP, DATE_SIZE, DATE_SIZE);
    case 'date-time':
      return scalar(TIMESTAMP, 21, TIME_SIZE);
    default:
  }
  if (maxLength !== undefined) return scalar(STRING, 2, atLeastZero(maxLength) * 4);
  const options = (schema.enum ?? []).map((v) => (typeof v === 'string' ? new TextEncoder().encode(v).length : 0));
  return scalar(STRING, 2, options.length > 0 ? Math.max(...options) : MAX_TEXT);
}

function listDeclaration(schema: Structural, name: string): Declaration | undefined {
  const { items } = schema;
  if (items === undefined) return undefined;
  const element = declare(items, items['x-kubernetes-embedded-resource'] === true, `${name}.@idx`);
  if (element === undefined) return undefined;
  const most = Math.floor(MAX_TEXT / (element.minSize + 1));
  const maxElements = schema.maxItems === undefined ? most : atLeastZero(schema.maxItems);
  return { type: listOf(element.type), maxElements, minSize: 2, element };
}

function mapDeclaration(schema: Structural, values: Structural, name: string): Declaration | undefined {
  const element = declare(values, values['x-kubernetes-embedded-resource'] === true, `${name}.@elem`);
  if (element === undefined) return undefined;
  const most = Math.floor(MAX_TEXT / (element.minSize + 6));
  const maxElements = schema.maxProperties === undefined ? most : atLeastZero(schema.maxProperties);
  return { type: mapOf(STRING, element.type), maxElements, minSize: 2, element };
}

function objectDeclaration(schema: Structural, name: string): Declaration {
  const fields = new Map<string, Declaration>();
  let minSize = 2;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const field = declare(property, property['x-kubernetes-embedded-resource'] === true, `${name}.${key}`);
    if (field === undefined) continue;
    const escaped = escapeName(key);
    if (escaped !== undefined) fields.set(escaped, field);
    if (schema.required?.includes(key) && property.default === undefined) minSize += key.length + field.minSize + 4;
  }
  const types = new Map([...fields].map(([key, { type }]): [string, CelType] => [key, type]));
  return { type: struct(name, types), maxElements: 0, minSize, fields };
}

const TEXT: Structural = { type: 'string' };

/** The schema of a resource with the parts of every resource that rules may see. */
export function withTypeMeta(schema: Structural): Structural {
  const { properties = {} } = schema;
  const metadata = properties.metadata?.properties;
  const isComplete =
    properties.kind?.type === 'string' &&
    properties.apiVersion?.type === 'string' &&
    metadata?.name?.type === 'string' &&
    metadata.generateName?.type === 'string';
  if (isComplete) return schema;
  const names: Structural = { type: 'object', properties: { name: TEXT, generateName: TEXT } };
  return { ...schema, properties: { ...properties, kind: TEXT, apiVersion: TEXT, metadata: names } };
}

/**
 * What a structural schema declares; `undefined` where expressions cannot see the value. `isResource`: of a whole
 * custom resource or an embedded one. `name`: of the type, in messages.
 */
export function declare(schema: Structural, isResource: boolean, name = 'selfType'): Declaration | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    return scalar(DYN, 1, schema.maxLength === undefined ? MAX_TEXT : atLeastZero(schema.maxLength) * 4);
  }
  const whole = isResource ? withTypeMeta(schema) : schema;
  switch (whole.type) {
    case 'array':
      return listDeclaration(whole, name);
    case 'object':
      return isObject(whole.additionalProperties)
        ? mapDeclaration(whole, whole.additionalProperties as Structural, name)
        : objectDeclaration(whole, name);
    case 'string':
      return stringDeclaration(whole);
    case 'boolean':
      return scalar(BOOL, 4);
    case 'number':
      return scalar(DOUBLE, 1);
    case 'integer':
      return scalar(INT, 1);
    default:
      return undefined;
  }
}

/** The size of the value at a path that begins with a variable of that declaration. */
export function declaredSize(root: Declaration, path: readonly string[]): Range | undefined {
  let at: Declaration | undefined = root;
  for (const step of path.slice(1)) {
    if (step === '@items' || step === '@values') at = at?.element;
    else if (step === '@keys') at = at?.type.kind === 'map' ? scalar(STRING, 2) : undefined;
    else at = at?.fields?.get(step);
    if (at === undefined) return undefined;
  }
  return { min: 0, max: at.maxElements };
}

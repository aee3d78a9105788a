import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import {
  closure,
  type Definition,
  namedDefinitions,
  type Operation,
  type Parameter,
  type PathOperations,
  parametersOf,
  type Specification,
  statusTexts,
} from './model.ts';

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** Writes a specification as an OpenAPI 3.0 document. */
export function writeV3(spec: Specification): JsonObject {
  const names = closure(namedDefinitions(spec.paths), spec.definition);
  return {
    openapi: '3.0.0',
    info: { title: spec.title, version: spec.version },
    paths: Object.fromEntries(
      Object.entries(spec.paths).map(([path, operations]) => [path, pathItem(path, operations, spec.parameter)]),
    ),
    components: {
      ...(names.length === 0
        ? {}
        : { schemas: Object.fromEntries(names.map((name) => [name, schema(spec.definition(name)!)])) }),
      ...(spec.secured
        ? { securitySchemes: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } } }
        : {}),
    },
  };
}

type TextOf = Specification['parameter'];

function pathItem(path: string, operations: PathOperations, textOf: TextOf): JsonObject {
  const write = (parameter: Parameter) => writeParameter(parameter, textOf);
  const parameters = parametersOf(path, operations);
  const item: JsonObject = {};
  for (const [method, operation] of Object.entries(operations)) {
    item[method] = writeOperation(operation, parameters.own(operation).map(write));
  }
  if (parameters.shared.length > 0) item.parameters = parameters.shared.map(write);
  return item;
}

const said = (description: string | undefined): JsonObject => (description === undefined ? {} : { description });

const writeParameter = ({ name, in: where, type }: Parameter, textOf: TextOf): JsonObject => ({
  name,
  in: where,
  ...said(textOf(name)),
  ...(where === 'path' ? { required: true } : {}),
  schema: { type, uniqueItems: true },
});

const content = (types: readonly string[], schema: JsonObject): JsonObject =>
  Object.fromEntries([...types].sort().map((type) => [type, { schema }]));

const named = (name: string): JsonObject => (name === 'string' ? { type: 'string' } : reference(name));

function writeOperation(operation: Operation, parameters: JsonObject[]): JsonObject {
  const { tag, id, body, bodyRequired, consumes, produces, responses, action, gvk } = operation;
  return {
    tags: [tag],
    operationId: id,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { content: content(consumes, reference(body)), ...(bodyRequired ? { required: true } : {}) } }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([code, name]) => [
        code,
        {
          description: statusTexts[code] ?? '',
          ...(name === null ? {} : { content: content(produces, named(name)) }),
        },
      ]),
    ),
    ...(action === undefined ? {} : { 'x-kubernetes-action': action }),
    ...(gvk === undefined ? {} : { 'x-kubernetes-group-version-kind': gvk }),
  };
}

/** Keywords whose values are schemas, lists of schemas, or maps of schemas. */
const inner: ReadonlyMap<string, (value: JsonValue) => JsonValue> = new Map(
  Object.entries({
    properties: (value: JsonValue) => mapValues(value, property),
    additionalProperties: (value: JsonValue) => (isObject(value) ? schema(value) : value),
    items: (value: JsonValue) => (isObject(value) ? schema(value) : value),
    allOf: (value: JsonValue) => (Array.isArray(value) ? value.map((v) => (isObject(v) ? schema(v) : v)) : value),
    anyOf: (value: JsonValue) => (Array.isArray(value) ? value.map((v) => (isObject(v) ? schema(v) : v)) : value),
    oneOf: (value: JsonValue) => (Array.isArray(value) ? value.map((v) => (isObject(v) ? schema(v) : v)) : value),
    not: (value: JsonValue) => (isObject(value) ? schema(value) : value),
  }),
);

const mapValues = (value: JsonValue, write: (schema: Definition) => JsonObject): JsonValue =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, v]) => [key, isObject(v) ? write(v) : v]))
    : value;

/** A schema; keywords beside a reference need `allOf`, as a reference hides them. */
function schema(definition: Definition): JsonObject {
  const out: JsonObject = {};
  const { $ref, ...rest } = definition;
  for (const [key, value] of Object.entries(rest)) {
    if (value !== undefined) out[key] = inner.get(key)?.(value) ?? value;
  }
  if (typeof $ref !== 'string') return out;
  return Object.keys(out).length === 0 ? reference($ref) : { ...out, allOf: [reference($ref)] };
}

/** A property: upstream describes each, so a reference never stands alone. */
function property(definition: Definition): JsonObject {
  const written = schema(definition);
  return typeof written.$ref === 'string' ? { allOf: [written] } : written;
}

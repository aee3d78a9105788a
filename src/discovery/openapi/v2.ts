import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import { definitionInV2 } from './builtin.ts';
import {
  type Definition,
  type Operation,
  type Parameter,
  type PathOperations,
  parametersOf,
  type Specification,
  statusTexts,
} from './model.ts';

const reference = (name: string): JsonObject => ({ $ref: `#/definitions/${name}` });

/** Writes a specification, with the definitions of these names, as one Swagger 2.0 document. */
export function writeV2(spec: Specification, definitions: readonly string[]): JsonObject {
  const shared: SharedParameters = { written: new Map(), textOf: spec.parameter };
  const paths = Object.fromEntries(
    Object.entries(spec.paths).map(([path, operations]) => [path, pathItem(path, operations, shared)]),
  );
  return {
    swagger: '2.0',
    info: { title: spec.title, version: spec.version },
    paths,
    definitions: Object.fromEntries(
      [...definitions].sort().map((name) => [name, schema(definitionInV2(name) ?? spec.definition(name)!)]),
    ),
    parameters: Object.fromEntries([...shared.written].sort(([a], [b]) => (a < b ? -1 : 1))),
    securityDefinitions: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    security: [{ BearerToken: [] }],
  };
}

interface SharedParameters {
  written: Map<string, JsonObject>;
  textOf: Specification['parameter'];
}

function pathItem(path: string, operations: PathOperations, shared: SharedParameters): JsonObject {
  const parameters = parametersOf(path, operations);
  const item: JsonObject = {};
  for (const [method, operation] of Object.entries(operations)) {
    item[method] = writeOperation(operation, parameters.own(operation), shared);
  }
  if (parameters.shared.length > 0) item.parameters = parameters.shared.map((p) => sharedParameter(p, shared));
  return item;
}

/** A reference to a parameter that the document defines once. */
function sharedParameter({ name, in: where, type }: Parameter, { written, textOf }: SharedParameters): JsonObject {
  const key = `${name}-${where}`;
  if (!written.has(key)) {
    const description = textOf(name);
    written.set(key, {
      uniqueItems: true,
      type,
      ...(description === undefined ? {} : { description }),
      name,
      in: where,
      ...(where === 'path' ? { required: true } : {}),
    });
  }
  return { $ref: `#/parameters/${key}` };
}

const bodyParameter = (name: string, required: boolean): JsonObject => ({
  name: 'body',
  in: 'body',
  ...(required ? { required: true } : {}),
  schema: reference(name),
});

/** Patch types come in the order in which upstream has added them. */
const consumesOf = ({ consumes }: Operation): string[] =>
  [...consumes].sort((a, b) => Number(a.includes('apply')) - Number(b.includes('apply')));

function writeOperation(operation: Operation, parameters: Parameter[], shared: SharedParameters): JsonObject {
  const { tag, id, body, bodyRequired, consumes, produces, responses, action, gvk } = operation;
  const written = [
    ...(body === undefined ? [] : [bodyParameter(body, bodyRequired)]),
    ...parameters.map((parameter) => sharedParameter(parameter, shared)),
  ];
  return {
    ...(consumes.length === 0 ? {} : { consumes: consumesOf(operation) }),
    produces: [...produces],
    schemes: ['https'],
    tags: [tag],
    operationId: id,
    ...(written.length === 0 ? {} : { parameters: written }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([code, name]) => [
        code,
        {
          description: statusTexts[code] ?? '',
          ...(name === null ? {} : { schema: name === 'string' ? { type: 'string' } : reference(name) }),
        },
      ]),
    ),
    ...(action === undefined ? {} : { 'x-kubernetes-action': action }),
    ...(gvk === undefined ? {} : { 'x-kubernetes-group-version-kind': gvk }),
  };
}

/** Swagger 2.0 has neither nullable nor alternatives, and upstream leaves out every default. */
const dropped = new Set(['default', 'nullable', 'allOf', 'anyOf', 'oneOf', 'not']);
/** Keywords that clients of version 2 take too seriously where null, unknown fields or two types are possible. */
const strict = new Set(['type', 'items', 'properties', 'additionalProperties', 'required']);

function isLoose(definition: Definition): boolean {
  return (
    definition.nullable === true ||
    definition['x-kubernetes-preserve-unknown-fields'] === true ||
    definition['x-kubernetes-int-or-string'] === true
  );
}

const inner: ReadonlyMap<string, (value: JsonValue) => JsonValue> = new Map(
  Object.entries({
    properties: (value: JsonValue) =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, v]) => [key, isObject(v) ? schema(v) : v]))
        : value,
    additionalProperties: (value: JsonValue) => (isObject(value) ? schema(value) : value),
    items: (value: JsonValue) => (isObject(value) ? schema(value) : value),
  }),
);

const GVK = 'x-kubernetes-group-version-kind';

function schema(definition: Definition): JsonObject {
  const loose = isLoose(definition);
  if (loose && definition[GVK] !== undefined) return { type: 'object', [GVK]: definition[GVK] };
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(definition)) {
    if (value === undefined || dropped.has(key) || (loose && strict.has(key))) continue;
    out[key] = key === '$ref' ? `#/definitions/${String(value)}` : (inner.get(key)?.(value) ?? value);
  }
  return out;
}

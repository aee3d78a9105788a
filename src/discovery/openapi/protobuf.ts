import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import { Writer } from '../../codec/wire.ts';

/**
 * OpenAPI documents in the protobuf form that gnostic defines (openapi.v2.Document and openapi.v3.Document), made from
 * their JSON. Only what the documents of this server contain has a number here.
 */

/** Writes a value as the field of that number. The writer fills from the end: last fields and elements come first. */
type Field = (writer: Writer, number: number, value: JsonValue) => void;

/** Fields of a message by JSON key. */
interface Message {
  fields: ReadonlyMap<string, readonly [number: number, field: Field]>;
  /** Field of the list of `x-` keywords. */
  extensions?: number;
}

const text: Field = (writer, number, value) => writer.string(number, String(value));
const bool: Field = (writer, number, value) => {
  if (value === true) writer.bool(number, true);
};
const int: Field = (writer, number, value) => writer.integer(number, Number(value));
const double: Field = (writer, number, value) => writer.double(number, Number(value));

/** A value of any shape, as YAML text; JSON is YAML. */
const any: Field = (writer, number, value) => {
  const mark = writer.mark();
  writer.string(2, `${JSON.stringify(value)}\n`);
  writer.message(number, mark);
};

const repeated =
  (element: Field): Field =>
  (writer, number, value) => {
    for (const one of (Array.isArray(value) ? value : [value]).toReversed()) element(writer, number, one);
  };

/** A message around one field. */
const wrapped =
  (inner: number, field: Field): Field =>
  (writer, number, value) => {
    const mark = writer.mark();
    field(writer, inner, value);
    writer.message(number, mark);
  };

function writeNamed(writer: Writer, number: number, name: string, value: JsonValue, field: Field): void {
  const mark = writer.mark();
  field(writer, 2, value);
  writer.string(1, name);
  writer.message(number, mark);
}

/** A map as a message that lists names with values. */
const named =
  (field: Field, list = 1): Field =>
  (writer, number, value) => {
    const mark = writer.mark();
    for (const [name, v] of Object.entries(isObject(value) ? value : {}).reverse()) {
      writeNamed(writer, list, name, v!, field);
    }
    writer.message(number, mark);
  };

/** A message whose fields are looked up when first written, so that messages may contain themselves. */
function message(describe: () => Record<string, readonly [number, Field]>, extensions?: number): Field {
  let plan: Message | undefined;
  return (writer, number, value) => {
    plan ??= { fields: new Map(Object.entries(describe())), ...(extensions === undefined ? {} : { extensions }) };
    const mark = writer.mark();
    if (isObject(value)) writeFields(writer, plan, value);
    writer.message(number, mark);
  };
}

function writeFields(writer: Writer, { fields, extensions }: Message, object: JsonObject): void {
  for (const [key, value] of Object.entries(object).reverse()) {
    if (value === undefined) continue;
    const known = fields.get(key);
    if (known !== undefined) known[1](writer, known[0], value);
    else if (extensions !== undefined && key.startsWith('x-')) writeNamed(writer, extensions, key, value, any);
  }
}

/** The first choice that a test admits: protobuf's `oneof`. */
const oneOf =
  (
    isReference: (value: JsonObject) => boolean,
    reference: readonly [number, Field],
    other: readonly [number, Field],
  ): Field =>
  (writer, number, value) => {
    const [inner, field] = isObject(value) && isReference(value) ? reference : other;
    wrapped(inner, field)(writer, number, value);
  };

const hasRef = (value: JsonObject) => typeof value.$ref === 'string';
const reference = message(() => ({ $ref: [1, text], description: [2, text] }));
const booleanOr =
  (field: Field): Field =>
  (writer, number, value) =>
    wrapped(
      typeof value === 'boolean' ? 2 : 1,
      typeof value === 'boolean' ? (w, n, v) => w.bool(n, v === true) : field,
    )(writer, number, value);

const schema2: Field = message(
  () => ({
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, bool],
    minimum: [9, double],
    exclusiveMinimum: [10, bool],
    maxLength: [11, int],
    minLength: [12, int],
    pattern: [13, text],
    maxItems: [14, int],
    minItems: [15, int],
    uniqueItems: [16, bool],
    maxProperties: [17, int],
    minProperties: [18, int],
    required: [19, repeated(text)],
    enum: [20, repeated(any)],
    additionalProperties: [21, booleanOr(schema2)],
    type: [22, wrapped(1, repeated(text))],
    items: [23, wrapped(1, schema2)],
    allOf: [24, repeated(schema2)],
    properties: [25, named(schema2)],
    example: [30, any],
  }),
  31,
);

const simpleParameter = (numbers: { type: number; format: number; unique: number; extensions: number }): Field =>
  message(
    () => ({
      required: [1, bool],
      in: [2, text],
      description: [3, text],
      name: [4, text],
      type: [numbers.type, text],
      format: [numbers.format, text],
      uniqueItems: [numbers.unique, bool],
    }),
    numbers.extensions,
  );
const queryParameter = simpleParameter({ type: 6, format: 7, unique: 20, extensions: 23 });
const pathParameter = simpleParameter({ type: 5, format: 6, unique: 19, extensions: 22 });
const bodyParameter = message(
  () => ({ description: [1, text], name: [2, text], in: [3, text], required: [4, bool], schema: [5, schema2] }),
  6,
);

const parameterForms: Readonly<Record<string, Field>> = {
  body: wrapped(1, bodyParameter),
  path: wrapped(2, wrapped(4, pathParameter)),
  query: wrapped(2, wrapped(3, queryParameter)),
};

/** openapi.v2.Parameter: its message depends on where the parameter is. */
const parameter2: Field = (writer, number, value) => {
  const where = isObject(value) ? String(value.in) : '';
  (parameterForms[where] ?? parameterForms.query!)(writer, number, value);
};

const parametersItem: Field = oneOf(hasRef, [2, reference], [1, parameter2]);
const response2 = message(() => ({ description: [1, text], schema: [2, wrapped(1, schema2)] }), 5);
const operation2 = message(
  () => ({
    tags: [1, repeated(text)],
    description: [3, text],
    operationId: [5, text],
    produces: [6, repeated(text)],
    consumes: [7, repeated(text)],
    parameters: [8, repeated(parametersItem)],
    responses: [9, named(wrapped(1, response2))],
    schemes: [10, repeated(text)],
  }),
  13,
);
const pathItem2 = message(
  () => ({
    get: [2, operation2],
    put: [3, operation2],
    post: [4, operation2],
    delete: [5, operation2],
    options: [6, operation2],
    head: [7, operation2],
    patch: [8, operation2],
    parameters: [9, repeated(parametersItem)],
  }),
  10,
);
const apiKey = message(() => ({ type: [1, text], name: [2, text], in: [3, text], description: [4, text] }), 5);
const document2 = message(
  () => ({
    swagger: [1, text],
    info: [2, message(() => ({ title: [1, text], version: [2, text] }))],
    paths: [8, named(pathItem2, 2)],
    definitions: [9, named(schema2)],
    parameters: [10, named(parameter2)],
    security: [12, repeated(named(wrapped(1, repeated(text))))],
    securityDefinitions: [13, named(wrapped(2, apiKey))],
  }),
  16,
);

const schemaOrReference: Field = (writer, number, value) =>
  oneOf(hasRef, [2, reference], [1, schema3])(writer, number, value);

/** openapi.v3.DefaultType has no place for objects and lists; they are left out, as gnostic does. */
const default3: Field = (writer, number, value) => {
  if (typeof value === 'number') wrapped(1, double)(writer, number, value);
  if (typeof value === 'boolean') wrapped(2, (w, n, v) => w.bool(n, v === true))(writer, number, value);
  if (typeof value === 'string') wrapped(3, text)(writer, number, value);
};

const schema3: Field = message(
  () => ({
    nullable: [1, bool],
    title: [9, text],
    multipleOf: [10, double],
    maximum: [11, double],
    exclusiveMaximum: [12, bool],
    minimum: [13, double],
    exclusiveMinimum: [14, bool],
    maxLength: [15, int],
    minLength: [16, int],
    pattern: [17, text],
    maxItems: [18, int],
    minItems: [19, int],
    uniqueItems: [20, bool],
    maxProperties: [21, int],
    minProperties: [22, int],
    required: [23, repeated(text)],
    enum: [24, repeated(any)],
    type: [25, text],
    allOf: [26, repeated(schemaOrReference)],
    oneOf: [27, repeated(schemaOrReference)],
    anyOf: [28, repeated(schemaOrReference)],
    not: [29, schema3],
    items: [30, wrapped(1, schemaOrReference)],
    properties: [31, named(schemaOrReference)],
    additionalProperties: [32, booleanOr(schemaOrReference)],
    default: [33, default3],
    description: [34, text],
    format: [35, text],
  }),
  36,
);

const mediaTypes = named(message(() => ({ schema: [1, schemaOrReference] }), 5));
const parameter3 = message(
  () => ({
    name: [1, text],
    in: [2, text],
    description: [3, text],
    required: [4, bool],
    schema: [10, schemaOrReference],
  }),
  14,
);
const parameterOrReference = oneOf(hasRef, [2, reference], [1, parameter3]);
const requestBody = message(() => ({ description: [1, text], content: [2, mediaTypes], required: [3, bool] }), 4);
const response3 = message(() => ({ description: [1, text], content: [3, mediaTypes] }), 5);
const operation3 = message(
  () => ({
    tags: [1, repeated(text)],
    description: [3, text],
    operationId: [5, text],
    parameters: [6, repeated(parameterOrReference)],
    requestBody: [7, wrapped(1, requestBody)],
    responses: [8, named(wrapped(1, response3), 2)],
  }),
  13,
);
const pathItem3 = message(
  () => ({
    get: [4, operation3],
    put: [5, operation3],
    post: [6, operation3],
    delete: [7, operation3],
    options: [8, operation3],
    head: [9, operation3],
    patch: [10, operation3],
    parameters: [13, repeated(parameterOrReference)],
  }),
  14,
);
const securityScheme = message(() => ({ type: [1, text], description: [2, text], name: [3, text], in: [4, text] }), 9);
const document3 = message(
  () => ({
    openapi: [1, text],
    info: [2, message(() => ({ title: [1, text], version: [6, text] }))],
    paths: [4, named(pathItem3)],
    components: [
      5,
      message(() => ({
        schemas: [1, named(schemaOrReference)],
        securitySchemes: [7, named(wrapped(1, securityScheme))],
      })),
    ],
  }),
  9,
);

function encode(document: Field, json: JsonObject): Uint8Array {
  const writer = new Writer();
  document(writer, 1, json);
  return bare(writer.finish());
}

/** Takes the tag and length off the only field of a message. */
function bare(bytes: Uint8Array): Uint8Array {
  let at = 1;
  while ((bytes[at] ?? 0) >= 0x80) at++;
  return bytes.subarray(at + 1);
}

/** openapi.v2.Document of a Swagger 2.0 document. */
export const encodeV2 = (json: JsonObject): Uint8Array => encode(document2, json);

/** openapi.v3.Document of an OpenAPI 3.0 document. */
export const encodeV3 = (json: JsonObject): Uint8Array => encode(document3, json);

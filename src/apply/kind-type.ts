import type { JsonObject, JsonValue } from '../api/object.ts';
import { isObject, setKey } from '../api/object.ts';
import { definition, definitionName } from '../api/schema.ts';
import protobuf from '../api/tables/protobuf.json';

export type ScalarType = 'numeric' | 'string' | 'boolean' | 'untyped';

/** A list: atomic, or associative by `keys`; without keys it is a set. */
export interface ListType {
  atomic: boolean;
  keys: readonly string[];
  element: FieldType;
}

/** A declared field of a struct. `default` completes the keys of list elements. */
export interface StructField {
  type: FieldType;
  default?: JsonValue;
}

/** A struct (declared fields), a map (`element`), or both. Undeclared keys are errors when `element` is absent. */
export interface MapType {
  atomic: boolean;
  fields: ReadonlyMap<string, StructField>;
  element?: FieldType;
}

/** What ownership of a value is tracked by (an atom of structured-merge-diff): the forms it may take, and how each merges. */
export interface FieldType {
  scalar?: ScalarType;
  list?: ListType;
  map?: MapType;
}

/** The merge type of one kind in one version. */
export interface KindType {
  type: FieldType;
  /** What an object is before it is created: structs that Go always has, empty. */
  empty: JsonObject;
  /** Name of the definition in the type table; absent for custom resources. */
  definition?: string;
}

/** A node of either schema: of a built-in definition or of an openAPIV3Schema. */
interface Node {
  $ref?: string;
  type?: string;
  format?: string;
  default?: JsonValue;
  properties?: Record<string, Node>;
  items?: Node;
  additionalProperties?: Node | boolean;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
}

const NO_FIELDS: ReadonlyMap<string, StructField> = new Map();

/** Any value, compared whole. */
const untyped: FieldType = { scalar: 'untyped' };
untyped.list = { atomic: true, keys: [], element: untyped };
untyped.map = { atomic: true, fields: NO_FIELDS, element: untyped };

/** A value of unknown type: maps merge key by key, lists are compared whole. */
export const deducedType: FieldType = { scalar: 'untyped', list: { atomic: true, keys: [], element: untyped } };
deducedType.map = { atomic: false, fields: NO_FIELDS, element: deducedType };

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const RAW_EXTENSION = 'io.k8s.apimachinery.pkg.runtime.RawExtension';

/** Isolate caches, constant once filled: types of definitions, kinds by `groupVersion kind`, and kinds of CRD schemas. */
const byDefinition = new Map<string, FieldType>([
  [QUANTITY, { scalar: 'untyped' }],
  [RAW_EXTENSION, untyped],
]);
const byKind = new Map<string, KindType>();
const bySchema = new WeakMap<object, KindType>();

/** The merge type of a built-in kind, for example `apps/v1` `Deployment`. Undefined when the kind is unknown. */
export function builtinKind(groupVersion: string, kind: string): KindType | undefined {
  const key = `${groupVersion} ${kind}`;
  const known = byKind.get(key);
  if (known !== undefined) return known;
  const name = definitionName(groupVersion, kind);
  if (name === undefined) return undefined;
  const made: KindType = { type: typeOfDefinition(name), empty: emptyMessage(messageName(name)), definition: name };
  byKind.set(key, made);
  return made;
}

/**
 * The merge type of a custom resource version. Memoized by the identity of the schema.
 * @param schema its openAPIV3Schema; undefined: types are deduced from values
 * @param preserveUnknownFields `spec.preserveUnknownFields` of the definition
 */
export function customKind(schema: unknown, preserveUnknownFields = false): KindType {
  if (!isObject(schema)) return { type: deducedType, empty: {} };
  const known = bySchema.get(schema);
  if (known !== undefined) return known;
  const root = embed(schema as Node);
  const made: KindType = { type: convert(root, preserveUnknownFields), empty: {} };
  bySchema.set(schema, made);
  return made;
}

/** The node with the properties that every embedded or root object has. */
function embed(node: Node): Node {
  const meta: Record<string, Node> = {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { $ref: OBJECT_META },
  };
  return { ...node, properties: { ...node.properties, ...meta } };
}

function typeOfDefinition(name: string): FieldType {
  const known = byDefinition.get(name);
  if (known !== undefined) return known;
  const made: FieldType = {};
  byDefinition.set(name, made);
  return Object.assign(made, convert((definition(name) ?? {}) as Node, false));
}

function convert(node: Node, preserveUnknown: boolean): FieldType {
  if (node.$ref !== undefined) return reference(node, node.$ref);
  const preserve = preserveUnknown || node['x-kubernetes-preserve-unknown-fields'] === true;
  const full = node['x-kubernetes-embedded-resource'] === true ? embed(node) : node;
  switch (node.type) {
    case 'object':
      return { map: mapOf(full, preserve) };
    case 'array':
      return { list: listOf(full, preserve) };
    case undefined:
      return { scalar: 'untyped', list: listOf(full, preserve), map: mapOf(full, preserve) };
    default:
      return { scalar: scalarOf(node.type, node.format) };
  }
}

/** A reference may override how the definition's map merges. */
function reference(node: Node, name: string): FieldType {
  const type = typeOfDefinition(name);
  const mapType = node['x-kubernetes-map-type'];
  if (mapType === undefined || type.map === undefined) return type;
  return { ...type, map: { ...type.map, atomic: mapType === 'atomic' } };
}

function scalarOf(type: string, format: string | undefined): ScalarType {
  if (type === 'integer' || type === 'number') return 'numeric';
  if (type === 'boolean') return 'boolean';
  return type === 'string' && (format === undefined || format === '' || format === 'byte') ? 'string' : 'untyped';
}

function mapOf(node: Node, preserve: boolean): MapType {
  const fields = new Map<string, StructField>();
  for (const name of Object.keys(node.properties ?? {})) {
    const property = node.properties?.[name] ?? {};
    fields.set(name, {
      type: convert(property, preserve),
      ...(property.default === undefined ? {} : { default: property.default }),
    });
  }
  const element = elementOf(node, preserve);
  return { atomic: node['x-kubernetes-map-type'] === 'atomic', fields, ...(element === undefined ? {} : { element }) };
}

function elementOf(node: Node, preserve: boolean): FieldType | undefined {
  const extra = node.additionalProperties;
  if (extra === undefined) return preserve || Object.keys(node.properties ?? {}).length === 0 ? deducedType : undefined;
  if (typeof extra === 'boolean') return extra ? deducedType : undefined;
  return convert(extra, preserve);
}

function listOf(node: Node, preserve: boolean): ListType {
  const element = node.items === undefined ? untyped : convert(node.items, preserve);
  const listType = node['x-kubernetes-list-type'];
  if (listType !== undefined) {
    return {
      atomic: listType === 'atomic',
      keys: listType === 'map' ? [...(node['x-kubernetes-list-map-keys'] ?? [])].sort() : [],
      element,
    };
  }
  const merges = node['x-kubernetes-patch-strategy']?.split(',').includes('merge') ?? false;
  const key = node['x-kubernetes-patch-merge-key'];
  return { atomic: !merges, keys: merges && key !== undefined ? [key] : [], element };
}

interface Message {
  fields: {
    name: string;
    json?: string;
    type: string;
    label?: string;
    pointer?: boolean;
    always?: boolean;
    inline?: boolean;
  }[];
  customJSON?: boolean;
}
const messages = (protobuf as unknown as { messages: Record<string, Message> }).messages;

function messageName(definitionName: string): string {
  const path = definitionName.slice('io.k8s.'.length).split('.');
  return `k8s.io.${path.map((part) => part.replaceAll('-', '_')).join('.')}`;
}

const ZERO: Readonly<Record<string, JsonValue>> = { string: '', bool: false };

/** The JSON form of a message with nothing set: only what its JSON always shows. */
function emptyMessage(name: string): JsonObject {
  const out: JsonObject = {};
  for (const field of messages[name]?.fields ?? []) {
    const inner = messages[field.type];
    if (field.inline === true && inner !== undefined) Object.assign(out, emptyMessage(field.type));
    else if (field.always === true) setKey(out, field.json ?? field.name, emptyField(field, inner));
  }
  return out;
}

function emptyField(field: Message['fields'][number], inner: Message | undefined): JsonValue {
  if (field.pointer === true || field.label !== undefined) return null;
  if (inner === undefined) return field.type === 'bytes' ? null : (ZERO[field.type] ?? 0);
  return inner.customJSON === true ? null : emptyMessage(field.type);
}

import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import type { Resource } from '../../registry/resource.ts';
import type { GroupVersionRows } from '../catalog.ts';
import { camelGroup, type Definition, JSON_TYPES, type Operation, type PathOperations, type Paths } from './model.ts';

/** The API that custom resources add: paths and definitions made from their rows. */

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const scaleDefinition = 'io.k8s.api.autoscaling.v1.Scale';
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** `oa.example.com`, `v1`, `Gizmo` → `com.example.oa.v1.Gizmo`. */
const definitionName = ({ group, version }: Resource, kind: string) =>
  [...group.split('.').reverse(), version, kind].join('.');

/** Definitions of built-in types by name. */
type Builtins = (name: string) => Definition | undefined;

/** What every object has, described as that of a kind that is built in. */
function commonProperties(builtin: Builtins, list: boolean): JsonObject {
  const model = asObject(builtin(`io.k8s.api.apps.v1.Deployment${list ? 'List' : ''}`)?.properties);
  const describedAs = (field: string) => {
    const { description } = asObject(model[field]);
    return description === undefined ? {} : { description };
  };
  return {
    apiVersion: { type: 'string', ...describedAs('apiVersion') },
    kind: { type: 'string', ...describedAs('kind') },
    metadata: { $ref: `${META}.${list ? 'ListMeta' : 'ObjectMeta'}`, ...describedAs('metadata') },
  };
}

function asObject(schema: JsonValue | undefined): JsonObject {
  return isObject(schema) ? schema : {};
}

/** A structural schema with what embedded objects and int-or-string values imply spelled out. */
function spelledOut(schema: JsonObject, common: JsonObject): JsonObject {
  const out: JsonObject = { ...schema };
  const inner = (part: JsonObject) => spelledOut(part, common);
  if (isObject(schema.properties)) out.properties = mapObject(schema.properties, inner);
  if (isObject(schema.items)) out.items = inner(schema.items);
  if (isObject(schema.additionalProperties)) out.additionalProperties = inner(schema.additionalProperties);
  if (schema['x-kubernetes-int-or-string'] === true) out.anyOf ??= [{ type: 'integer' }, { type: 'string' }];
  if (schema['x-kubernetes-embedded-resource'] === true) {
    out.properties = { ...asObject(out.properties), ...common };
    const required = Array.isArray(schema.required) ? schema.required : [];
    out.required = [...new Set([...required, 'kind', 'apiVersion'])];
  }
  return out;
}

const mapObject = (map: JsonObject, change: (value: JsonObject) => JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, isObject(value) ? change(value) : value]));

function extensions(row: Resource, kind: string): JsonObject {
  const { group, version, fields } = row;
  const selectable = fields.filter((path) => path !== 'metadata.name' && path !== 'metadata.namespace');
  return {
    'x-kubernetes-group-version-kind': [{ group, version, kind }],
    ...(selectable.length === 0
      ? {}
      : { 'x-kubernetes-selectable-fields': selectable.map((fieldPath) => ({ fieldPath })) }),
  };
}

/** The definition of a custom resource's kind. */
export function objectDefinition(row: Resource, builtin: Builtins): Definition {
  const common = commonProperties(builtin, false);
  const schema = spelledOut(asObject(row.custom?.schema as JsonValue | undefined), common);
  return {
    ...schema,
    type: 'object',
    properties: { ...asObject(schema.properties), ...common },
    ...extensions(row, row.kind),
  };
}

function listDefinition(row: Resource, builtin: Builtins): Definition {
  return {
    description: `${row.listKind} is a list of ${row.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...commonProperties(builtin, true),
      items: { type: 'array', items: { $ref: definitionName(row, row.kind) } },
    },
    ...extensions(row, row.listKind),
  };
}

/** Definitions of the kinds of a custom group version, by name. */
export function customDefinitions({ rows }: GroupVersionRows, builtin: Builtins): ReadonlyMap<string, Definition> {
  return new Map(
    rows.flatMap((row) => [
      [definitionName(row, row.kind), objectDefinition(row, builtin)] as const,
      [definitionName(row, row.listKind), listDefinition(row, builtin)] as const,
    ]),
  );
}

const listQuery = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'pretty',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
  'watch',
];
const writeQuery = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'];
const deleteQuery = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'pretty',
  'propagationPolicy',
];
const patchTypes = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];

/** How one verb of a custom resource is written: operation id, parameters, body and answers. */
interface Form {
  verb: string;
  action: string;
  query: string[];
  codes: number[];
  body?: 'self' | 'DeleteOptions' | 'Patch';
  answer: 'self' | 'list' | 'Status';
  /** Inserted before the rest of the operation id. */
  collection?: boolean;
}

const readQuery = ['pretty', 'resourceVersion'];
const onCollection: Record<string, Form> = {
  get: { verb: 'list', action: 'list', query: listQuery, codes: [200], answer: 'list' },
  post: { verb: 'create', action: 'post', query: writeQuery, codes: [200, 201, 202], body: 'self', answer: 'self' },
  delete: {
    verb: 'delete',
    action: 'deletecollection',
    query: listQuery,
    codes: [200],
    answer: 'Status',
    collection: true,
  },
};
const readAndWrite: Record<string, Form> = {
  get: { verb: 'read', action: 'get', query: readQuery, codes: [200], answer: 'self' },
  put: { verb: 'replace', action: 'put', query: writeQuery, codes: [200, 201], body: 'self', answer: 'self' },
  patch: {
    verb: 'patch',
    action: 'patch',
    query: ['dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty'],
    codes: [200],
    body: 'Patch',
    answer: 'self',
  },
};
const onObject: Record<string, Form> = {
  ...readAndWrite,
  delete: {
    verb: 'delete',
    action: 'delete',
    query: deleteQuery,
    codes: [200, 202],
    body: 'DeleteOptions',
    answer: 'Status',
  },
};

interface Target {
  row: Resource;
  namespaced: boolean;
  /** End of operation ids: `Status`, `ForAllNamespaces`. */
  suffix: string;
  self: string;
}

function operation(form: Form, { row, namespaced, suffix, self }: Target): Operation {
  const { group, version, kind } = row;
  const answer = { self, list: definitionName(row, row.listKind), Status: `${META}.Status` }[form.answer];
  const place = `${capital(camelGroup(group))}${capital(version)}${form.collection ? 'Collection' : ''}`;
  return {
    id: `${form.verb}${place}${namespaced ? 'Namespaced' : ''}${kind}${suffix}`,
    tag: `${camelGroup(group)}_${version}`,
    action: form.action,
    gvk: { group, version, kind },
    consumes: form.body === 'Patch' ? patchTypes : JSON_TYPES,
    produces: JSON_TYPES,
    ...(form.body === undefined ? {} : { body: form.body === 'self' ? self : `${META}.${form.body}` }),
    bodyRequired: form.body !== 'DeleteOptions',
    query: form.query,
    responses: { ...Object.fromEntries(form.codes.map((code) => [String(code), answer])), 401: null },
  };
}

const operationsOn = (forms: Record<string, Form>, target: Target): PathOperations =>
  Object.fromEntries(Object.entries(forms).map(([method, form]) => [method, operation(form, target)]));

function pathsOf(row: Resource): [string, PathOperations][] {
  const base = `/apis/${row.groupVersion}`;
  const self = definitionName(row, row.kind);
  const target: Target = { row, namespaced: row.namespaced, suffix: '', self };
  const collection = row.namespaced ? `${base}/namespaces/{namespace}/${row.resource}` : `${base}/${row.resource}`;
  const everywhere = { get: onCollection.get! };
  return [
    ...(row.namespaced
      ? [
          [
            `${base}/${row.resource}`,
            operationsOn(everywhere, { ...target, namespaced: false, suffix: 'ForAllNamespaces' }),
          ] as [string, PathOperations],
        ]
      : []),
    [collection, operationsOn(onCollection, target)],
    [`${collection}/{name}`, operationsOn(onObject, target)],
    ...[...row.subresources.keys()].map((name): [string, PathOperations] => [
      `${collection}/{name}/${name}`,
      operationsOn(readAndWrite, {
        ...target,
        suffix: capital(name),
        self: name === 'scale' ? scaleDefinition : self,
      }),
    ]),
  ];
}

/** Paths of a custom group version, sorted. */
export const customPaths = ({ rows }: GroupVersionRows): Paths =>
  Object.fromEntries(rows.flatMap(pathsOf).sort(([a], [b]) => (a < b ? -1 : 1)));

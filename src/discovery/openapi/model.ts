import type { JsonObject } from '../../api/object.ts';

/** OpenAPI as this server thinks of it, before it is written as version 2 or 3. */

export interface GroupVersionKind extends JsonObject {
  group: string;
  version: string;
  kind: string;
}

/** One method of one path. */
export interface Operation {
  id: string;
  tag: string;
  action?: string;
  gvk?: GroupVersionKind;
  consumes: readonly string[];
  produces: readonly string[];
  /** Definition that the body follows. */
  body?: string;
  bodyRequired: boolean;
  /** Names of query parameters, sorted. */
  query: readonly string[];
  /** Definition, `string`, or null for no body, by status code. */
  responses: Readonly<Record<string, string | null>>;
}

export type PathOperations = Readonly<Record<string, Operation>>;
export type Paths = Readonly<Record<string, PathOperations>>;

/**
 * A schema definition: OpenAPI 3.0 keywords, with `$ref` the bare name of another definition, possibly beside other
 * keywords.
 */
export type Definition = JsonObject;

export interface Specification {
  title: string;
  version: string;
  paths: Paths;
  /** The definition of that name, undefined if there is none. */
  definition(name: string): Definition | undefined;
  /** What is said of the parameter of that name. */
  parameter(name: string): string | undefined;
  /** Whether the document says how clients authenticate. */
  secured: boolean;
}

export const JSON_TYPES = ['application/json', 'application/yaml'];
export const ALL_TYPES = [...JSON_TYPES, 'application/vnd.kubernetes.protobuf'];
export const STREAM_TYPES = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];

/** JSON types of query parameters; every other one is a string. */
const parameterTypes: Readonly<Record<string, readonly string[]>> = {
  boolean: [
    'allowWatchBookmarks',
    'follow',
    'force',
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'insecureSkipTLSVerifyBackend',
    'orphanDependents',
    'previous',
    'sendInitialEvents',
    'stderr',
    'stdin',
    'stdout',
    'timestamps',
    'tty',
    'watch',
  ],
  integer: ['gracePeriodSeconds', 'limit', 'limitBytes', 'ports', 'sinceSeconds', 'tailLines', 'timeoutSeconds'],
};
const typeOfParameter: ReadonlyMap<string, string> = new Map(
  Object.entries(parameterTypes).flatMap(([type, names]) => names.map((name) => [name, type] as const)),
);

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  type: string;
}

const pathParameters = (path: string): Parameter[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({ name, in: 'path', type: 'string' }));

/** Parameters of a path, told apart into those that all its methods share and those of one method; each sorted. */
export function parametersOf(path: string, operations: PathOperations) {
  const all = Object.values(operations);
  const shared = all[0]?.query.filter((name) => all.every(({ query }) => query.includes(name))) ?? [];
  const query = (names: readonly string[]): Parameter[] =>
    names.map((name) => ({ name, in: 'query', type: typeOfParameter.get(name) ?? 'string' }));
  const sorted = (list: Parameter[]) => list.sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    shared: sorted([...pathParameters(path), ...query(shared)]),
    own: (operation: Operation) => sorted(query(operation.query.filter((name) => !shared.includes(name)))),
  };
}

/** What status codes are called where a document has to say something of them. */
export const statusTexts: Readonly<Record<string, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  401: 'Unauthorized',
};

/** `rbac.authorization.k8s.io` → `rbacAuthorization`, as tags and operation ids call groups. */
export function camelGroup(group: string): string {
  const parts = group.replace(/\.k8s\.io$/, '').split('.');
  return parts.map((part, i) => (i === 0 ? part : part.charAt(0).toUpperCase() + part.slice(1))).join('');
}

/** Names of the definitions that definitions lead to, themselves included, sorted. */
export function closure(names: Iterable<string>, definition: Specification['definition']): string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        if (key === '$ref' && typeof inner === 'string') add(inner);
        else if (key !== 'default' && key !== 'enum') visit(inner);
      }
    }
  };
  const add = (name: string): void => {
    if (found.has(name)) return;
    const schema = definition(name);
    if (schema === undefined) return;
    found.add(name);
    visit(schema);
  };
  for (const name of names) add(name);
  return [...found].sort();
}

/** Definitions that operations name. */
export function namedDefinitions(paths: Paths): string[] {
  return Object.values(paths).flatMap((operations) =>
    Object.values(operations).flatMap(({ body, responses }) => [
      ...(body === undefined ? [] : [body]),
      ...Object.values(responses).filter((name) => name !== null && name !== 'string'),
    ]),
  ) as string[];
}

import rawOperations from '../../api/tables/operations.json';
import rawTypes from '../../api/tables/types.json';
import { described, descriptionFacts, unpackDescriptions } from './descriptions.ts';
import {
  ALL_TYPES,
  camelGroup,
  type Definition,
  type GroupVersionKind,
  JSON_TYPES,
  type Operation,
  type Paths,
  type Specification,
  STREAM_TYPES,
} from './model.ts';

/** The API that is served without any custom resource. */

interface RawOperation {
  id: string;
  action?: string;
  gvk?: string;
  body?: string;
  consumes?: number;
  query?: number;
  responses: Record<string, string | null>;
}

const operations = rawOperations as unknown as {
  lists: string[][];
  operations: Record<string, Record<string, RawOperation>>;
};
const types = rawTypes as unknown as { definitions: Record<string, Definition>; asInV2: Record<string, Definition> };

/**
 * Definitions of built-in types by name, with their descriptions, and what is said of parameters. The descriptions are
 * unpacked for whoever asks for the look-ups.
 */
export function builtinTexts(): Pick<Specification, 'definition' | 'parameter'> {
  const descriptions = unpackDescriptions();
  const { parameters } = descriptions;
  return {
    definition: (name) =>
      Object.hasOwn(types.definitions, name) ? described(name, types.definitions[name]!, descriptions) : undefined,
    parameter: (name) => (Object.hasOwn(parameters, name) ? parameters[name] : undefined),
  };
}

/** A built-in definition without descriptions, which need not be unpacked for it. */
export const bareDefinition = (name: string): Definition | undefined =>
  Object.hasOwn(types.definitions, name) ? types.definitions[name] : undefined;

/** Names of every built-in definition. */
export const builtinDefinitions: readonly string[] = Object.keys(types.definitions);

/** The form that OpenAPI 2 gives to the few definitions that it writes otherwise. */
export const definitionInV2 = (name: string): Definition | undefined =>
  Object.hasOwn(types.asInV2, name) ? types.asInV2[name] : undefined;

/** `/apis/apps/v1/namespaces/…` → `apis/apps/v1`: which document of OpenAPI 3 a path is in. */
export function documentOf(path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const depth: Record<string, number> = { api: 2, apis: 3, version: 1, '.well-known': 2, openid: 3 };
  return parts.slice(0, depth[parts[0] ?? ''] ?? 1).join('/');
}

function tagOf(document: string): string {
  const [root = '', group, version] = document.split('/');
  if (root === 'api') return group === undefined ? 'core' : `core_${group}`;
  if (root === '.well-known') return 'WellKnown';
  if (root !== 'apis' || group === undefined) return root;
  return version === undefined ? camelGroup(group) : `${camelGroup(group)}_${version}`;
}

function parseGvk(text: string): GroupVersionKind {
  const [group = '', version = '', kind = ''] = text.split('/');
  return { group, version, kind };
}

const streamed = new Set(['list', 'watch', 'watchlist']);

function producesOf(path: string, raw: RawOperation): string[] {
  if (raw.action === 'connect') return ['*/*'];
  if (path === '/openid/v1/jwks/') return ['application/jwk-set+json'];
  if (path === '/version/' || path === '/.well-known/openid-configuration/') return ['application/json'];
  if (path.endsWith('/log')) return ['text/plain', ...ALL_TYPES];
  return streamed.has(raw.action ?? '') ? [...ALL_TYPES, ...STREAM_TYPES] : ALL_TYPES;
}

/** Discovery says what it takes although it takes nothing; so does everything that is no discovery. */
function consumesOf(path: string, raw: RawOperation): string[] {
  if (raw.consumes !== undefined) return operations.lists[raw.consumes]!;
  if (raw.action !== undefined) return ['*/*'];
  if (path === '/version/') return JSON_TYPES.slice(0, 1);
  return path.startsWith('/api') ? ALL_TYPES : [];
}

function operation(path: string, tag: string, raw: RawOperation): Operation {
  return {
    id: raw.id,
    tag,
    ...(raw.action === undefined ? {} : { action: raw.action }),
    ...(raw.gvk === undefined ? {} : { gvk: parseGvk(raw.gvk) }),
    consumes: consumesOf(path, raw),
    produces: producesOf(path, raw),
    ...(raw.body === undefined ? {} : { body: raw.body }),
    bodyRequired: raw.action !== 'delete' && raw.action !== 'deletecollection',
    query: raw.query === undefined ? [] : operations.lists[raw.query]!,
    responses: raw.responses,
  };
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];

function readPaths(): ReadonlyMap<string, Paths> {
  const documents = new Map<string, Record<string, Record<string, Operation>>>();
  for (const [path, raws] of Object.entries(operations.operations)) {
    const document = documentOf(path);
    const tag = tagOf(document);
    const paths = documents.get(document) ?? {};
    paths[path] = Object.fromEntries(
      methods.filter((method) => raws[method]).map((method) => [method, operation(path, tag, raws[method]!)]),
    );
    documents.set(document, paths);
  }
  return documents;
}

/** Isolate cache of what the tables say; made when OpenAPI is first asked for. */
const memo: { paths?: ReadonlyMap<string, Paths>; facts?: string } = {};

/** Paths by document of OpenAPI 3. */
export function builtinPaths(): ReadonlyMap<string, Paths> {
  memo.paths ??= readPaths();
  return memo.paths;
}

/** Text that changes whenever the documents of the built-in API do. */
export function builtinFacts(): string {
  memo.facts ??= JSON.stringify([rawOperations, rawTypes, descriptionFacts]);
  return memo.facts;
}

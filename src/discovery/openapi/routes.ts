import type { AggregatedDocuments } from '../../aggregation/documents.ts';
import { mergeSwagger } from '../../aggregation/swagger.ts';
import type { JsonObject } from '../../api/object.ts';
import { type Catalog, derived, type GroupVersionRows } from '../catalog.ts';
import { sha512 } from '../document.ts';
import { builtinDefinitions, builtinFacts, builtinPaths, builtinTexts } from './builtin.ts';
import { customDefinitions, customPaths } from './custom.ts';
import type { Paths, Specification } from './model.ts';
import { encodeV2, encodeV3 } from './protobuf.ts';
import { writeV2 } from './v2.ts';
import { writeV3 } from './v3.ts';

/** What the answers depend on. */
interface OpenApiRequest {
  path: string;
  headers: Headers;
  query: URLSearchParams;
  now: Date;
}

/** Raised whenever the writers change what they write for the same facts, so that clients fetch anew. */
const FORMAT = 1;
const YEAR_MS = 365 * 24 * 3600 * 1000;
const encoder = new TextEncoder();
const PREFIX = '/openapi/v3/';

interface Encoding {
  contentType: string;
  encode(document: JsonObject): Uint8Array;
}

const json: Encoding = {
  contentType: 'application/json',
  encode: (document) => encoder.encode(JSON.stringify(document)),
};

/** Media types by what Accept may call them: the protobuf types have an old name with `@`. */
function encodings(version: 'v2' | 'v3', encode: (document: JsonObject) => Uint8Array): ReadonlyMap<string, Encoding> {
  const name = `application/com.github.proto-openapi.spec.${version}`;
  const protobuf: Encoding = { contentType: `${name}.v1.0+protobuf`, encode };
  return new Map([
    ['application/json', json],
    [`${name}.v1.0+protobuf`, protobuf],
    [`${name}@v1.0+protobuf`, protobuf],
    ['application/*', json],
    ['*/*', json],
  ]);
}

const encodingsV2 = encodings('v2', encodeV2);
const encodingsV3 = encodings('v3', encodeV3);

/** The encoding that Accept prefers; quality is by order, as clients of these documents send it. */
function chooseEncoding(accept: string | null, known: ReadonlyMap<string, Encoding>): Encoding | undefined {
  if (accept === null || accept.trim() === '') return json;
  const clauses = accept.split(',').map((clause) => {
    const [type = '', ...params] = clause.split(';').map((part) => part.trim());
    const q = params.find((param) => param.startsWith('q='));
    return { type, q: q === undefined ? 1 : Number(q.slice(2)) || 0 };
  });
  clauses.sort((a, b) => b.q - a.q);
  const match = clauses.find(({ type }) => known.has(type));
  return match === undefined ? undefined : known.get(match.type);
}

/** One document with its hash and the encodings that were asked for. */
interface OpenApiDocument {
  hash: string;
  specification: () => JsonObject;
  /** When it was first sent. */
  since?: Date;
  bodies: Map<string, Uint8Array>;
}

function bodyOf(document: OpenApiDocument, encoding: Encoding): Uint8Array {
  let body = document.bodies.get(encoding.contentType);
  if (body === undefined) {
    body = encoding.encode(document.specification());
    document.bodies.set(encoding.contentType, body);
  }
  return body;
}

const builtinSpecification = (paths: Paths): Specification => ({
  title: 'Kubernetes',
  version: '1.36',
  paths,
  ...builtinTexts(),
  secured: true,
});

function customSpecification(rows: GroupVersionRows): Specification {
  const builtin = builtinTexts();
  const own = customDefinitions(rows, builtin.definition);
  return {
    title: 'Kubernetes CRD Swagger',
    version: 'v0.1.0',
    paths: customPaths(rows),
    ...builtin,
    definition: (name) => own.get(name) ?? builtin.definition(name),
    secured: false,
  };
}

const customVersions = (catalog: Catalog): GroupVersionRows[] =>
  [...catalog.byGroupVersion.values()].filter(({ rows }) => rows.some((row) => row.custom !== undefined));

/** What a custom group version's documents depend on. */
const customFacts = ({ rows }: GroupVersionRows): string =>
  JSON.stringify(
    rows.map(({ custom, subresources, ...row }) => [row, [...subresources.keys()], custom?.schema]),
    (_, value: unknown) => (value instanceof Set ? [...value] : typeof value === 'bigint' ? String(value) : value),
  );

const hashOf = (...parts: string[]): Promise<string> => sha512(encoder.encode([String(FORMAT), ...parts].join('\n')));

/** Isolate cache: the documents of the built-in API by name, and the digest of its facts. */
const builtinMemo = new Map<string, OpenApiDocument>();

async function builtinDocuments(): Promise<ReadonlyMap<string, OpenApiDocument>> {
  if (builtinMemo.size > 0) return builtinMemo;
  const digest = await hashOf(builtinFacts());
  const made = await Promise.all(
    [...builtinPaths()].map(
      async ([name, paths]): Promise<[string, OpenApiDocument]> => [
        name,
        {
          hash: await hashOf(digest, name),
          specification: () => writeV3(builtinSpecification(paths)),
          bodies: new Map(),
        },
      ],
    ),
  );
  for (const [name, document] of made) if (!builtinMemo.has(name)) builtinMemo.set(name, document);
  return builtinMemo;
}

/** Every document of OpenAPI 3 by name, sorted. */
async function documentsOf(catalog: Catalog): Promise<ReadonlyMap<string, OpenApiDocument>> {
  const known = catalog.memo.get('openapi v3') as ReadonlyMap<string, OpenApiDocument> | undefined;
  if (known !== undefined) return known;
  const custom = await Promise.all(
    customVersions(catalog).map(
      async (rows): Promise<[string, OpenApiDocument]> => [
        `apis/${rows.groupVersion}`,
        {
          hash: await hashOf(customFacts(rows)),
          specification: () => writeV3(customSpecification(rows)),
          bodies: new Map(),
        },
      ],
    ),
  );
  const all = [...(await builtinDocuments()), ...custom].sort(([a], [b]) => (a < b ? -1 : 1));
  return derived(catalog, 'openapi v3', () => new Map(all));
}

function writeAll(catalog: Catalog): JsonObject {
  const custom = customVersions(catalog);
  const builtin = builtinTexts();
  const own = new Map(custom.flatMap((rows) => [...customDefinitions(rows, builtin.definition)]));
  const paths = [...builtinPaths().values(), ...custom.map(customPaths)].flatMap(Object.entries);
  paths.sort(([a], [b]) => (a < b ? -1 : 1));
  const specification = builtinSpecification(Object.fromEntries(paths) as Paths);
  return writeV2({ ...specification, definition: (name) => own.get(name) ?? builtin.definition(name) }, [
    ...builtinDefinitions,
    ...own.keys(),
  ]);
}

/** The one document of OpenAPI 2. */
async function wholeDocument(catalog: Catalog): Promise<OpenApiDocument> {
  const known = catalog.memo.get('openapi v2') as OpenApiDocument | undefined;
  if (known !== undefined) return known;
  const hash = await hashOf('v2', builtinFacts(), ...customVersions(catalog).map(customFacts));
  return derived(catalog, 'openapi v2', () => ({ hash, specification: () => writeAll(catalog), bodies: new Map() }));
}

/** Answers `/openapi/v2` and everything below `/openapi/v3`; `undefined` for other paths. */
export function answerOpenApi(
  request: OpenApiRequest,
  catalog: Catalog,
  documents?: AggregatedDocuments,
): Promise<Response> | undefined {
  const { path } = request;
  if (path === '/openapi/v2') return answerV2(request, catalog, documents);
  if (path === '/openapi/v3') return answerIndex(catalog, documents);
  return path.startsWith(PREFIX) ? answerV3(request, catalog, path.slice(PREFIX.length)) : undefined;
}

async function answerV2(
  request: OpenApiRequest,
  catalog: Catalog,
  documents: AggregatedDocuments | undefined,
): Promise<Response> {
  const encoding = chooseEncoding(request.headers.get('accept'), encodingsV2);
  const headers = new Headers([
    ['Vary', 'Accept-Encoding'],
    ['Vary', 'Accept'],
  ]);
  if (encoding === undefined) return new Response(null, { status: 406, headers });
  const own = await wholeDocument(catalog);
  return send(request, documents === undefined ? own : await merged(catalog, own, documents), encoding, headers);
}

/** The document of OpenAPI 2 with those of other servers; made anew when one of them changes. */
async function merged(
  catalog: Catalog,
  own: OpenApiDocument,
  documents: AggregatedDocuments,
): Promise<OpenApiDocument> {
  const others = await documents.swagger();
  if (others.length === 0) return own;
  const hash = await hashOf(own.hash, ...others.map(({ document }) => JSON.stringify(document)));
  const known = catalog.memo.get('openapi v2 merged') as OpenApiDocument | undefined;
  if (known?.hash === hash) return known;
  const made = { hash, specification: () => mergeSwagger(own.specification(), others), bodies: new Map() };
  catalog.memo.set('openapi v2 merged', made);
  return made;
}

async function answerIndex(catalog: Catalog, documents: AggregatedDocuments | undefined): Promise<Response> {
  const addresses = new Map<string, string>();
  for (const [name, { address }] of (await documents?.openApi()) ?? []) addresses.set(name, address);
  for (const [name, { hash }] of await documentsOf(catalog)) addresses.set(name, addressOf(name, hash));
  const sorted = [...addresses].sort(([a], [b]) => (a < b ? -1 : 1));
  const paths = Object.fromEntries(sorted.map(([name, serverRelativeURL]) => [name, { serverRelativeURL }]));
  return new Response(JSON.stringify({ paths }), { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}

const addressOf = (name: string, hash: string) => `${PREFIX}${name}?hash=${hash}`;

async function answerV3(request: OpenApiRequest, catalog: Catalog, name: string): Promise<Response> {
  const document = (await documentsOf(catalog)).get(name);
  if (document === undefined) return new Response(null, { status: 404 });
  const headers = new Headers({ Vary: 'Accept' });
  const encoding = chooseEncoding(request.headers.get('accept'), encodingsV3);
  if (encoding === undefined) return new Response(null, { status: 406, headers });
  const asked = request.query.get('hash');
  if (asked !== null && asked !== '' && asked !== document.hash) {
    headers.set('Location', addressOf(name, document.hash));
    headers.set('ETag', `"${document.hash}"`);
    headers.set('Content-Type', encoding.contentType);
    return new Response(null, { status: 301, headers });
  }
  if (asked === document.hash) {
    headers.set('Cache-Control', 'public, immutable');
    headers.set('Expires', new Date(request.now.getTime() + YEAR_MS).toUTCString());
  }
  return send(request, document, encoding, headers);
}

function send(request: OpenApiRequest, document: OpenApiDocument, encoding: Encoding, headers: Headers): Response {
  const etag = `"${document.hash}"`;
  headers.set('ETag', etag);
  if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
  headers.set('Content-Type', encoding.contentType);
  document.since ??= request.now;
  headers.set('Last-Modified', document.since.toUTCString());
  return new Response(bodyOf(document, encoding), { headers });
}

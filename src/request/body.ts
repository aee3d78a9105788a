import { isObject, type JsonObject } from '../api/object.ts';
import { decodeBody, decodeObject, type Expected, type FieldValidation } from '../codec/body.ts';
import { type Decoded, decodeTyped } from '../codec/typed.ts';
import { badRequest, requestEntityTooLarge, StatusError } from '../status/status.ts';
import type { RequestContext } from './context.ts';
import { type DeleteOptions, deleteOptionsOfQuery, type RawDeleteOptions, validDeleteOptions } from './options.ts';

/** Most bytes that a request body may have: twice what etcd takes, as upstream. */
export const BODY_LIMIT = 3 * 1024 * 1024;

const tooLarge = () => requestEntityTooLarge(`Request entity too large: limit is ${BODY_LIMIT}`);

/** Reads a whole request body. Throws 413 as soon as it is known to exceed {@link BODY_LIMIT} bytes. */
export async function readBody(request: Request): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > BODY_LIMIT) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  if (declared >= 0) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.byteLength > BODY_LIMIT) throw tooLarge();
    return bytes;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > BODY_LIMIT) throw tooLarge();
    chunks.push(chunk);
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.byteLength;
  }
  return out;
}

/** The media type that a request says its body has; JSON when it says nothing. */
export function contentType(request: Request): string {
  return request.headers.get('content-type') ?? 'application/json';
}

const DELETE_OPTIONS_VERSIONS: ReadonlySet<string> = new Set(['v1', 'meta.k8s.io/v1']);

/**
 * The options of a delete or deletecollection: those of the body when there is one, else those of the query.
 * Throws 400 for a body that is no DeleteOptions, 415 and 422.
 */
export async function readDeleteOptions(ctx: RequestContext): Promise<DeleteOptions> {
  const bytes = await readBody(ctx.request);
  if (bytes.byteLength === 0) return validDeleteOptions(deleteOptionsOfQuery(ctx.url.searchParams));
  const body = decodeBody(bytes, contentType(ctx.request));
  if (body.format === 'protobuf') {
    if (body.decoded.kind !== 'DeleteOptions') throw notDeleteOptions();
    ctx.audit?.requestObject({ ...(body.decoded.object as JsonObject), ...INTERNAL_OPTIONS });
    return validDeleteOptions(body.decoded.object as RawDeleteOptions);
  }
  const { value } = body.parsed;
  if (!isObject(value)) throw badRequest('json: cannot unmarshal the body into Go value of type v1.DeleteOptions');
  const { kind = 'DeleteOptions', apiVersion = 'v1' } = value;
  if (kind !== 'DeleteOptions') throw notDeleteOptions();
  // Every served group has a DeleteOptions of its own that converts to this one.
  if (
    typeof apiVersion !== 'string' ||
    (!DELETE_OPTIONS_VERSIONS.has(apiVersion) && !/^[^/]+\/v\w+$/.test(apiVersion))
  ) {
    throw notDeleteOptions();
  }
  try {
    const decoded = decodeTyped({ ...body.parsed, value: { ...value, kind, apiVersion: 'v1' } }, 'v1', 'DeleteOptions');
    ctx.audit?.requestObject({ ...decoded.object, ...INTERNAL_OPTIONS });
    return validDeleteOptions(decoded.object as unknown as RawDeleteOptions);
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}

/** How upstream's audit records name the options of a deletion. */
const INTERNAL_OPTIONS = { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/__internal' };

const notDeleteOptions = () => badRequest('decoded object cannot be converted to DeleteOptions');

/** Reads the object of a create or update; see {@link decodeObject}. */
export async function readObject(
  ctx: RequestContext,
  expected: Expected,
  fieldValidation: FieldValidation,
  onStrict?: (decoded: Decoded) => string[],
): Promise<JsonObject> {
  const bytes = await readBody(ctx.request);
  const object = decodeObject(bytes, contentType(ctx.request), expected, fieldValidation, ctx.warnings, onStrict);
  ctx.audit?.requestObject(object);
  return object;
}

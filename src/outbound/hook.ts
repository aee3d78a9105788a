import { isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import { JsonSyntaxError, parseJson, stringifyJson } from '../codec/json.ts';
import { parseYaml, YamlSyntaxError } from '../codec/yaml.ts';
import type { RequestContext } from '../request/context.ts';
import type { ClientConfig } from './client-config.ts';
import { resolveService, ServiceError } from './service.ts';
import { OutboundError, type OutboundRequest, unreachable } from './types.ts';

/** Why a hook gave no usable answer; `code` is that of its answer, or of the Status that upstream makes of the failure. */
export class HookError extends Error {
  readonly code: number;
  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

const UNREACHABLE_CODE = 503;
/** Go prints only so much of a body in an error. */
const MAX_SHOWN = 2048;

/**
 * Posts a review to a hook and gives what it answered, decoded but unverified. Throws {@link HookError} in client-go's
 * words. `timeoutSeconds` is told to the hook, too.
 */
export async function callHook(
  ctx: RequestContext,
  client: ClientConfig,
  review: JsonObject,
  timeoutSeconds: number,
): Promise<JsonObject> {
  const request = await requestTo(ctx, client, stringifyJson(review), timeoutSeconds);
  const timeout = timeoutSeconds * 1000;
  let response: Response;
  let body: string;
  const { outbound = unreachable } = ctx;
  try {
    response = await outbound({ ...request, timeoutMilliseconds: timeout });
    body = await bodyWithin(request, response, timeout);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    throw new HookError(error.message, UNREACHABLE_CODE);
  }
  if (response.status < 200 || response.status > 206) throw refusal(response, body);
  return asKind(decodeAnswer(response, body), review);
}

async function requestTo(
  ctx: RequestContext,
  client: ClientConfig,
  body: string,
  timeoutSeconds: number,
): Promise<OutboundRequest> {
  const { service } = client;
  const name = service && `${service.name}.${service.namespace}.svc`;
  const base = service ? `https://${name}:${service.port}${rooted(service.path)}` : client.url;
  const request: OutboundRequest = {
    url: `${base}?timeout=${timeoutSeconds}s`,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, */*',
      'user-agent': 'kube-apiserver-admission',
    },
    body,
    authority: client.caBundle,
    signal: ctx.request.signal,
  };
  if (service === undefined) return request;
  try {
    return { ...request, dial: await resolveService(ctx.keyspace, service, ctx.config?.serviceRoutes) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new HookError(new OutboundError(request, error.message).message, UNREACHABLE_CODE);
  }
}

const rooted = (path: string) => (path === '' || path.startsWith('/') ? path : `/${path}`);

/** The body of an answer, which has as long as its head had. */
async function bodyWithin(request: OutboundRequest, response: Response, timeout: number): Promise<string> {
  const late = 'unexpected error when reading response body. Please retry. Original error: context deadline exceeded';
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HookError(late, UNREACHABLE_CODE)), timeout);
  });
  try {
    return await Promise.race([response.text(), limit]);
  } catch (error) {
    if (error instanceof HookError) throw error;
    throw new HookError(
      `unexpected error when reading response body. Please retry. Original error: ${new OutboundError(request, 'unexpected EOF').reason}`,
      UNREACHABLE_CODE,
    );
  } finally {
    clearTimeout(timer);
  }
}

const SENTENCES: ReadonlyMap<number, string> = new Map([
  [400, 'the server rejected our request for an unknown reason'],
  [401, 'the server has asked for the client to provide credentials'],
  [404, 'the server could not find the requested resource'],
  [405, 'the server does not allow this method on the requested resource'],
  [409, 'the server reported a conflict'],
  [422, 'the server rejected our request due to an error in our request'],
  [429, 'the server has received too many requests and has asked us to try again later'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted, but may still be processing the request'],
]);

/** What client-go says of an answer that is no success: its Status where it is one, else a sentence for the code. */
function refusal(response: Response, body: string): HookError {
  const { status } = response;
  const own = statusIn(body);
  if (own !== undefined) return new HookError(own, status);
  const type = response.headers.get('content-type') ?? '';
  const told = type.startsWith('text/') ? body.slice(0, MAX_SHOWN).trim() : 'unknown';
  if (status === 403 || status === 415) return new HookError(told, status);
  if (status === 406)
    return new HookError(
      told === 'unknown' || told === ''
        ? 'the server was unable to respond with a content type that the client supports'
        : told,
      status,
    );
  const sentence = SENTENCES.get(status);
  if (sentence !== undefined) return new HookError(sentence, status);
  if (status >= 500)
    return new HookError(
      `an error on the server (${JSON.stringify(told)}) has prevented the request from succeeding`,
      status,
    );
  return new HookError(
    `the server responded with the status code ${status} but did not return more information`,
    status,
  );
}

function statusIn(body: string): string | undefined {
  try {
    const { value } = parseJson(body);
    const isStatus = isObject(value) && value.kind === 'Status' && value.apiVersion === 'v1';
    return isStatus && value.status !== 'Success' && typeof value.message === 'string' ? value.message : undefined;
  } catch {
    return undefined;
  }
}

/** The answer to a review is one of the same version and kind, which it need not say. Throws {@link HookError}. */
function asKind(answer: JsonObject, review: JsonObject): JsonObject {
  const { apiVersion = review.apiVersion, kind = review.kind } = answer;
  if (apiVersion === review.apiVersion && kind === review.kind) return { ...answer, apiVersion, kind };
  const named = (version: unknown, name: unknown) => `(${String(version).replace(/^.*\//, '')}.${String(name)})`;
  const [from, to] = [named(apiVersion, kind), named(review.apiVersion, review.kind)];
  throw new HookError(`converting ${from} to ${to}: unknown conversion`, UNREACHABLE_CODE);
}

/** What a body says: JSON, or YAML, which client-go takes as well. */
function parsed(body: string): JsonValue {
  try {
    return parseJson(body).value;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return parseYaml(body).value;
  }
}

function decodeAnswer(response: Response, body: string): JsonObject {
  const bad = (message: string) => new HookError(message, UNREACHABLE_CODE);
  if (body === '') {
    const type = response.headers.get('content-type') ?? 'application/json';
    throw bad(`0-length response with status code: ${response.status} and content type: ${type}`);
  }
  let value: JsonValue;
  try {
    value = parsed(body);
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw bad(`couldn't get version/kind; json parse error: ${error.message}`);
  }
  if (!isObject(value)) {
    const what = Array.isArray(value) ? 'array' : typeof value;
    throw bad(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${what} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    );
  }
  return value;
}

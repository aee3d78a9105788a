import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import { callHook, HookError } from '../../outbound/hook.ts';
import type { RequestContext } from '../../request/context.ts';
import { plainError } from '../../status/status.ts';
import type { Resource } from '../resource.ts';

const GROUP = 'apiextensions.k8s.io';
const KNOWN = ['v1', 'v1beta1'];
const TIMEOUT_SECONDS = 30;

/** Why a webhook's conversion cannot be gone by. */
class Refused extends Error {}

/**
 * Custom objects in another version of their definition, by its conversion webhook, asked once for all of them; those
 * that are in that version stay as they are. Only labels and annotations of the metadata may become others
 * (k8s.io/apiextensions-apiserver, pkg/apiserver/conversion). Throws 500 in upstream's words where it does not work.
 */
export async function convertCustom(
  ctx: RequestContext,
  resource: Resource,
  objects: readonly KubeObject[],
  apiVersion: string,
): Promise<KubeObject[]> {
  const given = objects.filter((object) => object.apiVersion !== apiVersion);
  const { conversion } = resource.custom ?? {};
  if (given.length === 0 || conversion === undefined) return [...objects];
  const subject = kindText(given[0]!.apiVersion ?? '', resource.kind);
  const fail = (why: string) => plainError(`conversion webhook for ${subject} ${why}`);
  const version = conversion.versions.find((one) => KNOWN.includes(one));
  if (version === undefined) throw plainError('no supported conversion review versions');
  const converted = await ask(ctx, conversion.client, version, given, apiVersion).catch((error: unknown) => {
    if (error instanceof HookError || error instanceof Refused) throw fail(`failed: ${error.message}`);
    throw error;
  });
  if (converted.length !== given.length) throw fail(`returned ${converted.length} objects, expected ${given.length}`);
  const results = converted.map((object, i) => {
    const fault = faultOf(given[i]!, object, apiVersion);
    if (fault !== undefined) throw fail(faultText(fault, i, given.length > 1));
    return withMetadataOf(given[i]!, object as KubeObject);
  });
  return objects.map((object) => (object.apiVersion === apiVersion ? object : results.shift()!));
}

/** How a fault is told: for a single object, or for the one of that index in a list. */
function faultText({ of, why }: Fault, index: number, inList: boolean): string {
  if (of === 'metadata')
    return inList
      ? `returned invalid metadata in object at index ${index}: ${why}`
      : `returned invalid metadata: ${why}`;
  if (inList) return `returned invalid converted object at index ${index}: ${why}`;
  return of === 'type' ? `returned invalid object at index ${index}: ${why}` : `returned invalid object: ${why}`;
}

type Client = NonNullable<NonNullable<Resource['custom']>['conversion']>['client'];

async function ask(
  ctx: RequestContext,
  client: Client,
  version: string,
  objects: readonly KubeObject[],
  desiredAPIVersion: string,
): Promise<JsonValue[]> {
  const uid = crypto.randomUUID();
  const review: JsonObject = {
    kind: 'ConversionReview',
    apiVersion: `${GROUP}/${version}`,
    request: { uid, desiredAPIVersion, objects: objects as readonly JsonValue[] as JsonValue[] },
    response: { uid: '', convertedObjects: null, result: { metadata: {} } },
  };
  const { response } = await callHook(ctx, client, review, TIMEOUT_SECONDS);
  if (!isObject(response)) throw new Refused('no response provided');
  if (version === 'v1' && response.uid !== uid)
    throw new Refused(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? '')}`);
  const result = isObject(response.result) ? response.result : {};
  if (result.status !== 'Success') {
    const { message, status = '' } = result;
    throw new Refused(
      typeof message === 'string' && message !== ''
        ? message
        : `response.result.status was '${String(status)}', not 'Success'`,
    );
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
}

const kindText = (apiVersion: string, kind: string) => `${apiVersion}, Kind=${kind}`;
const text = (value: JsonValue | undefined) => (typeof value === 'string' ? value : '');

/** What is wrong with a converted object: its type, its identity or its metadata. */
interface Fault {
  of: 'type' | 'identity' | 'metadata';
  why: string;
}

/** Why a converted object is not the same one in the wanted version. */
function faultOf(given: KubeObject, converted: JsonValue, apiVersion: string): Fault | undefined {
  const type = (why: string): Fault => ({ of: 'type', why });
  if (!isObject(converted)) return type("Object 'Kind' is missing");
  if (converted.apiVersion !== apiVersion)
    return type(`invalid groupVersion (expected ${apiVersion}, received ${text(converted.apiVersion)})`);
  if (converted.kind !== given.kind)
    return type(`invalid kind (expected ${given.kind}, received ${text(converted.kind)})`);
  const metadata = isObject(converted.metadata) ? converted.metadata : {};
  for (const [key, called] of IDENTITY) {
    const [expected, actual] = [given.metadata[key] ?? '', text(metadata[key])];
    if (expected !== actual) return { of: 'identity', why: `must have the same ${called}: ${expected} != ${actual}` };
  }
  const why = isObject(converted.metadata) ? metadataFault(metadata) : 'missing metadata in converted object';
  return why === undefined ? undefined : { of: 'metadata', why };
}

const IDENTITY = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

function metadataFault(metadata: JsonObject): string | undefined {
  for (const key of ['labels', 'annotations']) {
    const field = metadata[key] ?? {};
    if (!isObject(field)) return `invalid metadata.${key} of type ${goType(field)} in converted object`;
    for (const [name, value] of Object.entries(field))
      if (typeof value !== 'string')
        return `metadata.${key}[${name}] must be a string, but is ${goType(value ?? null)} in converted object`;
  }
  return undefined;
}

function goType(value: JsonValue): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : 'int64';
}

/** A converted object with the metadata of what was given, but its own labels and annotations. */
function withMetadataOf(given: KubeObject, converted: KubeObject): KubeObject {
  const { labels, annotations } = converted.metadata;
  const { labels: _l, annotations: _a, ...kept } = given.metadata;
  return { ...converted, metadata: { ...kept, ...(labels && { labels }), ...(annotations && { annotations }) } };
}

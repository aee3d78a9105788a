import { gzipSync } from 'node:zlib';
import { convert } from '../api/conversion.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { stringifyJson } from '../codec/json.ts';
import { encodeProtobuf, encodeWatchFrame } from '../codec/protobuf.ts';
import { decodeStored, type ListMetadata } from '../codec/stored.ts';
import { toPartialObjectMetadata, toPartialObjectMetadataList, toTable } from '../codec/table/index.ts';
import { checkTransform } from '../codec/table/partial.ts';
import { stringifyYaml } from '../codec/yaml.ts';
import type { EncodedAnswer, StoredRecord } from '../keyspace/types.ts';
import type { RequestContext } from '../request/context.ts';
import { type Endpoint, endpoints, type Negotiated, negotiate, wantsPretty } from '../request/negotiate.ts';
import { badRequest } from '../status/status.ts';
import { readCustom } from './custom.ts';
import type { Resource } from './resource.ts';

const encoder = new TextEncoder();
/** Answers below this many bytes are not worth compressing (upstream's threshold). */
const GZIP_THRESHOLD = 128 * 1024;

/** Whether the stored bytes are what a client of this version gets, so that they may be copied without parsing. */
export function canSplice(resource: Resource, record: StoredRecord): boolean {
  const { tag } = record.meta;
  return tag.storageVersion === resource.groupVersion && tag.schema === (resource.custom?.generation ?? 0);
}

/** The object of a record in the version of a row. */
export function toObject(resource: Resource, record: StoredRecord): KubeObject {
  const object = decodeStored(record);
  if (resource.custom === undefined) return convert(object, resource);
  return readCustom(resource, object, record.meta.tag.schema === resource.custom.generation);
}

const calls = new Set(['binding', 'eviction', 'token']);

function endpointOf({ info }: RequestContext, resource: Resource, collection: boolean): Endpoint {
  if (resource.custom) return endpoints.custom;
  if (collection) return endpoints.collection;
  return calls.has(info.subresource) || !resource.verbs.has('get') ? endpoints.call : endpoints.object;
}

/** Which form of a resource the client wants; throws 406. */
export function formOf(ctx: RequestContext, resource: Resource, collection: boolean): Negotiated {
  const endpoint = endpointOf(ctx, resource, collection);
  const { headers } = ctx.request;
  const pretty = wantsPretty(ctx.url.searchParams, headers.get('user-agent'));
  const form = negotiate(headers.get('accept'), endpoint, pretty);
  if (form.as !== undefined) checkTransform(form.as.kind, resource, collection);
  return form;
}

/** Bytes of a tree in a media type. Kinds without protobuf never get here with it: negotiation refuses them. */
export function encodeTree(object: JsonObject, form: Negotiated, groupVersion: string, kind: string): Uint8Array {
  if (form.mediaType === 'application/vnd.kubernetes.protobuf')
    return encodeProtobuf(object as KubeObject, groupVersion, kind);
  if (form.mediaType === 'application/yaml') return encoder.encode(stringifyYaml(object));
  return encoder.encode(form.pretty ? stringifyJson(object, true) : `${stringifyJson(object)}\n`);
}

/** Encodes single objects, lists and watch events of one resource in the form that a client asked for. */
export interface Presenter {
  object(object: KubeObject): Uint8Array;
  list(objects: KubeObject[], metadata: ListMetadata): Uint8Array;
  /** A frame of a watch; `object` is the resource's, a bookmark's or a Status. */
  watchEvent(type: string, object: KubeObject): Uint8Array;
}

/** A presenter for one request. It keeps state: a watched Table names its columns in the first event only. */
export function presenterOf(ctx: RequestContext, resource: Resource, form: Negotiated): Presenter {
  const includeObject = ctx.url.searchParams.get('includeObject') ?? '';
  if (form.as?.kind === 'Table' && !['', 'None', 'Metadata', 'Object'].includes(includeObject)) {
    throw badRequest(`unrecognized includeObject value: ${JSON.stringify(includeObject)}`);
  }
  const version = form.as?.version === 'v1beta1' ? 'v1beta1' : 'v1';
  const metaVersion = `meta.k8s.io/${version}`;
  const table = (objects: KubeObject[], listMeta: JsonObject, columns: boolean) =>
    toTable(objects, resource, {
      includeObject: (includeObject || 'Metadata') as 'None' | 'Metadata' | 'Object',
      version,
      listMeta,
      now: ctx.now(),
      columns,
    });
  const one = (object: KubeObject, columns = true): [JsonObject, string, string] => {
    if (form.as === undefined || object.kind === 'Status') {
      return [object, object.kind === 'Status' ? 'v1' : resource.groupVersion, object.kind ?? resource.kind];
    }
    if (form.as.kind === 'Table') {
      const { resourceVersion } = object.metadata;
      return [table([object], resourceVersion === undefined ? {} : { resourceVersion }, columns), metaVersion, 'Table'];
    }
    return [toPartialObjectMetadata(object, version), metaVersion, 'PartialObjectMetadata'];
  };
  let first = true;
  return {
    object: (object) => {
      const [tree, groupVersion, kind] = one(object);
      return encodeTree(tree, form, groupVersion, kind);
    },
    list: (objects, metadata) => {
      const listMeta = { ...metadata } as unknown as JsonObject;
      if (form.as?.kind === 'Table') return encodeTree(table(objects, listMeta, true), form, metaVersion, 'Table');
      if (form.as !== undefined) {
        return encodeTree(
          toPartialObjectMetadataList(objects, version, listMeta),
          form,
          metaVersion,
          'PartialObjectMetadataList',
        );
      }
      const items = resource.custom
        ? objects
        : objects.map(({ kind: _k, apiVersion: _v, ...rest }) => rest as JsonObject);
      const list = { kind: resource.listKind, apiVersion: resource.groupVersion, metadata: listMeta, items };
      return encodeTree(list, form, resource.groupVersion, resource.listKind);
    },
    watchEvent: (type, object) => {
      const [tree, groupVersion, kind] = one(object, first);
      if (object.kind !== 'Status') first = false;
      if (form.mediaType === 'application/vnd.kubernetes.protobuf') {
        return encodeWatchFrame(type, encodeProtobuf(tree as KubeObject, groupVersion, kind));
      }
      return encoder.encode(`{"type":"${type}","object":${stringifyJson(tree)}}\n`);
    },
  };
}

/** A whole answer in one piece, compressed when it is large and the client can read that. */
export function respond(ctx: RequestContext, body: Uint8Array, contentType: string, status = 200): Response {
  return respondEncoded(ctx, { body }, contentType, status);
}

/** As {@link respond}, with bytes that other requests may answer with as well: they are compressed once. */
export function respondEncoded(
  ctx: RequestContext,
  encoded: EncodedAnswer,
  contentType: string,
  status = 200,
): Response {
  const { body } = encoded;
  ctx.audit?.answered(body, contentType);
  const headers = new Headers({ 'Content-Type': contentType });
  if (body.byteLength < GZIP_THRESHOLD || !/\bgzip\b/.test(ctx.request.headers.get('accept-encoding') ?? '')) {
    return new Response(body, { status, headers });
  }
  headers.set('Content-Encoding', 'gzip');
  headers.set('Vary', 'Accept-Encoding');
  encoded.gzip ??= gzipSync(body, { level: 1 });
  return new Response(encoded.gzip, { status, headers, encodeBody: 'manual' });
}

/** Answers with one object of a resource in the form that the client asked for. */
export function respondObject(ctx: RequestContext, resource: Resource, object: KubeObject, status = 200): Response {
  const form = formOf(ctx, resource, false);
  return respond(ctx, presenterOf(ctx, resource, form).object(object), form.contentType, status);
}

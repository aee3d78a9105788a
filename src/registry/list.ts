import { type ListMetadata, listJson } from '../codec/stored.ts';
import {
  CompactedError,
  type Consistency,
  type EncodedAnswer,
  type ListPage,
  type StoredRecord,
} from '../keyspace/types.ts';
import type { RequestContext } from '../request/context.ts';
import {
  type ContinueToken,
  decodeContinue,
  encodeContinue,
  type ListOptions,
  listConsistency,
  parseListOptions,
} from '../request/list-options.ts';
import type { Negotiated } from '../request/negotiate.ts';
import { badRequest, expired } from '../status/status.ts';
import { collectionPrefix, selectorOf } from './keys.ts';
import { canSplice, formOf, presenterOf, respond, respondEncoded, toObject } from './present.ts';
import type { Resource } from './resource.ts';

/** What a list found: the records of the page asked for, and where the next begins. */
export interface Listed {
  records: StoredRecord[];
  metadata: ListMetadata;
  /** Answers already made of these records, where they are one whole page of the keyspace's. */
  answers?: ListPage['answers'];
}

/**
 * Reads a list or one page of it on one consistent snapshot, asking the keyspace for as many of its pages as that takes.
 * Throws 410 when the snapshot of a continue token is gone.
 */
export async function readRecords(ctx: RequestContext, resource: Resource, options: ListOptions): Promise<Listed> {
  const prefix = collectionPrefix(resource, ctx.info.namespace, options.fields);
  const token = options.continue === '' ? undefined : decodeContinue(prefix, options.continue);
  if (token !== undefined && options.resourceVersion !== undefined && options.resourceVersion !== 0) {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  const selector = selectorOf(options, prefix);
  // At version 0 upstream answers from its watch cache, which knows no pages.
  const limit = options.resourceVersion === 0 && token === undefined ? 0 : options.limit;
  let consistency: Consistency =
    token === undefined
      ? listConsistency(options)
      : token.revision < 0
        ? { type: 'linearizable' }
        : { type: 'exact', revision: token.revision };
  let after = token?.after;
  const records: StoredRecord[] = [];
  for (;;) {
    let page: ListPage;
    try {
      page = await ctx.keyspace.list({
        prefix,
        limit: limit === 0 ? 0 : limit - records.length,
        consistency,
        ...(after === undefined ? {} : { after }),
        ...(selector === undefined ? {} : { selector }),
      });
    } catch (error) {
      if (error instanceof CompactedError) throw tooOld(token, prefix);
      throw error;
    }
    if (records.length === 0) records.push(...page.records);
    else for (const record of page.records) records.push(record);
    const last = records.at(-1);
    const shared = records.length === page.records.length && page.answers ? { answers: page.answers } : {};
    if (!page.more || last === undefined)
      return { records, metadata: { resourceVersion: String(page.revision) }, ...shared };
    if (limit !== 0 && records.length >= limit) {
      return {
        ...shared,
        records,
        metadata: {
          resourceVersion: String(page.revision),
          continue: encodeContinue(prefix, { revision: page.revision, after: last.key }),
          ...(selector === undefined && page.remaining !== undefined ? { remainingItemCount: page.remaining } : {}),
        },
      };
    }
    consistency = { type: 'exact', revision: page.revision };
    after = last.key;
  }
}

function tooOld(token: ContinueToken | undefined, prefix: string) {
  if (token === undefined) return expired('The resourceVersion for the provided list is too old.');
  const error = expired(
    'The provided continue parameter is too old: list again without it, or go on with the token in this answer, which shows newer objects than the earlier pages did.',
  );
  error.status.metadata = { continue: encodeContinue(prefix, { revision: -1, after: token.after }) };
  return error;
}

/** GET of a collection. */
export async function serveList(ctx: RequestContext, resource: Resource): Promise<Response> {
  const form = formOf(ctx, resource, true);
  const presenter = presenterOf(ctx, resource, form);
  const options = parseListOptions(ctx.url.searchParams, resource);
  const listed = await readRecords(ctx, resource, options);
  const { records, metadata } = listed;
  ctx.listed?.(records.length + (metadata.remainingItemCount ?? 0));
  const plain = form.mediaType === 'application/json' && form.as === undefined && !form.pretty;
  const spliced = plain && records.every((r) => canSplice(resource, r));
  const encode = () =>
    spliced
      ? listJson(records, resource.listKind, resource.groupVersion, metadata, resource.custom !== undefined)
      : presenter.list(
          records.map((r) => toObject(resource, r)),
          metadata,
        );
  // How a custom resource is presented depends on its definition, which may change between requests.
  if (!spliced && resource.custom !== undefined) return respond(ctx, encode(), form.contentType);
  return respondEncoded(ctx, answerOf(ctx, resource, form, listed, encode), form.contentType);
}

/** The answer as another request has made it of the same page; else encodes it. */
function answerOf(
  ctx: RequestContext,
  resource: Resource,
  form: Negotiated,
  { answers }: Listed,
  encode: () => Uint8Array,
): EncodedAnswer {
  const { as, mediaType, pretty } = form;
  const includeObject = as && ctx.url.searchParams.get('includeObject');
  const key = JSON.stringify([resource.groupVersion, resource.listKind, mediaType, pretty, as, includeObject]);
  const known = answers?.get(key);
  if (known !== undefined) return known;
  const encoded = { body: encode() };
  answers?.set(key, encoded);
  return encoded;
}

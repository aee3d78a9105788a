import {
  CompactedError,
  FutureRevisionError,
  OutcomeUnknownError,
  OverloadedError,
  TooLargeError,
  UnavailableError,
} from '../keyspace/types.ts';
import { encodeTree } from '../registry/present.ts';
import { negotiateError, wantsPretty } from '../request/negotiate.ts';
import {
  expired,
  internalError,
  plainError,
  requestEntityTooLarge,
  resourceVersionTooLarge,
  StatusError,
  timeout,
  tooManyRequests,
} from './status.ts';

/** What a client is told of an error that is not a StatusError; undefined for faults of the server's own. */
function statusOf(error: unknown): StatusError | undefined {
  if (error instanceof StatusError) return error;
  if (error instanceof FutureRevisionError) return resourceVersionTooLarge(error.requested, error.current);
  if (error instanceof CompactedError) return expired('The resourceVersion for the provided list is too old.');
  if (error instanceof OutcomeUnknownError) return timeout('request did not complete within the allotted timeout');
  if (error instanceof OverloadedError) return tooManyRequests('the server has received too many requests', 1);
  if (error instanceof TooLargeError) return requestEntityTooLarge(`Request entity too large: ${error.message}`);
  if (error instanceof UnavailableError) return plainError('the keyspace has no quorum of replicas');
  return undefined;
}

/**
 * The answer to an error, in the form that the client accepts: its Status, or a bare 500 for what no client may know,
 * which is logged instead.
 */
export function answerError(error: unknown, request: Request, query: URLSearchParams): Response {
  let known = statusOf(error);
  if (known === undefined) {
    console.error('request failed', error instanceof Error ? error.stack : String(error));
    known = internalError('the request could not be served');
  }
  const form = negotiateError(request.headers.get('accept'), wantsPretty(query, request.headers.get('user-agent')));
  const headers = new Headers({ 'Content-Type': form.contentType, ...known.headers });
  if (known.status.code === 403 || known.status.code === 401) headers.set('X-Content-Type-Options', 'nosniff');
  return new Response(encodeTree(known.status, form, 'v1', 'Status'), { status: known.status.code, headers });
}

/** An error without a Status: a line of plain text, as Go's net/http writes it. */
export function plainText(line: string, status: number): Response {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };
  return new Response(`${line}\n`, { status, headers });
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A request that could not be told or authorized: plain text 500, as upstream's filters answer. */
export function plainInternalError(uri: string, why: string): Response {
  const text = `Internal Server Error: ${JSON.stringify(uri)}: ${why}`;
  return plainText(
    text.replace(/[&<>]/g, (c) => entities[c]!),
    500,
  );
}

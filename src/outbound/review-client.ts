import { isObject, type JsonObject } from '../api/object.ts';
import type { Connection } from './connection.ts';
import type { Outbound } from './types.ts';

/** First pause between two tries, by how much each is longer, and how many tries there are (upstream's defaults). */
const FIRST_PAUSE_MS = 500;
const PAUSE_FACTOR = 1.5;
const TRIES = 5;
const TRANSIENT: ReadonlySet<number> = new Set([429, 500, 504]);
const LARGEST_BYTES = 1 << 20;

/** There is no usable answer. The message never holds what was sent. */
export class ReviewError extends Error {}

/** What a review needs of its surroundings. */
export interface ReviewRuntime {
  outbound: Outbound;
  /** Waits so many milliseconds. */
  sleep: (milliseconds: number) => Promise<void>;
}

/** An answer that is no review, and whether to try again. */
class Refusal extends ReviewError {
  readonly again: boolean;
  constructor(message: string, again: boolean) {
    super(message);
    this.again = again;
  }
}

/**
 * Sends a review (TokenReview, SubjectAccessReview) to a webhook and gives the `status` of the one that it answers. An
 * answer that is transient is tried again, up to five tries. Throws ReviewError.
 */
export async function sendReview(
  review: { apiVersion: string; kind: string; spec: JsonObject },
  connection: Connection,
  timeoutMilliseconds: number,
  { outbound, sleep }: ReviewRuntime,
): Promise<JsonObject> {
  let pause = FIRST_PAUSE_MS;
  for (let left = TRIES - 1; ; left--) {
    try {
      return await tryOnce(review, connection, timeoutMilliseconds, outbound);
    } catch (error) {
      if (!(error instanceof Refusal)) throw new ReviewError(error instanceof Error ? error.message : String(error));
      if (!error.again || left === 0) throw error;
      await sleep(pause);
      pause *= PAUSE_FACTOR;
    }
  }
}

async function tryOnce(
  review: { apiVersion: string; kind: string; spec: JsonObject },
  { server, authority, insecure, serverName, identity, authorization }: Connection,
  timeoutMilliseconds: number,
  outbound: Outbound,
): Promise<JsonObject> {
  const response = await outbound({
    url: server,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(authorization === '' ? {} : { authorization }),
    },
    body: JSON.stringify({ ...review, metadata: {}, status: {} }),
    authority,
    insecure,
    ...(serverName === '' ? {} : { serverName }),
    ...(identity && { identity }),
    timeoutMilliseconds,
  });
  const text = await response.text();
  if (!response.ok) {
    const again = TRANSIENT.has(response.status) || response.headers.has('retry-after');
    throw new Refusal(`the webhook answers ${response.status}`, again);
  }
  if (text.length > LARGEST_BYTES) throw new Refusal('the webhook answers too much', false);
  return statusOf(text, review);
}

function statusOf(text: string, review: { apiVersion: string; kind: string }): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Refusal('the webhook answers no JSON', false);
  }
  if (!isObject(answer as JsonObject)) throw new Refusal('the webhook answers no object', false);
  const { apiVersion, kind, status } = answer as JsonObject;
  if (apiVersion !== review.apiVersion || kind !== review.kind)
    throw new Refusal(`the webhook answers no ${review.kind} of ${review.apiVersion}`, false);
  return isObject(status) ? status : {};
}

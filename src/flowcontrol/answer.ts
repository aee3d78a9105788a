import type { RequestInfo } from '../request/context.ts';

const STREAMS: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/** Whether a request takes no seats because it may last for ever; a watch takes them until it is open. */
export const isLongRunning = ({ isResourceRequest, verb, subresource }: RequestInfo): boolean =>
  isResourceRequest && (verb === 'proxy' || STREAMS.has(subresource));

/** Whether an answer may last for ever. */
export const isLasting = (info: RequestInfo): boolean =>
  isLongRunning(info) || (info.isResourceRequest && info.verb === 'watch');

/** Plain 429 for a request that found neither seats nor a place to wait for them: nothing of it was done. */
export const tooManyFlows = (): Response =>
  new Response('Too many requests, please try again later.\n', {
    status: 429,
    headers: {
      'Content-Type': 'text/plain; charset=utf-8',
      'Retry-After': '1',
      'X-Content-Type-Options': 'nosniff',
    },
  });

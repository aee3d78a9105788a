import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Tree } from '../e2e/api.ts';
import { type Authority, authority } from '../support/authority.ts';

/** What a hook does with a review: gives the response part, or answers by itself. */
export type Behaviour = (review: Tree, answer: ServerResponse) => Tree | undefined | Promise<Tree | undefined>;

/** HTTPS server of admission and conversion webhooks, with an authority of its own. */
export interface HookServer {
  port: number;
  /** `caBundle` of a configuration that knows it. */
  caBundle: string;
  authority: Authority;
  /** Reviews by path, in the order in which they came, with the query they came with. */
  seen(path: string): { review: Tree; query: string; headers: Record<string, unknown> }[];
  close(): void;
}

/**
 * Starts a server on a free port of this machine. `behaviours`: by path. A response gets the review's uid and
 * apiVersion where it does not say otherwise. `again`: port and authority of a server that was there before.
 */
export async function startHooks(
  behaviours: Readonly<Record<string, Behaviour>>,
  names: readonly string[] = ['127.0.0.1', 'localhost'],
  again: { port?: number; authority?: Authority } = {},
): Promise<HookServer> {
  const own = again.authority ?? (await authority('webhooks'));
  const seen = new Map<string, ReturnType<HookServer['seen']>>();
  const serve = async (request: IncomingMessage, answer: ServerResponse) => {
    const { pathname, search } = new URL(request.url ?? '', 'https://hooks');
    const review = JSON.parse(await bodyOf(request));
    seen.set(pathname, [...(seen.get(pathname) ?? []), { review, query: search, headers: request.headers }]);
    const response = await behaviours[pathname]?.(review, answer);
    if (response === undefined) return;
    const { apiVersion, kind, ...rest } = response;
    const whole = { apiVersion: apiVersion ?? review.apiVersion, kind: kind ?? review.kind };
    const body = JSON.stringify({ ...whole, response: { uid: review.request.uid, ...rest } });
    answer.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };
  const server = createServer(await own.issue(names), (request, answer) => {
    serve(request, answer).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(again.port ?? 0, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    caBundle: Buffer.from(own.certificate).toString('base64'),
    authority: own,
    seen: (path) => seen.get(path) ?? [],
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** A JSON patch as webhooks send it. */
export const patchOf = (...operations: object[]) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

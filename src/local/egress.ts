import { timingSafeEqual } from 'node:crypto';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  type EgressTarget,
  FAILURE_HEADER,
  KEY_HEADER,
  REFUSED_HEADER,
  TARGET_HEADER,
} from '../outbound/egress-protocol.ts';
import { EgressAgents } from './egress-agents.ts';
import { failureOf } from './egress-failures.ts';

/** The running egress service. */
export interface Egress {
  close(): void;
}

/** Bundles of authorities travel in a header. */
const MAX_HEADER_BYTES = 8 << 20;
/** Bodies up to this size are kept, to send them again when an idle connection turns out to be closed. */
const MAX_KEPT_BODY = 32 << 20;
const OWN_HEADERS = new Set([TARGET_HEADER, KEY_HEADER, 'host', 'connection', 'keep-alive', 'transfer-encoding']);

/**
 * Calls peers for the Worker: TLS against a given authority, which the Worker's runtime cannot do. With `npm start` it
 * listens on a unix socket in a folder of this user's, in production on a port of the network of the peers; it answers
 * only calls with the key.
 */
export async function openEgress(address: string | { host: string; port: number }, key: string): Promise<Egress> {
  const agents = new EgressAgents();
  const isOwn = (request: IncomingMessage) => sameKey(String(request.headers[KEY_HEADER] ?? ''), key);
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0 }, (request, response) => {
    if (isOwn(request)) forward(request, response, agents).catch((error: Error) => fail(response, error.message));
    else response.writeHead(403, { [REFUSED_HEADER]: 'key' }).end();
  });
  server.on('upgrade', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    if (isOwn(request)) tunnel(request, client, head, agents);
    else client.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, resolve);
  });
  return {
    close: () => {
      server.close();
      server.closeAllConnections();
      agents.close();
    },
  };
}

function sameKey(given: string, key: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(key)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function targetOf(request: IncomingMessage): EgressTarget {
  return JSON.parse(Buffer.from(String(request.headers[TARGET_HEADER]), 'base64').toString()) as EgressTarget;
}

/** Opens a request to the peer; headers are the Worker's, without those of this hop. */
function open(request: IncomingMessage, target: EgressTarget, agents: EgressAgents, keep: readonly string[] = []) {
  const url = new URL(target.url);
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const headers: Record<string, string | string[]> = { host: url.host };
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined && (!OWN_HEADERS.has(name) || keep.includes(name))) headers[name] = value;
  for (const [name, values] of Object.entries(target.repeated ?? {})) headers[name] = [...values];
  return (secure ? httpsRequest : httpRequest)({
    host: target.dial?.host ?? host,
    port: target.dial?.port ?? (url.port || (secure ? 443 : 80)),
    path: `${url.pathname}${url.search}`,
    method: request.method,
    headers,
    agent: secure ? agents.secure(target, target.serverName ?? host) : agents.plain,
  });
}

async function forward(request: IncomingMessage, response: ServerResponse, agents: EgressAgents): Promise<void> {
  const target = targetOf(request);
  const length = Number(request.headers['content-length'] ?? Number.NaN);
  const isKept = length <= MAX_KEPT_BODY || !('transfer-encoding' in request.headers || length > 0);
  const body = isKept ? await bodyOf(request) : undefined;
  const attempt = (again: boolean) => {
    const out = open(request, target, agents);
    let isAnswered = false;
    out.on('response', (answer) => {
      isAnswered = true;
      response.writeHead(answer.statusCode ?? 502, headersOf(answer));
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    out.on('error', (error) => {
      const isStale = out.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      if (isAnswered) response.destroy();
      else if (isStale && again && body !== undefined && !response.destroyed) attempt(false);
      else fail(response, failureOf(error, target));
    });
    response.once('close', () => response.writableFinished || out.destroy());
    if (body === undefined) request.pipe(out);
    else out.end(body);
  };
  attempt(true);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Headers of the peer's answer, without those of that hop and without any that this service uses. */
function headersOf(answer: IncomingMessage): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < answer.rawHeaders.length; i += 2) {
    const name = answer.rawHeaders[i]!;
    const lower = name.toLowerCase();
    if (!OWN_HEADERS.has(lower) && lower !== FAILURE_HEADER) kept.push(name, answer.rawHeaders[i + 1]!);
  }
  return kept;
}

function fail(response: ServerResponse, reason: string): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(502, { [FAILURE_HEADER]: encodeURIComponent(reason) }).end();
}

/** Joins both sides of a connection that the peer agrees to upgrade. */
function tunnel(request: IncomingMessage, client: Duplex, head: Buffer, agents: EgressAgents): void {
  const target = targetOf(request);
  const refuse = (status: number, headers: string[], body = '') =>
    client.end(
      `HTTP/1.1 ${status} -\r\n${headers.map((line) => `${line}\r\n`).join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  const out = open(request, target, agents, ['connection', 'upgrade']);
  out.on('upgrade', (answer, peer: Socket, first: Buffer) => {
    const lines: string[] = [];
    for (let i = 0; i + 1 < answer.rawHeaders.length; i += 2)
      lines.push(`${answer.rawHeaders[i]}: ${answer.rawHeaders[i + 1]}\r\n`);
    client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
    if (first.length > 0) client.write(first);
    if (head.length > 0) peer.write(head);
    client.pipe(peer).pipe(client);
    const end = () => {
      client.destroy();
      peer.destroy();
    };
    for (const side of [client, peer]) {
      side.on('error', end);
      side.on('close', end);
    }
  });
  out.on('response', (answer) => {
    bodyOf(answer).then(
      (body) => refuse(answer.statusCode ?? 502, [], body.toString()),
      () => client.destroy(),
    );
  });
  out.on('error', (error) => refuse(502, [`${FAILURE_HEADER}: ${encodeURIComponent(failureOf(error, target))}`]));
  client.on('error', () => out.destroy());
  out.end();
}

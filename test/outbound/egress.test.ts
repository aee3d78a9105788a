import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Egress, openEgress } from '../../src/local/egress.ts';
import { egressOutbound } from '../../src/outbound/egress.ts';
import { KEY_HEADER } from '../../src/outbound/egress-protocol.ts';
import { type Outbound, type OutboundRequest, outboundOf } from '../../src/outbound/index.ts';
import { type Authority, authority } from '../support/authority.ts';

let folder: string;
let egress: Egress;
let outbound: Outbound;
let ours: Authority;
let others: Authority;
let peer: Server;
let port: number;
const seen: { path: string; host: string; headers: object; body: string }[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'egress-'));
  [ours, others] = await Promise.all([authority('ours'), authority('others')]);
  const socketPath = join(folder, 'egress.sock');
  egress = await openEgress(socketPath, 'key');
  outbound = egressOutbound(overSocket(socketPath, 'key'));
  peer = createServer(await ours.issue(['hook.example', '127.0.0.1']), (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      seen.push({ path: url, host: headers.host ?? '', headers, body: Buffer.concat(chunks).toString() });
      if (url === '/silent') return;
      if (url === '/dead') response.destroy();
      else response.writeHead(url === '/teapot' ? 418 : 200, { 'x-egress-failure': 'forged' }).end(`hello ${url}`);
    });
  });
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  ({ port } = peer.address() as AddressInfo);
});

afterAll(() => {
  egress.close();
  peer.close();
  peer.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

/** `fetch` as the runtime does it to the service: over its socket, with the key put on. */
function overSocket(socketPath: string, key: string): Pick<Fetcher, 'fetch'> {
  const call = (_: unknown, init: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const headers = { ...(init.headers as Record<string, string>), [KEY_HEADER]: key };
      const out = httpRequest({ socketPath, method: init.method ?? 'GET', path: '/', headers, agent: false });
      out.on('response', (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const { statusCode: status = 0, headers: answered } = answer;
          resolve(new Response(Buffer.concat(chunks), { status, headers: answered as Record<string, string> }));
        });
      });
      out.on('error', reject);
      init.signal?.addEventListener('abort', () => out.destroy(new Error('aborted')));
      out.end(init.body);
    });
  return { fetch: call as unknown as Fetcher['fetch'] };
}

/** A port that nothing listens on by now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: free } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return free;
}

const post = (path: string, more: Partial<OutboundRequest> = {}): OutboundRequest => ({
  url: `https://127.0.0.1:${port}${path}`,
  method: 'POST',
  body: '{}',
  authority: ours.certificate,
  ...more,
});
const why = (request: OutboundRequest) =>
  outbound(request).then(
    (response) => `answered ${response.status}`,
    (error: Error) => error.message,
  );

describe('an exchange', () => {
  test('the peer gets method, path, host, headers and body, and nothing of the hop', async () => {
    const response = await outbound(
      post('/a?b=c', { headers: { 'content-type': 'application/json' }, body: '{"x":1}' }),
    );
    expect([response.status, await response.text()]).toEqual([200, 'hello /a?b=c']);
    expect(seen.at(-1)).toMatchObject({ path: '/a?b=c', host: `127.0.0.1:${port}`, body: '{"x":1}' });
    expect(JSON.stringify(seen.at(-1)!.headers)).not.toContain('egress');
  });

  test('every status is an answer', async () => {
    expect((await outbound(post('/teapot'))).status).toBe(418);
  });

  test('the place to connect to may differ from the name', async () => {
    const dial = { host: '127.0.0.1', port };
    expect((await outbound(post('/', { url: 'https://hook.example/named', dial }))).status).toBe(200);
    expect(seen.at(-1)).toMatchObject({ path: '/named', host: 'hook.example' });
    const serverName = 'hook.example';
    expect((await outbound(post('/', { url: 'https://elsewhere.example/', dial, serverName }))).status).toBe(200);
  });
});

describe('failures in the words of net/http', () => {
  const verify = 'tls: failed to verify certificate: x509:';
  test('another authority', async () => {
    expect(await why(post('/', { authority: others.certificate }))).toBe(
      `Post "https://127.0.0.1:${port}/": ${verify} certificate signed by unknown authority`,
    );
  });

  test('public authorities do not know a private one', async () => {
    expect(await why(post('/', { authority: '' }))).toContain(`${verify} certificate signed by unknown authority`);
  });

  test('a connection known by one authority is not used under another', async () => {
    expect(await why(post('/'))).toBe('answered 200');
    expect(await why(post('/', { authority: others.certificate }))).toContain('unknown authority');
  });

  test('another name', async () => {
    const dial = { host: '127.0.0.1', port };
    expect(await why(post('/', { url: 'https://other.example/', dial }))).toContain(
      `${verify} certificate is valid for hook.example, not other.example`,
    );
  });

  test('nobody listens', async () => {
    expect(await why(post('/', { url: 'https://127.0.0.1:1/x' }))).toBe(
      'Post "https://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
    );
  });

  test('an answer that does not come in time, and one given up', async () => {
    expect(await why(post('/silent', { timeoutMilliseconds: 50 }))).toContain('": context deadline exceeded');
    expect(await why(post('/silent', { signal: AbortSignal.timeout(50) }))).toContain('": context canceled');
  });

  test('the peer hangs up', async () => {
    expect(await why(post('/dead'))).toContain('": EOF');
  });

  test('any certificate where that is asked for', async () => {
    expect(await why(post('/', { authority: others.certificate, insecure: true }))).toBe('answered 200');
  });
});

test('a call without the key of this start is refused and goes nowhere', async () => {
  const before = seen.length;
  const guessing = egressOutbound(overSocket(join(folder, 'egress.sock'), 'guess'));
  await expect(guessing(post('/'))).rejects.toThrow('the egress service refused the key');
  expect(seen.length).toBe(before);
});

test('in production the service is found by its URL, and the Worker puts the key on', async () => {
  const port = await freePort();
  const service = await openEgress({ host: '127.0.0.1', port }, 'secret');
  const url = `http://127.0.0.1:${port}/`;
  const way = outboundOf({ EGRESS_URL: url, EGRESS_KEY: 'secret' });
  const response = await way(post('/far'));
  expect([response.status, await response.text()]).toEqual([200, 'hello /far']);
  await expect(way(post('/', { authority: others.certificate }))).rejects.toThrow('unknown authority');
  await expect(outboundOf({ EGRESS_URL: url, EGRESS_KEY: 'guess' })(post('/'))).rejects.toThrow('refused the key');
  service.close();
});

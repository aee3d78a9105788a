import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ClusterKeys, clusterKeys, serverNames } from '../../src/local/certificates.ts';
import { type Front, startFront } from '../../src/local/front/front.ts';

const CF_HEADER = 'cf-0123456789abcdef';
const folder = mkdtempSync(join(tmpdir(), 'front-'));
const large = Buffer.alloc(3_000_000, 'abcdefghij');

/** What the upstream saw of each request, and which requests it lost before their answer was complete. */
let seen: IncomingMessage[] = [];
let lost: string[] = [];
let keys: ClusterKeys;
let upstream: Server;
let front: Front;
let session: ClientHttp2Session;

beforeAll(async () => {
  keys = await clusterKeys(join(folder, 'pki'), serverNames('10.0.0.1', []));
  upstream = createServer(answer);
  upstream.on('upgrade', (request, socket) => {
    seen.push(request);
    if (request.url === '/refused') {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno');
      return;
    }
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n');
    socket.pipe(socket);
    socket.on('close', () => lost.push('upgrade'));
  });
  const path = join(folder, 'api.sock');
  await new Promise<void>((resolve) => upstream.listen(path, resolve));
  front = await startFront({
    port: 0,
    host: '127.0.0.1',
    tls: keys.server,
    upstream: { path },
    cfBlobHeader: CF_HEADER,
  });
  const { ca, admin } = keys;
  // Node's client refuses its own streams where it may hold less than a busy machine makes it hold.
  const options = { ca: ca.cert, cert: admin.cert, key: admin.key, maxSessionMemory: 1_000 };
  session = connectHttp2(`https://127.0.0.1:${front.port}`, options);
});

afterAll(() => {
  session.destroy();
  front.close();
  upstream.closeAllConnections();
  upstream.close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  seen = [];
  lost = [];
});

function answer(request: IncomingMessage, response: ServerResponse): void {
  seen.push(request);
  response.on('close', () => {
    if (!response.writableFinished) lost.push(request.url ?? '');
  });
  const routes: Record<string, () => void> = {
    '/echo': () => request.pipe(response),
    '/idle': () => response.write('first\n'),
    '/silent': () => {},
    '/large': () => response.end(large),
    '/chunks': () => {
      for (let i = 0; i < 500; i++) response.write(`event ${i}\n`);
      response.end();
    },
    '/empty': () => response.writeHead(204).end(),
    '/early': () => {
      response.writeHead(401, { connection: 'close' }).end('who are you');
    },
  };
  (routes[(request.url ?? '').split('?')[0]!] ?? (() => response.end('ok')))();
}

interface Answer {
  status: number;
  body: string;
}

function collect(stream: ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let status = 0;
    const chunks: Buffer[] = [];
    stream.on('response', (headers) => {
      status = Number(headers[':status']);
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => resolve({ status, body: Buffer.concat(chunks).toString() }));
  });
}

const http2 = (path: string, headers: Record<string, string> = {}, body?: Buffer | string) => {
  const stream = session.request({ ':path': path, ':method': body === undefined ? 'GET' : 'POST', ...headers });
  stream.end(body);
  return collect(stream);
};

/** Sends bytes over HTTP/1.1 and returns everything that comes until the connection ends, or for `ms`. */
async function raw(text: string, ms = 300): Promise<string> {
  const socket = await http1();
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(text, 'latin1');
  await Promise.race([closed, sleep(ms)]);
  socket.destroy();
  return received;
}

function http1(): Promise<TLSSocket> {
  const socket = connectTls({ port: front.port, host: '127.0.0.1', ca: keys.ca.cert, ALPNProtocols: ['http/1.1'] });
  return new Promise((resolve, reject) => {
    socket.on('secureConnect', () => resolve(socket));
    socket.on('error', reject);
  });
}

async function eventually(good: () => boolean): Promise<void> {
  for (let tries = 0; tries < 100 && !good(); tries++) await sleep(10);
  expect(good()).toBe(true);
}

describe('a method that the runtime does not know', () => {
  test('reaches the Worker as one that the API does not know, over HTTP/2', async () => {
    await http2('/echo', { ':method': 'BREW' });
    expect(seen[0]!.method).toBe('PROPFIND');
  });

  test('is refused as by the API over HTTP/1.1; what cannot be read gets an answer too', async () => {
    expect(await raw('BREW /api HTTP/1.1\r\nhost: a\r\n\r\n')).toMatch(/^HTTP\/1.1 405 .*"code":405/s);
    expect(await raw('nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 40[05] /);
    expect(await raw(`GET /api HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(300_000)}\r\n\r\n`)).toMatch(/^HTTP\/1.1 431 /);
    expect(seen).toEqual([]);
  });
});

const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Certificates of which each has signed the next; the last one's PEM with those between it and the first, and its key. */
async function chainOf(first: string, ...names: string[]) {
  const generate = () => webcrypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']);
  let [issuer, issuerKeys] = [`CN=${first}`, await generate()];
  const made: x509.X509Certificate[] = [];
  for (const name of names) {
    const { privateKey, publicKey } = await generate();
    const signed = { subject: `CN=${name}`, issuer, publicKey, signingKey: issuerKeys.privateKey };
    const extensions = name === names.at(-1) ? [] : [new x509.BasicConstraintsExtension(true)];
    made.unshift(await x509.X509CertificateGenerator.create({ ...signed, signingAlgorithm: ECDSA, extensions }));
    [issuer, issuerKeys] = [`CN=${name}`, { privateKey, publicKey }];
  }
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', issuerKeys.privateKey));
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8.toString('base64')}\n-----END PRIVATE KEY-----\n`;
  const cert = made.map((one) => one.toString('pem')).join('\n');
  return { cert, key, issuers: made.slice(1).map(({ rawData }) => Buffer.from(rawData)) };
}

describe('the client certificate', () => {
  const cf = () => JSON.parse(String(seen[0]!.headers[CF_HEADER])).tlsClientAuth;

  test('is handed on in RFC 9440 form', async () => {
    await http2('/');
    const der = Buffer.from(keys.admin.cert.replace(/-----.*-----|\s/g, ''), 'base64');
    expect(cf()).toEqual({
      certPresented: '1',
      certRFC9440: `:${der.toString('base64')}:`,
      certRFC9440TooLarge: false,
      certChainRFC9440: '',
      certChainRFC9440TooLarge: false,
    });
  });

  test('is handed on with the authorities between it and the root, in order, where the client sends them', async () => {
    const { cert, key, issuers } = await chainOf('root', 'upper', 'lower', 'client');
    const socket = connectTls({ port: front.port, host: '127.0.0.1', ca: keys.ca.cert, cert, key });
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await new Promise((resolve) => socket.resume().on('end', resolve));
    expect(cf().certChainRFC9440).toBe(issuers.map((der) => `:${der.toString('base64')}:`).join(', '));
  });

  test('is reported missing where there is none', async () => {
    await raw('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(cf()).toMatchObject({ certPresented: '0', certRFC9440: '' });
  });

  test('cannot be claimed by a header, over HTTP/2 or HTTP/1.1', async () => {
    const forged = JSON.stringify({ tlsClientAuth: { certPresented: '1', certRFC9440: ':forged:' } });
    await http2('/', { [CF_HEADER]: forged, 'cf-connecting-ip': '1.2.3.4' });
    await raw(`GET / HTTP/1.1\r\nhost: x\r\n${CF_HEADER.toUpperCase()}: ${forged}\r\nconnection: close\r\n\r\n`);
    expect(seen).toHaveLength(2);
    for (const request of seen) {
      const names = request.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
      expect(names.filter((name) => name === CF_HEADER)).toHaveLength(1);
      expect(request.headers[CF_HEADER]).not.toContain('forged');
      expect(request.headers['cf-connecting-ip']).toBe('127.0.0.1');
    }
  });
});

describe('bodies', () => {
  test('large ones pass both ways', async () => {
    expect((await http2('/echo', {}, large)).body).toBe(large.toString());
    expect((await http2('/large')).body).toBe(large.toString());
  });

  test('one larger than what is held back passes as it comes', async () => {
    const huge = Buffer.alloc(12_000_000, 'x');
    expect((await http2('/echo', {}, huge)).body).toHaveLength(huge.length);
  });

  test('more than the connection window passes in small requests', async () => {
    for (let i = 0; i < 20; i++)
      expect((await http2('/echo', {}, large.subarray(0, 1_000_000))).body).toHaveLength(1_000_000);
  });

  test('chunks arrive whole and in order', async () => {
    const { body } = await http2('/chunks');
    expect(body.trim().split('\n')).toEqual(Array.from({ length: 500 }, (_, i) => `event ${i}`));
  });

  test('a body of unknown length that comes slowly streams', async () => {
    const stream = session.request({ ':path': '/echo', ':method': 'POST' });
    const answered = collect(stream);
    stream.write('one ');
    await sleep(120);
    stream.write('two');
    stream.end();
    expect((await answered).body).toBe('one two');
  });

  test('an answer that comes before the body was read is not lost', async () => {
    for (let i = 0; i < 20; i++) expect(await http2('/early', {}, large)).toEqual({ status: 401, body: 'who are you' });
  });

  test('an answer without a body', async () => {
    expect(await http2('/empty')).toEqual({ status: 204, body: '' });
  });
});

describe('a client that goes away is noticed at once', () => {
  test('when it resets an idle stream', async () => {
    const stream = session.request({ ':path': '/idle' });
    await new Promise((resolve) => stream.once('data', resolve));
    stream.close(8);
    await eventually(() => lost.includes('/idle'));
  });

  test('when its request has no answer yet', async () => {
    const stream = session.request({ ':path': '/silent' });
    await eventually(() => seen.length === 1);
    stream.close(8);
    await eventually(() => lost.includes('/silent'));
  });

  test('when its connection ends, over HTTP/2 and HTTP/1.1', async () => {
    const other = connectHttp2(`https://127.0.0.1:${front.port}`, { ca: keys.ca.cert });
    other.request({ ':path': '/idle' }).on('error', () => {});
    await eventually(() => seen.length === 1);
    other.destroy();
    await eventually(() => lost.length === 1);
    const socket = await http1();
    socket.write('GET /idle HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => seen.length === 2);
    socket.end();
    await eventually(() => lost.length === 2);
  });
});

describe('ambiguous requests are refused', () => {
  const two = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n';
  const cases: Record<string, string> = {
    'two lengths': `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\ncontent-length: ${two.length}\r\n\r\n${two}`,
    'length and chunked': `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${two.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${two}`,
    'an unknown transfer coding': `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n${two}`,
    'a negative length': `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n${two}`,
    'a folded header': `GET / HTTP/1.1\r\nhost: x\r\nx: a\r\n ${CF_HEADER}: b\r\n\r\n${two}`,
    'a blank before the colon': `GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding : chunked\r\n\r\n${two}`,
  };
  test.each(Object.entries(cases))('%s', async (_title, text) => {
    await raw(text);
    expect(seen.map((request) => request.url)).not.toContain('/smuggled');
  });

  test.each([
    ['a length that does not match', { 'content-length': '3' }, 'four'],
    ['a length that is no number', { 'content-length': '+4' }, 'four'],
    ['a line end in a value', { 'x-a': 'a\r\nx-b: b' }, undefined],
  ] as const)('%s over HTTP/2', async (_title, headers, body) => {
    const outcome = await Promise.resolve()
      .then(() => http2('/smuggled', headers, body))
      .catch(() => ({ status: 0, body: '' }));
    expect(outcome.status).not.toBe(200);
  });
});

describe('upgrades', () => {
  const upgrade = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n`;

  test('pass bytes both ways, and end when the client goes', async () => {
    const received = await raw(`${upgrade('/stream')}hello`);
    expect(received).toMatch(/^HTTP\/1\.1 101 /);
    expect(received).toMatch(/hello$/);
    await eventually(() => lost.includes('upgrade'));
  });

  test('a refused one passes nothing that follows', async () => {
    const received = await raw(`${upgrade('/refused')}GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n`);
    expect(received).toMatch(/^HTTP\/1\.1 403 Forbidden/);
    expect(seen.map((request) => request.url)).toEqual(['/refused']);
  });
});

test('many streams at once', async () => {
  const answers = await Promise.all(Array.from({ length: 240 }, (_, i) => http2(`/echo?${i}`, {}, `body ${i}`)));
  expect(answers.map(({ body }) => body)).toEqual(Array.from({ length: 240 }, (_, i) => `body ${i}`));
});

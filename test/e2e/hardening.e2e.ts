// What a hostile client may try. Where kube-apiserver 1.36.3 has an answer, it is the one expected here.
import { readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Tree } from './api.ts';
import { bareCluster, configMap, definition } from './user-reports.ts';

const bare = bareCluster();
const maps = '/api/v1/namespaces/default/configmaps';
const secret = `${maps}/smuggled`;
const decode = (text: string) => Buffer.from(text, 'base64').toString();

/** What a connection of HTTP/1.1 answers until it ends, or until `milliseconds` have passed. `certified`: as the administrator. */
function raw(bytes: string, certified = false, milliseconds = 2000): Promise<{ text: string; ended: boolean }> {
  const { url, kubeconfig } = bare.cluster.run();
  const config = parse(readFileSync(kubeconfig, 'utf8')) as Tree;
  const user = config.users[0].user;
  const identity = { cert: decode(user['client-certificate-data']), key: decode(user['client-key-data']) };
  return new Promise((resolve) => {
    const socket = connect({
      port: Number(new URL(url).port),
      host: '127.0.0.1',
      ca: decode(config.clusters[0].cluster['certificate-authority-data']),
      ALPNProtocols: ['http/1.1'],
      ...(certified ? identity : {}),
    });
    let text = '';
    const done = (ended: boolean) => {
      resolve({ text, ended });
      socket.destroy();
    };
    socket.on('secureConnect', () => socket.write(bytes));
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => done(true));
    socket.on('error', () => done(true));
    setTimeout(() => done(false), milliseconds).unref();
  });
}

const get = (path: string, ...headers: string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;

beforeAll(async () => {
  expect((await bare.api.post(maps, configMap('smuggled'))).code).toBe(201);
});

describe('a request inside another is not served', () => {
  const inner = get(secret);
  test.each([
    [
      'two lengths',
      `POST ${maps} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    ],
    [
      'a length and chunks',
      `POST ${maps} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    ],
    [
      'another coding',
      `POST ${maps} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ['a bad chunk', `POST ${maps} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${inner}`],
    ['a line end in the path', `GET ${maps}\n${inner}`],
  ])('%s', async (_name, bytes) => {
    const { text, ended } = await raw(bytes, true);
    expect([text.slice(0, 12), ended]).toEqual(['HTTP/1.1 400', true]);
    expect(text).not.toContain('"smuggled"');
  });

  test('one after another is', async () => {
    const first = get('/version').replace('Connection: close\r\n', '');
    const { text } = await raw(first + get(secret), true);
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  });
});

describe('headers that only the edge or a proxy may set say nothing', () => {
  test.each([
    ['X-Remote-User: kubernetes-admin', 'X-Remote-Group: system:masters'],
    ['CF-Client-Cert: x', 'cf-connecting-ip: 127.0.0.1', 'X-SSL-Client-CN: kubernetes-admin'],
    ['X-Forwarded-Client-Cert: Subject="O=system:masters,CN=a"', 'Client-Cert: :AAAA:'],
    ['MF-CF-Blob: {"tlsClientAuth":{"certPresented":"1"}}', 'cf: {}', 'cf-blob: {}'],
  ])('%s', async (...headers) => {
    const { text } = await raw(get(secret, ...headers));
    expect(text).toMatch(/^HTTP\/1\.1 403/);
    expect(text).toContain('system:anonymous');
  });
});

describe('sizes', () => {
  test('headers beyond the limit are refused with 431', async () => {
    expect((await raw(get('/version', `X-A: ${'a'.repeat(1_500_000)}`))).text).toMatch(/^HTTP\/1\.1 431/);
  });

  test('many and long headers below it pass', async () => {
    expect((await raw(get('/version', `X-A: ${'a'.repeat(100_000)}`), true)).text).toMatch(/^HTTP\/1\.1 200/);
  });

  test('a path or query beyond what is served is refused', async () => {
    for (const path of [`/${'a'.repeat(200_000)}`, `${maps}?labelSelector=${'a'.repeat(1_500_000)}`])
      expect((await raw(get(path), true)).text).toMatch(/^HTTP\/1\.1 4\d\d/);
  });

  test('a client that sends slowly holds up nobody', async () => {
    const slow = Array.from({ length: 50 }, (_, i) =>
      raw(
        i % 2 === 0
          ? `GET /version HTTP/1.1\r\nHost: x\r\nX-A: `
          : `POST ${maps} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{"a":`,
        true,
        5000,
      ),
    );
    for (let i = 0; i < 20; i++) expect((await bare.api.get(secret)).code).toBe(200);
    for (const { text } of await Promise.all(slow)) expect(text).not.toMatch(/^HTTP\/1\.1 2/);
  });
});

describe('bodies that grow', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const object = (more: string) => `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"x":${more}}`;
  const lines = [...'bcdefghij'].map(
    (letter, i) => `${letter}: &${letter} [${Array(9).fill(`*${'abcdefghij'[i]}`).join(',')}]`,
  );
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${lines.join('\n')}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n`;
  const yaml = 'application/yaml';

  test.each([
    ['deep JSON', 'application/json', object(nested(20_000)), 'exceeded max depth'],
    ['very deep JSON', 'application/json', object(nested(1_000_000)), 'exceeded max depth'],
    [
      'deep objects',
      'application/json',
      object(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`),
      'exceeded max depth',
    ],
    ['deep YAML', yaml, `a: ${nested(20_000)}`, 'exceeded max depth'],
    ['YAML in blocks', yaml, Array.from({ length: 2000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), ''],
    ['aliases of aliases', yaml, bomb, 'document contains excessive aliasing'],
    ['an alias of itself', yaml, 'a: &a [*a]', "anchor 'a' value contains itself"],
  ])('%s is refused', async (_name, type, body, message) => {
    const { code, json } = await bare.api.post(maps, body, { type });
    expect([code, json.kind]).toEqual([400, 'Status']);
    expect(json.message).toContain(message);
  });

  test('nor is a bomb applied', async () => {
    const { code, json } = await bare.api.patch(`${maps}/bomb?fieldManager=m`, 'application/apply-patch+yaml', bomb);
    expect([code, json.message]).toEqual([400, expect.stringContaining('document contains excessive aliasing')]);
  });

  test('a compressed body is not unpacked', async () => {
    const packed = gzipSync(Buffer.alloc(50_000_000, 'a'));
    const headers = { 'content-encoding': 'gzip' };
    const { code, json } = await bare.api.post(maps, packed, { type: 'application/json', headers });
    expect([code, json.message]).toEqual([400, expect.stringContaining("invalid character '\\x1f'")]);
  });

  test('a JSON patch of too many or too large steps is refused', async () => {
    const patch = (steps: object[]) => bare.api.patch(secret, 'application/json-patch+json', JSON.stringify(steps));
    expect((await patch(Array(10_001).fill({ op: 'test', path: '/kind', value: 'ConfigMap' }))).code).toBe(413);
    const seedStep = { op: 'add', path: '/metadata/annotations', value: { a: 'x'.repeat(1000) } };
    const doubling = Array.from({ length: 40 }, (_, i) => ({
      op: 'copy',
      from: '/metadata/annotations',
      path: `/metadata/annotations/k${i}`,
    }));
    const { code } = await patch([seedStep, ...doubling]);
    expect([413, 422]).toContain(code);
  });
});

describe('patterns cannot be made slow', () => {
  const evil = '^(a+)+$';
  const text = `${'a'.repeat(4000)}!`;

  test('in the schema of a custom resource', async () => {
    const made = definition('Slow', { text: { type: 'string', pattern: evil } });
    await bare.api.define(made as Tree);
    const object = { apiVersion: 'bug.test/v1', kind: 'Slow', metadata: { name: 's' }, spec: { text } };
    expect((await bare.api.post('/apis/bug.test/v1/namespaces/default/slows', object)).code).toBe(422);
  });

  test('in an expression', async () => {
    const rule = { 'x-kubernetes-validations': [{ rule: `self.matches('${evil}')` }] };
    const made = definition('Evil', { text: { type: 'string', maxLength: 5000, ...rule } });
    await bare.api.define(made as Tree);
    const object = { apiVersion: 'bug.test/v1', kind: 'Evil', metadata: { name: 's' }, spec: { text } };
    expect((await bare.api.post('/apis/bug.test/v1/namespaces/default/evils', object)).code).toBe(422);
  });

  test('nor names and selectors that our own patterns read', async () => {
    const long = 'a-'.repeat(15_000);
    expect((await bare.api.post(maps, configMap(long))).code).toBe(422);
    expect((await bare.api.get(`${maps}?labelSelector=${long}`)).code).toBe(400);
    expect((await bare.api.get(`${maps}?fieldSelector=metadata.name=${long}`)).code).toBe(200);
    expect(
      (await bare.api.post(maps, configMap('m', {}, { labels: { [long]: long }, annotations: { [long]: long } }))).code,
    ).toBe(422);
  });
});

import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { Api, pause, until, type Watch } from './api.ts';
import { configMap } from './user-reports.ts';

// Against the cluster with all control loops, so that the watches counted here are some among others.
const namespace = `platform-${process.pid}`;
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const gzip = { 'Accept-Encoding': 'gzip' };
let api: Api;

beforeAll(async () => {
  api = new Api(process.env.KUBECONFIG!);
  await api.namespace(namespace);
  await api.post(path, configMap('first', {}, { labels: { mine: '1' } }));
});

describe('B29 compression', () => {
  test('does not hold back the events of a watch', async () => {
    const opened = Date.now();
    const watch = await api.watch(`${path}?timeoutSeconds=10&labelSelector=mine=1`, gzip);
    await watch.count(1);
    expect(watch.times[0]! - opened).toBeLessThan(1000);
    expect(watch.headers).not.toHaveProperty('content-encoding');
    expect(watch.headers).toMatchObject({ 'transfer-encoding': 'chunked', 'content-type': 'application/json' });
    await pause(1500);
    const written = Date.now();
    await api.post(path, configMap('second', {}, { labels: { mine: '1' } }));
    await watch.count(2);
    expect(watch.times[1]! - written).toBeLessThan(1000);
    watch.cut();
  });

  test('is for large answers, and changes nothing about them', async () => {
    const small = await api.get(`${path}/first`, { headers: gzip });
    expect(small.headers).not.toHaveProperty('content-encoding');
    for (let i = 0; i < 4; i++)
      await api.post(path, configMap(`large${i}`, { k: 'x'.repeat(50_000) }, { labels: { large: '1' } }));
    const list = `${path}?labelSelector=large=1`;
    const large = await api.get(list, { headers: gzip });
    expect(large.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    const plain = await api.get(list);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(JSON.parse(gunzipSync(large.body).toString())).toEqual(plain.json);
  });
});

describe('B30 clients that are gone', () => {
  const WATCHES = 100;
  const ROUNDS = 3;

  const counted = async () => {
    const { text } = await api.get('/metrics', { accept: 'text/plain' });
    const series = text.split('\n').filter((line) => {
      const name = line.startsWith('apiserver_longrunning_requests{');
      return name && line.includes('resource="configmaps"') && line.includes('verb="WATCH"');
    });
    return series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  };
  const settles = async (n: number) => {
    let seen = -1;
    const reached = async () => {
      seen = await counted();
      return seen === n;
    };
    await until(reached, `${n} watches`, () => String(seen));
  };
  const open = () => Promise.all(Array.from({ length: WATCHES }, () => api.watch(`${path}?labelSelector=none=1`)));
  const write = (i: number) => api.merge(`${path}/first`, { data: { k: String(i) } });

  test.each([
    ['without a write', false],
    ['under writes', true],
  ])('are noticed %s', async (_, writing) => {
    const before = await counted();
    for (let round = 0; round < ROUNDS; round++) {
      const watches: Watch[] = await open();
      await settles(before + WATCHES);
      for (const watch of watches) watch.cut();
      if (writing) for (let i = 0; i < 10; i++) await write(round * 10 + i);
      await settles(before);
    }
    const started = Date.now();
    await write(-1);
    expect(Date.now() - started).toBeLessThan(1000);
  });

  test('that stay silent are let go when their watch times out', async () => {
    const before = await counted();
    const watch = await api.watch(`${path}?timeoutSeconds=1&labelSelector=none=1`);
    await settles(before + 1);
    await watch.ended;
    await settles(before);
  });
});

import { describe, expect, it } from 'vitest';
import type { Keyspace, RecordMeta, WatchEvent } from '../../src/keyspace/types.ts';
import { memoryKeyspace } from '../support/memory-keyspace.ts';

const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 2 };
const meta = (labels: Record<string, string> = {}, terms: string[] = []): RecordMeta => ({
  labels,
  fields: {},
  terms,
  tag,
});
const bytes = (text: string) => new TextEncoder().encode(text);
const put = (keyspace: Keyspace, key: string, text: string, labels = {}, terms: string[] = []) =>
  keyspace.propose({
    conditions: [],
    operations: [{ type: 'put', key, value: bytes(text), meta: meta(labels, terms) }],
  });
const remove = (keyspace: Keyspace, key: string) =>
  keyspace.propose({ conditions: [], operations: [{ type: 'delete', key }] });
const summary = (events: WatchEvent[] | undefined) =>
  events?.map((event) =>
    'record' in event
      ? `${event.type} ${event.record.key}@${event.record.modRevision}=${new TextDecoder().decode(event.record.value)}`
      : `${event.type} ${event.revision}`,
  );

describe('memory keyspace', () => {
  it('gives each put its own revision and returns what it replaced', async () => {
    const keyspace = memoryKeyspace();
    expect(await put(keyspace, '/registry/pods/a/x', '1')).toMatchObject({
      ok: true,
      revisions: [1],
      previous: [undefined],
    });
    expect(await put(keyspace, '/registry/pods/a/x', '2')).toMatchObject({
      revisions: [2],
      previous: [{ modRevision: 1 }],
    });
    const { records, revision } = await keyspace.get(['/registry/pods/a/x', '/registry/pods/a/y'], {
      type: 'linearizable',
    });
    expect(records).toMatchObject([{ createRevision: 1, modRevision: 2, value: bytes('2') }, undefined]);
    expect(revision).toBe(2);
  });

  it('answers a failed condition with the current record', async () => {
    const keyspace = memoryKeyspace();
    await put(keyspace, '/registry/pods/a/x', '1');
    const result = await keyspace.propose({
      conditions: [{ type: 'absent', key: '/registry/pods/a/x' }],
      operations: [{ type: 'put', key: '/registry/pods/a/x', value: bytes('2'), meta: meta() }],
    });
    expect(result).toMatchObject({ ok: false, failed: 0, current: { modRevision: 1 } });
  });

  it('lists pages of one snapshot', async () => {
    const keyspace = memoryKeyspace();
    for (const name of ['a', 'b', 'c', 'd']) await put(keyspace, `/registry/pods/n/${name}`, name);
    const prefix = '/registry/pods/';
    const first = await keyspace.list({ prefix, limit: 2, consistency: { type: 'linearizable' } });
    expect(first).toMatchObject({ revision: 4, more: true, remaining: 2 });
    await remove(keyspace, '/registry/pods/n/c');
    await put(keyspace, '/registry/pods/n/e', 'e');
    const consistency = { type: 'exact', revision: first.revision } as const;
    const rest = await keyspace.list({ prefix, limit: 2, after: '/registry/pods/n/b', consistency });
    expect(rest.records.map((record) => record.key)).toEqual(['/registry/pods/n/c', '/registry/pods/n/d']);
    expect(rest).toMatchObject({ revision: 4, more: false });
  });

  it('streams the state, then events, with transitions of the selector', async () => {
    const keyspace = memoryKeyspace();
    await put(keyspace, '/registry/pods/n/a', '1', { app: 'x' });
    const selector = { labels: [{ op: 'in' as const, key: 'app', values: ['x'] }], fields: [] };
    const start = { type: 'initial', consistency: { type: 'linearizable' } } as const;
    const stream = await keyspace.watch({ prefix: '/registry/pods/', selector, start }, new AbortController().signal);
    expect(summary(await stream.next())).toEqual(['added /registry/pods/n/a@1=1']);
    expect(summary(await stream.next())).toEqual(['synced 1']);
    await put(keyspace, '/registry/pods/n/a', '2', { app: 'y' });
    await put(keyspace, '/registry/pods/n/a', '3', { app: 'x' });
    await remove(keyspace, '/registry/pods/n/a');
    const events = [await stream.next(), await stream.next(), await stream.next()].flatMap((batch) => summary(batch));
    expect(events).toEqual([
      'deleted /registry/pods/n/a@2=1',
      'added /registry/pods/n/a@3=3',
      'deleted /registry/pods/n/a@4=3',
    ]);
    stream.progress();
    expect(summary(await stream.next())).toEqual(['progress 4']);
    stream.close();
    expect(await stream.next()).toBeUndefined();
  });

  it('ends a watch below the compaction point with compacted', async () => {
    const keyspace = memoryKeyspace();
    for (const text of ['1', '2', '3']) await put(keyspace, '/registry/pods/n/a', text);
    keyspace.compact(2);
    const start = { type: 'after', revision: 1 } as const;
    const stream = await keyspace.watch({ prefix: '/registry/pods/', start }, new AbortController().signal);
    expect(summary(await stream.next())).toEqual(['compacted 2']);
    expect(await stream.next()).toBeUndefined();
  });

  it('expires records after their time', async () => {
    const keyspace = memoryKeyspace();
    const operation = {
      type: 'put',
      key: '/registry/events/n/e',
      value: bytes('1'),
      meta: meta(),
      ttlSeconds: 60,
    } as const;
    await keyspace.propose({ conditions: [], operations: [operation] });
    keyspace.advance(59_000);
    expect((await keyspace.get([operation.key], { type: 'any' })).records[0]).toBeDefined();
    keyspace.advance(2_000);
    expect((await keyspace.get([operation.key], { type: 'any' })).records[0]).toBeUndefined();
  });

  it('writes outbox rows only where a record carries the term', async () => {
    const keyspace = memoryKeyspace();
    await put(keyspace, '/registry/pods/n/a', '1', {}, ['owner:u1']);
    const work = [
      { loop: 'garbage-collector', item: 'u1', ifTerm: 'owner:u1' },
      { loop: 'garbage-collector', item: 'u2', ifTerm: 'owner:u2' },
    ] as const;
    await keyspace.propose({
      conditions: [],
      operations: [{ type: 'delete', key: '/registry/none', work: [...work] }],
    });
    expect(await keyspace.work(10)).toEqual([{ id: 1, loop: 'garbage-collector', item: 'u1' }]);
    await keyspace.propose({ conditions: [], operations: [{ type: 'done', id: 1 }] });
    expect(await keyspace.work(10)).toEqual([]);
  });

  it('refuses a batch decided under an older policy', async () => {
    const keyspace = memoryKeyspace();
    await put(keyspace, '/registry/roles/n/r', '1');
    const batch = { conditions: [], operations: [{ type: 'delete', key: '/registry/roles/n/r' } as const] };
    expect(await keyspace.propose(batch, 0)).toEqual({ ok: false, policyMoved: true, policyRevision: 1 });
    expect(await keyspace.propose(batch, 1)).toMatchObject({ ok: true, policyRevision: 2 });
  });
});

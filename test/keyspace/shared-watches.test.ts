import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Feeds } from '../../src/keyspace/feeds.ts';
import { SharedWatches } from '../../src/keyspace/shared-watches.ts';
import type { Selector, WatchEvent, WatchRequest, WatchStream } from '../../src/keyspace/types.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';

const PODS = '/registry/pods/default/';
const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 1 };

const put = (keyspace: MemoryKeyspace, name: string, bytes = 2, labels: Record<string, string> = {}) =>
  keyspace.propose({
    conditions: [],
    operations: [
      {
        type: 'put',
        key: PODS + name,
        value: new Uint8Array(bytes),
        meta: { labels, fields: {}, terms: [], tag },
      },
    ],
  });

const remove = (keyspace: MemoryKeyspace, name: string) =>
  keyspace.propose({ conditions: [], operations: [{ type: 'delete', key: PODS + name }] });

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

/** An isolate whose streams from the replicas are counted; each watch is of a request of its own. */
function isolate(keyspace = memoryKeyspace()) {
  const feeds = new Feeds();
  const open = new Set<WatchStream>();
  const opened: WatchRequest[] = [];
  const counting = {
    get: keyspace.get.bind(keyspace),
    watch: async (request: WatchRequest, signal: AbortSignal) => {
      const stream = await keyspace.watch(request, signal);
      const close = stream.close.bind(stream);
      stream.close = () => {
        open.delete(stream);
        close();
      };
      open.add(stream);
      opened.push(request);
      return stream;
    },
  };
  const surroundings = { now: () => Date.now(), sleep: settle as () => Promise<void> };
  const watch = async (start: WatchRequest['start'], prefix = PODS, selector?: Selector) => {
    const request = new AbortController();
    const watches = new SharedWatches(counting, keyspace, feeds, surroundings);
    const spec = selector === undefined ? { prefix, start } : { prefix, start, selector };
    return new Reader(await watches.watch(spec, request.signal), request);
  };
  return { keyspace, feeds, open, opened, watch };
}

/** A reader of a watch, which reads when told to. */
class Reader {
  readonly seen: WatchEvent[] = [];
  readonly stream: WatchStream;
  readonly request: AbortController;
  over = false;
  #reading = false;

  constructor(stream: WatchStream, request: AbortController) {
    this.stream = stream;
    this.request = request;
  }

  /** Reads all that comes from now on. */
  async start(): Promise<void> {
    this.#reading = true;
    while (this.#reading) {
      const events = await this.stream.next();
      if (events === undefined) this.over = true;
      if (events === undefined) return;
      this.seen.push(...events);
    }
  }

  async read(): Promise<void> {
    this.seen.push(...((await this.stream.next()) ?? []));
  }

  get changes(): string[] {
    return this.seen.flatMap((event) =>
      'record' in event ? `${event.type} ${event.record.key.slice(PODS.length)}@${event.record.modRevision}` : [],
    );
  }
}

const INITIAL = { type: 'initial', consistency: { type: 'linearizable' } } as const;

describe('watches of one isolate that want the same', () => {
  test('take one stream from the replicas, whenever and wherever they begin', async () => {
    const { keyspace, open, watch } = isolate();
    await put(keyspace, 'a');
    const readers = [await watch(INITIAL), await watch(INITIAL), await watch({ type: 'after', revision: 0 })];
    for (const reader of readers) void reader.start();
    await settle();
    await put(keyspace, 'b');
    await settle();
    const late = [await watch(INITIAL), await watch({ type: 'after', revision: 1 })];
    late.push(await watch({ type: 'now', consistency: { type: 'any' } }));
    for (const reader of late) void reader.start();
    await settle();
    await put(keyspace, 'a');
    await remove(keyspace, 'b');
    await settle();
    expect(open.size).toBe(1);
    const all = ['added a@1', 'added b@2', 'modified a@3', 'deleted b@4'];
    expect([...readers, ...late].map(({ changes }) => changes)).toEqual([
      ...[all, all, all, all],
      all.slice(1),
      all.slice(2),
    ]);
    expect(late[0]!.seen.map(({ type }) => type)).toContain('synced');
  });

  test('go on with another stream, without loss or repetition, when the request ends that held it', async () => {
    const { keyspace, open, watch, feeds } = isolate();
    const readers = [await watch(INITIAL), await watch(INITIAL), await watch(INITIAL)];
    for (const reader of readers) void reader.start();
    await settle();
    for (const [i, reader] of readers.entries()) {
      await put(keyspace, `before-${i}`);
      reader.request.abort();
      await put(keyspace, `after-${i}`);
      await settle();
      expect(reader.over).toBe(true);
      expect(open.size).toBe(i < 2 ? 1 : 0);
    }
    expect(feeds.size).toBe(0);
    const all = [0, 1, 2].flatMap((i) => [`added before-${i}@${2 * i + 1}`, `added after-${i}@${2 * i + 2}`]);
    for (const { changes } of readers) expect(all.slice(0, changes.length)).toEqual(changes);
    expect(readers.map(({ changes }) => changes.length)).toEqual([0, 2, 4]);
  });

  test('do not wait for a slow one, which reads all the same', async () => {
    const { keyspace, open, watch } = isolate();
    const [quick, slow] = [await watch(INITIAL), await watch(INITIAL)];
    void quick.start();
    await settle();
    await slow.read();
    const names = Array.from({ length: 40 }, (_, i) => `pod-${i}`);
    for (const name of names) {
      await put(keyspace, name, 100_000);
      await settle();
    }
    const all = names.map((name, i) => `added ${name}@${i + 1}`);
    expect(quick.changes).toEqual(all);
    expect(slow.changes).toEqual([]);
    void slow.start();
    await settle();
    expect(slow.changes).toEqual(all);
    await put(keyspace, 'last');
    await settle();
    expect([slow.changes.at(-1), quick.changes.at(-1)]).toEqual(['added last@41', 'added last@41']);
    expect(open.size).toBe(1);
  });

  test('hold the replica back when all are slow', async () => {
    const { keyspace, watch } = isolate();
    const slow = [await watch(INITIAL), await watch(INITIAL)];
    for (const reader of slow) await reader.read();
    const pending = slow.map((reader) => reader.read());
    let sent = 0;
    for (let i = 0; i < 60; i++) {
      await put(keyspace, `pod-${i}`, 100_000);
      await settle();
      sent++;
    }
    await Promise.all(pending);
    expect(slow.map(({ changes }) => changes.length)).toEqual([1, 1]);
    for (const reader of slow) void reader.start();
    await settle();
    expect(slow.map(({ changes }) => changes.length)).toEqual([sent, sent]);
  });

  test('of single keys share the stream of their collection when they are many', async () => {
    const { keyspace, open, watch } = isolate();
    const names = Array.from({ length: 50 }, (_, i) => `pod-${i}`);
    const readers = [];
    for (const name of names) {
      const reader = await watch(INITIAL, PODS + name);
      void reader.start();
      await settle();
      readers.push(reader);
    }
    expect(open.size).toBeLessThan(12);
    for (const name of names) await put(keyspace, name);
    await settle();
    expect(readers.map(({ changes }) => changes)).toEqual(names.map((name, i) => [`added ${name}@${i + 1}`]));
  });

  test('are told that their history is gone only where it is', async () => {
    const { keyspace, watch } = isolate();
    await put(keyspace, 'a');
    await put(keyspace, 'a');
    keyspace.compact();
    const [old, current] = [await watch({ type: 'after', revision: 1 }), await watch(INITIAL)];
    void old.start();
    void current.start();
    await settle();
    expect(old.seen).toEqual([{ type: 'compacted', revision: 2 }]);
    expect(old.over).toBe(true);
    await put(keyspace, 'b');
    await settle();
    expect(current.changes).toEqual(['added a@2', 'added b@3']);
  });

  test('each get the progress that one asks for, after all that came before', async () => {
    const { keyspace, watch } = isolate();
    const readers = [await watch(INITIAL), await watch(INITIAL)];
    for (const reader of readers) void reader.start();
    await settle();
    await put(keyspace, 'a');
    await settle();
    readers[1]!.stream.progress();
    await settle();
    for (const { seen } of readers) expect(seen.at(-1)).toEqual({ type: 'progress', revision: 1 });
  });
});

/** What happens to watches, in any order. */
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ type: fc.constant('put' as const), name: fc.nat(4), color: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('large' as const), name: fc.nat(4) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('remove' as const), name: fc.nat(4) }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('watch' as const), what: fc.nat(2), from: fc.nat(20) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('end' as const), which: fc.nat(10) }) },
    { weight: 4, arbitrary: fc.record({ type: fc.constant('read' as const), which: fc.nat(10) }) },
    { weight: 3, arbitrary: fc.constant({ type: 'settle' as const }) },
  ),
  { minLength: 5, maxLength: 60 },
);

const INTERESTS: { prefix: string; selector?: Selector }[] = [
  { prefix: PODS },
  { prefix: `${PODS}pod-1` },
  { prefix: PODS, selector: { labels: [{ op: 'in', key: 'color', values: ['1'] }], fields: [] } },
];

test('what a shared watch shows is what one of its own shows', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const { keyspace, watch } = isolate();
      const pairs: { shared: Reader; own: Reader; slow: boolean }[] = [];
      let revision = 0;
      for (const step of script) {
        const exists = async (name: number) => (await keyspace.get([`${PODS}pod-${name}`], { type: 'any' })).records[0];
        if (step.type === 'put') await put(keyspace, `pod-${step.name}`, 2, { color: String(step.color) });
        else if (step.type === 'large') await put(keyspace, `pod-${step.name}`, 600_000);
        else if (step.type === 'remove' && (await exists(step.name))) await remove(keyspace, `pod-${step.name}`);
        else if (step.type === 'watch') {
          const { prefix, selector } = INTERESTS[step.what]!;
          const after = { type: 'after' as const, revision: Math.min(step.from, revision) };
          const start = step.from % 2 === 0 ? INITIAL : after;
          const request = new AbortController();
          const bare = { prefix, start, ...(selector && { selector }) };
          const own = new Reader(await keyspace.watch(bare, request.signal), request);
          const shared = await watch(start, prefix, selector);
          const slow = step.from % 3 === 0;
          if (!slow) void shared.start();
          void own.start();
          pairs.push({ shared, own, slow });
        } else if (step.type === 'end') pairs[step.which]?.shared.request.abort();
        else if (step.type === 'read' && pairs[step.which]?.slow) void pairs[step.which]!.shared.start();
        else await settle();
        revision = (await keyspace.get([], { type: 'any' })).revision;
      }
      for (const { shared, slow } of pairs) if (slow) void shared.start();
      await put(keyspace, 'pod-1', 2, { color: '1' });
      for (let i = 0; i < 5; i++) await settle();
      for (const { shared, own } of pairs) {
        const { changes } = shared;
        const ended = shared.request.signal.aborted;
        expect(changes).toEqual(ended ? own.changes.slice(0, changes.length) : own.changes);
      }
    }),
    { numRuns: 100 },
  );
});

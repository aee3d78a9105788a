import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ListReadings, SharedLists } from '../../src/keyspace/shared-lists.ts';
import { type ListPage, type ListRequest, UnavailableError } from '../../src/keyspace/types.ts';

const LIST: ListRequest = { prefix: '/registry/pods/', limit: 0, consistency: { type: 'linearizable' } };

/** A keyspace whose lists end when told to, on the state at their beginning. */
class Slow {
  revision = 1;
  readings = 0;
  readonly #ends: ((error?: Error) => void)[] = [];

  list(): Promise<ListPage> {
    this.readings++;
    const page = { records: [], revision: this.revision, policyRevision: 0, more: false };
    return new Promise((resolve, reject) => {
      this.#ends.push((error) => (error ? reject(error) : resolve(page)));
    });
  }

  get underway(): number {
    return this.#ends.length;
  }

  async end(error?: Error): Promise<void> {
    this.#ends.shift()?.(error);
    await settle();
  }
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

function isolate(inner: Slow, timeouts: (() => void)[] = []) {
  const readings: ListReadings = new Map();
  const platform = {
    keep: (work: Promise<void>) => void work.catch(() => undefined),
    timeout: (_: number, callback: () => void) => {
      timeouts.push(callback);
      return () => timeouts.splice(timeouts.indexOf(callback), 1);
    },
  };
  return { readings, request: () => new SharedLists(inner, readings, platform) };
}

describe('lists that are asked for at the same time', () => {
  test('are read once by all who came while another was being read, and nothing is remembered afterwards', async () => {
    const inner = new Slow();
    const { request, readings } = isolate(inner);
    const first = request().list(LIST);
    const others = [1, 2, 3].map(() => request().list(LIST));
    await settle();
    expect(inner.readings).toBe(1);
    inner.revision = 2;
    await inner.end();
    expect((await first).revision).toBe(1);
    expect(inner.readings).toBe(2);
    await inner.end();
    const pages = await Promise.all(others);
    expect(pages.map(({ revision }) => revision)).toEqual([2, 2, 2]);
    expect(new Set(pages).size).toBe(1);
    expect(readings.size).toBe(0);
  });

  test('of different prefixes, pages or selectors are not shared', async () => {
    const inner = new Slow();
    const { request } = isolate(inner);
    const asked = [LIST, { ...LIST, limit: 5 }, { ...LIST, prefix: '/registry/pods/a/' }, { ...LIST, after: 'x' }];
    const all = asked.map((list) => request().list(list));
    await settle();
    expect(inner.underway).toBe(4);
    for (const _ of asked) await inner.end();
    expect(new Set(await Promise.all(all)).size).toBe(4);
  });

  test('fail together, and the next is read anew', async () => {
    const inner = new Slow();
    const { request } = isolate(inner);
    const first = request().list(LIST);
    const others = [request().list(LIST), request().list(LIST)].map((list) => expect(list).rejects.toThrow('gone'));
    await settle();
    await inner.end();
    await first;
    await inner.end(new Error('gone'));
    await Promise.all(others);
    const again = request().list(LIST);
    await settle();
    await inner.end();
    expect((await again).revision).toBe(1);
  });

  test('end with an error for those whose reader is gone, and the next is read anew', async () => {
    const inner = new Slow();
    const timeouts: (() => void)[] = [];
    const { request } = isolate(inner, timeouts);
    const lost = expect(request().list(LIST)).rejects.toThrow(UnavailableError);
    const behind = expect(request().list(LIST)).rejects.toThrow(UnavailableError);
    await settle();
    for (const callback of [...timeouts]) callback();
    await Promise.all([lost, behind]);
    const again = request().list(LIST);
    await settle();
    await inner.end();
    await inner.end();
    expect((await again).revision).toBe(1);
  });

  test('are as fresh as if each had been read for itself', async () => {
    const step = fc.constantFrom('write', 'list', 'end');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const inner = new Slow();
        const { request, readings } = isolate(inner);
        const checks: Promise<void>[] = [];
        for (const what of steps) {
          if (what === 'write') inner.revision++;
          else if (what === 'end') await inner.end();
          else {
            const before = inner.revision;
            const check = async () => {
              const { revision } = await request().list(LIST);
              expect(revision).toBeGreaterThanOrEqual(before);
              expect(revision).toBeLessThanOrEqual(inner.revision);
            };
            checks.push(check());
          }
        }
        for (let i = 0; i < steps.length + 2; i++) await inner.end();
        await Promise.all(checks);
        expect(readings.size).toBe(0);
      }),
      { numRuns: 50 },
    );
  });
});

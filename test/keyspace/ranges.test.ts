import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RangeCache } from '../../durable-objects/keyspace/ranges.ts';
import type { Version } from '../../durable-objects/keyspace/storage.ts';

const KEYS = ['/a/1', '/a/2', '/a/3', '/b/1', '/b/2'];
const RANGES = [
  { from: '/', end: '0' },
  { from: '/a/', end: '/a0' },
  { from: '/a/2', end: '/a0' },
  { from: '/b/', end: '/b0' },
];

const step = fc.oneof(
  fc.record({
    type: fc.constant('write' as const),
    key: fc.constantFrom(...KEYS),
    deleted: fc.boolean(),
    size: fc.nat(300),
  }),
  fc.record({ type: fc.constant('list' as const), range: fc.constantFrom(...RANGES), limit: fc.nat(6) }),
);

describe('RangeCache', () => {
  it('lists what the store would list', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(500, 1500, 1 << 20), (steps, bytes) => {
        const cache = new RangeCache(bytes);
        const live = new Map<string, Version>();
        let revision = 0;
        for (const each of steps) {
          if (each.type === 'write') {
            const { key, deleted, size } = each;
            const record = new Uint8Array(deleted ? 0 : size);
            const version = {
              revision: ++revision,
              key,
              previous: 0,
              deleted,
              expires: 0,
              proposal: '',
              made: 0,
              checksum: 0,
              record,
            };
            if (deleted) live.delete(key);
            else live.set(key, version);
            cache.apply(version);
          } else {
            const { from, end } = each.range;
            const keys = [...live.keys()].filter((key) => key >= from && key < end).sort();
            const stored = keys.map((key) => live.get(key)!);
            const listed: Version[] = [];
            for (const version of cache.get(each.range) ?? cache.remember(each.range, stored)) {
              if (listed.length === each.limit) break;
              listed.push(version);
            }
            expect(listed).toEqual(stored.slice(0, each.limit));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('remembers complete scans only, up to its size', () => {
    const cache = new RangeCache(1000);
    const version = (key: string, size: number): Version => {
      return {
        revision: 1,
        key,
        previous: 0,
        deleted: false,
        expires: 0,
        proposal: '',
        made: 0,
        checksum: 0,
        record: new Uint8Array(size),
      };
    };
    const range = { from: '/a/', end: '/a0' };
    for (const _ of cache.remember(range, [version('/a/1', 10), version('/a/2', 10)])) break;
    expect(cache.get(range)).toBeUndefined();
    expect([...cache.remember(range, [version('/a/1', 900)])]).toHaveLength(1);
    expect(cache.get(range)).toBeUndefined();
    expect([...cache.remember(range, [version('/a/1', 10)])]).toHaveLength(1);
    expect(cache.get(range)).toHaveLength(1);
    cache.apply(version('/a/2', 900));
    expect(cache.get(range)).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import {
  answersAgree,
  type Change,
  checkWatch,
  exactlyOnce,
  listsShowOneState,
  type Operation,
  revisionsRise,
  type Sight,
  Truth,
  type Watch,
} from '../support/history/index.ts';

const red = { color: 'red' };
const put = (revision: number, key: string, labels: Record<string, string> = {}, batch = revision): Change => {
  return { revision, key, type: 'put', value: `v${revision}`, labels, batch };
};
const TRUTH = new Truth([
  put(1, 'p/a', red),
  put(2, 'p/b'),
  put(3, 'p/a'),
  put(4, 'p/c', red, 4),
  put(5, 'p/d', red, 4),
  { revision: 6, key: 'p/b', type: 'delete', value: '', labels: {}, batch: 6 },
  put(7, 'q/x'),
]);
const see = (type: 'added' | 'modified' | 'deleted', revision: number, key: string, value = `v${revision}`): Sight => {
  return { type, key, revision, value };
};
const ALL = [
  see('added', 1, 'p/a'),
  see('added', 2, 'p/b'),
  see('modified', 3, 'p/a'),
  see('added', 4, 'p/c'),
  see('added', 5, 'p/d'),
  see('deleted', 6, 'p/b', 'v2'),
];
const whole: Watch = { name: 'w', prefix: 'p/', start: { type: 'after', revision: 0 }, seen: ALL };
const reds: Watch = {
  ...whole,
  label: ['color', 'red'],
  seen: [see('added', 1, 'p/a'), see('deleted', 3, 'p/a', 'v1'), see('added', 4, 'p/c'), see('added', 5, 'p/d')],
};
const initial: Watch = {
  ...whole,
  start: { type: 'initial' },
  seen: [see('added', 3, 'p/a'), see('added', 2, 'p/b'), { type: 'synced', revision: 3 }, ...ALL.slice(3)],
};

it('watches that keep every guarantee are accepted', () => {
  for (const watch of [whole, reds, initial]) expect(checkWatch(watch, TRUTH, 7)).toEqual([]);
  const bookmarks: Sight[] = [...ALL.slice(0, 3), { type: 'bookmark', revision: 3 }, ...ALL.slice(3)];
  expect(checkWatch({ ...whole, seen: bookmarks }, TRUTH, 7)).toEqual([]);
  const resumed: Watch = { ...whole, start: { type: 'after', revision: 3 }, seen: ALL.slice(3) };
  expect(checkWatch(resumed, TRUTH, 7)).toEqual([]);
  const cut: Watch = { ...whole, seen: [...ALL.slice(0, 2), { type: 'compacted', revision: 5 }] };
  expect(checkWatch(cut, TRUTH, 7)).toEqual([]);
});

/** One broken watch for each guarantee. */
const BROKEN: Record<string, Watch> = {
  ordered: { ...whole, seen: [ALL[1]!, ALL[0]!, ...ALL.slice(2)] },
  unique: { ...whole, seen: [ALL[0]!, ...ALL] },
  faithful: { ...whole, seen: [see('added', 1, 'p/a', 'other'), ...ALL.slice(1)] },
  reliable: { ...whole, seen: ALL.filter((_, at) => at !== 2) },
  resumable: { ...whole, seen: ALL.slice(1) },
  bookmarkable: { ...whole, seen: [{ type: 'bookmark', revision: 2 }, ...ALL] },
  atomic: { ...whole, seen: [...ALL.slice(0, 4), { type: 'bookmark', revision: 4 }, ...ALL.slice(4)] },
  filtered: { ...whole, seen: [...ALL, see('added', 7, 'q/x')] },
  typed: { ...reds, seen: [reds.seen[0]!, see('modified', 3, 'p/a', 'v1'), ...reds.seen.slice(2)] },
  initial: { ...initial, seen: initial.seen.slice(1) },
  compacted: { ...whole, seen: [{ type: 'compacted', revision: 5 }, ...ALL] },
};

describe('a watch that breaks a guarantee is rejected by its name', () => {
  it.each(Object.entries(BROKEN))('%s', (guarantee, watch) => {
    const names = checkWatch(watch, TRUTH, 7).map((fault) => fault.split(':')[0]);
    expect(names).toContain(guarantee);
  });

  it('a deletion that carries another state than the last', () => {
    const seen = [...ALL.slice(0, 5), see('deleted', 6, 'p/b', 'v1')];
    expect(checkWatch({ ...whole, seen }, TRUTH).join()).toMatch(/^faithful/);
  });

  it('a watch that stops early', () => {
    expect(checkWatch({ ...whole, seen: ALL.slice(0, 4) }, TRUTH, 7)).not.toEqual([]);
    expect(checkWatch({ ...whole, seen: ALL.slice(0, 4) }, TRUTH)).toEqual([]);
    expect(checkWatch({ ...initial, seen: [] }, TRUTH, 7)).not.toEqual([]);
  });
});

describe('revisions', () => {
  const write = (value: string, revision: number, start: number, key = 'p/a'): Operation => {
    const request = { type: 'put', value } as const;
    return { client: 'c', key, start, end: start + 1, request, outcome: { type: 'done', revision } };
  };

  it('must rise in real time', () => {
    expect(revisionsRise([write('v1', 1, 0), write('v2', 2, 2)])).toEqual([]);
    expect(revisionsRise([write('v1', 2, 0), write('v2', 1, 2)])).toHaveLength(1);
  });

  it('belong to one write each', () => {
    expect(exactlyOnce([write('v1', 1, 0)], TRUTH)).toEqual([]);
    expect(exactlyOnce([write('lost', 1, 0)], TRUTH)).toHaveLength(1);
    expect(exactlyOnce([write('v1', 2, 0)], TRUTH)).toHaveLength(1);
    expect(exactlyOnce([{ ...write('v1', 1, 0), outcome: { type: 'failed' } }], TRUTH)).toHaveLength(1);
    const twice = new Truth([put(1, 'p/a'), { ...put(2, 'p/a'), value: 'v1' }]);
    expect(exactlyOnce([write('v1', 1, 0)], twice)).toHaveLength(1);
  });

  it('show what was committed at them', () => {
    const read = (value: string, revision: number): Operation => {
      return { ...write('', 0, 0), request: { type: 'get' }, outcome: { type: 'read', record: { value, revision } } };
    };
    expect(answersAgree([read('v1', 1)], TRUTH)).toEqual([]);
    expect(answersAgree([read('v1', 3)], TRUTH)).toHaveLength(1);
  });

  it('make a list one state', () => {
    const records = [
      { key: 'p/a', revision: 3, value: 'v3' },
      { key: 'p/b', revision: 2, value: 'v2' },
    ];
    const list = { client: 'c', prefix: 'p/', revision: 3, records, start: 5, end: 6, linearizable: true };
    expect(listsShowOneState([list], [], TRUTH)).toEqual([]);
    expect(listsShowOneState([{ ...list, revision: 4 }], [], TRUTH)).toHaveLength(1);
    expect(listsShowOneState([list], [write('v4', 4, 0)], TRUTH)).toHaveLength(1);
    expect(listsShowOneState([{ ...list, linearizable: false }], [write('v4', 4, 0)], TRUTH)).toEqual([]);
  });
});

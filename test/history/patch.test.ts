import { describe, expect, test } from 'vitest';
import { type Change, type Operation, settleUnknown, Truth } from '../support/history/index.ts';

const put = (revision: number, key: string, value: string): Change => {
  return { revision, key, type: 'put', value, labels: {}, batch: revision };
};
const deleted = (revision: number, key: string): Change => {
  return { revision, key, type: 'delete', value: '', labels: {}, batch: revision };
};
const operation = (key: string, request: Operation['request'], outcome: Operation['outcome']): Operation => {
  return {
    client: 'c',
    key,
    start: 0,
    end: outcome.type === 'unknown' ? Number.POSITIVE_INFINITY : 1,
    request,
    outcome,
  };
};

describe('unknown outcomes, settled by the committed history', () => {
  const truth = new Truth([put(1, '/a', 'one'), deleted(2, '/a')]);

  test('a put in the history was done, one that is not in it never was', () => {
    const asked = ['one', 'two'].map((value) => operation('/a', { type: 'put', value }, { type: 'unknown' }));
    const outcomes = settleUnknown(asked, truth).map(({ outcome }) => outcome);
    expect(outcomes).toEqual([{ type: 'done', revision: 1, replaced: null }]);
  });

  test('a deletion that nobody else made is that of a delete without answer', () => {
    const unknown = operation('/a', { type: 'delete', condition: { type: 'exists' } }, { type: 'unknown' });
    // It found nothing and is told the revision of the time, which is that of another key's deletion.
    const vain = operation('/b', { type: 'delete' }, { type: 'done', revision: 2, replaced: null });
    const replaced = { value: 'one', revision: 1 };
    const settled = { ...unknown, request: { type: 'delete' }, outcome: { type: 'done', revision: 2, replaced } };
    expect(settleUnknown([unknown, vain], truth)).toEqual([vain, settled]);
    const late = operation('/a', { type: 'delete' }, { type: 'done', revision: 2, replaced: null });
    expect(settleUnknown([unknown, late], truth)).toEqual([late, settled]);
    const own = operation('/a', { type: 'delete' }, { type: 'done', revision: 2, replaced });
    expect(settleUnknown([unknown, own], truth)).toEqual([own]);
  });
});

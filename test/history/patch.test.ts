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
    expect(settleUnknown(asked, truth).map(({ outcome }) => outcome)).toEqual([{ type: 'done', revision: 1 }]);
  });

  test('a delete stays open while a deletion of its key is nobody else’s', () => {
    const unknown = operation('/a', { type: 'delete' }, { type: 'unknown' });
    // It found nothing and is told the revision of the time, which is that of another key's deletion.
    const vain = operation('/b', { type: 'delete' }, { type: 'done', revision: 2, replaced: null });
    expect(settleUnknown([unknown, vain], truth)).toEqual([unknown, vain]);
    const own = operation('/a', { type: 'delete' }, { type: 'done', revision: 2, replaced: null });
    expect(settleUnknown([unknown, own], truth)).toEqual([own]);
  });
});

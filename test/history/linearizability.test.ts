import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkLinearizable, type Operation, type Outcome, type Request } from '../support/history/index.ts';

const put = (value: string, condition?: Extract<Request, { type: 'put' }>['condition']): Request =>
  condition === undefined ? { type: 'put', value } : { type: 'put', value, condition };
const get: Request = { type: 'get' };
const done = (revision: number): Outcome => ({ type: 'done', revision });
const read = (value?: string, revision = 0): Outcome => ({
  type: 'read',
  record: value === undefined ? undefined : { value, revision },
});
const unknown: Outcome = { type: 'unknown' };

function history(...lines: [start: number, end: number, request: Request, outcome: Outcome, key?: string][]) {
  return lines.map(([start, end, request, outcome, key = 'k'], at): Operation => {
    return { client: `c${at}`, key, start, end, request, outcome };
  });
}

const BAD: Record<string, Operation[]> = {
  'a read misses a write that was acknowledged before it': history([0, 1, put('a'), done(1)], [2, 3, get, read()]),
  'a read is older than a read before it': history(
    [0, 1, put('a'), done(1)],
    [2, 9, put('b'), done(2)],
    [3, 4, get, read('b', 2)],
    [5, 6, get, read('a', 1)],
  ),
  'a read shows what was overwritten before it': history(
    [0, 1, put('a'), done(1)],
    [2, 3, put('b'), done(2)],
    [4, 5, get, read('a', 1)],
  ),
  'a read shows a value before it is written': history([0, 1, get, read('a', 1)], [2, 3, put('a'), done(1)]),
  'two creations of one key both succeed': history(
    [0, 5, put('a', { type: 'absent' }), done(1)],
    [1, 6, put('b', { type: 'absent' }), done(2)],
  ),
  'two updates of one revision both succeed (a lost update)': history(
    [0, 1, put('a'), done(1)],
    [2, 5, put('b', { type: 'revision', revision: 1 }), done(2)],
    [3, 6, put('c', { type: 'revision', revision: 1 }), done(3)],
  ),
  'a creation is refused though nothing was there': history(
    [0, 1, put('a', { type: 'absent' }), { type: 'failed' }],
    [2, 3, get, read()],
  ),
  'a refused write took effect': history(
    [0, 1, put('a'), done(1)],
    [2, 3, put('b', { type: 'absent' }), { type: 'failed', current: { value: 'a', revision: 1 } }],
    [4, 5, get, read('b', 2)],
  ),
  'a deleted record comes back': history(
    [0, 1, put('a'), done(1)],
    [2, 3, { type: 'delete' }, done(2)],
    [4, 5, get, read('a', 1)],
  ),
  'a write of unknown outcome takes effect twice': history(
    [0, 1, put('a'), unknown],
    [2, 3, get, read('a', 1)],
    [4, 5, put('b'), done(2)],
    [6, 7, get, read('a', 1)],
  ),
  'a write of unknown outcome takes effect before it is asked for': history(
    [0, 1, get, read('a', 1)],
    [2, 3, put('a'), unknown],
  ),
  'a write replaced what another had replaced before': history(
    [0, 1, put('a'), done(1)],
    [2, 5, put('b'), { type: 'done', revision: 2, replaced: { value: 'a', revision: 1 } }],
    [2, 5, put('c'), { type: 'done', revision: 3, replaced: { value: 'a', revision: 1 } }],
  ),
  'a refusal shows what was never there': history(
    [0, 1, put('a'), done(1)],
    [2, 3, put('c', { type: 'absent' }), { type: 'failed', current: { value: 'b', revision: 9 } }],
  ),
};

const GOOD: Record<string, Operation[]> = {
  nothing: [],
  'concurrent writes in either order': history(
    [0, 9, put('a'), done(2)],
    [0, 9, put('b'), done(1)],
    [10, 11, get, read('a', 2)],
  ),
  'a write of unknown outcome that never happens': history([0, 1, put('a'), unknown], [2, 3, get, read()]),
  'a write of unknown outcome that happens late': history(
    [0, 1, put('a'), unknown],
    [2, 3, get, read()],
    [4, 5, get, read('a', 1)],
  ),
  'a deletion of unknown outcome': history(
    [0, 1, put('a'), done(1)],
    [2, 3, { type: 'delete' }, unknown],
    [4, 5, get, read('a', 1)],
    [6, 7, get, read()],
  ),
  'a conditional write of unknown outcome that makes another fail': history(
    [0, 1, put('a'), done(1)],
    [2, 3, put('b', { type: 'revision', revision: 1 }), unknown],
    [4, 5, put('c', { type: 'revision', revision: 1 }), { type: 'failed' }],
  ),
  'a condition on what only a write of unknown outcome can have made': history(
    [0, 1, put('a'), unknown],
    [
      2,
      3,
      put('b', { type: 'revision', revision: 1 }),
      { type: 'done', revision: 2, replaced: { value: 'a', revision: 1 } },
    ],
  ),
  'a write that needs what only an unseen write can have made': history(
    [0, 1, put('a'), unknown],
    [2, 3, put('b', { type: 'exists' }), unknown],
    [4, 5, get, read('b', 2)],
  ),
  'keys by themselves': history([0, 1, put('a'), done(1), 'k'], [2, 3, get, read(), 'l']),
};

describe('bad histories are rejected', () => {
  it.each(Object.entries(BAD))('%s', (_, operations) => {
    expect(checkLinearizable(operations)).toMatchObject({ ok: false, reason: 'illegal' });
  });
});

describe('good histories are accepted', () => {
  it.each(Object.entries(GOOD))('%s', (_, operations) => {
    expect(checkLinearizable(operations)).toEqual({ ok: true });
  });
});

it('running out of time is a failure', () => {
  const many = Array.from({ length: 30 }, (_, at) => at);
  const writes = many.map((at): [number, number, Request, Outcome] => [0, 100, put(`v${at}`), done(at + 1)]);
  const reads: [number, number, Request, Outcome][] = [
    [101, 102, get, read('v1', 2)],
    [103, 104, get, read('v2', 3)],
  ];
  expect(checkLinearizable(history(...writes, ...reads), new Map(), 10_000)).toMatchObject({
    ok: false,
    reason: 'budget',
  });
});

const CONDITIONS = {
  put: undefined,
  create: { type: 'absent' },
  replace: { type: 'exists' },
  delete: undefined,
} as const;

/** Short histories of random requests, some with random answers: right ones and wrong ones. */
const operation = fc.record({
  start: fc.nat(8),
  length: fc.nat(6),
  kind: fc.constantFrom('get' as const, 'put' as const, 'create' as const, 'replace' as const, 'delete' as const),
  seen: fc.nat(5),
  fate: fc.constantFrom('done' as const, 'done' as const, 'done' as const, 'failed' as const, 'unknown' as const),
});

describe('the search', () => {
  it('agrees with trying every order', () => {
    const verdicts = { good: 0, bad: 0 };
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 5 }), (drafts) => {
        const operations = drafts.map(({ start, length, kind, seen, fate }, at): Operation => {
          const value = seen < drafts.length && drafts[seen]!.kind !== 'get' ? `v${seen}` : undefined;
          const base = { client: `c${at}`, key: 'k', start: start * 2, end: start * 2 + length * 2 + 1 };
          if (kind === 'get') return { ...base, request: get, outcome: read(value, seen) };
          const condition = CONDITIONS[kind];
          const request: Request = kind === 'delete' ? { type: 'delete' } : put(`v${at}`, condition);
          const refused = fate === 'failed' && condition !== undefined;
          const outcome: Outcome = refused ? { type: 'failed' } : fate === 'unknown' ? unknown : done(at);
          return { ...base, request, outcome };
        });
        const expected = anyOrder(operations, [], null);
        verdicts[expected ? 'good' : 'bad']++;
        expect(checkLinearizable(operations).ok).toBe(expected);
      }),
      { numRuns: 3000 },
    );
    expect(Math.min(verdicts.good, verdicts.bad)).toBeGreaterThan(300);
  });
});

/** The slow and obvious twin. */
function anyOrder(left: readonly Operation[], placed: readonly Operation[], state: string | null): boolean {
  if (left.every(({ outcome }) => outcome.type === 'unknown')) return true;
  return left.some((next) => {
    const others = left.filter((other) => other !== next);
    if (others.some((other) => other.outcome.type !== 'unknown' && other.end < next.start)) return false;
    const { request, outcome } = next;
    if (request.type === 'get') {
      const shown = outcome.type === 'read' ? (outcome.record?.value ?? null) : null;
      return shown === state && anyOrder(others, [...placed, next], state);
    }
    const holds = request.condition === undefined || (request.condition.type === 'absent') === (state === null);
    const written = request.type === 'put' ? request.value : null;
    if (outcome.type === 'unknown') return anyOrder(others, [...placed, next], holds ? written : state);
    if (outcome.type === 'failed') return !holds && anyOrder(others, [...placed, next], state);
    return holds && anyOrder(others, [...placed, next], written);
  });
}

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Progress } from '../../durable-objects/raft/tracker.ts';

const LIMITS = { count: 3, bytes: 100 };

/** What can happen to a leader's knowledge of one follower. */
type Happening =
  | { type: 'probe' | 'replicate' | 'abandon' }
  | { type: 'snapshot'; index: number }
  | { type: 'accept'; index: number }
  | { type: 'refuse'; refused: number; hint: number }
  | { type: 'send'; count: number; bytes: number };

const index = fc.nat({ max: 12 });
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ type: fc.constantFrom('probe', 'replicate', 'abandon') }),
  fc.record({ type: fc.constant('snapshot'), index }),
  { weight: 3, arbitrary: fc.record({ type: fc.constant('accept'), index }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('refuse'), refused: index, hint: index }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('send'), count: fc.nat({ max: 3 }), bytes: index }) },
) as fc.Arbitrary<Happening>;

/** The same by nothing but the list of what has happened: every question goes through all of it. */
class Twin {
  readonly #first: number;
  readonly #past: Happening[] = [];

  constructor(first: number) {
    this.#first = first;
  }

  happen(happening: Happening): void {
    this.#past.push(happening);
  }

  get match(): number {
    return Math.max(0, ...this.#past.flatMap((each) => (each.type === 'accept' ? [each.index] : [])));
  }

  /** Appends that were sent since pipelining began and that nothing accepted reaches: last index and bytes of each. */
  get unanswered(): { index: number; bytes: number }[] {
    let match = 0;
    let next = this.#first;
    let state = 'probe';
    let out: { index: number; bytes: number }[] = [];
    for (const each of this.#past) {
      if (each.type === 'accept') match = Math.max(match, each.index);
      if (each.type === 'accept' && state === 'replicate') next = Math.max(next, match + 1);
      if (each.type === 'send' && state === 'replicate' && each.count > 0) {
        next += each.count;
        out.push({ index: next - 1, bytes: each.bytes * 10 });
      }
      if (each.type === 'replicate') [state, next, out] = ['replicate', match + 1, []];
      else if (each.type === 'probe' || each.type === 'snapshot' || each.type === 'abandon')
        [state, out] = ['other', []];
      else if (each.type === 'refuse' && each.refused > match && state === 'replicate') [state, out] = ['other', []];
      out = out.filter(({ index }) => index > match);
    }
    return out;
  }
}

/** Lets it happen as the leader would; false for what a leader never does. */
function happen(progress: Progress, each: Happening): boolean {
  switch (each.type) {
    case 'probe':
      progress.becomeProbe();
      return true;
    case 'abandon':
      progress.abandonSnapshot();
      return true;
    case 'replicate':
      progress.becomeReplicate();
      return true;
    case 'snapshot':
      if (each.index <= progress.match) return false;
      progress.becomeSnapshot(each.index, 0);
      return true;
    case 'accept':
      progress.accept(each.index);
      progress.inflights.freeTo(progress.match);
      return true;
    case 'refuse':
      progress.refuse(each.refused, each.hint);
      return true;
    case 'send':
      if (progress.paused) return false;
      progress.sent(each.count, each.bytes * 10, 0);
      return true;
  }
}

test('what a leader knows of a follower is what follows from all that has happened', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(happening, { maxLength: 40 }), (first, happenings) => {
      const progress = new Progress(first, false, LIMITS);
      const twin = new Twin(first);
      for (const each of happenings) {
        const before = { match: progress.match, next: progress.next, state: progress.state };
        if (!happen(progress, each)) continue;
        twin.happen(each);
        const { unanswered } = twin;
        expect(progress.match).toBe(twin.match);
        expect(progress.next).toBeGreaterThan(progress.match);
        expect(progress.inflights.count).toBe(unanswered.length);
        const bytes = unanswered.reduce((sum, each) => sum + each.bytes, 0);
        expect(progress.inflights.full).toBe(unanswered.length >= LIMITS.count || bytes >= LIMITS.bytes);
        expect(unanswered.length).toBeLessThanOrEqual(LIMITS.count);
        expect(bytes - (unanswered.at(-1)?.bytes ?? 0)).toBeLessThan(LIMITS.bytes);
        if (progress.state === 'replicate') expect(progress.next).toBeGreaterThan(unanswered.at(-1)?.index ?? 0);
        if (each.type === 'refuse' && each.refused <= before.match && before.state !== 'probe')
          expect({ match: progress.match, next: progress.next, state: progress.state }).toEqual(before);
        if (each.type === 'refuse' && before.state === 'probe') expect(progress.next).toBeLessThanOrEqual(before.next);
        if (progress.state === 'snapshot') expect(progress.paused).toBe(true);
      }
    }),
    { numRuns: 3000 },
  );
});

test('a probe goes out once, until it is answered', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 20 }), fc.nat({ max: 20 }), (next, hint) => {
      const progress = new Progress(next, false, LIMITS);
      progress.sent(1, 10, 0);
      expect(progress.paused).toBe(true);
      expect(progress.refuse(next, hint)).toBe(false);
      expect(progress.paused).toBe(true);
      expect(progress.refuse(next - 1, hint)).toBe(true);
      expect(progress.paused).toBe(false);
      expect(progress.next).toBe(Math.max(1, Math.min(next - 1, hint + 1)));
    }),
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quorumReached, quorumVote, type VoterSets } from '../../durable-objects/raft/quorum.ts';

const voters = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 7 });
const sets: fc.Arbitrary<VoterSets> = fc.record({ voters, votersOutgoing: voters });
const numbers = fc.dictionary(
  fc.integer({ min: 1, max: 8 }).map(String),
  fc.integer({ min: 0, max: 9 }),
) as fc.Arbitrary<Record<number, number>>;
const votes = fc.dictionary(fc.integer({ min: 1, max: 8 }).map(String), fc.boolean()) as fc.Arbitrary<
  Record<number, boolean>
>;
const runs = { numRuns: 5000 };

/** Tries every number from the top: the first that more than half have reached, in each half that has voters. */
function naiveReached({ voters: incoming, votersOutgoing }: VoterSets, reached: Record<number, number>): number {
  const halves = [incoming, votersOutgoing].filter((half) => half.length > 0);
  if (halves.length === 0) return Number.POSITIVE_INFINITY;
  for (let candidate = 9; candidate > 0; candidate--) {
    const enough = halves.every(
      (half) => half.filter((id) => (reached[id] ?? 0) >= candidate).length * 2 > half.length,
    );
    if (enough) return candidate;
  }
  return 0;
}

/** Tries every way in which the missing votes could still be cast. */
function naiveVote(sets: VoterSets, cast: Record<number, boolean>): string {
  const missing = [...new Set([...sets.voters, ...sets.votersOutgoing])].filter((id) => cast[id] === undefined);
  const outcomes = new Set<boolean>();
  for (let pattern = 0; pattern < 2 ** missing.length; pattern++) {
    const vote = (id: number) => cast[id] ?? ((pattern >> missing.indexOf(id)) & 1) === 1;
    const halves = [sets.voters, sets.votersOutgoing].filter((half) => half.length > 0);
    outcomes.add(halves.every((half) => half.filter(vote).length * 2 > half.length));
  }
  if (outcomes.size === 2) return 'pending';
  return outcomes.has(true) ? 'won' : 'lost';
}

test('what a quorum has reached agrees with trying every number', () => {
  fc.assert(
    fc.property(sets, numbers, (sets, reached) => {
      expect(quorumReached(sets, (id) => reached[id] ?? 0)).toBe(naiveReached(sets, reached));
    }),
    runs,
  );
});

test('the outcome of a vote agrees with trying every way to cast the missing votes', () => {
  fc.assert(
    fc.property(sets, votes, (sets, cast) => {
      expect(quorumVote(sets, (id) => cast[id])).toBe(naiveVote(sets, cast));
    }),
    runs,
  );
});

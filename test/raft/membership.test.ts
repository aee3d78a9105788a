import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changeMembership, initialMembership } from '../../durable-objects/raft/membership.ts';
import type { Membership, MembershipStep } from '../../durable-objects/raft/types.ts';

const id = fc.integer({ min: 1, max: 7 });
const step: fc.Arbitrary<MembershipStep> = fc.record({
  type: fc.constantFrom('add-voter', 'add-learner', 'remove'),
  id,
});
const steps = fc.uniqueArray(step, { minLength: 1, maxLength: 5, selector: ({ id }) => id });

test('the members are sorted however they are given', () => {
  expect(initialMembership([3, 1, 2]).voters).toEqual([1, 2, 3]);
});

test('a joint change and its end lead where single changes lead', () => {
  fc.assert(
    fc.property(fc.uniqueArray(id, { minLength: 1, maxLength: 5 }), steps, (voters, steps) => {
      const from = initialMembership(voters);
      const atOnce = attempt(() => changeMembership(from, { steps }));
      fc.pre(atOnce !== undefined);
      // An additional voter keeps the group from ever being empty on the way.
      let single = changeMembership(from, { steps: [{ type: 'add-voter', id: 99 }] });
      for (const one of steps) single = changeMembership(single, { steps: [one] });
      single = changeMembership(single, { steps: [{ type: 'remove', id: 99 }] });
      expect(left(atOnce!)).toEqual(single);
    }),
    { numRuns: 2000 },
  );
});

test('a joint membership keeps the old voters until it is left', () => {
  const from = initialMembership([1, 2, 3]);
  const steps: MembershipStep[] = [
    { type: 'add-voter', id: 4 },
    { type: 'add-learner', id: 3 },
  ];
  const joint = changeMembership(from, { steps });
  expect(joint).toEqual({
    voters: [1, 2, 4],
    votersOutgoing: [1, 2, 3],
    learners: [],
    learnersNext: [3],
    autoLeave: true,
  });
  expect(left(joint)).toEqual({ ...initialMembership([1, 2, 4]), learners: [3] });
});

describe('changes that make no sense are refused', () => {
  const joint = changeMembership(initialMembership([1, 2]), {
    steps: [
      { type: 'add-voter', id: 3 },
      { type: 'remove', id: 1 },
    ],
  });
  const cases: [string, Membership, MembershipStep[], RegExp][] = [
    ['no voter left', initialMembership([1]), [{ type: 'remove', id: 1 }], /no voter would be left/],
    ['bad id', initialMembership([1]), [{ type: 'add-voter', id: 0 }], /0 is not the id of a node/],
    [
      'named twice',
      initialMembership([1]),
      [
        { type: 'add-voter', id: 2 },
        { type: 'remove', id: 2 },
      ],
      /node 2 is named twice/,
    ],
    ['nothing to leave', initialMembership([1]), [], /no joint membership to leave/],
    ['joint already', joint, [{ type: 'add-voter', id: 5 }], /must be left first/],
  ];
  test.each(cases)('%s', (_, from, steps, message) => {
    expect(() => changeMembership(from, { steps })).toThrow(RangeError);
    expect(() => changeMembership(from, { steps })).toThrow(message);
  });
});

function left(membership: Membership): Membership {
  return membership.votersOutgoing.length > 0 ? changeMembership(membership, { steps: [] }) : membership;
}

function attempt(change: () => Membership): Membership | undefined {
  try {
    return change();
  } catch {
    return undefined;
  }
}

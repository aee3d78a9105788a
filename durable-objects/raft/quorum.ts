import type { NodeId } from './types.ts';

export type VoteResult = 'won' | 'lost' | 'pending';

/** The two halves of a membership that decide: a joint one needs a majority of each. */
export interface VoterSets {
  readonly voters: readonly NodeId[];
  readonly votersOutgoing: readonly NodeId[];
}

/**
 * The highest number that a majority of `voters` has reached, given what each has reached (0 if unknown). An empty
 * set agrees to everything: Infinity. This lets it be the absent half of a joint quorum.
 */
export function majorityReached(voters: readonly NodeId[], reached: (id: NodeId) => number): number {
  if (voters.length === 0) return Number.POSITIVE_INFINITY;
  const ascending = voters.map(reached).sort((a, b) => a - b);
  return ascending[ascending.length - majoritySize(voters)]!;
}

/** The outcome of an election among `voters`, given each vote (undefined: not cast yet). Won if there is nobody to ask. */
export function majorityVote(voters: readonly NodeId[], vote: (id: NodeId) => boolean | undefined): VoteResult {
  if (voters.length === 0) return 'won';
  let yes = 0;
  let missing = 0;
  for (const id of voters) {
    const cast = vote(id);
    if (cast === undefined) missing++;
    else if (cast) yes++;
  }
  const needed = majoritySize(voters);
  if (yes >= needed) return 'won';
  return yes + missing >= needed ? 'pending' : 'lost';
}

/** As majorityReached, for a quorum that may be joint. */
export function quorumReached(sets: VoterSets, reached: (id: NodeId) => number): number {
  return Math.min(majorityReached(sets.voters, reached), majorityReached(sets.votersOutgoing, reached));
}

/** As majorityVote, for a quorum that may be joint: both halves must win, and one that lost decides. */
export function quorumVote(sets: VoterSets, vote: (id: NodeId) => boolean | undefined): VoteResult {
  const incoming = majorityVote(sets.voters, vote);
  const outgoing = majorityVote(sets.votersOutgoing, vote);
  if (incoming === outgoing) return incoming;
  return incoming === 'lost' || outgoing === 'lost' ? 'lost' : 'pending';
}

function majoritySize(voters: readonly NodeId[]): number {
  return Math.floor(voters.length / 2) + 1;
}

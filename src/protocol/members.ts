/** Changes of a group's membership: the operation `members` of a replica. Rare, hence JSON. */

/**
 * - `show`: what the replica knows; any replica answers.
 * - `add`: makes a replica that has never been a member one without a vote.
 * - `replace`: gives that one the vote of `old`, which leaves the group, once it has caught up.
 * - `transfer`: hands leadership to a voter.
 *
 * All but `show` are for the leader, and do nothing when what they ask for is so already. A leader refuses one that it
 * cannot carry out yet as `unavailable`: to be asked again.
 */
export type MembersRequest =
  | { action: 'show' }
  | { action: 'add'; id: number }
  | { action: 'replace'; id: number; old: number }
  | { action: 'transfer'; to: number };

/** The membership that is in force after applying the log up to `applied`. */
export interface Members {
  leader: number;
  applied: number;
  voters: number[];
  learners: number[];
  /** While a change is under way: the voters before it. */
  votersOutgoing: number[];
  /** The highest id that was ever a member's: ids are not used again. */
  highestId: number;
  /** On a leader: what each member still lacks of the log. */
  behind: { id: number; entries: number; state: string }[];
}

/** How an empty object becomes a replica: rare, hence JSON. */

/**
 * - `prepared`: it has a token and takes no part.
 * - `started`: it is a replica; the log says whether it is a member.
 * - `retired`: it was removed from its group and falls silent for good.
 */
export type JoinState = 'prepared' | 'started' | 'retired';

/** What the identity row of a replica's disk says. */
export interface Identity {
  tenant: string;
  shard: string;
  id: number;
  /** Random, made with the row: it tells this disk from any other that the id may have had. */
  token: string;
  state: JoinState;
  /** The tokens of all first members by id, once this one has agreed to them. Absent on a replica that joined later. */
  founders?: Record<number, string>;
}

interface Named {
  tenant: string;
  shard: string;
  id: number;
}

/**
 * The steps of a join. `peek` writes nothing; `prepare` gives an empty disk its row; `adopt` makes it agree to the list
 * of first members; `start` lets it take part, as a first member (`founders`) or as one that learns the members from the
 * log; `retire` ends that. All are idempotent; all but the first two act only on the disk whose token they name.
 */
export type JoinRequest = Named &
  (
    | { step: 'peek' }
    | { step: 'prepare' }
    | { step: 'adopt'; token: string; founders: Record<number, string> }
    | { step: 'start'; token: string; founders?: Record<number, string> }
    | { step: 'retire'; token: string }
  );

/** What the disk says afterwards; null: still empty. */
export type JoinAnswer = Identity | null;

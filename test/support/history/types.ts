/**
 * What clients saw of a store, as plain data: the input of the checks in this folder, whoever recorded it (simulated
 * clusters, or real processes over HTTP). Every write must carry a value that no other write carries: the checks tell
 * writes apart by it.
 */

/** A record as it was shown to somebody. */
export interface Shown {
  value: string;
  revision: number;
}

/** What a write asks of the record that is there. */
export type Precondition = { type: 'absent' } | { type: 'exists' } | { type: 'revision'; revision: number };

export type Request =
  | { type: 'get' }
  | { type: 'put'; value: string; condition?: Precondition }
  | { type: 'delete'; condition?: Precondition };

export type Outcome =
  /** What a get showed. */
  | { type: 'read'; record: Shown | undefined }
  /** The write happened; `revision` and what it replaced (null: nothing) where the answer tells them. */
  | { type: 'done'; revision?: number; replaced?: Shown | null }
  /** The condition did not hold; `current` where the answer tells it, null for an absent record. */
  | { type: 'failed'; current?: Shown | null }
  /** It may have happened, may still happen, or never. */
  | { type: 'unknown' };

/**
 * One request about one key. Times come from one clock that never falls, in any unit; a write of several keys is one
 * operation for each of them. Requests that certainly had no effect and showed nothing are left out.
 */
export interface Operation {
  client: string;
  key: string;
  start: number;
  /** Infinity when no answer came. */
  end: number;
  request: Request;
  outcome: Outcome;
}

/** One change of one key, as it was committed. */
export interface Change {
  revision: number;
  key: string;
  type: 'put' | 'delete';
  /** Empty for a delete. */
  value: string;
  labels: Readonly<Record<string, string>>;
  /** First revision of the batch that it belongs to. */
  batch: number;
}

/** What one watch was shown, in the order in which it came. Where it was resumed inside makes no difference. */
export interface Watch {
  name: string;
  /** Ending in `/`, or one whole key. */
  prefix: string;
  /** Label that must be there, with its value; none: everything. */
  label?: readonly [name: string, value: string];
  /** `initial`: the state first, then `synced`. */
  start: { type: 'after'; revision: number } | { type: 'initial' };
  seen: readonly Sight[];
}

export type Sight =
  | { type: 'added' | 'modified' | 'deleted'; key: string; revision: number; value: string }
  /** The initial state is complete. */
  | { type: 'synced'; revision: number }
  | { type: 'bookmark'; revision: number }
  /** History is gone (410); nothing comes after it. */
  | { type: 'compacted'; revision: number };

/** A list of the records below a prefix, shown as one state. */
export interface Listing {
  client: string;
  prefix: string;
  label?: readonly [name: string, value: string];
  revision: number;
  records: readonly (Shown & { key: string })[];
  start: number;
  end: number;
  /** Whether nothing that was acknowledged before `start` may be missing. */
  linearizable: boolean;
}

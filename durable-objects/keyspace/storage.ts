import type { Revision, WorkItem } from '../../src/keyspace/types.ts';
import { BASE_LEVEL } from '../../src/protocol/commands.ts';
import type { Answered } from './outcomes.ts';

/** One put or delete of one key: an entry of the history. */
export interface Version {
  revision: Revision;
  key: string;
  /** The revision of the live version that this one replaced; 0 when the key was absent. */
  previous: Revision;
  deleted: boolean;
  /** Log time in ms at which the record expires; 0 for never. */
  expires: number;
  /** Id of the proposal, on the first version that it made; else empty. */
  proposal: string;
  /** Number of versions that the proposal made, on the first of them; else 0. */
  made: number;
  /** Stored form (`src/protocol/records.ts`); empty for a tombstone. */
  record: Uint8Array;
  /** CRC-32 of the record. */
  checksum: number;
}

/** The numbers of the state machine; they are persisted with every flush. */
export interface Scalars {
  /** Index of the last log entry applied. */
  applied: number;
  revision: Revision;
  /** History up to here is gone; the state at exactly this revision can still be read. */
  compacted: Revision;
  /** Highest revision of a put or delete of policy. */
  policy: Revision;
  /** Log time in ms; never falls. */
  time: number;
  /** Id of the next outbox row. */
  nextWork: number;
  /** Every member holds the log up to this index. */
  logFloor: number;
  /** Feature level of the group: the format in which entries may be written. It only rises. */
  level: number;
  /** Sum of the shares of all live records (`checksum.ts`). */
  digest: number;
}

export const FIRST_SCALARS: Readonly<Scalars> = {
  applied: 0,
  revision: 0,
  compacted: 0,
  policy: 0,
  time: 0,
  nextWork: 1,
  logFloor: 0,
  level: BASE_LEVEL,
  digest: 0,
};

/** Keys `from <= key < end`. */
export interface Range {
  from: string;
  end: string;
}

export interface WorkRow {
  id: number;
  loop: WorkItem['loop'];
  item: string;
}

export interface Expiry {
  at: number;
  key: string;
}

/** What a flush writes, all in one transaction. */
export interface Changes {
  scalars: Scalars;
  /** In revision order. */
  versions: readonly Version[];
  /** The newest version of every changed key; a tombstone takes the key out of the live index. */
  live: ReadonlyMap<string, Version>;
  /** Per term and key whether the live record carries it now. */
  terms: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
  /** In order; later ones win. */
  expiries: readonly (Expiry & { present: boolean })[];
  work: readonly WorkRow[];
  done: readonly number[];
  /** Answers of proposals that no version carries. */
  answers: readonly Answered[];
}

/**
 * What the state machine needs of a store: synchronous, and written by {@link Storage.write} only. Iterators are
 * consumed before the next write.
 */
export interface Storage {
  scalars(): Scalars;
  /** The live version of a key. */
  newest(key: string): Version | undefined;
  version(revision: Revision): Version | undefined;
  /** Live versions in key order; `term`: only those indexed under it. */
  scan(range: Range, term?: string): Iterable<Version>;
  /** Number of live keys. */
  count(range: Range): number;
  /** Keys indexed under a term. */
  termKeys(term: string): Iterable<string>;
  /** History in revision order, revisions above `after`, keys in the range. */
  history(after: Revision, range: Range): Iterable<Version>;
  /** For each key in the range that changed after a revision, the revision of its live version then (0: absent). */
  stateBefore(after: Revision, range: Range): Map<string, Revision>;
  /** Expiries in order of time, those due at `time` only. */
  due(time: number, limit: number): Expiry[];
  /** The earliest expiry. */
  nextExpiry(): number | undefined;
  /** Oldest first. */
  work(limit: number): WorkRow[];
  /** Every answer to a proposal that may still be asked for again, whether a version carries it or not; and older ones. */
  answers(): Iterable<Answered>;
  write(changes: Changes): void;
  /** Physically drops what compaction up to `scalars.compacted` made unreadable, a bounded amount per call. */
  sweep(scalars: Readonly<Scalars>): void;
}

/** The range of keys below a prefix that ends in `/`, or of the one key that does not. */
export function rangeOf(prefix: string): Range {
  return { from: prefix, end: prefix.endsWith('/') ? `${prefix.slice(0, -1)}0` : `${prefix}\0` };
}

import type { Revision } from '../../src/keyspace/types.ts';
import type { Answered } from './outcomes.ts';
import { at } from './recent.ts';
import type { Changes, Expiry, Range, Version, WorkRow } from './storage.ts';

/** What was applied since the last flush: all of {@link Changes} but the scalars. */
export class Unwritten implements Omit<Changes, 'scalars'> {
  /** Size of the records in it. */
  bytes = 0;
  readonly versions: Version[] = [];
  readonly live = new Map<string, Version>();
  readonly terms = new Map<string, Map<string, boolean>>();
  readonly expiries: (Expiry & { present: boolean })[] = [];
  readonly work: WorkRow[] = [];
  readonly done: number[] = [];
  readonly answers: Answered[] = [];

  /** Takes in a version and what it changes about expiry. */
  add(version: Version, replaced: Version | undefined): void {
    const { key, expires } = version;
    this.versions.push(version);
    this.bytes += version.record.length;
    this.live.set(key, version);
    if (replaced !== undefined && replaced.expires > 0)
      this.expiries.push({ at: replaced.expires, key, present: false });
    if (expires > 0) this.expiries.push({ at: expires, key, present: true });
  }

  version(revision: Revision): Version | undefined {
    return at(this.versions, revision);
  }

  /** Notes whether the live record of a key carries an index term now. */
  setTerm(term: string, key: string, present: boolean): void {
    let keys = this.terms.get(term);
    if (keys === undefined) {
      keys = new Map();
      this.terms.set(term, keys);
    }
    keys.set(key, present);
  }

  /** Whether a live key of the range changed. */
  touches({ from, end }: Range): boolean {
    for (const key of this.live.keys()) if (key >= from && key < end) return true;
    return false;
  }
}

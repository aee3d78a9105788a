import type { Entry, HardState, LogStorage, Membership, SnapshotMetadata } from '../raft/types.ts';
import { blob, bulkInsert, firstPart, firstRow, furtherParts, joinParts, type Sql } from './sql.ts';

const TYPES = ['normal', 'membership'] as const;
const PARTS = 'SELECT data FROM log_parts WHERE entry = ? ORDER BY part';
const insertEntries = bulkInsert('INSERT INTO log (entry, term, type, data)', 4);
/** Bytes of the newest entries that are kept in memory: what followers in step with the leader ask for. */
const RECENT_BYTES = 4 << 20;
const ENTRY_OVERHEAD = 100;

/** The Raft log, term, vote and membership in a replica's SQLite, with the newest entries in memory. */
export class RaftLog implements LogStorage {
  readonly #sql: Sql;
  #hardState: HardState;
  /** What of it is on disk. */
  #stored: HardState;
  #highestId: number;
  #membership: Membership;
  #before: { index: number; term: number };
  #last: number;
  /** Consecutive entries up to the last one. */
  #recent: Entry[] = [];
  #recentBytes = 0;

  /** `voters` are the first members of a new group; what is stored wins. */
  constructor(sql: Sql, voters: readonly number[]) {
    this.#sql = sql;
    const row = firstRow(
      sql,
      'SELECT term, vote, committed, before_index, before_term, highest_id, membership FROM raft',
    );
    const [term, vote, commit, index, beforeTerm, highest] = (row ?? [0, 0, 0, 0, 0, 0]) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    this.#stored = { term, vote, commit };
    this.#hardState = this.#stored;
    this.#before = { index, term: beforeTerm };
    this.#membership = row === undefined ? firstMembership(voters) : (JSON.parse(String(row[6])) as Membership);
    this.#highestId = Math.max(highest, highestOf(this.#membership));
    this.#last = Number(firstRow(sql, 'SELECT max(entry) FROM log')?.[0] ?? this.#before.index);
    if (row === undefined) this.#writeState();
  }

  /** The membership as of the last applied change. */
  get membership(): Membership {
    return this.#membership;
  }

  /** The highest id that has ever been a member's. */
  get highestId(): number {
    return this.#highestId;
  }

  initialState(): { hardState: HardState; membership: Membership } {
    return { hardState: { ...this.#hardState }, membership: this.#membership };
  }

  firstIndex(): number {
    return this.#before.index + 1;
  }

  lastIndex(): number {
    return this.#last;
  }

  term(index: number): number | undefined {
    if (index === this.#before.index) return this.#before.term;
    if (index < this.#before.index || index > this.#last) return undefined;
    const recent = this.#recent[index - this.#firstRecent()];
    if (recent !== undefined) return recent.term;
    return firstRow(this.#sql, 'SELECT term FROM log WHERE entry = ?', index)?.[0] as number;
  }

  entries(lo: number, hi: number, maxBytes: number): Entry[] {
    const first = this.#firstRecent();
    const entries: Entry[] = [];
    let bytes = 0;
    for (const entry of lo >= first ? this.#recent.slice(lo - first, hi - first) : this.#rows(lo, hi)) {
      bytes += entry.data.length;
      if (entries.length > 0 && bytes > maxBytes) break;
      entries.push(entry);
    }
    return entries;
  }

  snapshotMetadata(): SnapshotMetadata {
    return { index: this.#before.index, term: this.#before.term, membership: this.#membership };
  }

  /** Writes entries, replacing stored ones from the first of them on. */
  append(entries: readonly Entry[]): void {
    const first = entries[0];
    if (first === undefined) return;
    if (first.index <= this.#last) this.#cut(first.index);
    const rows = entries.map(({ index, term, type, data }) => [index, term, TYPES.indexOf(type), firstPart(data)]);
    insertEntries(this.#sql, rows);
    for (const entry of entries) {
      const { index, data } = entry;
      for (const [part, bytes] of furtherParts(data)) {
        this.#sql.exec('INSERT INTO log_parts (entry, part, data) VALUES (?, ?, ?)', index, part, bytes);
      }
      this.#recent.push(entry);
      this.#recentBytes += data.length + ENTRY_OVERHEAD;
      this.#last = index;
    }
    if (this.#recentBytes > 2 * RECENT_BYTES) this.#trim();
  }

  /** Takes note of what {@link writeHardState} is to write. */
  noteHardState(hardState: HardState): void {
    this.#hardState = hardState;
  }

  /**
   * Writes term, vote and commit index as last noted, if they changed. Called with the entries that were noted with them
   * or before, so that the commit index on disk is never beyond the log there, and a restart finds what was committed.
   */
  writeHardState(): void {
    const { term, vote, commit } = this.#hardState;
    const { term: oldTerm, vote: oldVote, commit: oldCommit } = this.#stored;
    if (term === oldTerm && vote === oldVote && commit === oldCommit) return;
    this.#sql.exec('UPDATE raft SET term = ?, vote = ?, committed = ?', term, vote, commit);
    this.#stored = this.#hardState;
  }

  /** Writes the membership, in the transaction that makes the entry applied. */
  setMembership(membership: Membership): void {
    this.#membership = membership;
    this.#highestId = Math.max(this.#highestId, highestOf(membership));
    this.#sql.exec('UPDATE raft SET membership = ?, highest_id = ?', JSON.stringify(membership), this.#highestId);
  }

  /** Drops entries up to `index`, at most `limit` of them. Every member must hold them, and the state machine durably too. */
  truncate(index: number, limit: number): void {
    const to = Math.min(index, this.#before.index + limit, this.#last);
    if (to <= this.#before.index) return;
    this.#before = { index: to, term: this.term(to)! };
    this.#sql.exec('DELETE FROM log WHERE entry <= ?', to);
    this.#sql.exec('DELETE FROM log_parts WHERE entry <= ?', to);
    this.#sql.exec('UPDATE raft SET before_index = ?, before_term = ?', to, this.#before.term);
    const keep = Math.max(0, to + 1 - this.#firstRecent());
    for (const entry of this.#recent.splice(0, keep)) this.#recentBytes -= entry.data.length + ENTRY_OVERHEAD;
  }

  #firstRecent(): number {
    return this.#recent[0]?.index ?? this.#last + 1;
  }

  #cut(from: number): void {
    this.#sql.exec('DELETE FROM log WHERE entry >= ?', from);
    this.#sql.exec('DELETE FROM log_parts WHERE entry >= ?', from);
    for (const entry of this.#recent.splice(Math.max(0, from - this.#firstRecent()))) {
      this.#recentBytes -= entry.data.length + ENTRY_OVERHEAD;
    }
    this.#last = from - 1;
  }

  #trim(): void {
    let drop = 0;
    for (; this.#recentBytes > RECENT_BYTES && drop < this.#recent.length - 1; drop++) {
      this.#recentBytes -= this.#recent[drop]!.data.length + ENTRY_OVERHEAD;
    }
    this.#recent.splice(0, drop);
  }

  *#rows(lo: number, hi: number): Iterable<Entry> {
    const query = 'SELECT entry, term, type, data FROM log WHERE entry >= ? AND entry < ? ORDER BY entry';
    for (const [entry, term, type, data] of this.#sql.exec(query, lo, hi).raw()) {
      const index = entry as number;
      yield {
        index,
        term: term as number,
        type: TYPES[type as 0 | 1],
        data: joinParts(this.#sql, blob(data), PARTS, index),
      };
    }
  }

  #writeState(): void {
    const { term, vote, commit } = this.#hardState;
    this.#sql.exec(
      `INSERT OR REPLACE INTO raft (one, term, vote, committed, membership, highest_id, before_index, before_term)
       VALUES (1, ?, ?, ?, ?, ?, ?, ?)`,
      term,
      vote,
      commit,
      JSON.stringify(this.#membership),
      this.#highestId,
      this.#before.index,
      this.#before.term,
    );
    this.#stored = this.#hardState;
  }
}

function highestOf({ voters, learners, votersOutgoing }: Membership): number {
  return Math.max(0, ...voters, ...learners, ...votersOutgoing);
}

function firstMembership(voters: readonly number[]): Membership {
  const sorted = [...voters].sort((a, b) => a - b);
  return { voters: sorted, learners: [], votersOutgoing: [], learnersNext: [], autoLeave: false };
}

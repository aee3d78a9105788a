import { checksum } from '../keyspace/checksum.ts';
import type { Entry, HardState, LogStorage, Membership, SnapshotMetadata } from '../raft/types.ts';
import { DamagedError, verify } from './damage.ts';
import { blob, bulkInsert, firstPart, firstRow, furtherParts, joinParts, type Sql } from './sql.ts';

const TYPES = ['normal', 'membership'] as const;
const PARTS = 'SELECT data FROM log_parts WHERE entry = ? ORDER BY part';
const insertEntries = bulkInsert('INSERT INTO log (entry, term, type, data, checksum)', 5);
const STATE = 'term, vote, committed, membership, highest_id, before_index, before_term';
const NEW_STATE: [number, number, number, string, number, number, number] = [0, 0, 0, '', 0, 0, 0];
/** Bytes of the newest entries that are kept in memory: what followers in step with the leader ask for. */
const RECENT_BYTES = 1 << 20;
const ENTRY_OVERHEAD = 100;

/** What is kept of the log for a member that is away; one that needs more is given the state. */
export interface LogLimits {
  entries: number;
  bytes: number;
}

const LOG_LIMITS: LogLimits = { entries: 20_000, bytes: 64 << 20 };

/** The Raft log, term, vote and membership in a replica's SQLite, with the newest entries in memory. */
export class RaftLog implements LogStorage {
  readonly #sql: Sql;
  readonly #limits: LogLimits;
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
  /** Bytes of all entries' data. */
  #bytes: number;

  /** `voters` are the first members of a new group; what is stored wins. */
  constructor(sql: Sql, voters: readonly number[], limits = LOG_LIMITS) {
    this.#sql = sql;
    this.#limits = limits;
    const row = firstRow(sql, `SELECT ${STATE}, checksum FROM raft`);
    const [term, vote, commit, text, highest, index, beforeTerm] = (row ?? NEW_STATE) as typeof NEW_STATE;
    if (row !== undefined) verify('raft', 0, row[7], checksum(row.slice(0, 7).join()));
    this.#stored = { term, vote, commit };
    this.#hardState = this.#stored;
    this.#before = { index, term: beforeTerm };
    this.#membership = row === undefined ? firstMembership(voters) : (JSON.parse(text) as Membership);
    this.#highestId = Math.max(highest, highestOf(this.#membership));
    this.#last = Number(firstRow(sql, 'SELECT max(entry) FROM log')?.[0] ?? this.#before.index);
    this.#bytes = Number(firstRow(sql, 'SELECT sum(length(data)) FROM log')?.[0] ?? 0);
    if (row === undefined) this.#writeState(this.#stored);
  }

  /** The membership as of the last applied change. */
  get membership(): Membership {
    return this.#membership;
  }

  /** The highest id that has ever been a member's. */
  get highestId(): number {
    return this.#highestId;
  }

  /** Whether it holds more bytes than are kept for a member that is away. */
  get overfull(): boolean {
    return this.#bytes > this.#limits.bytes;
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
    for (const stored of this.#rows(index, index + 1)) return stored.term;
    return undefined;
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
    writeEntries(this.#sql, entries);
    for (const entry of entries) {
      const { index, data } = entry;
      this.#recent.push(entry);
      this.#recentBytes += data.length + ENTRY_OVERHEAD;
      this.#bytes += firstPart(data).length;
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
    this.#writeState(this.#hardState);
  }

  /** Writes the membership, in the transaction that makes the entry applied. */
  setMembership(membership: Membership): void {
    this.#membership = membership;
    this.#highestId = Math.max(this.#highestId, highestOf(membership));
    this.#writeState(this.#stored);
  }

  /** Starts over after a state that replaces the state machine's, within that transaction. */
  install({ index, term, membership }: SnapshotMetadata, highestId: number): void {
    this.#sql.exec('DELETE FROM log');
    this.#sql.exec('DELETE FROM log_parts');
    this.#recent = [];
    this.#recentBytes = 0;
    this.#bytes = 0;
    this.#before = { index, term };
    this.#last = index;
    this.#membership = membership;
    this.#highestId = Math.max(this.#highestId, highestId);
    this.#hardState = { ...this.#hardState, commit: index };
    this.#writeState(this.#hardState);
  }

  /** Entries up to here are more than is kept for a member that is away, roughly. */
  get keptAfter(): number {
    const count = this.#last - this.#before.index;
    const share = this.overfull ? Math.floor((count * this.#limits.bytes) / this.#bytes) : count;
    return this.#last - Math.min(count, share, this.#limits.entries);
  }

  /** Drops entries up to `index`, at most `limit` of them. The state machine must hold them durably. */
  truncate(index: number, limit: number): void {
    const to = Math.min(index, this.#before.index + limit, this.#last);
    if (to <= this.#before.index) return;
    this.#bytes -= this.#bytesBetween(this.#before.index + 1, to);
    this.#before = { index: to, term: this.term(to)! };
    this.#sql.exec('DELETE FROM log WHERE entry <= ?', to);
    this.#sql.exec('DELETE FROM log_parts WHERE entry <= ?', to);
    this.#writeState(this.#stored);
    const keep = Math.max(0, to + 1 - this.#firstRecent());
    for (const entry of this.#recent.splice(0, keep)) this.#recentBytes -= entry.data.length + ENTRY_OVERHEAD;
  }

  #firstRecent(): number {
    return this.#recent[0]?.index ?? this.#last + 1;
  }

  #bytesBetween(from: number, to: number): number {
    return Number(
      firstRow(this.#sql, 'SELECT sum(length(data)) FROM log WHERE entry BETWEEN ? AND ?', from, to)?.[0] ?? 0,
    );
  }

  #cut(from: number): void {
    this.#bytes -= this.#bytesBetween(from, this.#last);
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
    const query = 'SELECT entry, term, type, data, checksum FROM log WHERE entry >= ? AND entry < ? ORDER BY entry';
    let next = lo;
    for (const [index, term, type, data, stored] of this.#sql.exec(query, lo, hi).raw()) {
      if (index !== next) throw new DamagedError('log', next, 'the row is missing');
      const whole = joinParts(this.#sql, blob(data), PARTS, next);
      const entry: Entry = { index: next, term: term as number, type: TYPES[type as 0 | 1], data: whole };
      verify('log', next, stored, entryChecksum(entry));
      yield entry;
      next++;
    }
    if (next < hi) throw new DamagedError('log', next, 'the row is missing');
  }

  #writeState(hardState: HardState): void {
    const { term, vote, commit } = hardState;
    const { index, term: beforeTerm } = this.#before;
    const values = [term, vote, commit, JSON.stringify(this.#membership), this.#highestId, index, beforeTerm];
    this.#sql.exec(
      `INSERT OR REPLACE INTO raft (one, ${STATE}, checksum) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...values,
      checksum(values.join()),
    );
    this.#stored = hardState;
  }
}

/** The members of the group as this replica last knew them; none when that cannot be read. */
export function storedMembers(sql: Sql): number[] {
  try {
    const { voters, learners } = JSON.parse(String(firstRow(sql, 'SELECT membership FROM raft')?.[0])) as Membership;
    return [...voters, ...learners];
  } catch {
    return [];
  }
}

/** Writes entries whose indexes have no rows yet. */
export function writeEntries(sql: Sql, entries: readonly Entry[]): void {
  const rows = entries.map((entry) => {
    const { index, term, type, data } = entry;
    return [index, term, TYPES.indexOf(type), firstPart(data), entryChecksum(entry)];
  });
  insertEntries(sql, rows);
  for (const { index, data } of entries) {
    for (const [part, bytes] of furtherParts(data)) {
      sql.exec('INSERT INTO log_parts (entry, part, data) VALUES (?, ?, ?)', index, part, bytes);
    }
  }
}

/** Of all columns of an entry. */
export function entryChecksum({ index, term, type, data }: Entry): number {
  return checksum(`${index} ${term} ${type}`, checksum(data));
}

function highestOf({ voters, learners, votersOutgoing }: Membership): number {
  return Math.max(0, ...voters, ...learners, ...votersOutgoing);
}

function firstMembership(voters: readonly number[]): Membership {
  const sorted = [...voters].sort((a, b) => a - b);
  return { voters: sorted, learners: [], votersOutgoing: [], learnersNext: [], autoLeave: false };
}

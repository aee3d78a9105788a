import type { Revision } from '../../src/keyspace/types.ts';
import { PROPOSAL_WINDOW_MS, stampOf } from '../../src/protocol/commands.ts';
import { checksum, plus, shareOf } from '../keyspace/checksum.ts';
import type { Answered } from '../keyspace/outcomes.ts';
import {
  type Changes,
  type Expiry,
  FIRST_SCALARS,
  type Range,
  type Scalars,
  type Storage,
  type Version,
  type WorkRow,
} from '../keyspace/storage.ts';
import { DamagedError, verify } from './damage.ts';
import { blob, bulkInsert, firstPart, firstRow, furtherParts, joinParts, type Sql } from './sql.ts';
import { answersBytes, proposalBytes, readAnswers, readProposal } from './sql-answers.ts';

const COLUMNS = 'v.revision, v.key, v.previous, v.deleted, v.expires, v.proposal, v.record, v.checksum';
const LIVE = `${COLUMNS}, l.key, l.revision, l.checksum`;
const JOINED = `SELECT ${LIVE} FROM live l LEFT JOIN versions v ON v.revision = l.revision`;
const PARTS = 'SELECT record FROM version_parts WHERE revision = ? ORDER BY part';
const insertVersions = bulkInsert(
  'INSERT INTO versions (revision, key, previous, deleted, expires, proposal, record, checksum)',
  8,
);
const insertLive = bulkInsert('INSERT OR REPLACE INTO live (key, revision, checksum)', 3);
const insertTerms = bulkInsert('INSERT OR IGNORE INTO terms (term, key)', 2);
const insertWork = bulkInsert('INSERT INTO work (id, loop, item)', 3);
const SCALARS = 'applied, revision, compacted, policy, time, next_work, log_floor, level';
/** Revisions that one sweep looks at. */
const SWEEP = 1000;

/** The state machine's store in a replica's SQLite (`migrations/`). */
export class SqlStorage implements Storage {
  readonly #sql: Sql;
  #swept: Revision;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#swept = Number(firstRow(sql, 'SELECT swept FROM scalars')?.[0] ?? 0);
  }

  scalars(): Scalars {
    const row = firstRow(this.#sql, `SELECT ${SCALARS}, digest, checksum FROM scalars`);
    if (row === undefined) return { ...FIRST_SCALARS };
    const [applied, revision, compacted, policy, time, nextWork, logFloor, level, digest, stored] = row as number[];
    const known = { applied, revision, compacted, policy, time, nextWork, logFloor, level } as Omit<Scalars, 'digest'>;
    const scalars = { ...known, digest: digest ?? this.#digest() };
    verify('scalars', 0, stored, scalarsChecksum(scalars));
    return scalars;
  }

  /** The digest of the live records, from all of them: only for databases from before it was kept. */
  #digest(): number {
    let digest = 0;
    for (const version of this.scan({ from: '', end: '\u{10ffff}' })) digest = plus(digest, shareOf(version));
    return digest;
  }

  /** Two lookups: SQLite compiles the join anew on every run. */
  newest(key: string): Version | undefined {
    const row = firstRow(this.#sql, 'SELECT revision, checksum FROM live WHERE key = ?', key);
    if (row === undefined) return undefined;
    const [revision, stored] = row as [number, unknown];
    verify('live', 0, stored, liveChecksum(key, revision));
    return liveVersion(this.version(revision), key, revision);
  }

  version(revision: Revision): Version | undefined {
    const row = firstRow(this.#sql, `SELECT ${COLUMNS} FROM versions v WHERE v.revision = ?`, revision);
    return row && this.#version(row);
  }

  *scan({ from, end }: Range, term?: string): Iterable<Version> {
    const rows =
      term === undefined
        ? this.#sql.exec(`${JOINED} WHERE l.key >= ? AND l.key < ? ORDER BY l.key`, from, end)
        : this.#sql.exec(
            `SELECT ${LIVE} FROM terms t JOIN live l ON l.key = t.key LEFT JOIN versions v ON v.revision = l.revision
             WHERE t.term = ? AND t.key >= ? AND t.key < ? ORDER BY t.key`,
            term,
            from,
            end,
          );
    for (const row of rows.raw()) {
      const [key, revision, stored] = row.slice(-3) as [string, number, unknown];
      verify('live', 0, stored, liveChecksum(key, revision));
      yield liveVersion(row[0] === null ? undefined : this.#version(row), key, revision);
    }
  }

  count({ from, end }: Range): number {
    return Number(firstRow(this.#sql, 'SELECT count(*) FROM live WHERE key >= ? AND key < ?', from, end)?.[0]);
  }

  *termKeys(term: string): Iterable<string> {
    for (const [key] of this.#sql.exec('SELECT key FROM terms WHERE term = ?', term).raw()) yield key as string;
  }

  *history(after: Revision, { from, end }: Range): Iterable<Version> {
    const query = `SELECT ${COLUMNS} FROM versions v WHERE v.revision > ? AND v.key >= ? AND v.key < ? ORDER BY v.revision`;
    for (const row of this.#sql.exec(query, after, from, end).raw()) yield this.#version(row);
  }

  stateBefore(after: Revision, { from, end }: Range): Map<string, Revision> {
    const query = `SELECT key, previous, min(revision) FROM versions
      WHERE revision > ? AND key >= ? AND key < ? GROUP BY key`;
    const state = new Map<string, Revision>();
    for (const [key, previous] of this.#sql.exec(query, after, from, end).raw())
      state.set(key as string, previous as number);
    return state;
  }

  due(time: number, limit: number): Expiry[] {
    const rows = this.#sql
      .exec('SELECT at, key FROM expiries WHERE at <= ? ORDER BY at, key LIMIT ?', time, limit)
      .raw();
    return Array.from(rows, ([at, key]) => ({ at: at as number, key: key as string }));
  }

  nextExpiry(): number | undefined {
    return firstRow(this.#sql, 'SELECT at FROM expiries ORDER BY at LIMIT 1')?.[0] as number | undefined;
  }

  work(limit: number): WorkRow[] {
    const rows = this.#sql.exec('SELECT id, loop, item FROM work ORDER BY id LIMIT ?', limit).raw();
    return Array.from(rows, ([id, loop, item]) => ({ id, loop, item }) as WorkRow);
  }

  *answers(): Iterable<Answered> {
    for (const [data] of this.#sql.exec('SELECT data FROM answers ORDER BY batch').raw())
      yield* readAnswers(blob(data));
    yield* this.#carried(this.#swept, Number.MAX_SAFE_INTEGER);
  }

  /** Answers that the versions of `after < revision <= to` carry. */
  *#carried(after: Revision, to: Revision): Iterable<Answered> {
    const query = `SELECT revision, proposal FROM versions
      WHERE revision > ? AND revision <= ? AND proposal IS NOT NULL ORDER BY revision`;
    for (const [revision, proposal] of this.#sql.exec(query, after, to).raw()) {
      const { id, made } = readProposal(blob(proposal));
      if (made > 0) yield { id, answer: { type: 'done', first: revision as number, made } };
    }
  }

  write(changes: Changes): void {
    writeVersions(this.#sql, changes.versions);
    this.#writeLive(changes.live);
    this.#writeTerms(changes.terms);
    for (const { at, key, present } of changes.expiries) {
      if (present) this.#sql.exec('INSERT OR IGNORE INTO expiries (at, key) VALUES (?, ?)', at, key);
      else this.#sql.exec('DELETE FROM expiries WHERE at = ? AND key = ?', at, key);
    }
    const work = changes.work.map(({ id, loop, item }) => [id, loop, item]);
    insertWork(this.#sql, work);
    for (const id of changes.done) this.#sql.exec('DELETE FROM work WHERE id = ?', id);
    this.#writeAnswers(changes.answers, changes.scalars.time);
    this.#writeScalars(changes.scalars);
  }

  /** Looks at most at {@link SWEEP} revisions: a version up to the compaction point makes the one before it unreadable. */
  sweep({ compacted, time }: Scalars): void {
    if (this.#swept >= compacted) return;
    const to = Math.min(compacted, this.#swept + SWEEP);
    const dead = `SELECT previous FROM versions WHERE revision > ?1 AND revision <= ?2 AND previous > 0
      UNION ALL SELECT revision FROM versions WHERE revision > ?1 AND revision <= ?2 AND deleted = 1`;
    this.#writeAnswers([...this.#carried(this.#swept, to)], time);
    this.#sql.exec(`DELETE FROM version_parts WHERE revision IN (${dead})`, this.#swept, to);
    this.#sql.exec(`DELETE FROM versions WHERE revision IN (${dead})`, this.#swept, to);
    this.#swept = to;
    this.#sql.exec('UPDATE scalars SET swept = ?', to);
  }

  #writeLive(live: Changes['live']): void {
    const rows: [string, number, number][] = [];
    for (const [key, { deleted, revision }] of live) {
      if (deleted) this.#sql.exec('DELETE FROM live WHERE key = ?', key);
      else rows.push([key, revision, liveChecksum(key, revision)]);
    }
    insertLive(this.#sql, rows);
  }

  #writeTerms(terms: Changes['terms']): void {
    const rows: [string, string][] = [];
    for (const [term, keys] of terms) {
      for (const [key, present] of keys) {
        if (present) rows.push([term, key]);
        else this.#sql.exec('DELETE FROM terms WHERE term = ? AND key = ?', term, key);
      }
    }
    insertTerms(this.#sql, rows);
  }

  /**
   * Keeps answers that no version carries (any more), all of them in one row: a row for each proposal would cost as much
   * as a write. Rows go in the order in which they came, when the newest stamp in them is too old.
   */
  #writeAnswers(answers: readonly Answered[], time: number): void {
    const horizon = time - PROPOSAL_WINDOW_MS;
    const kept = answers.filter(({ id }) => stampOf(id) >= horizon);
    if (kept.length === 0) return;
    const newest = kept.reduce((latest, { id }) => Math.max(latest, stampOf(id)), 0);
    this.#sql.exec('INSERT INTO answers (newest, data) VALUES (?, ?)', newest, answersBytes(kept));
    const oldest = 'SELECT batch FROM answers ORDER BY batch LIMIT 4';
    this.#sql.exec(`DELETE FROM answers WHERE batch IN (${oldest}) AND newest < ?`, horizon);
  }

  #writeScalars(scalars: Scalars): void {
    const { applied, revision, compacted, policy, time, nextWork, logFloor, level, digest } = scalars;
    this.#sql.exec(
      `INSERT OR REPLACE INTO scalars (one, ${SCALARS}, digest, checksum, swept)
       VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[applied, revision, compacted, policy, time, nextWork, logFloor, level, digest],
      scalarsChecksum(scalars),
      this.#swept,
    );
  }

  #version(row: unknown[]): Version {
    const [revision, key, previous, deleted, expires, proposal, first, stored] = row;
    const record = joinParts(this.#sql, blob(first), PARTS, revision as number);
    const carried = proposal === null ? undefined : readProposal(blob(proposal));
    const version: Version = {
      revision: revision as number,
      key: key as string,
      previous: previous as number,
      deleted: deleted === 1,
      expires: expires as number,
      proposal: carried?.id ?? '',
      made: carried?.made ?? 0,
      record,
      checksum: checksum(record),
    };
    verify('versions', version.revision, stored, rowChecksum(version));
    return version;
  }
}

/** Writes versions whose revisions have no rows yet. */
export function writeVersions(sql: Sql, versions: readonly Version[]): void {
  const rows = versions.map((version) => {
    const { revision, key, previous, deleted, expires, proposal, made, record } = version;
    const id = proposal === '' ? null : proposalBytes(proposal, made);
    const sum = rowChecksum(version);
    return [revision, key, previous, deleted ? 1 : 0, expires, id, firstPart(record), sum];
  });
  insertVersions(sql, rows);
  for (const { revision, record } of versions) {
    for (const [part, bytes] of furtherParts(record)) {
      sql.exec('INSERT INTO version_parts (revision, part, record) VALUES (?, ?, ?)', revision, part, bytes);
    }
  }
}

/** Makes the index of live keys anew from the versions. */
export function rebuildLive(sql: Sql): void {
  const newest = 'SELECT key, max(revision) AS newest, deleted FROM versions GROUP BY key';
  const rows = Array.from(sql.exec(`SELECT key, newest FROM (${newest}) WHERE deleted = 0`).raw(), (row) => {
    const [key, revision] = row as [string, number];
    return [key, revision, liveChecksum(key, revision)];
  });
  sql.exec('DELETE FROM live');
  insertLive(sql, rows);
}

/** Checks what the live index led to. */
function liveVersion(version: Version | undefined, key: string, revision: Revision): Version {
  if (version === undefined) throw new DamagedError('versions', revision, 'the row is missing');
  if (version.key !== key || version.deleted) throw new DamagedError('live', 0, `${key} is not at ${revision}`);
  return version;
}

function liveChecksum(key: string, revision: Revision): number {
  return checksum(`${revision} ${key}`);
}

/** Of all columns of a version; the record counts by its own checksum. */
function rowChecksum({ revision, key, previous, deleted, expires, proposal, made, checksum: sum }: Version): number {
  return checksum(`${revision} ${previous} ${deleted} ${expires} ${made} ${proposal} ${key}`, sum);
}

function scalarsChecksum(scalars: Scalars): number {
  const { applied, revision, compacted, policy, time, nextWork, logFloor, level, digest } = scalars;
  return checksum([applied, revision, compacted, policy, time, nextWork, logFloor, level, digest].join());
}

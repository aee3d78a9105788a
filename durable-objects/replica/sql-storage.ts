import type { Revision } from '../../src/keyspace/types.ts';
import { Reader, Writer } from '../../src/protocol/bytes.ts';
import { PROPOSAL_ID_LENGTH, PROPOSAL_WINDOW_MS, stampOf } from '../../src/protocol/commands.ts';
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
import { blob, bulkInsert, firstPart, firstRow, furtherParts, joinParts, type Sql } from './sql.ts';

const COLUMNS = 'v.revision, v.key, v.previous, v.deleted, v.expires, v.proposal, v.record';
const JOINED = `SELECT ${COLUMNS} FROM live l JOIN versions v ON v.revision = l.revision`;
const PARTS = 'SELECT record FROM version_parts WHERE revision = ? ORDER BY part';
const insertVersions = bulkInsert(
  'INSERT INTO versions (revision, key, previous, deleted, expires, proposal, record)',
  7,
);
const insertLive = bulkInsert('INSERT OR REPLACE INTO live (key, revision)', 2);
const insertTerms = bulkInsert('INSERT OR IGNORE INTO terms (term, key)', 2);
const insertWork = bulkInsert('INSERT INTO work (id, loop, item)', 3);
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
    const row = firstRow(
      this.#sql,
      'SELECT applied, revision, compacted, policy, time, next_work, log_floor FROM scalars',
    ) as number[] | undefined;
    if (row === undefined) return { ...FIRST_SCALARS };
    const [applied, revision, compacted, policy, time, nextWork, logFloor] = row as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return { applied, revision, compacted, policy, time, nextWork, logFloor };
  }

  /** Two lookups: SQLite compiles the join anew on every run. */
  newest(key: string): Version | undefined {
    const row = firstRow(this.#sql, 'SELECT revision FROM live WHERE key = ?', key);
    return row && this.version(row[0] as number);
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
            `SELECT ${COLUMNS} FROM terms t JOIN live l ON l.key = t.key JOIN versions v ON v.revision = l.revision
             WHERE t.term = ? AND t.key >= ? AND t.key < ? ORDER BY t.key`,
            term,
            from,
            end,
          );
    for (const row of rows.raw()) yield this.#version(row);
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
    this.#writeVersions(changes.versions);
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

  #writeVersions(versions: readonly Version[]): void {
    const rows = versions.map(({ revision, key, previous, deleted, expires, proposal, made, record }) => {
      const id = proposal === '' ? null : proposalBytes(proposal, made);
      return [revision, key, previous, deleted ? 1 : 0, expires, id, firstPart(record)];
    });
    insertVersions(this.#sql, rows);
    for (const { revision, record } of versions) {
      for (const [part, bytes] of furtherParts(record)) {
        this.#sql.exec('INSERT INTO version_parts (revision, part, record) VALUES (?, ?, ?)', revision, part, bytes);
      }
    }
  }

  #writeLive(live: Changes['live']): void {
    const rows: [string, number][] = [];
    for (const [key, { deleted, revision }] of live) {
      if (deleted) this.#sql.exec('DELETE FROM live WHERE key = ?', key);
      else rows.push([key, revision]);
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
    const { applied, revision, compacted, policy, time, nextWork, logFloor } = scalars;
    this.#sql.exec(
      `INSERT OR REPLACE INTO scalars (one, applied, revision, compacted, policy, time, next_work, log_floor, swept)
       VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`,
      applied,
      revision,
      compacted,
      policy,
      time,
      nextWork,
      logFloor,
      this.#swept,
    );
  }

  #version(row: unknown[]): Version {
    const [revision, key, previous, deleted, expires, proposal, record] = row;
    return {
      revision: revision as number,
      key: key as string,
      previous: previous as number,
      deleted: deleted === 1,
      expires: expires as number,
      proposal: proposal === null ? '' : readProposal(blob(proposal)).id,
      made: proposal === null ? 0 : readProposal(blob(proposal)).made,
      record: joinParts(this.#sql, blob(record), PARTS, revision as number),
    };
  }
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (unit) => unit.charCodeAt(0));
}

/** The column `proposal`: id, then the number of versions that it made as a varint. */
function proposalBytes(id: string, made: number): Uint8Array {
  return new Writer(16).raw(bytesOf(id)).varint(made).finish();
}

/** Rows of the time before outcomes were remembered have no number: 0. */
function readProposal(bytes: Uint8Array): { id: string; made: number } {
  const reader = new Reader(bytes);
  return { id: latin1(reader.raw(PROPOSAL_ID_LENGTH)), made: reader.done ? 0 : reader.varint() };
}

function answersBytes(answers: readonly Answered[]): Uint8Array {
  const writer = new Writer(answers.length * 24);
  for (const { id, answer } of answers) {
    writer.raw(bytesOf(id)).u8(answer.type === 'done' ? 0 : 1);
    if (answer.type === 'done') writer.f64(answer.first).varint(answer.made);
    else writer.f64(answer.revision).varint(answer.failed);
  }
  return writer.finish();
}

function* readAnswers(bytes: Uint8Array): Iterable<Answered> {
  const reader = new Reader(bytes);
  while (!reader.done) {
    const id = latin1(reader.raw(PROPOSAL_ID_LENGTH));
    const done = reader.u8() === 0;
    const revision = reader.f64();
    const count = reader.varint();
    if (done) yield { id, answer: { type: 'done', first: revision, made: count } };
    else yield { id, answer: { type: 'failed', failed: count, revision } };
  }
}

import type { Storage } from '../keyspace/storage.ts';
import { firstRow, type Sql } from './sql.ts';
import { SqlStorage } from './sql-storage.ts';
import type { Staging } from './state-sink.ts';

/** The tables of the state machine, which a transferred state replaces. */
export const STATE_TABLES = [
  'versions',
  'version_parts',
  'live',
  'terms',
  'expiries',
  'work',
  'answers',
  'scalars',
] as const;

const STAGED = 'staged_';
const NAMES = new RegExp(`\\b(${STATE_TABLES.join('|')})\\b`, 'g');

/** Builds a state in tables of the same form beside the live ones; switching is a matter of their names. */
export class SqlStaging implements Staging {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  open(): Storage {
    for (const table of STATE_TABLES) {
      if (this.#definition(STAGED + table) !== undefined) continue;
      this.#sql.exec(staged(this.#definition(table)!));
    }
    return new SqlStorage(stagedSql(this.#sql));
  }

  discard(): void {
    for (const table of STATE_TABLES) this.#sql.exec(`DROP TABLE IF EXISTS ${STAGED}${table}`);
  }

  install(): Storage {
    for (const table of STATE_TABLES) {
      this.#sql.exec(`DROP TABLE ${table}`);
      this.#sql.exec(`ALTER TABLE ${STAGED}${table} RENAME TO ${table}`);
    }
    return new SqlStorage(this.#sql);
  }

  #definition(table: string): string | undefined {
    const row = firstRow(this.#sql, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", table);
    return row && String(row[0]);
  }
}

function staged(query: string): string {
  return query.replace(NAMES, `${STAGED}$1`);
}

/** The same database, with the staged tables under the names of the live ones. */
function stagedSql(sql: Sql): Sql {
  const texts = new Map<string, string>();
  return {
    exec(query, ...bindings) {
      let text = texts.get(query);
      if (text === undefined) {
        text = staged(query);
        texts.set(query, text);
      }
      return sql.exec(text, ...bindings);
    },
  };
}

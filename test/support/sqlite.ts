import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { migrate, type Sql } from '../../durable-objects/replica/sql.ts';

/** A replica's database in memory, with its migrations applied. */
export function memorySql(): Sql {
  const database = new DatabaseSync(':memory:');
  const sql: Sql = {
    exec(query, ...bindings) {
      const statement = database.prepare(query);
      statement.setReturnArrays(true);
      const rows = statement.all(...bindings) as unknown;
      return { raw: () => rows as unknown[][] };
    },
  };
  migrate(sql, [readFileSync(`${import.meta.dirname}/../../migrations/0001_replica.sql`, 'utf8')]);
  return sql;
}

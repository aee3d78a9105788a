import { readdirSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { migrate, type Sql } from '../../durable-objects/replica/sql.ts';

/** A replica's database in memory, with its migrations applied. */
export function memorySql(): Sql {
  const sql = emptySql();
  migrate(sql, migrations());
  return sql;
}

/** A database in memory, as an object has it that nobody ever called. */
export function emptySql(): Sql {
  const database = new DatabaseSync(':memory:');
  const sql: Sql = {
    exec(query, ...bindings) {
      const statement = database.prepare(query);
      statement.setReturnArrays(true);
      const rows = statement.all(...bindings) as unknown;
      return { raw: () => rows as unknown[][] };
    },
  };
  return sql;
}

/** The texts of all migrations, in order. */
export function migrations(): string[] {
  const folder = `${import.meta.dirname}/../../migrations`;
  const files = readdirSync(folder).sort();
  return files.map((file) => readFileSync(`${folder}/${file}`, 'utf8'));
}

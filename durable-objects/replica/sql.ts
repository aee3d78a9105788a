/** What is used of a Durable Object's SQLite, so that the stores run over any SQLite in tests. */
export interface Sql {
  exec(query: string, ...bindings: SqlValue[]): { raw(): Iterable<unknown[]> };
}

/** Production's limit is 2 MB for a whole row; the other columns of the split tables are small. */
export const PART_BYTES = 1_900_000;

type SqlValue = string | number | Uint8Array | null;

/** Bound parameters that one statement may have. */
const MAX_PARAMETERS = 100;
/** Rows of one statement, largest first: few distinct texts, so that all stay compiled. */
const CHUNKS = [32, 14, 6, 3, 1];

/**
 * An INSERT of any number of rows with `columns` values each, many per statement since the call costs more than the row.
 * `head` is everything before `VALUES`. The texts are made once, so that the runtime finds the compiled statements again.
 */
export function bulkInsert(head: string, columns: number): (sql: Sql, rows: readonly SqlValue[][]) => void {
  const row = `(${Array(columns).fill('?').join(',')})`;
  const texts = CHUNKS.filter((chunk) => chunk * columns <= MAX_PARAMETERS).map((chunk) => {
    return { chunk, text: `${head} VALUES ${Array(chunk).fill(row).join(',')}` };
  });
  return (sql, rows) => {
    let at = 0;
    for (const { chunk, text } of texts) {
      for (; rows.length - at >= chunk; at += chunk) sql.exec(text, ...rows.slice(at, at + chunk).flat());
    }
  };
}

/** The first row of a query. */
export function firstRow(sql: Sql, query: string, ...bindings: (string | number)[]): unknown[] | undefined {
  for (const row of sql.exec(query, ...bindings).raw()) return row;
  return undefined;
}

/** Bytes of a blob column. */
export function blob(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  return new Uint8Array(value as ArrayBuffer);
}

/** What of a value goes into its first row. */
export function firstPart(bytes: Uint8Array): Uint8Array {
  return bytes.length <= PART_BYTES ? bytes : bytes.subarray(0, PART_BYTES);
}

/** The further parts of a value, numbered from 1. */
export function* furtherParts(bytes: Uint8Array): Iterable<[number, Uint8Array]> {
  for (let part = 1; part * PART_BYTES < bytes.length; part++) {
    yield [part, bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)];
  }
}

/** Puts a value together; `query` selects the further parts in order. */
export function joinParts(sql: Sql, first: Uint8Array, query: string, id: number): Uint8Array {
  if (first.length < PART_BYTES) return first;
  const parts = [first];
  for (const [part] of sql.exec(query, id).raw()) parts.push(blob(part));
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/**
 * Runs the migrations that this database has not seen, in order; the first has number 1. Call it in a transaction.
 * Comments are lines of their own, and no statement contains a semicolon.
 */
export function migrate(sql: Sql, migrations: readonly string[]): void {
  sql.exec('CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)');
  const done = Number(firstRow(sql, 'SELECT max(number) FROM migrations')?.[0] ?? 0);
  for (let number = done + 1; number <= migrations.length; number++) {
    const code = migrations[number - 1]!.replace(/^--.*$/gm, '');
    for (const statement of code.split(';')) if (statement.trim() !== '') sql.exec(statement);
    sql.exec('INSERT INTO migrations (number) VALUES (?)', number);
  }
}

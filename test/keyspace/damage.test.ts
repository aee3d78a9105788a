import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checksum } from '../../durable-objects/keyspace/checksum.ts';
import { StateMachine } from '../../durable-objects/keyspace/state.ts';
import type { Version } from '../../durable-objects/keyspace/storage.ts';
import type { Entry } from '../../durable-objects/raft/types.ts';
import { DamagedError, damage, noteDamage } from '../../durable-objects/replica/damage.ts';
import { RaftLog } from '../../durable-objects/replica/raft-log.ts';
import { type AskPeers, encodeRow, encodeVersion, repair } from '../../durable-objects/replica/repair.ts';
import type { Sql } from '../../durable-objects/replica/sql.ts';
import { SqlStorage } from '../../durable-objects/replica/sql-storage.ts';
import { encodeEntry, encodeProposal, KIND, proposalId } from '../../src/protocol/commands.ts';
import { memorySql } from '../support/sqlite.ts';

const ALL = { from: '', end: '\u{10ffff}' };
const KEYS = ['/registry/pods/a', '/registry/pods/b', '/registry/pods/large'];
const tag = { storageVersion: 'v1', schema: 0, typeMetaEnd: 1, resourceVersionAt: 2 };
const meta = { labels: { app: 'x' }, fields: {}, terms: ['t:1'], tag };

/** A replica's database after the same writes as every other's: two rewritten keys, a deletion, and values in parts. */
function replicaSql(): Sql {
  const sql = memorySql();
  const log = new RaftLog(sql, [1, 2, 3]);
  log.noteHardState({ term: 3, vote: 2, commit: 0 });
  log.writeHardState();
  const state = new StateMachine(new SqlStorage(sql));
  const entries: Entry[] = [];
  const propose = (key: string, bytes: number | undefined) => {
    const index = entries.length + 1;
    const value = new Uint8Array(bytes ?? 0).fill(index);
    const operation =
      bytes === undefined ? { type: 'delete' as const, key } : { type: 'put' as const, key, value, meta };
    const payload = encodeProposal(
      proposalId(index, new Uint8Array(8).fill(index)),
      { conditions: [], operations: [operation] },
      undefined,
    );
    const entry: Entry = { index, term: 3, type: 'normal', data: encodeEntry(KIND.batch, index, payload) };
    entries.push(entry);
    state.apply(index, entry.data);
  };
  for (const key of KEYS.slice(0, 2)) for (const bytes of [10, 20]) propose(key, bytes);
  propose(KEYS[0]!, undefined);
  propose(KEYS[2]!, 1_910_000);
  log.append(entries);
  state.flush();
  return sql;
}

/** All that a replica may ever serve or use of its database. */
function readAll(sql: Sql) {
  const log = new RaftLog(sql, []);
  const storage = new SqlStorage(sql);
  const entries = log.entries(log.firstIndex(), log.lastIndex() + 1, Number.POSITIVE_INFINITY);
  const short = (version: Version | undefined) => version && { ...version, record: version.record.length };
  return {
    start: log.initialState(),
    entries: entries.map((entry) => ({ ...entry, data: checksum(entry.data) })),
    terms: entries.map(({ index }) => new RaftLog(sql, []).term(index)),
    scalars: storage.scalars(),
    live: Array.from(storage.scan(ALL), short),
    byTerm: Array.from(storage.scan(ALL, 't:1'), short),
    one: KEYS.map((key) => short(storage.newest(key))),
    history: Array.from(storage.history(0, ALL), short),
  };
}

const whole = replicaSql();
const expected = readAll(whole);

/** Every stored value that a checksum stands for: table, row by its number, column. */
const COLUMNS: [string, string][] = [
  ...['key', 'previous', 'deleted', 'expires', 'proposal', 'record', 'checksum'].map((c): [string, string] => [
    'versions',
    c,
  ]),
  ['version_parts', 'record'],
  ...['term', 'type', 'data', 'checksum'].map((c): [string, string] => ['log', c]),
  ['log_parts', 'data'],
  ...['term', 'vote', 'membership', 'before_index', 'before_term', 'committed', 'highest_id', 'checksum'].map(
    (c): [string, string] => ['raft', c],
  ),
  ...['applied', 'revision', 'compacted', 'policy', 'time', 'log_floor', 'level', 'digest', 'checksum'].map(
    (c): [string, string] => ['scalars', c],
  ),
  ['live', 'revision'],
];

const cells = COLUMNS.flatMap(([table, column]) => {
  const order = [...whole.exec(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0 ORDER BY pk`).raw()].map(
    ([name]) => name,
  );
  const count = Number([...whole.exec(`SELECT count(*) FROM ${table}`).raw()][0]![0]);
  return Array.from({ length: count }, (_, row) => ({ table, column, order: order.join(), row }));
});

/** Changes one bit of a stored value, as a bad disk might. */
function corrupt(sql: Sql, { table, column, order, row }: (typeof cells)[number], bit: number): boolean {
  const keys = order.split(',');
  const [where] = [
    ...sql.exec(`SELECT ${[column, order].join()} FROM ${table} ORDER BY ${order} LIMIT 1 OFFSET ${row}`).raw(),
  ];
  const [value, ...id] = where!;
  const bad = flipped(value, bit);
  if (bad === value) return false;
  const condition = keys.map((key) => `${key} = ?`).join(' AND ');
  sql.exec(`UPDATE ${table} SET ${column} = ? WHERE ${condition}`, bad, ...(id as (string | number)[]));
  return true;
}

function flipped(value: unknown, bit: number): string | number | Uint8Array {
  if (typeof value === 'number') return value ^ (1 << (bit % 12));
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : new Uint8Array(value as Uint8Array);
  if (bytes.length === 0) return new Uint8Array([bit]);
  bytes[bit % bytes.length]! ^= 1 << (bit % 7);
  return typeof value === 'string' ? new TextDecoder().decode(bytes) : bytes;
}

/** A peer whose database is whole. */
const ask: AskPeers = async ({ place, id }, accept) => {
  const log = new RaftLog(whole, []);
  const row =
    place === 'log' ? encodeRow(log.entries(id, id + 1, 1)[0]) : encodeVersion(new SqlStorage(whole).version(id));
  return accept(row);
};

describe('a flipped bit on disk', () => {
  it('is found by whoever reads it, and mended from a peer where peers have the same', async () => {
    const fates = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...cells), fc.nat(2_000_000), async (cell, bit) => {
        const sql = replicaSql();
        if (!corrupt(sql, cell, bit)) return;
        for (let found = reading(sql); found !== undefined; found = reading(sql)) {
          noteDamage(sql, found);
          const left = await repair(sql, ask, (write) => write());
          fates.set(cell.table, left.length === 0 ? 'mended' : 'stopped');
          if (left.length === 0) continue;
          expect(left).toEqual([{ place: found.place, id: found.id }]);
          return;
        }
        expect(damage(sql)).toEqual([]);
        expect(readAll(sql)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
    for (const table of ['versions', 'version_parts', 'live'])
      expect([undefined, 'mended']).toContain(fates.get(table));
    for (const table of ['raft', 'scalars']) expect([undefined, 'stopped']).toContain(fates.get(table));
    expect(fates.size).toBeGreaterThan(2);
  }, 60_000);

  it('takes from a peer only the very entry that was written', async () => {
    const sql = replicaSql();
    const cell = cells.find(({ table, column }) => table === 'log' && column === 'data')!;
    corrupt(sql, cell, 77);
    noteDamage(sql, reading(sql)!);
    const other: AskPeers = async (_, accept) =>
      accept(encodeRow({ index: 1, term: 4, type: 'normal', data: new Uint8Array(3) }));
    expect(await repair(sql, other, (write) => write())).toEqual([{ place: 'log', id: 1 }]);
    expect(await repair(sql, ask, (write) => write())).toEqual([]);
    expect(readAll(sql)).toEqual(expected);
  });
});

function reading(sql: Sql): DamagedError | undefined {
  try {
    readAll(sql);
  } catch (error) {
    expect(error).toBeInstanceOf(DamagedError);
    return error as DamagedError;
  }
  return undefined;
}

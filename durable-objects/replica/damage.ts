import type { Sql } from './sql.ts';

/**
 * Where a corrupt row is: `versions` and `log` by revision or index; `live`, `raft` and `scalars` as a whole (id 0).
 * `state`: the whole state differs from that of the others; the id is a log index by which it did.
 */
export type Place = 'versions' | 'log' | 'live' | 'raft' | 'scalars' | 'state';

/** A row of the disk is not what was written: it must not be served. */
export class DamagedError extends Error {
  readonly place: Place;
  readonly id: number;

  constructor(place: Place, id: number, detail: string) {
    super(`corrupt row in ${place}, ${id}: ${detail}`);
    this.name = 'DamagedError';
    this.place = place;
    this.id = id;
  }
}

/** Notes a corrupt row, so that nothing is served before it is repaired, over restarts too. */
export function noteDamage(sql: Sql, { place, id, message }: DamagedError): void {
  sql.exec('INSERT OR IGNORE INTO damage (place, id, detail) VALUES (?, ?, ?)', place, id, message);
}

/** The rows to repair. */
export function damage(sql: Sql): { place: Place; id: number }[] {
  const rows = sql.exec('SELECT place, id FROM damage ORDER BY place, id').raw();
  return Array.from(rows, ([place, id]) => ({ place: place as Place, id: id as number }));
}

/** Forgets a corrupt row that has been repaired. */
export function forgetDamage(sql: Sql, place: Place, id: number): void {
  sql.exec('DELETE FROM damage WHERE place = ? AND id = ?', place, id);
}

/** Throws DamagedError when a checksum is stored and differs; a database from before there were any has NULL. */
export function verify(place: Place, id: number, stored: unknown, found: number): void {
  if (stored !== null && stored !== found) throw new DamagedError(place, id, `checksum ${found}, stored ${stored}`);
}

/**
 * Repairs corrupt rows from peers. Versions are the same on every replica, since all apply the same entries; a log entry
 * is taken only if it is, to the bit, what this replica once wrote, so that nothing that it acknowledged changes.
 */
import { Reader, Writer } from '../../src/protocol/bytes.ts';
import { checksum } from '../keyspace/checksum.ts';
import type { Version } from '../keyspace/storage.ts';
import { decodeEntry, encodeEntry } from '../raft/codec.ts';
import type { Entry } from '../raft/types.ts';
import { damage, forgetDamage, type Place } from './damage.ts';
import { entryChecksum, writeEntries } from './raft-log.ts';
import { firstRow, type Sql } from './sql.ts';
import { rebuildLive, writeVersions } from './sql-storage.ts';

/** What a peer is asked for: the version of a revision, or the entry at an index. */
export interface RowRequest {
  place: 'versions' | 'log';
  id: number;
}

const PLACES = ['versions', 'log'] as const;

export function encodeRowRequest({ place, id }: RowRequest): Uint8Array {
  return new Writer(16).u8(PLACES.indexOf(place)).varint(id).finish();
}

/** Throws RangeError on malformed input. */
export function decodeRowRequest(bytes: Uint8Array): RowRequest {
  const reader = new Reader(bytes);
  const place = PLACES[reader.u8()];
  if (place === undefined) throw new RangeError('unknown place');
  return { place, id: reader.varint() };
}

/** A version as peers send it; nothing when it is not there. */
export function encodeVersion(version: Version | undefined): Uint8Array {
  if (version === undefined) return new Uint8Array(0);
  const { revision, key, previous, deleted, expires, proposal, made, record } = version;
  const writer = new Writer(record.length + key.length + 64).varint(revision).string(key).varint(previous);
  writer
    .u8(deleted ? 1 : 0)
    .varint(expires)
    .string(proposal)
    .varint(made);
  return writer.raw(record).finish();
}

function decodeVersion(bytes: Uint8Array): Version | undefined {
  if (bytes.length === 0) return undefined;
  const reader = new Reader(bytes);
  const head = {
    revision: reader.varint(),
    key: reader.string(),
    previous: reader.varint(),
    deleted: reader.u8() === 1,
  };
  const tail = { expires: reader.varint(), proposal: reader.string(), made: reader.varint(), record: reader.rest() };
  return { ...head, ...tail, checksum: checksum(tail.record) };
}

/** An entry as peers send it; nothing when it is not there. */
export function encodeRow(entry: Entry | undefined): Uint8Array {
  return entry === undefined ? new Uint8Array(0) : encodeEntry(entry);
}

/** Asks the peers one after another until `accept` takes a row. Rejects never. */
export type AskPeers = (request: RowRequest, accept: (row: Uint8Array) => boolean) => Promise<boolean>;

/**
 * Tries to repair all that is noted as corrupt; `transaction` runs writes as one. Resolves with what is left: rows that
 * no peer could give now, and what cannot be repaired row by row.
 */
export async function repair(
  sql: Sql,
  ask: AskPeers,
  transaction: (write: () => void) => void,
): Promise<{ place: Place; id: number }[]> {
  for (const { place, id } of damage(sql)) {
    const mended = (write: () => void) => {
      transaction(() => {
        write();
        forgetDamage(sql, place, id);
      });
      return true;
    };
    if (place === 'live') mended(() => rebuildLive(sql));
    else if (place === 'versions') {
      await ask({ place, id }, (row) => {
        const version = decodeVersion(row);
        return version?.revision === id && mended(() => replaceVersion(sql, version));
      });
    } else if (place === 'log') {
      await ask({ place, id }, (row) => {
        const entry = row.length === 0 ? undefined : decodeEntry(row);
        return entry !== undefined && wasWritten(sql, id, entry) && mended(() => replaceEntry(sql, entry));
      });
    }
  }
  return damage(sql);
}

function replaceVersion(sql: Sql, version: Version): void {
  sql.exec('DELETE FROM versions WHERE revision = ?', version.revision);
  sql.exec('DELETE FROM version_parts WHERE revision = ?', version.revision);
  writeVersions(sql, [version]);
}

/** Whether an entry has the checksum that was stored with the corrupt row. */
function wasWritten(sql: Sql, index: number, entry: Entry): boolean {
  const stored = firstRow(sql, 'SELECT checksum FROM log WHERE entry = ?', index)?.[0];
  return entry.index === index && stored === entryChecksum(entry);
}

function replaceEntry(sql: Sql, entry: Entry): void {
  sql.exec('DELETE FROM log WHERE entry = ?', entry.index);
  sql.exec('DELETE FROM log_parts WHERE entry = ?', entry.index);
  writeEntries(sql, [entry]);
}

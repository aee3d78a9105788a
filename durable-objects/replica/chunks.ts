/**
 * The state of a replica on its way to another one, in chunks that are bounded whatever the state's size:
 *
 *     version u8 | checksum f64 | head (JSON) | rows
 *
 * A row is JSON with bytes after it. Unknown members are carried along, so a sender may be newer than the receiver.
 */
import type { Revision } from '../../src/keyspace/types.ts';
import { Reader, Writer } from '../../src/protocol/bytes.ts';
import { checksum } from '../keyspace/checksum.ts';
import type { Answered } from '../keyspace/outcomes.ts';
import type { Scalars, Version, WorkRow } from '../keyspace/storage.ts';
import type { Index, Membership, NodeId, Term } from '../raft/types.ts';

const FORMAT = 1;

/** What a state is: the numbers of the state machine after applying the log up to `index`, and the members then. */
export interface StateHead {
  index: Index;
  term: Term;
  membership: Membership;
  /** The highest id that was a member's by then. */
  highestId: NodeId;
  scalars: Scalars;
}

/**
 * How far a transfer has come: versions up to a revision and `offset` bytes of the next one's record, then so many of
 * the rows that follow the versions. Versions never change, so a transfer may go on from another replica, or later.
 */
export interface Position {
  revision: Revision;
  offset: number;
  rest: number;
}

export const START: Readonly<Position> = { revision: 0, offset: 0, rest: 0 };

export interface StateRequest {
  /** The state to go on with; 0, or one that the sender has let go: it begins with its present one. */
  index: Index;
  from: Position;
}

/** A version, of whose record the bytes from `offset` on are in `version.record`; `length` is that of the whole. */
export interface VersionRow {
  type: 'version';
  version: Version;
  offset: number;
  length: number;
}

export type StateRow = VersionRow | { type: 'work'; row: WorkRow } | { type: 'answer'; answered: Answered };

export interface StateChunk {
  head: StateHead;
  from: Position;
  next: Position;
  last: boolean;
  rows: StateRow[];
}

/** Encodes a request for a chunk. */
export function encodeStateRequest(request: StateRequest): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(request));
}

/** Reverses {@link encodeStateRequest}. Throws RangeError on anything else. */
export function decodeStateRequest(bytes: Uint8Array): StateRequest {
  const { index, from } = (parse(new TextDecoder().decode(bytes)) ?? {}) as StateRequest;
  for (const number of [index, from?.revision, from?.offset, from?.rest]) {
    if (!Number.isSafeInteger(number) || number < 0) throw new RangeError('malformed request for state');
  }
  return { index, from };
}

/** Encodes a row, for {@link encodeChunk}. */
export function encodeRow(row: StateRow): Uint8Array {
  if (row.type !== 'version') return new Writer(128).string(JSON.stringify(row)).bytes(new Uint8Array(0)).finish();
  const { record, ...meta } = row.version;
  const text = JSON.stringify({ ...row, version: meta });
  return new Writer(record.length + text.length + 16).string(text).bytes(record).finish();
}

/** Encodes a chunk of encoded rows. */
export function encodeChunk(chunk: Omit<StateChunk, 'rows'>, rows: readonly Uint8Array[]): Uint8Array {
  const size = rows.reduce((sum, row) => sum + row.length, 1024);
  const body = new Writer(size).string(JSON.stringify(chunk));
  for (const row of rows) body.raw(row);
  const bytes = body.finish();
  return new Writer(bytes.length + 16).u8(FORMAT).f64(checksum(bytes)).raw(bytes).finish();
}

/** Reverses {@link encodeChunk}. Throws RangeError when the bytes are not as they were sent, or of a newer format. */
export function decodeChunk(bytes: Uint8Array): StateChunk {
  const reader = new Reader(bytes);
  if (reader.u8() !== FORMAT) throw new RangeError('chunk of an unknown format');
  const sum = reader.f64();
  const body = reader.rest();
  if (checksum(body) !== sum) throw new RangeError('chunk is damaged');
  const inner = new Reader(body);
  const chunk = parse(inner.string()) as Omit<StateChunk, 'rows'>;
  const rows: StateRow[] = [];
  while (!inner.done) {
    const row = parse(inner.string()) as StateRow;
    const record = inner.bytes();
    if (row.type === 'version') row.version.record = record;
    rows.push(row);
  }
  return { ...chunk, rows };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RangeError('malformed JSON', { cause: error });
  }
}

import type { Storage, Version } from '../keyspace/storage.ts';
import type { Index, NodeId } from '../raft/types.ts';
import { encodeChunk, encodeRow, type Position, type StateHead, type StateRequest } from './chunks.ts';

/** Bytes of rows in a chunk, more or less. */
const CHUNK_BYTES = 512 << 10;
/** A transfer of which nothing was asked for so long is over. */
const IDLE_MS = 60_000;
const EVERYTHING = { from: '', end: '\u{10ffff}' };

interface Stream {
  head: StateHead;
  /** Encoded rows that follow the versions: all of them as of the head, since they do change. */
  rest: Uint8Array[];
  usedAt: number;
}

/** What a source reads. */
export interface SourceHost {
  now(): number;
  /** What the state is now, with everything that is applied written to the storage. */
  head(): StateHead;
  storage(): Storage;
}

/**
 * Hands the state at one applied index to other replicas while writes go on. Versions never change and are not swept
 * away while {@link pinned}, so those up to the head's revision are that state, whenever they are read; what follows them
 * is copied at the beginning.
 */
export class StateSource {
  readonly #host: SourceHost;
  readonly #streams = new Map<NodeId, Stream>();

  constructor(host: SourceHost) {
    this.#host = host;
  }

  /** Answers a replica's request with the chunk that comes next, encoded. */
  serve(to: NodeId, { index, from }: StateRequest): Uint8Array {
    const known = this.#streams.get(to);
    const stream = known !== undefined && known.head.index === index ? known : this.#open(to);
    stream.usedAt = this.#host.now();
    const start = stream === known ? from : { ...from, rest: 0 };
    const { rows, next, last } = this.#read(stream, start);
    return encodeChunk({ head: stream.head, from: start, next, last }, rows);
  }

  /** The lowest index of a state under way: log entries after it are needed. Infinity if there is none. */
  get floor(): Index {
    this.#forgetIdle();
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.#streams.values()].map(({ head }) => head.index));
  }

  /** Whether history must stay as it is. */
  get pinned(): boolean {
    this.#forgetIdle();
    return this.#streams.size > 0;
  }

  /** The replica holds the log up to `match`: its transfer may be over. */
  reached(to: NodeId, match: Index): void {
    if (match >= (this.#streams.get(to)?.head.index ?? Number.POSITIVE_INFINITY)) this.#streams.delete(to);
  }

  #forgetIdle(): void {
    if (this.#streams.size === 0) return;
    const now = this.#host.now();
    for (const [to, { usedAt }] of this.#streams) if (now - usedAt > IDLE_MS) this.#streams.delete(to);
  }

  #open(to: NodeId): Stream {
    const head = this.#host.head();
    const stream = { head, rest: restOf(this.#host.storage()), usedAt: 0 };
    this.#streams.set(to, stream);
    return stream;
  }

  #read({ head, rest }: Stream, from: Position): { rows: Uint8Array[]; next: Position; last: boolean } {
    const rows: Uint8Array[] = [];
    const next = { ...from };
    let left = CHUNK_BYTES;
    for (const version of this.#host.storage().history(from.revision, EVERYTHING)) {
      if (version.revision > head.scalars.revision) break;
      if (left <= 0) return { rows, next, last: false };
      const { record } = version;
      const slice = record.subarray(next.offset, next.offset + left);
      rows.push(rowOf(version, slice, next.offset));
      left -= slice.length + 200;
      next.offset += slice.length;
      if (next.offset < record.length) return { rows, next, last: false };
      next.revision = version.revision;
      next.offset = 0;
    }
    for (; next.rest < rest.length && left > 0; next.rest++) {
      rows.push(rest[next.rest]!);
      left -= rest[next.rest]!.length;
    }
    return { rows, next, last: next.rest >= rest.length };
  }
}

function rowOf(version: Version, slice: Uint8Array, offset: number): Uint8Array {
  return encodeRow({ type: 'version', version: { ...version, record: slice }, offset, length: version.record.length });
}

/** The outbox, and the answers that no version carries. */
function restOf(storage: Storage): Uint8Array[] {
  const rest: Uint8Array[] = [];
  for (const row of storage.work(Number.MAX_SAFE_INTEGER)) rest.push(encodeRow({ type: 'work', row }));
  for (const answered of storage.answers()) {
    const { id, answer } = answered;
    if (answer.type === 'done' && storage.version(answer.first)?.proposal === id) continue;
    rest.push(encodeRow({ type: 'answer', answered }));
  }
  return rest;
}

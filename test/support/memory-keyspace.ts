import { listPage } from '../../durable-objects/keyspace/list.ts';
import { StateMachine } from '../../durable-objects/keyspace/state.ts';
import type { Version } from '../../durable-objects/keyspace/storage.ts';
import { type Cursor, Hub } from '../../durable-objects/keyspace/watch.ts';
import {
  type Batch,
  CompactedError,
  type Consistency,
  FutureRevisionError,
  type GetResult,
  type Keyspace,
  type ListPage,
  type ListRequest,
  type ProposeResult,
  type Revision,
  type StoredRecord,
  TooLargeError,
  UnavailableError,
  type WatchEvent,
  type WatchRequest,
  type WatchStream,
} from '../../src/keyspace/types.ts';
import {
  encodeCompact,
  encodeEntry,
  encodeExpire,
  encodeProposal,
  KIND,
  proposalId,
} from '../../src/protocol/commands.ts';
import { decodeRecord } from '../../src/protocol/records.ts';
import { decodeFrame } from '../../src/protocol/watch.ts';
import { MapStorage } from './map-storage.ts';

const MAX_VALUE = 3 << 20;

export interface MemoryKeyspace extends Keyspace {
  /** Drops history up to a revision (the present one when left out), as compaction does. */
  compact(revision?: Revision): void;
  /** Moves the log's time on by that many ms and expires what is due. */
  advance(ms: number): void;
}

/**
 * A shard in memory: the real state machine and watch hub over maps, each proposal applied at once. Waiting reads fail at
 * once, since nothing else can happen meanwhile.
 */
export function memoryKeyspace(): MemoryKeyspace {
  return new Memory();
}

class Memory implements MemoryKeyspace {
  readonly #state = new StateMachine(new MapStorage());
  readonly #streams = new Map<string, Stream>();
  readonly #hub: Hub;
  #index = 0;
  #now = Date.UTC(2026, 0, 1);
  #lastId = 0;

  constructor() {
    this.#hub = new Hub(this.#state, {
      send: (id, frame) => this.#streams.get(id)?.push(frame),
      end: (id) => this.#streams.get(id)?.end(),
      wake: () => queueMicrotask(() => this.#hub.pump()),
    });
  }

  async get(keys: string[], consistency: Consistency): Promise<GetResult> {
    this.#check(consistency);
    return { records: keys.map((key) => plain(this.#state.get(key))), ...this.#revisions() };
  }

  async list(request: ListRequest): Promise<ListPage> {
    this.#check(request.consistency);
    const revision = request.consistency.type === 'exact' ? request.consistency.revision : undefined;
    const page = listPage(this.#state, {
      prefix: request.prefix,
      after: request.after,
      limit: request.limit,
      revision,
      selector: request.selector,
      term: request.term,
      keysOnly: request.keysOnly ?? false,
    });
    const { policyRevision, revision: now } = this.#revisions();
    const records = page.records.map((record) => toPlain(decodeRecord(record)));
    const result: ListPage = { records, revision: revision ?? now, policyRevision, more: page.more };
    if (page.remaining !== undefined) result.remaining = page.remaining;
    return result;
  }

  async propose(batch: Batch, policyRevision?: Revision): Promise<ProposeResult> {
    for (const operation of batch.operations) {
      if (operation.type === 'put' && operation.value.length > MAX_VALUE) throw new TooLargeError('value is too large');
    }
    const payload = encodeProposal(this.#newId(), batch, policyRevision);
    const outcome = this.#apply(KIND.batch, payload)!;
    const { policyRevision: policy } = this.#revisions();
    if (outcome.type === 'expired') throw new UnavailableError('the id of the proposal is not of this time');
    if (outcome.type === 'policyMoved') return { ok: false, policyMoved: true, policyRevision: policy };
    if (outcome.type === 'failed') {
      return { ok: false, failed: outcome.failed, current: plain(outcome.current), policyRevision: policy };
    }
    return { ok: true, revisions: outcome.revisions, previous: outcome.previous.map(plain), policyRevision: policy };
  }

  async watch(request: WatchRequest, signal: AbortSignal): Promise<WatchStream> {
    const { start } = request;
    this.#check(start.type === 'after' ? { type: 'notOlderThan', revision: start.revision } : start.consistency);
    const revision = start.type === 'after' ? start.revision : this.#state.scalars.revision;
    const cursor: Cursor =
      start.type === 'initial' ? { phase: 'state', revision, after: '' } : { phase: 'events', revision };
    const id = String(++this.#lastId);
    const stream = new Stream(
      (bytes) => this.#hub.credit(id, bytes),
      () => this.#hub.progress(id),
      () => {
        this.#hub.close(id);
        this.#streams.delete(id);
      },
    );
    this.#streams.set(id, stream);
    this.#hub.open(id, request.prefix, request.selector, cursor);
    signal.addEventListener('abort', () => stream.close());
    if (signal.aborted) stream.close();
    return stream;
  }

  async policyRevision(): Promise<Revision> {
    return this.#state.scalars.policy;
  }

  async work(limit: number) {
    return this.#state.work(limit);
  }

  compact(revision = this.#state.scalars.revision): void {
    this.#hub.progressBelow(revision);
    this.#apply(KIND.compact, encodeCompact(revision, 0));
    this.#state.flush();
  }

  advance(ms: number): void {
    this.#now += ms;
    for (let due = this.#due(); due.length > 0; due = this.#due()) this.#apply(KIND.expire, encodeExpire(due));
  }

  #due() {
    return this.#state.due(this.#now, 1000);
  }

  #apply(kind: number, payload: Uint8Array) {
    const outcome = this.#state.apply(++this.#index, encodeEntry(kind, this.#now, payload));
    this.#hub.publish(this.#state.takeFresh());
    return outcome;
  }

  #newId(): Uint8Array {
    const random = new Uint8Array(8);
    new DataView(random.buffer).setFloat64(0, ++this.#lastId);
    return proposalId(this.#now, random);
  }

  #revisions() {
    return { revision: this.#state.scalars.revision, policyRevision: this.#state.scalars.policy };
  }

  #check(consistency: Consistency): void {
    if (consistency.type !== 'notOlderThan' && consistency.type !== 'exact') return;
    const { revision, compacted } = this.#state.scalars;
    if (consistency.revision > revision) throw new FutureRevisionError(consistency.revision, revision);
    if (consistency.type === 'exact' && consistency.revision < compacted) throw new CompactedError(compacted);
  }
}

class Stream implements WatchStream {
  readonly #frames: Uint8Array[] = [];
  readonly #credit: (bytes: number) => void;
  readonly #askProgress: () => void;
  readonly #onClose: () => void;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(credit: (bytes: number) => void, askProgress: () => void, onClose: () => void) {
    this.#credit = credit;
    this.#askProgress = askProgress;
    this.#onClose = onClose;
  }

  push(frame: Uint8Array): void {
    this.#frames.push(frame);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async next(): Promise<WatchEvent[] | undefined> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame !== undefined) {
        this.#credit(frame.length);
        const events = eventsOf(frame);
        if (events.length > 0) return events;
        continue;
      }
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  progress(): void {
    this.#askProgress();
  }

  close(): void {
    this.#frames.length = 0;
    this.#onClose();
    this.end();
  }
}

function eventsOf(frame: Uint8Array): WatchEvent[] {
  const decoded = decodeFrame(frame);
  if (decoded.type === 'started') return [];
  if (!('events' in decoded)) return [{ type: decoded.type, revision: decoded.revision }];
  return decoded.events.map((event) => ('record' in event ? { ...event, record: toPlain(event.record) } : event));
}

function plain(version: Version | undefined): StoredRecord | undefined {
  return version === undefined ? undefined : toPlain(decodeRecord(version.record));
}

/** The record as plain data that shares nothing, so that tests may compare and change it. */
function toPlain(record: StoredRecord): StoredRecord {
  const { tag, labels, fields, terms } = record.meta;
  return { ...record, value: record.value.slice(), meta: { labels, fields, terms, tag } };
}

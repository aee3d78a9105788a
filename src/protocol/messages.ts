/**
 * Requests of the Worker to a replica and their answers, as bodies of `fetch` calls to
 * `http://replica/TENANT/SHARD/ID/OPERATION`. Every answer begins with a status and the leader that the replica knows.
 */
import type {
  Consistency,
  GetResult,
  ListPage,
  ListRequest,
  ProposeResult,
  Revision,
  Selector,
  StoredRecord,
  WorkItem,
} from '../keyspace/types.ts';
import { Reader, Writer } from './bytes.ts';
import { LOOPS } from './commands.ts';
import { decodeRecord } from './records.ts';
import { readSelector, writeSelector } from './selectors.ts';

const CONSISTENCIES = ['linearizable', 'any', 'leader', 'notOlderThan', 'exact', 'turn'] as const;

/**
 * Why a replica could not answer. `notLeader`, `unavailable` and `overloaded` say that nothing was proposed;
 * `unknown` that a proposal may still commit; `notReplica` that the object has no identity and wrote nothing.
 */
export const STATUSES = [
  'ok',
  'notLeader',
  'unavailable',
  'overloaded',
  'unknown',
  'compacted',
  'future',
  'tooLarge',
  'notReplica',
  'malformed',
] as const;
export type Status = (typeof STATUSES)[number];

/** An answer's head; `payload` is for the decoder of the operation, empty unless `ok`. */
export interface Answer {
  status: Status;
  /** 0: none known. */
  leader: number;
  /** `compacted`: the compaction point. `future`: the replica's revision. */
  revision: Revision;
  payload: Uint8Array;
}

/** Begins an answer that an operation's encoder goes on with. */
export function answerWriter(leader: number, capacity = 256): Writer {
  return new Writer(capacity).u8(0).varint(leader);
}

/** Encodes a failure. */
export function encodeFailure(status: Exclude<Status, 'ok'>, leader: number, revision: Revision = 0): Uint8Array {
  return new Writer(16).u8(STATUSES.indexOf(status)).varint(leader).f64(revision).finish();
}

/** Reads the head of an answer. Throws RangeError on malformed input. */
export function decodeAnswer(bytes: Uint8Array): Answer {
  const reader = new Reader(bytes);
  const status = STATUSES[reader.u8()];
  if (status === undefined) throw new RangeError('unknown status');
  const leader = reader.varint();
  if (status === 'ok') return { status, leader, revision: 0, payload: reader.rest() };
  return { status, leader, revision: reader.f64(), payload: new Uint8Array(0) };
}

/** Writes how fresh a read must be. */
export function writeConsistency(writer: Writer, consistency: Consistency): void {
  writer.u8(CONSISTENCIES.indexOf(consistency.type));
  if ('revision' in consistency) writer.f64(consistency.revision);
}

/** Reads what {@link writeConsistency} wrote. */
export function readConsistency(reader: Reader): Consistency {
  const type = CONSISTENCIES[reader.u8()];
  if (type === undefined) throw new RangeError('unknown consistency');
  return type === 'notOlderThan' || type === 'exact' ? { type, revision: reader.f64() } : { type };
}

export interface GetRequest {
  consistency: Consistency;
  keys: string[];
}

/** Encodes a point read. */
export function encodeGet(request: GetRequest): Uint8Array {
  const writer = new Writer(128);
  writeConsistency(writer, request.consistency);
  return writer.strings(request.keys).finish();
}

/** Decodes a point read. */
export function decodeGet(bytes: Uint8Array): GetRequest {
  const reader = new Reader(bytes);
  return { consistency: readConsistency(reader), keys: reader.strings() };
}

/** Encodes the answer to a point read; records in stored form, in the order of the keys. */
export function encodeGetAnswer(
  leader: number,
  revision: Revision,
  policy: Revision,
  records: readonly (Uint8Array | undefined)[],
): Uint8Array {
  const writer = answerWriter(leader, sizeOf(records)).f64(revision).f64(policy).varint(records.length);
  for (const record of records) writeOptional(writer, record);
  return writer.finish();
}

/** Decodes the answer to a point read. */
export function decodeGetAnswer(payload: Uint8Array): GetResult {
  const reader = new Reader(payload);
  const revision = reader.f64();
  const policyRevision = reader.f64();
  return { records: repeat(reader, readOptional), revision, policyRevision };
}

/** Encodes a list. */
export function encodeList(request: ListRequest): Uint8Array {
  const writer = new Writer(256);
  writeConsistency(writer, request.consistency);
  writer
    .string(request.prefix)
    .string(request.after ?? '')
    .varint(request.limit);
  writer.string(request.term ?? '').u8(request.keysOnly === true ? 1 : 0);
  writeSelector(writer, request.selector);
  return writer.finish();
}

export interface ListQuery {
  consistency: Consistency;
  prefix: string;
  after: string | undefined;
  limit: number;
  term: string | undefined;
  keysOnly: boolean;
  selector: Selector | undefined;
}

/** Decodes a list. */
export function decodeList(bytes: Uint8Array): ListQuery {
  const reader = new Reader(bytes);
  return {
    consistency: readConsistency(reader),
    prefix: reader.string(),
    after: reader.string() || undefined,
    limit: reader.varint(),
    term: reader.string() || undefined,
    keysOnly: reader.u8() === 1,
    selector: readSelector(reader),
  };
}

/** Encodes a page; records in stored form. */
export function encodeListAnswer(
  leader: number,
  revision: Revision,
  policy: Revision,
  page: { records: readonly Uint8Array[]; more: boolean; remaining: number | undefined },
): Uint8Array {
  const writer = answerWriter(leader, sizeOf(page.records))
    .f64(revision)
    .f64(policy)
    .u8(page.more ? 1 : 0);
  writer.varint(page.remaining === undefined ? 0 : page.remaining + 1).varint(page.records.length);
  for (const record of page.records) writer.bytes(record);
  return writer.finish();
}

/** Decodes a page. */
export function decodeListAnswer(payload: Uint8Array): ListPage {
  const reader = new Reader(payload);
  const revision = reader.f64();
  const policyRevision = reader.f64();
  const more = reader.u8() === 1;
  const remaining = reader.varint();
  const records = repeat(reader, () => decodeRecord(reader.bytes()));
  const page = { records, revision, policyRevision, more };
  return remaining === 0 ? page : { ...page, remaining: remaining - 1 };
}

const OUTCOMES = ['done', 'failed', 'policyMoved', 'expired'] as const;

/** What became of a proposal, with records in stored form. */
export type ProposalOutcome =
  | { type: 'done'; revisions: Revision[]; previous: (Uint8Array | undefined)[] }
  | { type: 'failed'; failed: number; current: Uint8Array | undefined }
  | { type: 'policyMoved' }
  | { type: 'expired'; time: number };

/** The proposal's id is too old (or too far ahead of log time, which is `expired`) to tell whether it was applied before. */
export interface ExpiredProposal {
  expired: number;
}

/** Encodes the answer to a proposal. */
export function encodeProposeAnswer(leader: number, policy: Revision, outcome: ProposalOutcome): Uint8Array {
  const records = outcome.type === 'done' ? outcome.previous : outcome.type === 'failed' ? [outcome.current] : [];
  const writer = answerWriter(leader, sizeOf(records)).u8(OUTCOMES.indexOf(outcome.type)).f64(policy);
  if (outcome.type === 'failed') writer.varint(outcome.failed);
  if (outcome.type === 'expired') writer.f64(outcome.time);
  if (outcome.type === 'done')
    for (const revision of [outcome.revisions.length, ...outcome.revisions]) writer.f64(revision);
  for (const record of records) writeOptional(writer, record);
  return writer.finish();
}

/** Decodes the answer to a proposal. */
export function decodeProposeAnswer(payload: Uint8Array): ProposeResult | ExpiredProposal {
  const reader = new Reader(payload);
  const type = OUTCOMES[reader.u8()];
  const policyRevision = reader.f64();
  if (type === 'policyMoved') return { ok: false, policyMoved: true, policyRevision };
  if (type === 'failed') return { ok: false, failed: reader.varint(), current: readOptional(reader), policyRevision };
  if (type === 'expired') return { expired: reader.f64() };
  if (type === undefined) throw new RangeError('unknown outcome');
  const revisions = Array.from({ length: reader.f64() }, () => reader.f64());
  return { ok: true, revisions, previous: revisions.map(() => readOptional(reader)), policyRevision };
}

export type WorkRow = { id: number; loop: WorkItem['loop']; item: string };

/** Encodes outbox rows. */
export function encodeWorkAnswer(leader: number, rows: readonly WorkRow[]): Uint8Array {
  const writer = answerWriter(leader).varint(rows.length);
  for (const { id, loop, item } of rows) writer.f64(id).u8(LOOPS.indexOf(loop)).string(item);
  return writer.finish();
}

/** Decodes outbox rows. */
export function decodeWorkAnswer(payload: Uint8Array): WorkRow[] {
  const reader = new Reader(payload);
  return repeat(reader, () => {
    const id = reader.f64();
    const loop = LOOPS[reader.u8()];
    if (loop === undefined) throw new RangeError('unknown loop');
    return { id, loop, item: reader.string() };
  });
}

function sizeOf(records: readonly (Uint8Array | undefined)[]): number {
  let size = 64;
  for (const record of records) size += (record?.length ?? 0) + 8;
  return size;
}

function writeOptional(writer: Writer, record: Uint8Array | undefined): void {
  if (record === undefined) writer.varint(0);
  else writer.bytes(record);
}

function readOptional(reader: Reader): StoredRecord | undefined {
  const record = reader.bytes();
  return record.length === 0 ? undefined : decodeRecord(record);
}

function repeat<T>(reader: Reader, read: (reader: Reader) => T): T[] {
  const count = reader.varint();
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(read(reader));
  return items;
}

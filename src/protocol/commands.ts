/**
 * Log entries of the state machine.
 *
 *     level u8 | kind u8 | time f64 (ms, stamped by the leader, never falls) | payload
 *
 * The payload of a batch is made by the Worker and carried through unchanged. `level` is the version of the format:
 * before 2 the ids of proposals told no time, and are ignored.
 */
import type { Batch, Condition, Operation, Revision, WorkItem } from '../keyspace/types.ts';
import { Reader, Writer } from './bytes.ts';
import { encodeBody } from './records.ts';

export const COMMAND_LEVEL = 2;
/** The level of a new group: all code that is in use reads it. */
export const BASE_LEVEL = 2;
/** Bytes that name one proposal, so that a repeated one commits once: its stamp in seconds (u32), then random ones. */
export const PROPOSAL_ID_LENGTH = 12;
/** Log time in ms after its stamp for which a proposal's outcome is remembered; later it is refused. */
export const PROPOSAL_WINDOW_MS = 300_000;
/** How far ahead of log time a stamp may be. */
export const PROPOSAL_AHEAD_MS = 60_000;
const ENTRY_HEADER = 10;

/** The kinds of entries; a number once given is never used again. */
export const KIND = { batch: 1, expire: 2, compact: 3, level: 4 } as const;
/** The level that a kind came with, by its number. */
const SINCE: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 1, 4: 2 };

/** A put as replicas see it: the body is stored as it came. */
export type AppliedOperation =
  | { type: 'put'; key: string; body: Uint8Array; ttlSeconds: number; work: WorkItem[] }
  | { type: 'delete'; key: string; work: WorkItem[] }
  | { type: 'done'; id: number };

export interface BatchCommand {
  kind: 'batch';
  time: number;
  /** Latin-1 text of the id's bytes; empty: not to be remembered. */
  proposal: string;
  policyRevision: Revision | undefined;
  conditions: Condition[];
  operations: AppliedOperation[];
}

/** Records to delete because their time has come; those that changed since are left alone. */
export interface ExpireCommand {
  kind: 'expire';
  time: number;
  items: { key: string; revision: Revision }[];
}

/** Drops history up to a revision; log entries up to `logFloor` are held by every member. */
export interface CompactCommand {
  kind: 'compact';
  time: number;
  revision: Revision;
  logFloor: number;
}

/** Raises the feature level: all members read entries of that level. */
export interface LevelCommand {
  kind: 'level';
  time: number;
  level: number;
}

export type Command = BatchCommand | ExpireCommand | CompactCommand | LevelCommand;

/** A version of the format of entries: what one version of the code reads. */
export interface Format {
  /** The highest level that it reads and writes. */
  level: number;
  /** Throws RangeError for an entry of a higher level, and for one that its own level does not know. */
  decode(entry: Uint8Array): Command;
}

const CONDITIONS = ['absent', 'exists', 'revision', 'field'] as const;
const OPERATIONS = ['put', 'delete', 'done'] as const;
/** The control loops that work may be for, by their number on the wire. */
export const LOOPS = [
  'namespace',
  'garbage-collector',
  'clusterrole-aggregation',
  'customresourcedefinition',
  'resourcequota',
  'validatingadmissionpolicy-status',
  'apiservice',
  'certificatesigningrequest',
  'bootstraptoken',
] as const;

/** The id of a proposal made at a time in ms; `random` has 8 bytes. */
export function proposalId(time: number, random: Uint8Array): Uint8Array {
  const id = new Uint8Array(PROPOSAL_ID_LENGTH);
  new DataView(id.buffer).setUint32(0, Math.floor(time / 1000));
  id.set(random, 4);
  return id;
}

/** When an id was made, in ms, rounded down to a second; `id` as in {@link BatchCommand}. */
export function stampOf(id: string): number {
  let seconds = 0;
  for (let i = 0; i < 4; i++) seconds = seconds * 256 + id.charCodeAt(i);
  return seconds * 1000;
}

/** Encodes a proposal as the Worker sends it; `id` has {@link PROPOSAL_ID_LENGTH} bytes. */
export function encodeProposal(id: Uint8Array, batch: Batch, policyRevision: Revision | undefined): Uint8Array {
  let size = 256;
  for (const operation of batch.operations) size += operation.type === 'put' ? operation.value.length + 512 : 128;
  const writer = new Writer(size).raw(id).f64(policyRevision ?? -1);
  writer.varint(batch.conditions.length);
  for (const condition of batch.conditions) writeCondition(writer, condition);
  writer.varint(batch.operations.length);
  for (const operation of batch.operations) writeOperation(writer, operation);
  return writer.finish();
}

/** Makes a log entry of a payload, in the format of a level: the group's. */
export function encodeEntry(kind: number, time: number, payload: Uint8Array, level = BASE_LEVEL): Uint8Array {
  const entry = new Uint8Array(ENTRY_HEADER + payload.length);
  entry[0] = level;
  entry[1] = kind;
  new DataView(entry.buffer).setFloat64(2, time);
  entry.set(payload, ENTRY_HEADER);
  return entry;
}

/** Encodes the payload of an expiry. */
export function encodeExpire(items: ExpireCommand['items']): Uint8Array {
  const writer = new Writer(items.length * 64 + 8).varint(items.length);
  for (const item of items) writer.string(item.key).f64(item.revision);
  return writer.finish();
}

/** Encodes the payload of a compaction. */
export function encodeCompact(revision: Revision, logFloor: number): Uint8Array {
  return new Writer(16).f64(revision).f64(logFloor).finish();
}

/** Encodes the payload of a rise of the level. */
export function encodeLevel(level: number): Uint8Array {
  return new Writer(2).varint(level).finish();
}

/** Decodes a log entry. Bodies of puts are views of it. Throws RangeError for a format newer than this code. */
export function decodeCommand(entry: Uint8Array): Command {
  const reader = new Reader(entry);
  const level = reader.u8();
  if (level > COMMAND_LEVEL) throw new RangeError(`log entry has format level ${level}`);
  const kind = reader.u8();
  if (!(SINCE[kind]! <= level)) throw new RangeError(`log entry of level ${level} has unknown kind ${kind}`);
  const time = reader.f64();
  if (kind === KIND.batch) return readBatch(reader, level, time);
  if (kind === KIND.compact) return { kind: 'compact', time, revision: reader.f64(), logFloor: reader.f64() };
  if (kind === KIND.level) return { kind: 'level', time, level: reader.varint() };
  const items = list(reader, () => ({ key: reader.string(), revision: reader.f64() }));
  return { kind: 'expire', time, items };
}

/** The format of this code. */
export const FORMAT: Format = { level: COMMAND_LEVEL, decode: decodeCommand };

/** The keys that a proposal's payload writes or deletes, without decoding values. */
export function proposalKeys(payload: Uint8Array): string[] {
  const { operations } = readBatch(new Reader(payload), COMMAND_LEVEL, 0);
  return operations.flatMap((operation) => (operation.type === 'done' ? [] : [operation.key]));
}

function readBatch(reader: Reader, level: number, time: number): BatchCommand {
  const id = reader.raw(PROPOSAL_ID_LENGTH);
  const proposal = level < 2 ? '' : String.fromCharCode(...id);
  const policyRevision = reader.f64();
  return {
    kind: 'batch',
    time,
    proposal,
    policyRevision: policyRevision < 0 ? undefined : policyRevision,
    conditions: list(reader, () => readCondition(reader)),
    operations: list(reader, () => readOperation(reader)),
  };
}

function writeCondition(writer: Writer, condition: Condition): void {
  writer.u8(CONDITIONS.indexOf(condition.type)).string(condition.key);
  if (condition.type === 'revision') writer.f64(condition.revision);
  if (condition.type === 'field') writer.string(condition.field).string(condition.value);
}

function readCondition(reader: Reader): Condition {
  const type = CONDITIONS[reader.u8()];
  const key = reader.string();
  if (type === 'absent' || type === 'exists') return { type, key };
  if (type === 'revision') return { type, key, revision: reader.f64() };
  if (type === 'field') return { type, key, field: reader.string(), value: reader.string() };
  throw new RangeError('unknown condition');
}

function writeOperation(writer: Writer, operation: Operation): void {
  writer.u8(OPERATIONS.indexOf(operation.type));
  if (operation.type === 'done') {
    writer.f64(operation.id);
    return;
  }
  if (operation.type === 'put') {
    writer
      .bytes(encodeBody(operation.key, operation.meta, operation.value))
      .varint(Math.ceil(operation.ttlSeconds ?? 0));
  } else writer.string(operation.key);
  const work = operation.work ?? [];
  writer.varint(work.length);
  for (const item of work) {
    writer
      .u8(LOOPS.indexOf(item.loop))
      .string(item.item)
      .u8(item.ifTerm === undefined ? 0 : 1);
    if (item.ifTerm !== undefined) writer.string(item.ifTerm);
  }
}

function readOperation(reader: Reader): AppliedOperation {
  const type = OPERATIONS[reader.u8()];
  if (type === 'done') return { type, id: reader.f64() };
  if (type === 'delete') return { type, key: reader.string(), work: list(reader, () => readWork(reader)) };
  if (type !== 'put') throw new RangeError('unknown operation');
  const body = reader.bytes();
  const key = new Reader(body).string();
  return { type, key, body, ttlSeconds: reader.varint(), work: list(reader, () => readWork(reader)) };
}

function readWork(reader: Reader): WorkItem {
  const loop = LOOPS[reader.u8()];
  if (loop === undefined) throw new RangeError('unknown loop');
  const item = reader.string();
  return reader.u8() === 1 ? { loop, item, ifTerm: reader.string() } : { loop, item };
}

function list<T>(reader: Reader, read: () => T): T[] {
  const count = reader.varint();
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(read());
  return items;
}

/**
 * Frames of the WebSocket between Worker and replica: one socket per watch. The Worker sends a spec, then credit (bytes
 * of frames consumed) and requests for progress; the replica sends `started`, then state and events, each frame within
 * credit.
 */
import type { Consistency, Revision, Selector, WatchEvent } from '../keyspace/types.ts';
import { Reader, Writer } from './bytes.ts';
import { readConsistency, writeConsistency } from './messages.ts';
import { decodeRecord } from './records.ts';
import { readSelector, writeSelector } from './selectors.ts';

/** Bytes that a replica may send ahead of the Worker's consumption. */
export const WATCH_WINDOW = 1 << 20;
/** A watch that cannot start is closed with this code plus the number of its status; the reason is a revision. */
export const WATCH_CLOSE = 4000;
/** Text messages by which the Worker learns that a silent replica still lives; they do not wake it. */
export const PING = 'ping';
export const PONG = 'pong';

/** Where a watch starts. `state` resumes a broken `initial`: the state at `revision`, keys after `after` only. */
export type WatchStart =
  | { type: 'after'; revision: Revision }
  | { type: 'initial'; consistency: Consistency }
  | { type: 'now'; consistency: Consistency }
  | { type: 'state'; revision: Revision; after: string };

export interface WatchSpec {
  prefix: string;
  selector?: Selector;
  start: WatchStart;
}

/** What a frame of the replica says. `through`: nothing up to there is missing. */
export type WatchFrame =
  | { type: 'started'; revision: Revision }
  | { type: 'state'; revision: Revision; events: WatchEvent[] }
  | { type: 'events'; through: Revision; events: WatchEvent[] }
  | { type: 'synced' | 'progress' | 'compacted'; revision: Revision };

const FRAMES = ['started', 'state', 'events', 'synced', 'progress', 'compacted'] as const;
const EVENTS = ['added', 'modified', 'deleted'] as const;
const STARTS = ['after', 'initial', 'now', 'state'] as const;
/** Bytes of a frame before its events. */
const FRAME_HEADER = 9;

export type EventType = (typeof EVENTS)[number];

/** Encodes one event; the bytes may be shared by any number of frames. */
export function encodeEvent(type: EventType, record: Uint8Array): Uint8Array {
  return new Writer(record.length + 8).u8(EVENTS.indexOf(type)).bytes(record).finish();
}

/** Encodes a frame; `events` come from {@link encodeEvent}. */
export function encodeFrame(
  type: WatchFrame['type'],
  revision: Revision,
  events: readonly Uint8Array[] = [],
): Uint8Array {
  let size = FRAME_HEADER;
  for (const event of events) size += event.length;
  const frame = new Uint8Array(size);
  frame[0] = FRAMES.indexOf(type);
  new DataView(frame.buffer).setFloat64(1, revision);
  let at = FRAME_HEADER;
  for (const event of events) {
    frame.set(event, at);
    at += event.length;
  }
  return frame;
}

/** Decodes a frame of the replica. Records are views of it. Throws RangeError on malformed input. */
export function decodeFrame(frame: Uint8Array): WatchFrame {
  const reader = new Reader(frame);
  const type = FRAMES[reader.u8()];
  const revision = reader.f64();
  if (type === 'state') return { type, revision, events: readEvents(reader) };
  if (type === 'events') return { type, through: revision, events: readEvents(reader) };
  if (type === undefined) throw new RangeError('unknown watch frame');
  return { type, revision };
}

function readEvents(reader: Reader): WatchEvent[] {
  const events: WatchEvent[] = [];
  while (!reader.done) {
    const type = EVENTS[reader.u8()];
    if (type === undefined) throw new RangeError('unknown event');
    events.push({ type, record: decodeRecord(reader.bytes()) });
  }
  return events;
}

/** Encodes what the Worker sends first on a socket. */
export function encodeSpec(spec: WatchSpec): Uint8Array {
  const writer = new Writer().string(spec.prefix);
  writeSelector(writer, spec.selector);
  writer.u8(STARTS.indexOf(spec.start.type));
  if (spec.start.type === 'after') writer.f64(spec.start.revision);
  else if (spec.start.type === 'state') writer.f64(spec.start.revision).string(spec.start.after);
  else writeConsistency(writer, spec.start.consistency);
  return writer.finish();
}

/** Decodes what the Worker sends first. Throws RangeError on malformed input. */
export function decodeSpec(bytes: Uint8Array): WatchSpec {
  const reader = new Reader(bytes);
  const prefix = reader.string();
  const selector = readSelector(reader);
  const type = STARTS[reader.u8()];
  if (type === undefined) throw new RangeError('unknown start of a watch');
  const base = selector === undefined ? { prefix } : { prefix, selector };
  if (type === 'after') return { ...base, start: { type, revision: reader.f64() } };
  if (type === 'state') return { ...base, start: { type, revision: reader.f64(), after: reader.string() } };
  return { ...base, start: { type, consistency: readConsistency(reader) } };
}

/** What the Worker sends after the spec: credit in bytes, or a request for a progress frame. */
export type WatchControl = { type: 'credit'; bytes: number } | { type: 'progress' };

/** Encodes a control message of the Worker. */
export function encodeControl(control: WatchControl): Uint8Array {
  return control.type === 'progress' ? new Uint8Array([1]) : new Writer(16).u8(0).varint(control.bytes).finish();
}

/** Decodes a control message of the Worker. */
export function decodeControl(bytes: Uint8Array): WatchControl {
  const reader = new Reader(bytes);
  return reader.u8() === 1 ? { type: 'progress' } : { type: 'credit', bytes: reader.varint() };
}

import { ByteReader, ByteWriter, CodecError } from './bytes.ts';
import type { Entry, EntryType, Membership, Message, MessageType } from './types.ts';

export { CodecError } from './bytes.ts';

/**
 * The version of every frame, stored entry and membership. A group runs mixed versions during a deployment: a
 * higher one is written only once all members are known to read it.
 */
const VERSION = 1;

const ENTRY_TYPES: readonly EntryType[] = ['normal', 'membership'];

/** How a value of a field is written and read. */
interface Kind {
  write(out: ByteWriter, value: never): void;
  read(input: ByteReader): unknown;
}

const uint: Kind = { write: (out, value: number) => out.uint(value), read: (input) => input.uint() };
const flag: Kind = { write: (out, value: boolean) => out.byte(value ? 1 : 0), read: (input) => input.flag() };
const entries: Kind = {
  write: (out, value: readonly Entry[]) => writeList(out, value, writeEntry),
  read: (input) => readList(input, readEntry),
};
const snapshot: Kind = {
  write: (out, { index, term, membership }: { index: number; term: number; membership: Membership }) => {
    out.uint(index);
    out.uint(term);
    writeMembership(out, membership);
  },
  read: (input) => ({ index: input.uint(), term: input.uint(), membership: readMembership(input) }),
};

type Layout<T extends MessageType> = readonly (readonly [
  Exclude<keyof Extract<Message, { type: T }>, 'type' | 'from' | 'to' | 'term'>,
  Kind,
])[];

/** The fields of each message after from, to and term, in the order in which they are written. */
const LAYOUTS: { readonly [T in MessageType]: Layout<T> } = {
  'pre-vote': [
    ['lastIndex', uint],
    ['lastTerm', uint],
  ],
  'pre-vote-response': [['granted', flag]],
  vote: [
    ['lastIndex', uint],
    ['lastTerm', uint],
    ['transfer', flag],
  ],
  'vote-response': [['granted', flag]],
  append: [
    ['prevIndex', uint],
    ['prevTerm', uint],
    ['commit', uint],
    ['pipelined', flag],
    ['entries', entries],
  ],
  'append-response': [
    ['index', uint],
    ['rejected', flag],
    ['hintIndex', uint],
    ['hintTerm', uint],
    ['commit', uint],
  ],
  heartbeat: [
    ['commit', uint],
    ['round', uint],
    ['quiesce', flag],
  ],
  'heartbeat-response': [
    ['round', uint],
    ['commit', uint],
  ],
  snapshot: [['snapshot', snapshot]],
  'timeout-now': [],
  'read-index': [['context', uint]],
  'read-index-response': [
    ['context', uint],
    ['index', uint],
    ['rejected', flag],
  ],
};

/** The byte that stands for each type; a number once given is never used again. */
const TYPES: readonly MessageType[] = [
  'pre-vote',
  'pre-vote-response',
  'vote',
  'vote-response',
  'append',
  'append-response',
  'heartbeat',
  'heartbeat-response',
  'snapshot',
  'timeout-now',
  'read-index',
  'read-index-response',
];

/** Encodes messages for one peer into one frame: a version byte, then each message. Throws RangeError on a bad number. */
export function encodeFrame(messages: readonly Message[]): Uint8Array {
  let size = 1;
  for (const message of messages) size += 64 + (message.type === 'append' ? entriesSize(message.entries) : 0);
  const out = new ByteWriter(size);
  out.byte(VERSION);
  for (const message of messages) writeMessage(out, message);
  return out.finish();
}

/** Reverses encodeFrame. Throws CodecError on bytes that are no frame of a known version. Entry data shares `bytes`. */
export function decodeFrame(bytes: Uint8Array): Message[] {
  const input = openVersioned(bytes);
  const messages: Message[] = [];
  while (!input.done) messages.push(readMessage(input));
  return messages;
}

/** Encodes an entry for storage: version, type, index, term, data. */
export function encodeEntry(entry: Entry): Uint8Array {
  const out = new ByteWriter(entriesSize([entry]));
  out.byte(VERSION);
  writeEntry(out, entry);
  return out.finish();
}

/** Reverses encodeEntry; the data shares `bytes`. Throws CodecError. */
export function decodeEntry(bytes: Uint8Array): Entry {
  return readWhole(bytes, readEntry);
}

/** Encodes a membership, for storage and as the data of a membership entry. */
export function encodeMembership(membership: Membership): Uint8Array {
  const out = new ByteWriter(64);
  out.byte(VERSION);
  writeMembership(out, membership);
  return out.finish();
}

/** Reverses encodeMembership. Throws CodecError. */
export function decodeMembership(bytes: Uint8Array): Membership {
  return readWhole(bytes, readMembership);
}

function entriesSize(list: readonly Entry[]): number {
  let size = 0;
  for (const entry of list) size += 32 + entry.data.length;
  return size;
}

function writeMessage(out: ByteWriter, message: Message): void {
  out.byte(TYPES.indexOf(message.type));
  out.uint(message.from);
  out.uint(message.to);
  out.uint(message.term);
  const values = message as unknown as Record<string, never>;
  for (const [field, kind] of LAYOUTS[message.type]) kind.write(out, values[field]!);
}

function readMessage(input: ByteReader): Message {
  const type = input.oneOf(TYPES);
  const message: Record<string, unknown> = { type, from: input.uint(), to: input.uint(), term: input.uint() };
  for (const [field, kind] of LAYOUTS[type]) message[field] = kind.read(input);
  return message as unknown as Message;
}

function writeEntry(out: ByteWriter, { type, index, term, data }: Entry): void {
  out.byte(ENTRY_TYPES.indexOf(type));
  out.uint(index);
  out.uint(term);
  out.bytes(data);
}

function readEntry(input: ByteReader): Entry {
  const type = input.oneOf(ENTRY_TYPES);
  return { index: input.uint(), term: input.uint(), type, data: input.bytes() };
}

function writeMembership(out: ByteWriter, membership: Membership): void {
  const { voters, learners, votersOutgoing, learnersNext, autoLeave } = membership;
  for (const ids of [voters, learners, votersOutgoing, learnersNext]) writeList(out, ids, (_, id) => out.uint(id));
  out.byte(autoLeave ? 1 : 0);
}

function readMembership(input: ByteReader): Membership {
  const ids = () => readList(input, () => input.uint());
  return { voters: ids(), learners: ids(), votersOutgoing: ids(), learnersNext: ids(), autoLeave: input.flag() };
}

function writeList<T>(out: ByteWriter, list: readonly T[], write: (out: ByteWriter, item: T) => void): void {
  out.uint(list.length);
  for (const item of list) write(out, item);
}

function readList<T>(input: ByteReader, read: (input: ByteReader) => T): T[] {
  const list: T[] = [];
  for (let left = input.uint(); left > 0; left--) list.push(read(input));
  return list;
}

function openVersioned(bytes: Uint8Array): ByteReader {
  const input = new ByteReader(bytes);
  const version = input.byte();
  if (version !== VERSION) throw new CodecError(`version ${version} is not known`);
  return input;
}

function readWhole<T>(bytes: Uint8Array, read: (input: ByteReader) => T): T {
  const input = openVersioned(bytes);
  const value = read(input);
  if (!input.done) throw new CodecError('bytes are left over');
  return value;
}

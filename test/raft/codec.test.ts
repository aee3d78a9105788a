import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CodecError,
  decodeEntry,
  decodeFrame,
  decodeMembership,
  encodeEntry,
  encodeFrame,
  encodeMembership,
} from '../../durable-objects/raft/codec.ts';
import type { Entry, Membership, Message } from '../../durable-objects/raft/types.ts';

const uint = fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat());
const flag = fc.boolean();
const ids = fc.array(uint, { maxLength: 4 });
const entry: fc.Arbitrary<Entry> = fc.record({
  index: uint,
  term: uint,
  type: fc.constantFrom('normal', 'membership'),
  data: fc.uint8Array({ maxLength: 200 }),
});
const membership: fc.Arbitrary<Membership> = fc.record({
  voters: ids,
  learners: ids,
  votersOutgoing: ids,
  learnersNext: ids,
  autoLeave: flag,
});
const snapshot = fc.record({ index: uint, term: uint, membership });

function message<T extends Message['type'], F extends Record<string, unknown>>(
  type: T,
  fields: { [K in keyof F]: fc.Arbitrary<F[K]> },
): fc.Arbitrary<Message> {
  return fc.record({ type: fc.constant(type), from: uint, to: uint, term: uint, ...fields }) as fc.Arbitrary<Message>;
}

const anyMessage = fc.oneof(
  message('pre-vote', { lastIndex: uint, lastTerm: uint }),
  message('pre-vote-response', { granted: flag }),
  message('vote', { lastIndex: uint, lastTerm: uint, transfer: flag }),
  message('vote-response', { granted: flag }),
  message('append', {
    prevIndex: uint,
    prevTerm: uint,
    commit: uint,
    pipelined: flag,
    entries: fc.array(entry, { maxLength: 5 }),
  }),
  message('append-response', { index: uint, rejected: flag, hintIndex: uint, hintTerm: uint, commit: uint }),
  message('heartbeat', { commit: uint, round: uint, quiesce: flag }),
  message('heartbeat-response', { round: uint, commit: uint }),
  message('snapshot', { snapshot }),
  message('timeout-now', {}),
  message('read-index', { context: uint }),
  message('read-index-response', { context: uint, index: uint, rejected: flag }),
);

describe('frames', () => {
  test('come back as they were', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 6 }), (messages) => {
        expect(decodeFrame(encodeFrame(messages))).toEqual(messages);
      }),
      { numRuns: 2000 },
    );
  });

  test('that are damaged give a CodecError or other messages, nothing else', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 3 }), fc.nat(), fc.nat({ max: 255 }), (messages, at, value) => {
        const bytes = encodeFrame(messages).slice();
        bytes[at % bytes.length] = value;
        tolerateCodecError(() => decodeFrame(bytes));
        tolerateCodecError(() => decodeFrame(bytes.subarray(0, at % bytes.length)));
      }),
      { numRuns: 2000 },
    );
  });

  test('of another version, or empty, are refused', () => {
    expect(() => decodeFrame(new Uint8Array([2]))).toThrow(CodecError);
    expect(() => decodeFrame(new Uint8Array(0))).toThrow(CodecError);
  });

  test('keep their bytes from version to version', () => {
    const append: Message = {
      type: 'append',
      from: 1,
      to: 2,
      term: 3,
      prevIndex: 128,
      prevTerm: 2,
      commit: 100,
      pipelined: true,
      entries: [{ index: 129, term: 3, type: 'normal', data: new Uint8Array([7, 8]) }],
    };
    expect([...encodeFrame([append])]).toEqual([1, 4, 1, 2, 3, 128, 1, 2, 100, 1, 1, 0, 129, 1, 3, 2, 7, 8]);
  });
});

test('entries come back as they were', () => {
  fc.assert(
    fc.property(entry, (value) => {
      expect(decodeEntry(encodeEntry(value))).toEqual(value);
    }),
  );
});

test('memberships come back as they were', () => {
  fc.assert(
    fc.property(membership, (value) => {
      expect(decodeMembership(encodeMembership(value))).toEqual(value);
    }),
  );
});

test('bytes that are left over are refused', () => {
  const bytes = encodeMembership({ voters: [1], learners: [], votersOutgoing: [], learnersNext: [], autoLeave: false });
  expect(() => decodeMembership(new Uint8Array([...bytes, 0]))).toThrow(CodecError);
});

test('numbers that do not fit are refused when encoding', () => {
  expect(() => encodeEntry({ index: -1, term: 0, type: 'normal', data: new Uint8Array() })).toThrow(RangeError);
  expect(() => encodeEntry({ index: 2 ** 53, term: 0, type: 'normal', data: new Uint8Array() })).toThrow(RangeError);
});

function tolerateCodecError(decode: () => unknown): void {
  try {
    decode();
  } catch (error) {
    expect(error).toBeInstanceOf(CodecError);
  }
}

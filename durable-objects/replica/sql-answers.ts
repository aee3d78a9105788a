import { Reader, Writer } from '../../src/protocol/bytes.ts';
import { PROPOSAL_ID_LENGTH } from '../../src/protocol/commands.ts';
import type { Answered } from '../keyspace/outcomes.ts';

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (unit) => unit.charCodeAt(0));
}

/** The column `proposal` of a version: id, then the number of versions that it made as a varint. */
export function proposalBytes(id: string, made: number): Uint8Array {
  return new Writer(16).raw(bytesOf(id)).varint(made).finish();
}

/** Rows of the time before outcomes were remembered have no number: 0. */
export function readProposal(bytes: Uint8Array): { id: string; made: number } {
  if (bytes.length < PROPOSAL_ID_LENGTH) return { id: '', made: 0 };
  const reader = new Reader(bytes);
  return { id: latin1(reader.raw(PROPOSAL_ID_LENGTH)), made: reader.done ? 0 : reader.varint() };
}

/** Answers to proposals in one value. */
export function answersBytes(answers: readonly Answered[]): Uint8Array {
  const writer = new Writer(answers.length * 24);
  for (const { id, answer } of answers) {
    writer.raw(bytesOf(id)).u8(answer.type === 'done' ? 0 : 1);
    if (answer.type === 'done') writer.f64(answer.first).varint(answer.made);
    else writer.f64(answer.revision).varint(answer.failed);
  }
  return writer.finish();
}

/** Reverses {@link answersBytes}. */
export function* readAnswers(bytes: Uint8Array): Iterable<Answered> {
  const reader = new Reader(bytes);
  while (!reader.done) {
    const id = latin1(reader.raw(PROPOSAL_ID_LENGTH));
    const done = reader.u8() === 0;
    const revision = reader.f64();
    const count = reader.varint();
    if (done) yield { id, answer: { type: 'done', first: revision, made: count } };
    else yield { id, answer: { type: 'failed', failed: count, revision } };
  }
}

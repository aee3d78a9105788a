import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Condition, Operation, RecordMeta, Requirement, WorkItem } from '../../src/keyspace/types.ts';
import { Reader, Writer } from '../../src/protocol/bytes.ts';
import { decodeCommand, encodeEntry, encodeProposal, KIND, PROPOSAL_ID_LENGTH } from '../../src/protocol/commands.ts';
import {
  decodeAnswer,
  decodeGetAnswer,
  decodeList,
  decodeListAnswer,
  decodeProposeAnswer,
  encodeFailure,
  encodeGetAnswer,
  encodeList,
  encodeListAnswer,
  encodeProposeAnswer,
} from '../../src/protocol/messages.ts';
import { decodeRecord, encodeBody, stampRecord, withoutValue } from '../../src/protocol/records.ts';
import { decodeFrame, decodeSpec, encodeEvent, encodeFrame, encodeSpec } from '../../src/protocol/watch.ts';

const revision = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 200 }), fc.constant('__proto__'));
const value = fc.uint8Array({ maxLength: 300 });
const strings = fc.dictionary(text, text, { noNullPrototype: true });
const meta: fc.Arbitrary<RecordMeta> = fc.record({
  labels: strings,
  fields: strings,
  terms: fc.array(text),
  tag: fc.record({ storageVersion: text, schema: fc.nat(), typeMetaEnd: fc.nat(), resourceVersionAt: fc.nat() }),
});
const plainMeta = ({ labels, fields, terms, tag }: RecordMeta) => ({ labels, fields, terms, tag });
const work: fc.Arbitrary<WorkItem> = fc.record(
  { loop: fc.constantFrom('namespace' as const, 'garbage-collector' as const), item: text, ifTerm: text },
  { requiredKeys: ['loop', 'item'] },
);
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ type: fc.constantFrom('absent' as const, 'exists' as const), key: text }),
  fc.record({ type: fc.constant('revision' as const), key: text, revision }),
  fc.record({ type: fc.constant('field' as const), key: text, field: text, value: text }),
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ type: fc.constant('put' as const), key: text, value, meta, ttlSeconds: fc.nat(), work: fc.array(work) }),
  fc.record({ type: fc.constant('delete' as const), key: text, work: fc.array(work) }),
  fc.record({ type: fc.constant('done' as const), id: fc.nat() }),
);
const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({ op: fc.constantFrom('in' as const, 'notIn' as const), key: text, values: fc.array(text) }),
  fc.record({ op: fc.constantFrom('exists' as const, 'notExists' as const), key: text }),
  fc.record({ op: fc.constantFrom('gt' as const, 'lt' as const), key: text, value: fc.integer() }),
);
const selector = fc.record({ labels: fc.array(requirement), fields: fc.array(requirement) });
const record = fc
  .tuple(text, meta, value, revision, revision)
  .map(([key, m, v, created, modified]) => stampRecord(encodeBody(key, m, v), created, modified));

describe('binary codec', () => {
  it('keeps primitives', () => {
    fc.assert(
      fc.property(revision, fc.double(), text, value, (integer, double, string, bytes) => {
        const reader = new Reader(new Writer(1).varint(integer).f64(double).string(string).bytes(bytes).finish());
        expect([reader.varint(), reader.f64(), reader.string(), reader.bytes()]).toEqual([
          integer,
          double,
          string,
          bytes,
        ]);
        expect(reader.done).toBe(true);
      }),
    );
  });

  it('keeps records', () => {
    fc.assert(
      fc.property(text, meta, value, revision, revision, (key, m, v, createRevision, modRevision) => {
        const stored = stampRecord(encodeBody(key, m, v), createRevision, modRevision);
        const decoded = decodeRecord(stored);
        expect({ ...decoded, meta: plainMeta(decoded.meta) }).toEqual({
          key,
          meta: m,
          value: v,
          createRevision,
          modRevision,
        });
        expect(decodeRecord(withoutValue(stored)).value.length).toBe(0);
      }),
    );
  });

  it('keeps proposals', () => {
    const id = new Uint8Array(PROPOSAL_ID_LENGTH).fill(200);
    fc.assert(
      fc.property(fc.array(condition), fc.array(operation), fc.option(revision), (conditions, operations, policy) => {
        const payload = encodeProposal(id, { conditions, operations }, policy ?? undefined);
        const command = decodeCommand(encodeEntry(KIND.batch, 42, payload));
        if (command.kind !== 'batch') throw new Error(command.kind);
        expect(command).toMatchObject({ time: 42, proposal: '\u00c8'.repeat(12), conditions });
        expect(command.policyRevision).toBe(policy ?? undefined);
        const expected = operations.map((o) => {
          if (o.type !== 'put') return o;
          return {
            type: 'put',
            key: o.key,
            ttlSeconds: o.ttlSeconds,
            work: o.work,
            body: encodeBody(o.key, o.meta, o.value),
          };
        });
        expect(command.operations).toEqual(expected);
      }),
    );
  });

  it('keeps lists and their selectors', () => {
    fc.assert(
      fc.property(text, selector, fc.nat(), revision, fc.boolean(), (prefix, chosen, limit, at, keysOnly) => {
        const request = { prefix, selector: chosen, limit, keysOnly, after: 'a', term: 't' };
        const consistency = { type: 'exact' as const, revision: at };
        expect(decodeList(encodeList({ ...request, consistency }))).toEqual({ ...request, consistency });
      }),
    );
  });

  it('keeps answers', () => {
    fc.assert(
      fc.property(fc.array(fc.option(record)), revision, revision, fc.nat(), (some, now, policy, leader) => {
        const records = some.map((bytes) => bytes ?? undefined);
        const got = decodeAnswer(encodeGetAnswer(leader, now, policy, records));
        expect(got).toMatchObject({ status: 'ok', leader });
        const result = decodeGetAnswer(got.payload);
        expect(result).toMatchObject({ revision: now, policyRevision: policy });
        expect(result.records.map((found) => found?.key)).toEqual(
          records.map((bytes) => bytes && decodeRecord(bytes).key),
        );
        const done = { type: 'done' as const, revisions: records.map((_, i) => i), previous: records };
        const proposed = decodeProposeAnswer(decodeAnswer(encodeProposeAnswer(leader, policy, done)).payload);
        expect(proposed).toMatchObject({ ok: true, revisions: done.revisions, policyRevision: policy });
        const page = { records: records.filter((bytes) => bytes !== undefined), more: true, remaining: 7 };
        const listed = decodeListAnswer(decodeAnswer(encodeListAnswer(leader, now, policy, page)).payload);
        expect(listed).toMatchObject({ more: true, remaining: 7, revision: now });
        expect(listed.records.length).toBe(page.records.length);
      }),
    );
    expect(decodeAnswer(encodeFailure('compacted', 2, 9))).toMatchObject({
      status: 'compacted',
      leader: 2,
      revision: 9,
    });
  });

  it('keeps watch specs and frames', () => {
    const start = { type: 'state' as const, revision: 3, after: '/registry/pods/n/a' };
    fc.assert(
      fc.property(text, selector, fc.array(record, { minLength: 1 }), revision, (prefix, chosen, records, through) => {
        expect(decodeSpec(encodeSpec({ prefix, selector: chosen, start }))).toEqual({
          prefix,
          selector: chosen,
          start,
        });
        const frame = decodeFrame(
          encodeFrame(
            'events',
            through,
            records.map((bytes) => encodeEvent('deleted', bytes)),
          ),
        );
        expect(frame).toMatchObject({ type: 'events', through });
        expect('events' in frame && frame.events.map((event) => 'record' in event && event.record.key)).toEqual(
          records.map((bytes) => decodeRecord(bytes).key),
        );
      }),
    );
  });

  it('refuses truncated input with RangeError', () => {
    const id = new Uint8Array(PROPOSAL_ID_LENGTH);
    const batch = { conditions: [], operations: [{ type: 'delete' as const, key: '/registry/pods/n/a' }] };
    const entry = encodeEntry(KIND.batch, 1, encodeProposal(id, batch, 5));
    for (let length = 0; length < entry.length; length++) {
      expect(() => decodeCommand(entry.subarray(0, length))).toThrow(RangeError);
    }
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeChunk,
  decodeStateRequest,
  encodeChunk,
  encodeRow,
  encodeStateRequest,
  type StateChunk,
  type StateRow,
} from '../../durable-objects/replica/chunks.ts';
import { decodeRowRequest, encodeRowRequest } from '../../durable-objects/replica/repair.ts';
import { decodeReport, encodeReport } from '../../durable-objects/replica/reports.ts';

const uint = fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat());
const ids = fc.array(uint, { maxLength: 4 });
const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((value) => value.isWellFormed());
const record = fc.uint8Array({ maxLength: 50 });
const position = fc.record({ revision: uint, offset: uint, rest: uint });
const version = fc.record({
  revision: uint,
  key: text,
  previous: uint,
  deleted: fc.boolean(),
  expires: uint,
  proposal: text,
  made: uint,
  record,
  checksum: uint,
});
const row = fc.oneof(
  fc.record({ type: fc.constant('version'), version, offset: uint, length: uint }),
  fc.record({ type: fc.constant('work'), row: fc.record({ id: uint, loop: text, item: text }) }),
) as fc.Arbitrary<StateRow>;
const scalars = fc.record({
  applied: uint,
  revision: uint,
  compacted: uint,
  policy: uint,
  time: uint,
  nextWork: uint,
  logFloor: uint,
  level: uint,
  digest: uint,
});
const membership = fc.record({
  voters: ids,
  learners: ids,
  votersOutgoing: ids,
  learnersNext: ids,
  autoLeave: fc.boolean(),
});
const head = fc.record({ index: uint, term: uint, membership, highestId: uint, scalars });
const chunk: fc.Arbitrary<StateChunk> = fc.record({
  head,
  from: position,
  next: position,
  last: fc.boolean(),
  rows: fc.array(row, { maxLength: 5 }),
});
const encoded = ({ rows, ...rest }: StateChunk) => encodeChunk(rest, rows.map(encodeRow)).slice();

describe('what replicas send each other beside messages', () => {
  it('chunks of state come back as they were', () => {
    fc.assert(
      fc.property(chunk, (value) => {
        expect(decodeChunk(encoded(value))).toEqual(value);
      }),
    );
  });

  it('chunks that are damaged or cut off are refused, wherever that is', () => {
    fc.assert(
      fc.property(chunk, fc.nat(), fc.integer({ min: 1, max: 255 }), (value, at, flip) => {
        const bytes = encoded(value);
        const place = at % bytes.length;
        expect(() => decodeChunk(bytes.subarray(0, place))).toThrow(RangeError);
        bytes[place]! ^= flip;
        expect(() => decodeChunk(bytes)).toThrow(RangeError);
      }),
    );
  });

  it('requests for state come back as they were; anything else is refused', () => {
    fc.assert(
      fc.property(fc.record({ index: uint, from: position }), record, (request, noise) => {
        expect(decodeStateRequest(encodeStateRequest(request))).toEqual(request);
        for (const other of [noise, new TextEncoder().encode('null'), new TextEncoder().encode('{"index":1}')])
          expect(() => decodeStateRequest(other)).toThrow(RangeError);
      }),
    );
  });

  it('requests for rows come back as they were', () => {
    fc.assert(
      fc.property(fc.record({ place: fc.constantFrom('versions', 'log'), id: uint }), (request) => {
        expect(decodeRowRequest(encodeRowRequest(request))).toEqual(request);
      }),
    );
  });

  it('reports come back as they were, also with what later versions add', () => {
    const checkpoint = fc.option(fc.record({ index: fc.integer({ min: 1 }), digest: uint }), { nil: undefined });
    fc.assert(
      fc.property(fc.record({ level: uint, checkpoint, confirmed: checkpoint }), record, (report, more) => {
        expect(decodeReport(new Uint8Array([...encodeReport(report), ...more]))).toEqual(report);
      }),
    );
  });
});

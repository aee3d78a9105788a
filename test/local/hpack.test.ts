import { expect, test } from 'vitest';
import { CompressionError, encodeField, HpackDecoder } from '../../src/local/front/hpack.ts';

const decoder = () => new HpackDecoder<[string, string]>((name, value) => [name, value]);

function decode(into: HpackDecoder<[string, string]>, hex: string): [string, string][] {
  const block = Buffer.from(hex, 'hex');
  const fields: [string, string][] = [];
  into.decode(block, 0, block.length, (field) => fields.push(field));
  return fields;
}

const requests: [string, string][][] = [
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'www.example.com'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'www.example.com'],
    ['cache-control', 'no-cache'],
  ],
  [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/index.html'],
    [':authority', 'www.example.com'],
    ['custom-key', 'custom-value'],
  ],
];

test('requests of RFC 7541 C.3, without Huffman coding', () => {
  const own = decoder();
  expect(decode(own, '828684410f7777772e6578616d706c652e636f6d')).toEqual(requests[0]);
  expect(decode(own, '828684be58086e6f2d6361636865')).toEqual(requests[1]);
  expect(decode(own, '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565')).toEqual(requests[2]);
});

test('requests of RFC 7541 C.4, with Huffman coding', () => {
  const own = decoder();
  expect(decode(own, '828684418cf1e3c2e5f23a6ba0ab90f4ff')).toEqual(requests[0]);
  expect(decode(own, '828684be5886a8eb10649cbf')).toEqual(requests[1]);
  expect(decode(own, '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf')).toEqual(requests[2]);
});

test('what the encoder writes is read back', () => {
  const fields: [string, string][] = [
    [':status', '200'],
    [':status', '418'],
    ['content-type', 'application/json'],
    ['audit-id', 'x'.repeat(300)],
    ['warning', '299 - "\u00e9"'],
  ];
  const block = Buffer.concat(fields.map(([name, value]) => encodeField(name, value)));
  expect(decode(decoder(), block.toString('hex'))).toEqual(fields);
});

test.each([
  ['an index in neither table', 'c0'],
  ['index 0', '80'],
  ['a string that ends early', '400a6375'],
  ['a table larger than allowed', '3fe23f'],
  ['an integer without end', '7fffffffffff'],
  ['padding that is not the end of a code', '4082000000'],
])('%s is refused', (_title, hex) => {
  expect(() => decode(decoder(), hex)).toThrow(CompressionError);
});

test('entries leave the table when it shrinks', () => {
  const own = decoder();
  decode(own, '400a637573746f6d2d6b65790c637573746f6d2d76616c7565');
  expect(decode(own, 'be')).toEqual([['custom-key', 'custom-value']]);
  expect(() => decode(own, '20be')).toThrow(CompressionError);
});

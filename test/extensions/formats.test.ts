import { describe, expect, it } from 'vitest';
import { hasFormat, unknownFormats } from '../../src/extensions/formats.ts';
import { validateSchema } from '../../src/extensions/schema-validation.ts';

/** As kube-apiserver 1.36.3 answers. */
const cases: Record<string, { yes: string[]; no: string[] }> = {
  uri: { yes: ['http://a/b', '/a', 'mailto:x@y'], no: ['a', ':x', 'http://a b'] },
  email: { yes: ['a@b.c', 'A B <a@b>', '"x y"@b.c'], no: ['a'] },
  hostname: { yes: ['A', '1', 'a.example'], no: ['a.b', '-a', 'a_b', 'a.b.', 'x'.repeat(64)] },
  ipv4: { yes: ['1.2.3.4', '01.2.3.4'], no: ['1.2.3', '::1', '256.1.1.1'] },
  ipv6: { yes: ['::1', '::ffff:1.2.3.4'], no: ['1.2.3.4', 'fe80::1%eth0', 'g::'] },
  cidr: { yes: ['1.2.3.0/24', '::/0'], no: ['1.2.3.4', '1.2.3.4/33'] },
  mac: { yes: ['00-00-5e-00-53-01', '0000.5e00.5301', '02:00:5e:10:00:00:00:01'], no: ['x'] },
  isbn10: { yes: ['0321751043'], no: ['0321751044', '978-0321751041'] },
  isbn13: { yes: ['978-0321751041'], no: ['978-0321751042'] },
  rgbcolor: { yes: ['rgb(1, 2,3)'], no: ['rgb(300,1,1)', 'x'] },
  byte: { yes: ['YQ=='], no: ['', 'Y', 'Y Q=='] },
  date: { yes: ['2026-01-01'], no: ['2026-02-30', '26-1-1'] },
  duration: { yes: ['1h', '22 ns', '1 day', '-1s', '1h 2m', '3 weeks'], no: ['1', 'x'] },
  'date-time': { yes: ['2026-01-01T00:00:00Z', '2026-01-01t00:00:00+25:00'], no: ['2026-01-01T24:00:00Z'] },
  'k8s-short-name': { yes: ['a'], no: ['A', 'a.b'] },
  zzz: { yes: ['anything'], no: [] },
};

describe('formats', () => {
  for (const [format, { yes, no }] of Object.entries(cases)) {
    it(format, () => {
      expect(yes.filter((text) => !hasFormat(text, format))).toEqual([]);
      expect(no.filter((text) => hasFormat(text, format))).toEqual([]);
    });
  }

  it('that nothing checks are found', () => {
    const items = { type: 'integer', format: 'int16' };
    const properties = { a: { type: 'string', format: 'date-time' }, b: { type: 'array', items } };
    expect([...unknownFormats({ type: 'object', properties })]).toEqual(['int16']);
  });
});

describe('values', () => {
  const messages = (value: number | null, schema: object) => validateSchema(value, schema).map((f) => f.message);

  it('that are whole are multiples of whole parts', () => {
    expect(messages(0.3, { type: 'number', multipleOf: 0.1 })).toEqual([]);
    expect(messages(1, { type: 'number', multipleOf: 0.1 })[0]).toMatch(/must be positive: 0$/);
  });

  it('are listed as texts where they are not among the allowed', () => {
    expect(messages(4, { type: 'integer', enum: [1, 2] })).toEqual([
      'Unsupported value: 4: supported values: "1", "2"',
    ]);
    expect(messages(null, { type: 'string', nullable: true, enum: ['a'] })).toHaveLength(1);
  });
});

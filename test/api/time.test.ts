import { describe, expect, test } from 'vitest';
import { canonicalMicroTime, canonicalTime, formatMicroTime, formatTime, TimeError } from '../../src/api/time.ts';

describe('metav1.Time', () => {
  test.each([
    ['2026-08-11T19:37:19.987Z', '2026-08-11T19:37:19Z'],
    ['2026-08-11T21:37:19+02:00', '2026-08-11T19:37:19Z'],
    ['2024-01-02T03:04:05-01:30', '2024-01-02T04:34:05Z'],
    ['1969-12-31T23:59:59.9Z', '1969-12-31T23:59:59Z'],
    ['0050-01-01T00:00:00Z', '0050-01-01T00:00:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
  ])('%s is %s', (sent, canonical) => {
    expect(canonicalTime(sent)).toBe(canonical);
  });

  test.each([
    ['x', 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
    [
      '2020-01-01T00:00:00',
      'parsing time "2020-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
    ],
    ['2020-02-30T00:00:00Z', 'parsing time "2020-02-30T00:00:00Z": day out of range'],
    ['2023-02-29T00:00:00Z', 'parsing time "2023-02-29T00:00:00Z": day out of range'],
    ['2020-01-01T24:00:00Z', 'parsing time "2020-01-01T24:00:00Z": hour out of range'],
  ])('%s is refused in Go’s words', (bad, message) => {
    expect(() => canonicalTime(bad)).toThrow(new TimeError(message));
  });
});

describe('metav1.MicroTime takes exactly six digits', () => {
  test.each([
    ['2026-08-11T19:37:19.103456Z', '2026-08-11T19:37:19.103456Z'],
    ['2026-08-11T19:37:19.100000Z', '2026-08-11T19:37:19.100000Z'],
    ['2026-08-11T19:37:19.000000Z', '2026-08-11T19:37:19.000000Z'],
    ['2026-08-11T21:37:19.000000+02:00', '2026-08-11T19:37:19.000000Z'],
    ['2024-01-02T03:04:05.123456-00:30', '2024-01-02T03:34:05.123456Z'],
  ])('%s is %s', (sent, canonical) => {
    expect(canonicalMicroTime(sent)).toBe(canonical);
  });

  test.each(['2026-08-11T19:37:19.103Z', '2026-08-11T19:37:19Z', '2026-08-11T19:37:19.103456789Z'])(
    '%s is refused',
    (bad) => {
      expect(() => canonicalMicroTime(bad)).toThrow(TimeError);
    },
  );
});

test('moments are written in whole seconds and in microseconds', () => {
  const moment = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  expect(formatTime(moment)).toBe('2026-01-02T03:04:05Z');
  expect(formatMicroTime(moment)).toBe('2026-01-02T03:04:05.678000Z');
});

import type { Definition } from '../functions.ts';
import { type Duration, Fault, type Timestamp } from '../values.ts';

/** Moments and durations as Go reads and writes them, and their parts in any time zone. */

const SECOND = 1_000_000_000n;
const MILLI = 1_000_000n;
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['µs', 1000n],
  ['μs', 1000n],
  ['ms', MILLI],
  ['s', SECOND],
  ['m', 60n * SECOND],
  ['h', 3600n * SECOND],
]);
const MAX_INT = 2n ** 63n - 1n;

/** Nanoseconds of a duration as Go writes them (`1h30m`, `-1.5s`); `undefined` where it is none. */
export function parseDuration(text: string): bigint | undefined {
  const [, sign = '', rest = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (rest === '0') return 0n;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of rest.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const size = UNITS.get(unit)!;
    total += BigInt(whole || '0') * size;
    if (fraction !== '') total += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  if (total > MAX_INT) return undefined;
  return sign === '-' ? -total : total;
}

/** A duration as CEL prints it: in seconds. */
export function formatDuration({ nanos }: Duration): string {
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  return `${sign}${size / SECOND}${fractionOf(size % SECOND)}s`;
}

const fractionOf = (nanos: bigint): string =>
  nanos === 0n ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/** Nanoseconds since 1970 of an RFC 3339 time; `undefined` where it is none. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = match;
  const parts = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [y, mo, d, h, mi, s] = parts;
  const date = new Date(0);
  date.setUTCFullYear(y, mo - 1, d);
  const isDate = date.getUTCMonth() === mo - 1 && date.getUTCDate() === d;
  if (!isDate || h > 23 || mi > 59 || s > 59) return undefined;
  date.setUTCHours(h, mi, s);
  const seconds = BigInt(date.getTime() / 1000) - BigInt(offsetSeconds(zone));
  return seconds * SECOND + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

function offsetSeconds(zone: string): number {
  const [, sign, hours, minutes] = /^([+-]?)(\d\d):(\d\d)$/.exec(zone) ?? [];
  if (hours === undefined) return 0;
  return (Number(hours) * 3600 + Number(minutes) * 60) * (sign === '-' ? -1 : 1);
}

/** A moment in RFC 3339, in UTC, with as much of a fraction as it has. */
export function formatTimestamp({ nanos }: Timestamp): string {
  const rest = ((nanos % SECOND) + SECOND) % SECOND;
  const seconds = (nanos - rest) / SECOND;
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, -5);
  return `${text}${fractionOf(rest)}Z`;
}

interface Parts {
  year: number;
  month: number;
  date: number;
  weekday: number;
  yearDay: number;
  hours: number;
  minutes: number;
  seconds: number;
}

/** Milliseconds by which a zone is ahead of UTC at a moment. Zones: `UTC`, `+02:00`, `America/New_York`. */
function zoneOffset(zone: string, millis: number): number {
  if (zone === '' || zone === 'UTC') return 0;
  const [, sign = '+', hours, minutes] = /^([+-]?)(\d{1,2}):(\d{2})$/.exec(zone) ?? [];
  if (hours !== undefined) {
    return (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  }
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    });
    const part = new Map(format.formatToParts(millis).map(({ type, value }) => [type, value]));
    const year = Number(part.get('year')) * (part.get('era') === 'BC' ? -1 : 1);
    const local = new Date(0);
    local.setUTCFullYear(year, Number(part.get('month')) - 1, Number(part.get('day')));
    local.setUTCHours(Number(part.get('hour')), Number(part.get('minute')), Number(part.get('second')));
    return local.getTime() - Math.floor(millis / 1000) * 1000;
  } catch {
    throw new Fault(`unknown time zone ${zone}`);
  }
}

function partsOf(time: Timestamp, zone: string): Parts {
  const millis = Number(time.nanos / MILLI) - (time.nanos % MILLI < 0n ? 1 : 0);
  const local = new Date(millis + zoneOffset(zone, millis));
  const start = new Date(local);
  start.setUTCMonth(0, 1);
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth(),
    date: local.getUTCDate(),
    weekday: local.getUTCDay(),
    yearDay: Math.round((local.getTime() - start.getTime()) / 86_400_000),
    hours: local.getUTCHours(),
    minutes: local.getUTCMinutes(),
    seconds: local.getUTCSeconds(),
  };
}

const GETTERS: readonly (readonly [string, string, (parts: Parts) => number])[] = [
  ['getFullYear', 'year', (p) => p.year],
  ['getMonth', 'month', (p) => p.month],
  ['getDayOfYear', 'day_of_year', (p) => p.yearDay],
  ['getDayOfMonth', 'day_of_month', (p) => p.date - 1],
  ['getDate', 'day_of_month_1_based', (p) => p.date],
  ['getDayOfWeek', 'day_of_week', (p) => p.weekday],
  ['getHours', 'hours', (p) => p.hours],
  ['getMinutes', 'minutes', (p) => p.minutes],
  ['getSeconds', 'seconds', (p) => p.seconds],
];

const milliseconds = ({ nanos }: Timestamp): bigint => (((nanos % SECOND) + SECOND) % SECOND) / MILLI;

export const times: readonly Definition[] = [
  ...GETTERS.flatMap(([name, id, get]): Definition[] => [
    [`timestamp_to_${id}`, `timestamp.${name}(): int`, (time: Timestamp) => BigInt(get(partsOf(time, 'UTC')))],
    [
      `timestamp_to_${id}_with_tz`,
      `timestamp.${name}(string): int`,
      (time: Timestamp, zone: string) => BigInt(get(partsOf(time, zone))),
    ],
  ]),
  ['timestamp_to_milliseconds', 'timestamp.getMilliseconds(): int', milliseconds],
  ['timestamp_to_milliseconds_with_tz', 'timestamp.getMilliseconds(string): int', milliseconds],
  ['duration_to_hours', 'duration.getHours(): int', ({ nanos }: Duration) => nanos / (3600n * SECOND)],
  ['duration_to_minutes', 'duration.getMinutes(): int', ({ nanos }: Duration) => nanos / (60n * SECOND)],
  ['duration_to_seconds', 'duration.getSeconds(): int', ({ nanos }: Duration) => nanos / SECOND],
  ['duration_to_milliseconds', 'duration.getMilliseconds(): int', ({ nanos }: Duration) => nanos / MILLI],
];

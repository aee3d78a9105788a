/** Text that is no time of the wanted form; the message is Go's. */
export class TimeError extends Error {}

const SECONDS = '2006-01-02T15:04:05Z07:00';
const MICROS = '2006-01-02T15:04:05.000000Z07:00';
const DATE: readonly [RegExp, string][] = [
  [/^\d{4}/, '2006'],
  [/^-/, '-'],
  [/^\d{2}/, '01'],
  [/^-/, '-'],
  [/^\d{2}/, '02'],
  [/^T/, 'T'],
  [/^\d{1,2}/, '15'],
  [/^:/, ':'],
  [/^\d{2}/, '04'],
  [/^:/, ':'],
  [/^\d{2}/, '05'],
];
const ZONE: readonly [RegExp, string][] = [[/^(?:Z|[+-]\d{2}:\d{2})/, 'Z07:00']];
const STEPS: Readonly<Record<string, readonly [RegExp, string][]>> = {
  [SECONDS]: [...DATE, [/^(?:[.,]\d+)?/, ''], ...ZONE],
  [MICROS]: [...DATE, [/^[.,]\d{6}/, '.000000'], ...ZONE],
};
const CANONICAL = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z$/;

/** metav1.Time: RFC 3339 in, UTC with whole seconds out (the fraction is cut). Throws {@link TimeError}. */
export function canonicalTime(text: string): string {
  if (CANONICAL.test(text) && Number.isFinite(Date.parse(text)) && plausible(text)) return text;
  return formatTime(new Date(read(text, SECONDS).epochSeconds * 1000));
}

/** metav1.MicroTime: exactly six digits of fraction in and out, UTC. Throws {@link TimeError}. */
export function canonicalMicroTime(text: string): string {
  const { epochSeconds, fraction } = read(text, MICROS);
  return microTimeFromUnix(epochSeconds, Number(fraction));
}

/** A metav1.Time of a moment. */
export function formatTime(date: Date): string {
  return `${date.toISOString().slice(0, -5)}Z`;
}

/** A metav1.MicroTime of a moment. */
export function formatMicroTime(date: Date): string {
  return `${date.toISOString().slice(0, -1)}000Z`;
}

/** A metav1.MicroTime from whole seconds since 1970 and microseconds. */
export function microTimeFromUnix(seconds: number, micros: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, -5)}.${String(micros).padStart(6, '0')}Z`;
}

/** February 30 parses in JavaScript and not in Go. */
function plausible(text: string): boolean {
  return new Date(text).getUTCDate() === Number(text.slice(8, 10)) && Number(text.slice(11, 13)) < 24;
}

function read(text: string, layout: string): { epochSeconds: number; fraction: string } {
  const parts: string[] = [];
  let rest = text;
  for (const [pattern, element] of STEPS[layout] as readonly [RegExp, string][]) {
    const found = pattern.exec(rest);
    if (found === null) throw failure(text, layout, `cannot parse ${quote(rest)} as ${quote(element)}`);
    parts.push(found[0]);
    rest = rest.slice(found[0].length);
  }
  if (rest !== '') throw failure(text, layout, `extra text: ${quote(rest)}`, '');
  const [year, , month, , day, , hour, , minute, , second, fraction = '', zone = 'Z'] = parts;
  const outOfRange = firstOutOfRange(
    Number(year),
    Number(month),
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  if (outOfRange !== undefined) throw failure(text, layout, `${outOfRange} out of range`, '');
  const local = Date.UTC(2000, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  const shifted = new Date(local);
  shifted.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return { epochSeconds: shifted.getTime() / 1000 - offsetSeconds(zone), fraction: fraction.slice(1) };
}

function firstOutOfRange(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): string | undefined {
  if (month < 1 || month > 12) return 'month';
  const last = new Date(Date.UTC(2000, month, 0));
  last.setUTCFullYear(year, month, 0);
  if (day < 1 || day > last.getUTCDate()) return 'day';
  if (hour > 23) return 'hour';
  if (minute > 59) return 'minute';
  return second > 59 ? 'second' : undefined;
}

function offsetSeconds(zone: string): number {
  if (zone === 'Z') return 0;
  const seconds = Number(zone.slice(1, 3)) * 3600 + Number(zone.slice(4, 6)) * 60;
  return zone.startsWith('-') ? -seconds : seconds;
}

function failure(text: string, layout: string, why: string, as = ` as ${quote(layout)}`): TimeError {
  return new TimeError(`parsing time ${quote(text)}${as}: ${why}`);
}

function quote(text: string): string {
  return JSON.stringify(text);
}

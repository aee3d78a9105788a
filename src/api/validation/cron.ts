interface Bounds {
  min: number;
  max: number;
  /** Names of the numbers from `min` on. */
  names?: readonly string[];
}

/** Minute, hour, day of the month, month, day of the week. */
const FIELDS: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] },
  { min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];

const MACROS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
const EVERY = '@every ';
const UNITS = ['ns', 'us', 'µs', 'μs', 'ms', 's', 'm', 'h'];
const DURATION = /^[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;

/** A schedule that does not parse; the message is upstream's. */
class ScheduleError extends Error {}

function number(text: string): number {
  if (!/^[-+]?\d+$/.test(text)) {
    const quoted = JSON.stringify(text);
    throw new ScheduleError(`failed to parse int from ${text}: strconv.Atoi: parsing ${quoted}: invalid syntax`);
  }
  const value = Number(text);
  if (value < 0) throw new ScheduleError(`negative number (${value}) not allowed: ${text}`);
  return value;
}

function numberOrName(text: string, { min, names }: Bounds): number {
  const index = names?.indexOf(text.toLowerCase()) ?? -1;
  return index < 0 ? number(text) : min + index;
}

/** Throws {@link ScheduleError} where an expression is not `number`, `*` or `low-high`, each with an optional `/step`. */
function checkRange(expression: string, bounds: Bounds): void {
  const { min, max } = bounds;
  const [range = '', stepText, ...moreSteps] = expression.split('/');
  const [low = '', high, ...moreHighs] = range.split('-');
  const star = low === '*' || low === '?';
  const start = star ? min : numberOrName(low, bounds);
  if (!star && moreHighs.length > 0) throw new ScheduleError(`too many hyphens: ${expression}`);
  let end = star ? max : high === undefined ? start : numberOrName(high, bounds);
  if (moreSteps.length > 0) throw new ScheduleError(`too many slashes: ${expression}`);
  const step = stepText === undefined ? 1 : number(stepText);
  if (stepText !== undefined && high === undefined) end = max;
  const faults: [boolean, string][] = [
    [start < min, `beginning of range (${start}) below minimum (${min})`],
    [end > max, `end of range (${end}) above maximum (${max})`],
    [start > end, `beginning of range (${start}) beyond end of range (${end})`],
    [step === 0, 'step of range should be a positive number'],
  ];
  const fault = faults.find(([found]) => found);
  if (fault !== undefined) throw new ScheduleError(`${fault[1]}: ${expression}`);
}

function checkMacro(schedule: string): void {
  if (MACROS.includes(schedule)) return;
  if (!schedule.startsWith(EVERY)) throw new ScheduleError(`unrecognized descriptor: ${schedule}`);
  const duration = schedule.slice(EVERY.length);
  if (DURATION.test(duration)) return;
  const quoted = JSON.stringify(duration);
  const [, rest = ''] = /^[-+]?\d+\.?\d*(\D*)/.exec(duration) ?? [];
  const fault = (why: string) => new ScheduleError(`failed to parse duration ${schedule}: time: ${why}`);
  if (/^[-+]?\d+\.?\d*$/.test(duration)) throw fault(`missing unit in duration ${quoted}`);
  if (rest !== '' && !UNITS.includes(rest)) throw fault(`unknown unit ${JSON.stringify(rest)} in duration ${quoted}`);
  throw fault(`invalid duration ${quoted}`);
}

function check(schedule: string): void {
  let rest = schedule;
  const zone = /^(?:CRON_)?TZ=/.exec(schedule);
  if (zone !== null) {
    const end = schedule.indexOf(' ');
    if (end < 0) {
      throw new ScheduleError('invalid schedule format: runtime error: slice bounds out of range [:-1]');
    }
    const name = schedule.slice(zone[0].length, end);
    if (name !== 'Local' && name !== '' && !isTimeZone(name)) {
      throw new ScheduleError(`provided bad location ${name}: unknown time zone ${name}`);
    }
    rest = schedule.slice(end).trim();
  }
  if (rest.startsWith('@')) {
    checkMacro(rest);
    return;
  }
  const fields = rest.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== FIELDS.length) {
    throw new ScheduleError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`);
  }
  for (const [i, field] of fields.entries()) {
    for (const range of field.split(',')) if (range !== '') checkRange(range, FIELDS[i]!);
  }
}

/** What is wrong with a schedule in standard cron notation (robfig/cron's five fields and macros), if anything is. */
export function scheduleError(schedule: string): string | undefined {
  try {
    check(schedule);
    return undefined;
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}

/** Whether the time zone database has a name, which is spelled exactly so. */
export function isTimeZone(name: string): boolean {
  if (/^[-+]/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}

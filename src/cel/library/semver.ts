import { type Definition, LIBRARY_TYPES } from '../functions.ts';
import { Fault, Opaque } from '../values.ts';

/** Kubernetes' semver library, version 1 (semver.org 2.0.0). */

class Semver extends Opaque {
  readonly type = LIBRARY_TYPES.Semver!;
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly pre: readonly string[];

  constructor(numbers: readonly [bigint, bigint, bigint], pre: readonly string[]) {
    super();
    this.numbers = numbers;
    this.pre = pre;
  }

  equals(other: Opaque): boolean {
    return other instanceof Semver && compare(this, other) === 0n;
  }
}

const isNumber = (text: string) => /^\d+$/.test(text);
const order = <T>(a: T, b: T): bigint => (a < b ? -1n : a > b ? 1n : 0n);

/** Precedence of one part of a pre-release: numbers before words. */
function comparePart(a: string, b: string): bigint {
  if (isNumber(a) && isNumber(b)) return order(BigInt(a), BigInt(b));
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1n : 1n;
  return order(a, b);
}

function compare(a: Semver, b: Semver): bigint {
  for (const i of [0, 1, 2] as const) {
    const found = order(a.numbers[i], b.numbers[i]);
    if (found !== 0n) return found;
  }
  if (a.pre.length === 0 || b.pre.length === 0)
    return order(b.pre.length, a.pre.length) === 0n ? 0n : a.pre.length === 0 ? 1n : -1n;
  for (let i = 0; i < a.pre.length && i < b.pre.length; i++) {
    const found = comparePart(a.pre[i]!, b.pre[i]!);
    if (found !== 0n) return found;
  }
  return order(a.pre.length, b.pre.length);
}

const MAX_NUMBER = 2n ** 64n - 1n;
const ORDINALS = ['major', 'minor', 'patch'] as const;

function readNumber(text: string, what: string): bigint {
  if (text === '') throw new Fault('strconv.ParseUint: parsing "": invalid syntax');
  if (!isNumber(text)) throw new Fault(`Invalid character(s) found in ${what} number ${JSON.stringify(text)}`);
  if (/^0\d/.test(text)) {
    const name = `${what[0]!.toUpperCase()}${what.slice(1)}`;
    throw new Fault(`${name} number must not contain leading zeroes ${JSON.stringify(text)}`);
  }
  const value = BigInt(text);
  if (value > MAX_NUMBER) throw new Fault(`strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`);
  return value;
}

function readPart(text: string, what: string): string {
  if (text === '') throw new Fault(`${what} is empty`);
  if (!/^[0-9A-Za-z-]+$/.test(text))
    throw new Fault(`Invalid character(s) found in ${what.toLowerCase()} ${JSON.stringify(text)}`);
  return text;
}

function parse(text: string): Semver {
  if (text === '') throw new Fault('Version string empty');
  const [major, minor, ...rest] = text.split('.');
  if (minor === undefined || rest.length === 0) throw new Fault('No Major.Minor.Patch elements found');
  const [, patch = '', pre, build] = /^([^-+]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(rest.join('.')) ?? [];
  const numbers = [major!, minor, patch].map((part, i) => readNumber(part, ORDINALS[i]!)) as [bigint, bigint, bigint];
  const parts = (pre?.split('.') ?? []).map((part) => readPart(part, 'Prerelease'));
  for (const part of parts) {
    if (/^0\d+$/.test(part))
      throw new Fault(`Numeric PreRelease version must not contain leading zeroes ${JSON.stringify(part)}`);
  }
  for (const part of build?.split('.') ?? []) readPart(part, 'Build meta data');
  return new Semver(numbers, parts);
}

/** Without a leading `v` and leading zeros, with the minor and patch numbers filled in. */
function normalized(text: string): string {
  const parts = splitThree(text.replace(/^v/, '')).map((part) => {
    if (part.length < 2) return part;
    const stripped = part.replace(/^0+/, '');
    return /^\d/.test(stripped) ? stripped : `0${stripped}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) {
    throw new Fault('short version cannot contain PreRelease/Build meta data');
  }
  while (parts.length < 3) parts.push('0');
  return parts.join('.');
}

function splitThree(text: string): string[] {
  const [first, second, ...rest] = text.split('.');
  return rest.length === 0 ? text.split('.') : [first!, second!, rest.join('.')];
}

const semver = (text: string, normalize = false) => parse(normalize ? normalized(text) : text);

function isSemver(text: string, normalize = false): boolean {
  try {
    semver(text, normalize);
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

export const semvers: readonly Definition[] = [
  ['string_to_semver', 'semver(string): Semver', semver],
  ['string_bool_to_semver', 'semver(string, bool): Semver', semver],
  ['is_semver_string', 'isSemver(string): bool', isSemver],
  ['is_semver_string_bool', 'isSemver(string, bool): bool', isSemver],
  ['semver_is_greater_than', 'Semver.isGreaterThan(Semver): bool', (a: Semver, b: Semver) => compare(a, b) > 0n],
  ['semver_is_less_than', 'Semver.isLessThan(Semver): bool', (a: Semver, b: Semver) => compare(a, b) < 0n],
  ['semver_compare_to', 'Semver.compareTo(Semver): int', compare],
  ...ORDINALS.map((name, i): Definition => [`semver_${name}`, `Semver.${name}(): int`, (v: Semver) => v.numbers[i]!]),
];

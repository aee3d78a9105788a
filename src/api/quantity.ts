/** Text or number that is no quantity; the message is upstream's. */
export class QuantityError extends Error {}

type Format = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** An exact amount: `unscaled × 10^exponent`, never finer than a billionth (rounded away from zero, as upstream does). */
export interface Quantity {
  unscaled: bigint;
  exponent: number;
  format: Format;
  /** The text, where it is canonical already. */
  text?: string;
}

const SHAPE = /^([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const DECIMAL: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const BINARY: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);
const DECIMAL_SUFFIXES: ReadonlyMap<number, string> = new Map(
  [...DECIMAL].map(([suffix, exponent]) => [exponent, suffix]),
);
const BINARY_SUFFIXES: ReadonlyMap<number, string> = new Map(
  [...BINARY].map(([suffix, exponent]) => [exponent, suffix]),
);
const FINEST = -9;
const THOUSANDTHS = -3;
const MAX_INT64 = 2n ** 63n - 1n;
/** Zeroes that arithmetic appends at most: exponents come from clients and may be in the billions. */
const MAX_SHIFT = 4096;
/** Digits that upstream's integer path holds. */
const INT64_DIGITS = 18;
const WRONG_FORMAT = `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`;

/** Reads a quantity. Throws {@link QuantityError}. */
export function parseQuantity(text: string): Quantity {
  const shape = text === '' ? null : SHAPE.exec(text);
  if (shape === null) throw new QuantityError(WRONG_FORMAT);
  const [, sign = '', digits = '', fraction = '', suffix = ''] = shape;
  const { format, exponent } = interpret(suffix);
  const numerator = digits === '' ? '0' : digits;
  const shifted = numerator + fraction;
  const magnitude = BigInt(shifted);
  const canonical = isCanonical(shifted, numerator, fraction, exponent, format) ? text : undefined;
  let amount =
    format === 'BinarySI'
      ? { unscaled: magnitude << BigInt(exponent), exponent: -fraction.length, format }
      : { unscaled: magnitude, exponent: exponent - fraction.length, format };
  amount = bound(amount);
  if (sign === '-') amount.unscaled = -amount.unscaled;
  return canonical === undefined ? amount : { ...amount, text: canonical };
}

/** The canonical text of a quantity (`1000m` → `1`). Throws {@link QuantityError}. */
export function canonicalQuantity(value: string | number | bigint): string {
  return formatQuantity(parseQuantity(String(value)));
}

/**
 * The canonical text of a resource amount, which upstream's defaulting rounds up to thousandths (`100u` → `1m`).
 * Throws {@link QuantityError}.
 */
export function canonicalResource(value: string | number | bigint): string {
  const q = parseQuantity(String(value));
  if (q.exponent >= THOUSANDTHS) return formatQuantity(q);
  const magnitude = q.unscaled < 0n ? -q.unscaled : q.unscaled;
  const rounded = ceilDivide(magnitude, 10n ** BigInt(THOUSANDTHS - q.exponent));
  return formatQuantity({ unscaled: q.unscaled < 0n ? -rounded : rounded, exponent: THOUSANDTHS, format: q.format });
}

/** Text of a quantity in its own format. */
export function formatQuantity(q: Quantity): string {
  if (q.text !== undefined) return q.text;
  if (q.unscaled === 0n) return '0';
  const whole = q.format === 'BinarySI' ? wholeUnits(q) : undefined;
  if (whole === undefined || (whole > -1024n && whole < 1024n)) return decimalText(q);
  let units = whole;
  let exponent = 0;
  while (units % 1024n === 0n) {
    units /= 1024n;
    exponent += 10;
  }
  return `${units}${BINARY_SUFFIXES.get(exponent) ?? ''}`;
}

/** Negative, zero or positive as a is less than, equal to or greater than b. Throws {@link QuantityError}. */
export function compareQuantities(a: string | Quantity, b: string | Quantity): number {
  const [x, y] = align(quantity(a), quantity(b));
  return x < y ? -1 : x > y ? 1 : 0;
}

/** a + b in the format of a, or of b where a is zero. Throws {@link QuantityError}. */
export function addQuantities(a: string | Quantity, b: string | Quantity): Quantity {
  const [p, q] = [quantity(a), quantity(b)];
  const [x, y] = align(p, q);
  return {
    unscaled: x + y,
    exponent: Math.min(p.exponent, q.exponent),
    format: p.unscaled === 0n ? q.format : p.format,
  };
}

/** a − b in the format of a, or of b where a is zero. Throws {@link QuantityError}. */
export function subtractQuantities(a: string | Quantity, b: string | Quantity): Quantity {
  const q = quantity(b);
  return addQuantities(a, { unscaled: -q.unscaled, exponent: q.exponent, format: q.format });
}

function quantity(value: string | Quantity): Quantity {
  return typeof value === 'string' ? parseQuantity(value) : value;
}

function align(a: Quantity, b: Quantity): [bigint, bigint] {
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = (q: Quantity) => q.unscaled * 10n ** BigInt(Math.min(q.exponent - exponent, MAX_SHIFT));
  return [scaled(a), scaled(b)];
}

function interpret(suffix: string): { format: Format; exponent: number } {
  const decimal = DECIMAL.get(suffix);
  if (decimal !== undefined) return { format: 'DecimalSI', exponent: decimal };
  const binary = BINARY.get(suffix);
  if (binary !== undefined) return { format: 'BinarySI', exponent: binary };
  const exponent = Number(suffix.slice(1));
  if (!/^[eE][-+]?[0-9]+$/.test(suffix) || Math.abs(exponent) > 0x7fffffff) {
    throw new QuantityError("unable to parse quantity's suffix");
  }
  return { format: 'DecimalExponent', exponent };
}

/** Upstream keeps the text of what its integer path finds canonical, even with a sign or leading zeroes. */
function isCanonical(shifted: string, numerator: string, fraction: string, exponent: number, format: Format): boolean {
  if (format === 'BinarySI') {
    const room = 15 - numerator.length - Math.trunc((exponent * 3) / 10) - 1;
    return fraction === '' && room >= 0 && (BigInt(shifted) & 7n) !== 0n;
  }
  const scale = exponent - fraction.length;
  return (
    shifted.length <= INT64_DIGITS &&
    scale >= FINEST &&
    scale % 3 === 0 &&
    !shifted.endsWith('000') &&
    !shifted.startsWith('0')
  );
}

/** Rounds a magnitude to the finest unit, caps binary ones, and shows binary fractions of one as decimals. */
function bound(q: Quantity): Quantity {
  let { unscaled, exponent, format } = q;
  if (exponent < FINEST) {
    // A quotient of more digits than the number has is one unit; without this a huge exponent would cost as much to divide by.
    const cut = FINEST - exponent;
    unscaled = unscaled === 0n ? 0n : cut > String(unscaled).length ? 1n : ceilDivide(unscaled, 10n ** BigInt(cut));
    exponent = FINEST;
  }
  if (format === 'BinarySI') {
    const one = 10n ** BigInt(-exponent);
    if (unscaled > MAX_INT64 * one) {
      unscaled = MAX_INT64;
      exponent = 0;
    } else if (unscaled > 0n && unscaled < one) format = 'DecimalSI';
  }
  return { unscaled, exponent, format };
}

function ceilDivide(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

/** The amount as whole units, or undefined when it has a fraction. */
function wholeUnits(q: Quantity): bigint | undefined {
  if (q.exponent >= 0) return q.unscaled * 10n ** BigInt(Math.min(q.exponent, MAX_SHIFT));
  const one = 10n ** BigInt(-q.exponent);
  return q.unscaled % one === 0n ? q.unscaled / one : undefined;
}

function decimalText(q: Quantity): string {
  let { unscaled, exponent } = q;
  while (unscaled % 10n === 0n) {
    unscaled /= 10n;
    exponent += 1;
  }
  while (exponent % 3 !== 0) {
    unscaled *= 10n;
    exponent -= 1;
  }
  if (q.format === 'DecimalExponent') return `${unscaled}${exponent === 0 ? '' : `e${exponent}`}`;
  return `${unscaled}${DECIMAL_SUFFIXES.get(exponent) ?? ''}`;
}

/** A quantity rounded up to whole units. Throws {@link QuantityError}. */
export function wholeUp(text: string): string {
  const { format } = parseQuantity(text);
  return formatQuantity({ unscaled: unitsOf(text, 0), exponent: 0, format });
}

/** How many units of 10^`exponent` a quantity is, rounded away from zero. Throws {@link QuantityError}. */
export function unitsOf(text: string, exponent: number): bigint {
  const q = parseQuantity(text);
  const shift = q.exponent - exponent;
  if (shift >= 0) return q.unscaled * 10n ** BigInt(Math.min(shift, MAX_SHIFT));
  const one = 10n ** BigInt(-shift);
  return q.unscaled < 0n ? -ceilDivide(-q.unscaled, one) : ceilDivide(q.unscaled, one);
}

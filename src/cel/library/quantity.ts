import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  QuantityError,
  subtractQuantities,
} from '../../api/quantity.ts';
import { type Definition, LIBRARY_TYPES } from '../functions.ts';
import { Fault, Opaque } from '../values.ts';

/** Kubernetes' quantity library. */

class Amount extends Opaque {
  readonly type = LIBRARY_TYPES.Quantity!;
  readonly quantity: Quantity;
  /** Whether upstream keeps it as an integer with a scale; only then is it ever an integer. */
  readonly isScaled: boolean;

  constructor(quantity: Quantity, isScaled: boolean) {
    super();
    this.quantity = quantity;
    this.isScaled = isScaled;
  }

  equals(other: Opaque): boolean {
    return other instanceof Amount && compareQuantities(this.quantity, other.quantity) === 0;
  }

  override toString(): string {
    return formatQuantity(this.quantity);
  }
}

const BINARY_BITS: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** Whether a text has few enough digits for an integer with a scale (ParseQuantity of k8s.io/apimachinery). */
function isScaled(text: string): boolean {
  const [, digits = '', fraction = '', suffix = ''] = /^[+-]?0*(\d*)\.?(\d*)(.*)$/.exec(text) ?? [];
  const bits = BINARY_BITS[suffix];
  if (bits === undefined) return digits.length + fraction.length <= 18;
  return fraction === '' && 14 - digits.length - Math.floor(bits * 0.3) >= 0;
}

function parse(text: string): Amount {
  try {
    return new Amount(parseQuantity(text), isScaled(text));
  } catch (error) {
    if (error instanceof QuantityError) throw new Fault(error.message);
    throw error;
  }
}

function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch {
    return false;
  }
}

const MAX_INT = 2n ** 63n - 1n;
/** Exponents beyond this fit no integer, and no one should compute the power. */
const MAX_EXPONENT = 18;

function integerOf({ quantity: { unscaled, exponent }, isScaled: isKept }: Amount): bigint | undefined {
  if (!isKept || exponent < 0) return undefined;
  if (unscaled === 0n) return 0n;
  if (exponent > MAX_EXPONENT) return undefined;
  const value = unscaled * 10n ** BigInt(exponent);
  return value > MAX_INT || value < -MAX_INT - 1n ? undefined : value;
}

function asInteger(amount: Amount): bigint {
  const value = integerOf(amount);
  if (value === undefined) throw new Fault('cannot convert value to integer');
  return value;
}

const float = ({ quantity: { unscaled, exponent } }: Amount) => Number(`${unscaled}e${exponent}`);
const compare = (a: Amount, b: Amount) => BigInt(compareQuantities(a.quantity, b.quantity));
const amountOf = (value: Amount | bigint): Quantity =>
  value instanceof Amount ? value.quantity : { unscaled: value, exponent: 0, format: 'DecimalExponent' };
const areScaled = (a: Amount, b: Amount | bigint) => a.isScaled && (!(b instanceof Amount) || b.isScaled);
const sum = (a: Amount, b: Amount | bigint) => new Amount(addQuantities(a.quantity, amountOf(b)), areScaled(a, b));
const difference = (a: Amount, b: Amount | bigint) =>
  new Amount(subtractQuantities(a.quantity, amountOf(b)), areScaled(a, b));
const sign = ({ quantity: { unscaled } }: Amount) => (unscaled > 0n ? 1n : unscaled < 0n ? -1n : 0n);

export const quantities: readonly Definition[] = [
  ['string_to_quantity', 'quantity(string): Quantity', parse],
  ['is_quantity_string', 'isQuantity(string): bool', isQuantity],
  ['quantity_sign', 'sign(Quantity): int', sign],
  ['quantity_is_greater_than', 'Quantity.isGreaterThan(Quantity): bool', (a: Amount, b: Amount) => compare(a, b) > 0n],
  ['quantity_is_less_than', 'Quantity.isLessThan(Quantity): bool', (a: Amount, b: Amount) => compare(a, b) < 0n],
  ['quantity_compare_to', 'Quantity.compareTo(Quantity): int', compare],
  ['quantity_get_float', 'Quantity.asApproximateFloat(): double', float],
  ['quantity_get_int', 'Quantity.asInteger(): int', asInteger],
  ['quantity_is_integer', 'Quantity.isInteger(): bool', (a: Amount) => integerOf(a) !== undefined],
  ['quantity_add', 'Quantity.add(Quantity): Quantity', sum],
  ['quantity_add_int', 'Quantity.add(int): Quantity', sum],
  ['quantity_sub', 'Quantity.sub(Quantity): Quantity', difference],
  ['quantity_sub_int', 'Quantity.sub(int): Quantity', difference],
];

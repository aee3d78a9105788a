/** Plain scalars of YAML 1.1 as go-yaml version 2 reads them. */

export type Scalar = string | number | bigint | boolean | null;

const WORDS: ReadonlyMap<string, boolean | null | number> = new Map<string, boolean | null | number>([
  ...words(true, 'y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'),
  ...words(false, 'n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'),
  ...words(null, '', '~', 'null', 'Null', 'NULL'),
  ...words(Number.NaN, '.nan', '.NaN', '.NAN'),
  ...words(Number.POSITIVE_INFINITY, '.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'),
  ...words(Number.NEGATIVE_INFINITY, '-.inf', '-.Inf', '-.INF'),
]);

function words<T>(value: T, ...names: string[]): [string, T][] {
  return names.map((name) => [name, value]);
}

const INTEGER = /^([-+]?)(?:(0[xX][0-9a-fA-F]+|0[bB][01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const POINT_FLOAT = /^\.[0-9]+(?:[eE][-+]?[0-9]+)?$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const TIMESTAMP =
  /^[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?$/;

/** What a plain scalar means: a boolean, null, number, or the text itself (timestamps stay text). */
export function resolvePlain(text: string): Scalar {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  const first = text[0] as string;
  if (first === '.') return POINT_FLOAT.test(text) ? Number(text) : text;
  if (!/[-+0-9]/.test(first)) return text;
  const digits = text.replaceAll('_', '');
  return parseInteger(digits) ?? (FLOAT.test(digits) ? Number(digits) : text);
}

/** Whether a string written plain reads back as that string, also by readers that know base 60 and timestamps. */
export function readsAsText(text: string): boolean {
  return typeof resolvePlain(text) === 'string' && !BASE_60.test(text) && !TIMESTAMP.test(text);
}

function parseInteger(text: string): number | bigint | undefined {
  const found = INTEGER.exec(text);
  if (found === null) return undefined;
  const [, sign, prefixed, octal, decimal] = found;
  const magnitude = BigInt(prefixed ?? (octal === undefined ? (decimal as string) : `0o${octal}`));
  const value = sign === '-' ? -magnitude : magnitude;
  const narrow = Number(value);
  if (Number.isSafeInteger(narrow)) return narrow;
  return value >= -(2n ** 63n) && value < 2n ** 63n ? value : narrow;
}

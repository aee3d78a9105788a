/** Ranges of cost and size, which stay below 2^64 as upstream's do. */
export interface Range {
  min: number;
  max: number;
}

export const MAX = 2 ** 64;

const add = (a: number, b: number) => Math.min(a + b, MAX);
const multiply = (a: number, b: number) => (a === 0 || b === 0 ? 0 : Math.min(a * b, MAX));
/** Products with a factor such as 0.1 are rounded up. */
const scale = (a: number, factor: number) => Math.min(Math.ceil(a * factor), MAX);

export const fixed = (value: number): Range => ({ min: value, max: value });
export const UNKNOWN: Range = { min: 0, max: MAX };
export const plus = (...ranges: readonly Range[]): Range =>
  ranges.reduce((sum, r) => ({ min: add(sum.min, r.min), max: add(sum.max, r.max) }), fixed(0));
export const times = (a: Range, b: Range): Range => ({ min: multiply(a.min, b.min), max: multiply(a.max, b.max) });
export const timesFactor = (a: Range, factor: number): Range => ({
  min: scale(a.min, factor),
  max: scale(a.max, factor),
});
export const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

/** Cost of reading a string or list once, for each character or member. */
export const TRAVERSAL = 0.1;
/** Cost of a pattern for each of its characters. */
export const PATTERN = 0.25;
export const LIST_COST = 10;
export const MAP_COST = 30;
export const STRUCT_COST = 40;
/** One authorization check: two fit an expression's budget. */
export const CHECK_COST = 350_000;

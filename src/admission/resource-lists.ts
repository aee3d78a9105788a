import { mapOf } from '../api/fields.ts';
import type { JsonValue } from '../api/object.ts';
import { addQuantities, compareQuantities, formatQuantity, subtractQuantities } from '../api/quantity.ts';

/** Amounts by name of resource; canonical text. */
export type ResourceList = Record<string, string>;

/** The resource list that a field holds, none where there is none. */
export const listOf = (value: JsonValue | undefined): ResourceList =>
  Object.fromEntries(Object.entries(mapOf(value)).map(([name, amount]) => [name, String(amount)]));

const combine = (a: ResourceList, b: ResourceList, choose: (x: string, y: string) => string): ResourceList => {
  const out = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    out[name] = Object.hasOwn(out, name) ? choose(out[name]!, amount) : amount;
  }
  return out;
};

/** What both hold together. */
export const add = (a: ResourceList, b: ResourceList): ResourceList =>
  combine(a, b, (x, y) => formatQuantity(addQuantities(x, y)));

/** The greater amount of each resource. */
export const max = (a: ResourceList, b: ResourceList): ResourceList =>
  combine(a, b, (x, y) => (compareQuantities(y, x) > 0 ? y : x));

/** How much more the first holds than the second, nothing where it holds less. */
export function growth(a: ResourceList, b: ResourceList): ResourceList {
  const out: ResourceList = {};
  for (const [name, amount] of Object.entries(a)) {
    const more = Object.hasOwn(b, name) ? formatQuantity(subtractQuantities(amount, b[name]!)) : amount;
    if (compareQuantities(more, '0') > 0) out[name] = more;
  }
  return out;
}

/** The resources of that name. */
export const only = (list: ResourceList, names: readonly string[]): ResourceList =>
  Object.fromEntries(Object.entries(list).filter(([name]) => names.includes(name)));

export const withoutZeros = (list: ResourceList): ResourceList =>
  Object.fromEntries(Object.entries(list).filter(([, amount]) => compareQuantities(amount, '0') !== 0));

/** Whether two lists hold the same amounts. */
export function sameList(a: ResourceList, b: ResourceList): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && compareQuantities(a[name]!, b[name]!) === 0);
}

/** A list as messages show it. */
export const showList = (list: ResourceList): string =>
  Object.keys(list)
    .sort()
    .map((name) => `${name}=${list[name]}`)
    .join(',');

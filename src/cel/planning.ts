import type { Expr } from './ast.ts';
import { LIST_COST } from './cost-numbers.ts';
import { charge, type Eval, given } from './evaluation.ts';
import { ArrayList, CelList, CelMap, EntryMap, Fault, noOverload, Uint, type Value } from './values.ts';

/** What the planner of expressions knows of their forms, as cel-go's planner does. */

/** Conversions, which are made at once where they are of constants. */
export const CONVERSIONS: ReadonlySet<string> = new Set(
  'bool bytes double duration dyn int string timestamp type uint'.split(' '),
);

/** Functions whose second argument, the target counted, is a pattern. */
export const PATTERNS: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

const isIndex = (e: Expr): boolean => e.kind === 'call' && ['_[_]', '_[?_]', '_?._'].includes(e.name);
/** Whether an expression leads to a value through fields and elements. */
export const isAttribute = (e: Expr): boolean =>
  e.kind === 'ident' || (e.kind === 'select' && !e.test) || isIndex(e) || (e.kind === 'call' && e.name === '_?_:_');

/** Whether an expression leads from a variable, or from a value in place of one, which has a cost of its own. */
export function hasRootCost(e: Expr): boolean {
  if (e.kind === 'ident') return true;
  const element = e.kind === 'call' && isIndex(e) ? e.args[0] : undefined;
  const base = e.kind === 'select' && !e.test ? e.operand : element;
  return base !== undefined && (!isAttribute(base) || hasRootCost(base));
}

/** An accumulator to add to in place. */
export function fresh(value: Value): Value {
  if (value instanceof ArrayList) return new ArrayList([...value]);
  if (value instanceof EntryMap) return value.copy();
  return value;
}

/** Adds the items of a list to an accumulator. */
export const appending =
  (accu: Eval, added: Eval): Eval =>
  (f) => {
    const [list, more] = [accu(f), added(f)];
    if (!(list instanceof ArrayList) || !(more instanceof CelList)) throw noOverload();
    charge(f, 1);
    for (const item of more) list.push(item);
    return list;
  };

/** Adds an entry, or those of a map, to an accumulator. */
export const inserting =
  (accu: Eval, added: readonly Eval[]): Eval =>
  (f) => {
    const map = accu(f);
    const [key, value] = added.map((x) => x(f));
    charge(f, 1);
    if (!(map instanceof EntryMap) || key === undefined) throw noOverload();
    if (value !== undefined) map.insert(key, value);
    else if (key instanceof CelMap) for (const k of key.keys()) map.insert(k, key.get(k)!);
    else throw noOverload();
    return map;
  };

/** Makes a list of its elements; `optional`: those that may be left out. */
export const makingList =
  (elements: readonly Eval[], optional: ReadonlySet<number>): Eval =>
  (f) => {
    const items: Value[] = [];
    for (const [i, element] of elements.entries()) {
      const value = optional.has(i) ? given(element(f)) : element(f);
      if (value !== undefined) items.push(value);
    }
    charge(f, LIST_COST);
    return new ArrayList(items);
  };

/** The key and the value of an entry, and whether it may be left out. */
export type Entry = [Eval, Eval, boolean];

/** Makes a map, or an object of a type, of its entries. */
export const makingMap =
  (entries: readonly Entry[], cost: number, type?: string): Eval =>
  (f) => {
    const out = new EntryMap([], type);
    for (const [key, value, optional] of entries) {
      const k = key(f);
      const v = optional ? given(value(f)) : value(f);
      if (v === undefined) continue;
      if (typeof k === 'number' || (typeof k === 'object' && !(k instanceof Uint))) {
        throw new Fault('unsupported key type');
      }
      out.set(k, v);
    }
    charge(f, cost);
    return out;
  };

import type { CelType } from './types.ts';

/** The parsed form of an expression, as cel-spec's syntax.proto has it. The checker fills in types and overloads. */

interface Node {
  /** Offset in the source, in code points, that errors about the node name. */
  at: number;
  /** Set by the checker. */
  type?: CelType;
}

export type Constant = boolean | bigint | number | string | null | { uint: bigint } | { bytes: Uint8Array };

export interface Literal extends Node {
  kind: 'literal';
  value: Constant;
}
export interface Ident extends Node {
  kind: 'ident';
  name: string;
}
export interface Select extends Node {
  kind: 'select';
  operand: Expr;
  field: string;
  /** `has(operand.field)`. */
  test: boolean;
}
export interface Call extends Node {
  kind: 'call';
  name: string;
  target?: Expr | undefined;
  args: Expr[];
  /** Ids of the overloads that may be called; set by the checker. */
  overloads?: string[];
}
export interface List extends Node {
  kind: 'list';
  elements: Expr[];
  /** Elements that are spelt `?element`. */
  optional: ReadonlySet<number>;
}
export interface MapExpr extends Node {
  kind: 'map';
  entries: { at: number; key: Expr; value: Expr; optional: boolean }[];
}
export interface Struct extends Node {
  kind: 'struct';
  name: string;
  fields: { at: number; name: string; value: Expr; optional: boolean }[];
}
export interface Comprehension extends Node {
  kind: 'comprehension';
  range: Expr;
  variable: string;
  second?: string | undefined;
  accu: string;
  init: Expr;
  condition: Expr;
  step: Expr;
  result: Expr;
}

export type Expr = Literal | Ident | Select | Call | List | MapExpr | Struct | Comprehension;

/** The accumulator of comprehensions, which no expression can name. */
export const ACCU = '@result';

/** Whether a comprehension only gives a name to a value. */
export const isBinding = (e: Comprehension): boolean =>
  e.range.kind === 'list' &&
  e.range.elements.length === 0 &&
  e.condition.kind === 'literal' &&
  e.condition.value === false &&
  e.accu !== ACCU;

/** `a.b.c` of nested selections of an identifier. */
export function qualifiedName(e: Expr): string | undefined {
  if (e.kind === 'ident') return e.name;
  if (e.kind !== 'select' || e.test) return undefined;
  const prefix = qualifiedName(e.operand);
  return prefix === undefined ? undefined : `${prefix}.${e.field}`;
}

/** Direct parts of an expression. */
export function partsOf(e: Expr): Expr[] {
  switch (e.kind) {
    case 'select':
      return [e.operand];
    case 'call':
      return e.target === undefined ? e.args : [e.target, ...e.args];
    case 'list':
      return e.elements;
    case 'map':
      return e.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return e.fields.map(({ value }) => value);
    case 'comprehension':
      return [e.range, e.init, e.condition, e.step, e.result];
    default:
      return [];
  }
}

/** Whether an identifier occurs in an expression. */
export function mentions(e: Expr, name: string): boolean {
  return (e.kind === 'ident' && e.name === name) || partsOf(e).some((part) => mentions(part, name));
}

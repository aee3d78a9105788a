import { type Call, type Comprehension, type Expr, isBinding, type List, type MapExpr } from './ast.ts';
import { callCost } from './call-cost.ts';
import {
  fixed,
  LIST_COST,
  MAP_COST,
  MAX,
  plus,
  type Range,
  STRUCT_COST,
  times,
  UNKNOWN,
  union,
} from './cost-numbers.ts';
import { type CelType, isOptional } from './types.ts';

/**
 * Estimates what an expression can cost at most, before there is any data (cel-go's checker.Cost, by whose results
 * CRDs are accepted or refused).
 */

/** A part of an expression as the estimate sees it. */
export interface CostNode {
  expr?: Expr | undefined;
  /** Fields from a variable to the value, with `@items`, `@values`, `@keys`; absent where it is computed. */
  path?: readonly string[] | undefined;
  type: CelType;
  size?: Range | undefined;
}

/** The size of a value that only the schema tells; `undefined` where it does not. */
export type SizeOf = (path: readonly string[]) => Range | undefined;

export interface CallEstimate {
  cost: Range;
  size?: Range | undefined;
}

interface EntrySize {
  kind: 'list' | 'map';
  key: Range;
  value: Range;
}

interface Local {
  path: readonly string[] | undefined;
  size: Range | undefined;
  entries?: EntrySize | undefined;
}

const ONE = fixed(1);

function isScalar(type: CelType): boolean {
  if (isOptional(type)) return isScalar(type.params[0]!);
  return ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind);
}

function literalSize(e: Expr): Range | undefined {
  if (e.kind === 'list') return fixed(e.elements.length);
  if (e.kind === 'map') return fixed(e.entries.length);
  if (e.kind !== 'literal') return undefined;
  const { value } = e;
  if (typeof value === 'string') return fixed([...value].length);
  return typeof value === 'object' && value !== null && 'bytes' in value ? fixed(value.bytes.length) : ONE;
}

class Estimator {
  readonly #sizeOf: SizeOf;
  readonly #paths = new Map<Expr, readonly string[] | undefined>();
  readonly #sizes = new Map<Expr, Range>();
  readonly #entries = new Map<Expr, EntrySize>();
  readonly #locals: [string, Local][] = [];

  constructor(sizeOf: SizeOf) {
    this.#sizeOf = sizeOf;
  }

  cost(e: Expr): Range {
    switch (e.kind) {
      case 'literal':
        return fixed(0);
      case 'ident':
        this.#paths.set(e, this.#local(e.name)?.path ?? [e.name]);
        return ONE;
      case 'select': {
        const operand = this.cost(e.operand);
        if (e.test) return operand;
        this.#paths.set(e, this.#below(e.operand, e.field));
        const counts = ['map', 'struct', 'param'].includes(e.operand.type!.kind);
        return counts ? plus(operand, ONE) : operand;
      }
      case 'call':
        return this.#call(e);
      case 'list':
        return this.#list(e);
      case 'map':
        return this.#map(e);
      case 'struct':
        return plus(fixed(STRUCT_COST), ...e.fields.map(({ value }) => this.cost(value)));
      case 'comprehension':
        return isBinding(e) ? this.#binding(e) : this.#comprehension(e);
    }
  }

  #local(name: string): Local | undefined {
    return this.#locals.findLast(([known]) => known === name)?.[1];
  }

  #path(e: Expr): readonly string[] | undefined {
    if (e.kind === 'ident') {
      const local = this.#local(e.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(e);
  }

  /** Also where nothing is known of the parent: then the path begins with the step, as upstream's does. */
  #below(e: Expr, step: string): readonly string[] {
    return [...(this.#path(e) ?? []), step];
  }

  #node(e: Expr): CostNode {
    const path = this.#path(e);
    const own = path !== undefined && path[0] !== '@result' ? path : undefined;
    return { expr: e, path: own, type: e.type!, size: this.#size(e) };
  }

  #size(e: Expr): Range | undefined {
    const known = this.#sizes.get(e) ?? literalSize(e);
    if (known !== undefined) return known;
    const path = this.#path(e);
    const declared = path === undefined || path.length === 0 ? undefined : this.#sizeOf(path);
    if (declared !== undefined) {
      this.#sizes.set(e, declared);
      return declared;
    }
    if (isScalar(e.type!)) return ONE;
    return e.kind === 'ident' ? this.#local(e.name)?.size : undefined;
  }

  #entrySize(e: Expr): EntrySize | undefined {
    return this.#entries.get(e) ?? (e.kind === 'ident' ? this.#local(e.name)?.entries : undefined);
  }

  #call(e: Call): Range {
    if (e.name === 'dyn') {
      const arg = e.args[0]!;
      const cost = this.cost(arg);
      this.#copySizes(e, arg);
      return plus(ONE, cost);
    }
    const argCosts = e.args.map((arg) => this.cost(arg));
    const args = e.args.map((arg) => this.#node(arg));
    if (e.overloads === undefined) return fixed(0);
    const targetCost = e.target === undefined ? fixed(0) : this.cost(e.target);
    const target = e.target === undefined ? undefined : this.#node(e.target);
    let cost: Range = { min: MAX, max: 0 };
    let size: Range | undefined;
    for (const overload of e.overloads) {
      const estimate = this.#structural(e, overload, args, argCosts) ?? {
        ...callCost({ name: e.name, overload, target, args, sizeOf: this.#sizeOf }),
      };
      const own = this.#isLazy(overload) ? estimate.cost : plus(estimate.cost, ...argCosts);
      cost = union(cost, own);
      if (estimate.size !== undefined) size = size === undefined ? estimate.size : union(size, estimate.size);
      if (overload === 'index_list' || overload === 'index_map') {
        const from = e.args[0]!;
        size = this.#entrySize(from)?.value;
        this.#paths.set(e, this.#below(from, overload === 'index_list' ? '@items' : '@values'));
      }
      size ??= this.#size(e);
    }
    if (size !== undefined) this.#sizes.set(e, size);
    return plus(targetCost, cost);
  }

  /** Operators whose arguments are not all evaluated. */
  #isLazy(overload: string): boolean {
    return overload === 'logical_and' || overload === 'logical_or' || overload === 'conditional';
  }

  /** Operators that pass sizes of their parts on. */
  #structural(e: Call, overload: string, args: CostNode[], argCosts: Range[]): CallEstimate | undefined {
    const [first, second, third] = args;
    switch (overload) {
      case 'logical_and':
      case 'logical_or':
        return { cost: { min: argCosts[0]!.min, max: plus(argCosts[0]!, argCosts[1]!).max } };
      case 'conditional': {
        this.#joinEntries(e, e.args[1]!, e.args[2]!);
        const cost = plus(argCosts[0]!, union(argCosts[1]!, argCosts[2]!));
        return { cost, size: union(second!.size ?? UNKNOWN, third!.size ?? UNKNOWN) };
      }
      case 'add_list':
        this.#joinEntries(e, e.args[0]!, e.args[1]!);
        return { cost: ONE, size: plus(first!.size ?? UNKNOWN, second!.size ?? UNKNOWN) };
      default:
        return undefined;
    }
  }

  #joinEntries(e: Expr, a: Expr, b: Expr): void {
    const [x, y] = [this.#entrySize(a), this.#entrySize(b)];
    if (x === undefined || y === undefined) return;
    this.#entries.set(e, { kind: x.kind, key: union(x.key, y.key), value: union(x.value, y.value) });
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from);
    if (size !== undefined) this.#sizes.set(to, size);
    const entries = this.#entrySize(from);
    if (entries !== undefined) this.#entries.set(to, entries);
  }

  #sizesOf(values: readonly Expr[]): Range {
    const none: Range = { min: values.length === 0 ? 0 : MAX, max: 0 };
    return values.reduce((all, value) => union(all, this.#size(value) ?? UNKNOWN), none);
  }

  #list(e: List): Range {
    const costs = e.elements.map((element) => this.cost(element));
    this.#entries.set(e, { kind: 'list', key: ONE, value: this.#sizesOf(e.elements) });
    return plus(fixed(LIST_COST), ...costs);
  }

  #map(e: MapExpr): Range {
    const [keys, values] = [e.entries.map(({ key }) => key), e.entries.map(({ value }) => value)];
    const costs = [...keys, ...values].map((part) => this.cost(part));
    this.#entries.set(e, { kind: 'map', key: this.#sizesOf(keys), value: this.#sizesOf(values) });
    return plus(fixed(MAP_COST), ...costs);
  }

  #push(name: string, local: Local): void {
    this.#locals.push([name, local]);
  }

  #pushVariables(e: Comprehension): void {
    const entries = this.#entrySize(e.range);
    const isList = (entries?.kind ?? e.range.type!.kind) === 'list';
    const at = (step: string, size: Range | undefined): Local => ({ path: this.#below(e.range, step), size });
    const value = at(isList ? '@items' : '@values', entries?.value);
    const key = at(isList ? '@indices' : '@keys', entries?.key);
    if (e.second === undefined) this.#push(e.variable, isList ? value : key);
    else {
      this.#push(e.variable, key);
      this.#push(e.second, value);
    }
  }

  #comprehension(e: Comprehension): Range {
    const before = plus(this.cost(e.range), this.cost(e.init));
    this.#push(e.accu, { path: this.#path(e.init), size: this.#size(e.init), entries: this.#entrySize(e.init) });
    const depth = this.#locals.length;
    this.#pushVariables(e);
    const loop = plus(this.cost(e.condition), this.cost(e.step));
    const stepEntries = this.#entrySize(e.step);
    this.#locals.length = depth;
    const result = this.cost(e.result);
    this.#locals.pop();
    const count = this.#size(e.range) ?? UNKNOWN;
    if (e.init.kind === 'literal') {
      const size = this.#size(e.init);
      if (size !== undefined) this.#sizes.set(e, size);
    } else if (e.init.kind === 'list' || e.init.kind === 'map') {
      this.#sizes.set(e, count);
      if (stepEntries !== undefined) this.#entries.set(e, stepEntries);
    }
    return plus(before, result, times(count, loop));
  }

  #binding(e: Comprehension): Range {
    const before = plus(this.cost(e.range), this.cost(e.init));
    this.#push(e.accu, { path: this.#path(e.init), size: this.#size(e.init), entries: this.#entrySize(e.init) });
    const result = this.cost(e.result);
    this.#copySizes(e, e.result);
    this.#locals.pop();
    return plus(before, result);
  }
}

/** The range of costs of a checked expression. */
export const estimateCost = (e: Expr, sizeOf: SizeOf): Range => new Estimator(sizeOf).cost(e);

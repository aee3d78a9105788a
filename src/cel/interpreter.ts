import { ACCU, type Call, type Comprehension, type Expr, isBinding, type List, type MapExpr } from './ast.ts';
import { MAP_COST, STRUCT_COST } from './cost-numbers.ts';
import type { Environment } from './environment.ts';
import {
  CostExceeded,
  calling,
  charge,
  constant,
  dispatch,
  type Eval,
  type Frame,
  failing,
  faultAsValue,
  iterate,
} from './evaluation.ts';
import { compileRegex } from './library/regex.ts';
import { BINARY, negate } from './operators.ts';
import {
  appending,
  CONVERSIONS,
  type Entry,
  fresh,
  hasRootCost,
  inserting,
  isAttribute,
  makingList,
  makingMap,
  PATTERNS,
} from './planning.ts';
import { runtimeCostOf } from './runtime-cost.ts';
import { elementAt, isPresent, member, optionalElement, optionalMember } from './selection.ts';
import { CelList, Fault, noOverload, Optional, sizeOf, TypeValue, type Value } from './values.ts';

/** What evaluation gives: the value, or the fault, with the cost of either. */
export type Outcome =
  | { ok: true; value: Value; cost: number }
  | { ok: false; fault: Fault | CostExceeded; cost: number };

/** A constant part of an expression always fails, so that it cannot be made ready to run. */
export class ProgramError extends Error {}

/** An expression made ready to run. */
export interface Program {
  /** `bindings`: values of variables; those left out are unknown to the expression. `limit`: cost at which it ends. */
  evaluate: (bindings: Readonly<Record<string, Value | undefined>>, limit: number) => Outcome;
}

class Planner {
  /** Values of what is known before there is any data. */
  readonly #constants = new Map<Eval, Value>();
  readonly #env: Environment;
  readonly #scope: [string, number][] = [];
  readonly roots = new Map<string, number>();
  slots = 0;

  constructor(env: Environment) {
    this.#env = env;
  }

  plan(e: Expr): Eval {
    switch (e.kind) {
      case 'literal':
        return this.#constant(constant(e));
      case 'ident':
        return this.#ident(e.name);
      case 'select': {
        const [operand, { field }] = [this.#base(e.operand), e];
        if (e.test) return (f) => isPresent(operand(f), field);
        return (f) => {
          const value = operand(f);
          charge(f, 1);
          return member(value, field);
        };
      }
      case 'call':
        return this.#call(e);
      case 'list':
        return this.#list(e);
      case 'map':
        return this.#map(e);
      case 'struct': {
        const fields = e.fields.map(({ name, value, optional }): Entry => [() => name, this.plan(value), optional]);
        return makingMap(fields, STRUCT_COST, e.type?.kind === 'struct' ? e.type.name : e.name);
      }
      case 'comprehension':
        return this.#comprehension(e);
    }
  }

  #ident(name: string): Eval {
    const plain = name.startsWith('.') ? name.slice(1) : name;
    const local = plain === name ? this.#scope.findLast(([known]) => known === name) : undefined;
    if (local === undefined && !this.#env.variables.has(plain)) {
      const type = this.#env.typeNames.get(plain);
      if (type !== undefined) {
        const value = new TypeValue(type.params[0]!.name);
        return () => value;
      }
    }
    const slot = local?.[1] ?? this.#root(plain);
    return (f) => {
      charge(f, 1);
      const value = f.slots[slot];
      if (value instanceof Fault) throw value;
      if (value === undefined) throw new Fault(`no such attribute(s): ${plain}`);
      return value;
    };
  }

  #root(name: string): number {
    const known = this.roots.get(name);
    if (known !== undefined) return known;
    this.roots.set(name, this.slots);
    return this.slots++;
  }

  /** What costs nothing: it is known before there is any data. */
  #constant(value: Value): Eval {
    const run: Eval = () => value;
    this.#constants.set(run, value);
    return run;
  }

  /** Makes a constant of what is made of constants alone, unless it fails. */
  #folded(run: Eval, parts: readonly Eval[]): Eval {
    if (!parts.every((part) => this.#constants.has(part))) return run;
    try {
      return this.#constant(run({ slots: [], cost: 0, limit: Number.POSITIVE_INFINITY }));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return run;
    }
  }

  /** A conversion of a constant is made at once. Throws a {@link ProgramError} where that fails. */
  #converted(run: Eval, arg: Eval): Eval {
    if (!this.#constants.has(arg)) return run;
    const value = faultAsValue(run, { slots: [], cost: 0, limit: Number.POSITIVE_INFINITY });
    if (value instanceof Fault) throw new ProgramError(value.message);
    return this.#constant(value);
  }

  /** Throws a {@link ProgramError} for a constant that is no pattern. */
  #checkPattern(arg: Eval): void {
    const pattern = this.#constants.get(arg);
    if (typeof pattern !== 'string') return;
    try {
      compileRegex(pattern);
    } catch (error) {
      throw new ProgramError(error instanceof Error ? error.message : String(error));
    }
  }

  /** What a field or element is taken of. A value that no variable leads to counts as a variable of its own. */
  #base(e: Expr): Eval {
    const run = this.plan(e);
    if (isAttribute(e)) return run;
    return (f) => {
      const value = run(f);
      charge(f, 1);
      return value;
    };
  }

  #list(e: List): Eval {
    const elements = e.elements.map((x) => this.plan(x));
    const run = makingList(elements, e.optional);
    return e.optional.size === 0 ? this.#folded(run, elements) : run;
  }

  #map({ entries }: MapExpr): Eval {
    const planned = entries.map(({ key, value, optional }): Entry => [this.plan(key), this.plan(value), optional]);
    const parts = [...planned.map(([key]) => key), ...planned.map(([, value]) => value)];
    return this.#folded(makingMap(planned, MAP_COST), parts);
  }

  #call(e: Call): Eval {
    switch (e.name) {
      case '_?_:_':
        return this.#conditional(e);
      case '_&&_':
        return this.#logical(e, false);
      case '_||_':
        return this.#logical(e, true);
      case '@not_strictly_false':
        return this.#notStrictlyFalse(e);
      case '_[_]':
      case '_[?_]':
      case '_?._':
        return this.#index(e);
      case 'or':
      case 'orValue':
        if (e.target !== undefined) return this.#alternative(e);
        break;
      default:
    }
    const accumulated = this.#accumulation(e);
    if (accumulated !== undefined) return accumulated;
    return this.#operator(e) ?? this.#function(e);
  }

  #conditional(e: Call): Eval {
    const condition = this.plan(e.args[0]!);
    const [yes, no] = e.args.slice(1).map((x) => this.#branch(x)) as [Eval, Eval];
    return (f) => {
      const value = condition(f);
      if (typeof value !== 'boolean') throw noOverload();
      return value ? yes(f) : no(f);
    };
  }

  /** A branch of a conditional: the variable that it begins with costs nothing there. */
  #branch(e: Expr): Eval {
    const run = this.plan(e);
    if (!hasRootCost(e)) return run;
    return (f) => {
      f.cost -= 1;
      return run(f);
    };
  }

  /** `&&` and `||`: either side may decide, even when the other one fails. */
  #logical(e: Call, deciding: boolean): Eval {
    const [left, right] = e.args.map((x) => this.plan(x)) as [Eval, Eval];
    return (f) => {
      let fault: Fault | undefined;
      for (const side of [left, right]) {
        try {
          const value = side(f);
          if (value === deciding) return deciding;
          if (typeof value !== 'boolean') throw noOverload();
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          fault ??= error;
        }
      }
      if (fault !== undefined) throw fault;
      return !deciding;
    };
  }

  #notStrictlyFalse(e: Call): Eval {
    const inner = this.plan(e.args[0]!);
    return (f) => {
      const value = faultAsValue(inner, f);
      charge(f, 1);
      return value !== false;
    };
  }

  #index(e: Call): Eval {
    const [container, key] = [this.#base(e.args[0]!), this.plan(e.args[1]!)];
    const get = { '_[_]': elementAt, '_[?_]': optionalElement, '_?._': optionalMember }[e.name]!;
    return (f) => {
      const [from, at] = [container(f), key(f)];
      const value = faultAsValue(() => get(from, at), f);
      if (value instanceof Fault) return failing(f, value);
      if (!(value instanceof Optional) || e.name === '_[_]' || value.present) charge(f, 1);
      return value;
    };
  }

  #alternative(e: Call): Eval {
    const [first, other] = [this.plan(e.target!), this.plan(e.args[0]!)];
    return (f) => {
      const value = first(f);
      if (!(value instanceof Optional)) throw noOverload();
      if (!value.present) return other(f);
      return e.name === 'or' ? value : value.value;
    };
  }

  /** Additions to an accumulator are made in place: nothing else can see it. */
  #accumulation(e: Call): Eval | undefined {
    const [first, second] = e.args;
    if (first?.kind !== 'ident' || first.name !== ACCU) return undefined;
    if (e.name === '_+_' && second?.kind === 'list') return appending(this.plan(first), this.plan(second));
    if (e.name !== 'cel.@mapInsert') return undefined;
    const [accu, ...rest] = e.args.map((x) => this.plan(x)) as [Eval, ...Eval[]];
    return inserting(accu, rest);
  }

  #operator(e: Call): Eval | undefined {
    const cost = runtimeCostOf(e.name);
    const [first, second] = e.args;
    if (e.name === '@in') {
      const known = this.#membership(first!, second!);
      if (known !== undefined) return known;
    }
    const binary = second === undefined ? undefined : BINARY[e.name];
    if (binary !== undefined) {
      const args = [this.plan(first!), this.plan(second!)];
      return calling(args, cost, ([x, y]) => binary(x!, y!));
    }
    if (e.name === '!_' || e.name === '-_') {
      return calling([this.plan(first!)], cost, ([value]) => {
        if (e.name === '-_') return negate(value!);
        if (typeof value !== 'boolean') throw noOverload();
        return !value;
      });
    }
    if (e.name !== 'size') return undefined;
    return calling([this.plan(e.target ?? first!)], cost, ([value]) => {
      const sized = typeof value === 'object' && value !== null && !(value instanceof Optional) && 'size' in value;
      if (typeof value === 'string' || sized || value instanceof Uint8Array) return BigInt(sizeOf(value));
      throw noOverload();
    });
  }

  /** Whether a value is in a list of constants, which costs nothing; `undefined` for other lists. */
  #membership(item: Expr, list: Expr): Eval | undefined {
    const items = this.#constants.get(this.plan(list));
    if (!(items instanceof CelList)) return undefined;
    if (items.size === 0) return this.#constant(false);
    if ([...items].some((x) => typeof x === 'object')) return undefined;
    const run = this.plan(item);
    return (f) => BINARY['@in']!(run(f), items);
  }

  #function(e: Call): Eval {
    const cost = runtimeCostOf(e.name);
    const all = this.#env.functions.get(e.name) ?? [];
    const candidates = all.filter(
      ({ id, member: isMember, call }) =>
        call !== undefined && isMember === (e.target !== undefined) && (e.overloads?.includes(id) ?? true),
    );
    const args = (e.target === undefined ? e.args : [e.target, ...e.args]).map((x) => this.plan(x));
    if (PATTERNS.has(e.name) && args.length > 1) this.#checkPattern(args[1]!);
    const run = calling(args, cost, (values) => dispatch(e.name, candidates, values));
    return args.length === 1 && CONVERSIONS.has(e.name) ? this.#converted(run, args[0]!) : run;
  }

  #comprehension(e: Comprehension): Eval {
    if (isBinding(e)) return this.#binding(e);
    const [range, init] = [this.plan(e.range), this.plan(e.init)];
    const accuSlot = this.#push(e.accu);
    const firstSlot = this.#push(e.variable);
    const secondSlot = e.second === undefined ? undefined : this.#push(e.second);
    const [condition, step] = [this.plan(e.condition), this.plan(e.step)];
    this.#scope.length -= secondSlot === undefined ? 1 : 2;
    const result = this.plan(e.result);
    this.#scope.pop();
    return (f) => {
      const over = range(f);
      f.slots[accuSlot] = fresh(init(f));
      iterate(over, secondSlot !== undefined, (first, second) => {
        f.slots[firstSlot] = first;
        if (secondSlot !== undefined) f.slots[secondSlot] = second;
        if (condition(f) !== true) return false;
        f.slots[accuSlot] = faultAsValue(step, f);
        return true;
      });
      return result(f);
    };
  }

  #binding(e: Comprehension): Eval {
    const init = this.plan(e.init);
    const slot = this.#push(e.accu);
    const result = this.plan(e.result);
    this.#scope.pop();
    return (f) => {
      const before = f.slots[slot];
      f.slots[slot] = init(f);
      const value = result(f);
      f.slots[slot] = before;
      return value;
    };
  }

  #push(name: string): number {
    this.#scope.push([name, this.slots]);
    return this.slots++;
  }
}

/** Makes a checked expression ready to run. Throws a {@link ProgramError}. */
export function planProgram(env: Environment, expr: Expr): Program {
  const planner = new Planner(env);
  const run = planner.plan(expr);
  const { roots, slots } = planner;
  return {
    evaluate: (bindings, limit) => {
      const frame: Frame = { slots: new Array<Value | Fault | undefined>(slots).fill(undefined), cost: 0, limit };
      for (const [name, slot] of roots) if (Object.hasOwn(bindings, name)) frame.slots[slot] = bindings[name];
      try {
        const value = run(frame);
        return { ok: true, value, cost: frame.cost };
      } catch (error) {
        if (!(error instanceof Fault || error instanceof CostExceeded)) throw error;
        return { ok: false, fault: error, cost: frame.cost };
      }
    },
  };
}

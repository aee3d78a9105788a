import type { Literal } from './ast.ts';
import type { Overload } from './functions.ts';
import { CelList, CelMap, Fault, fits, Optional, typeName, Uint, type Value } from './values.ts';

/** Thrown when an evaluation has cost more than it may; nothing takes it up. */
export class CostExceeded {
  readonly message = 'operation cancelled: actual cost limit exceeded';
}

/** One evaluation: the values of variables by their slots, and what it has cost. */
export interface Frame {
  /** A fault stands for an accumulator that could not be computed; reading it fails. */
  readonly slots: (Value | Fault | undefined)[];
  cost: number;
  readonly limit: number;
}
/** A node of an expression made ready to run. Throws a {@link Fault} or {@link CostExceeded}. */
export type Eval = (frame: Frame) => Value;

/** Adds to the cost of an evaluation. Throws {@link CostExceeded} beyond its limit. */
export function charge(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.limit) throw new CostExceeded();
}

/** Charges for a step that fails, as upstream's tracker does, and fails. */
export function failing(frame: Frame, fault: Fault): never {
  charge(frame, 1);
  throw fault;
}

/** The value, or the fault, which counts as one where it may be taken up. */
export function faultAsValue(run: Eval, frame: Frame): Value | Fault {
  try {
    return run(frame);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** The value of an optional member of a list, map or struct; `undefined` when it has none. */
export function given(value: Value): Value | undefined {
  if (!(value instanceof Optional)) throw new Fault(`cannot initialize optional entry from non-optional value`);
  return value.present ? value.value : undefined;
}

/** The value of a literal. */
export function constant({ value }: Literal): Value {
  if (typeof value !== 'object' || value === null) return value;
  return 'uint' in value ? new Uint(value.uint) : value.bytes;
}

/** Calls back with every member of a list, or key of a map, until that returns false. */
export function iterate(over: Value, two: boolean, visit: (first: Value, second: Value | undefined) => boolean): void {
  if (over instanceof CelList) {
    for (let i = 0; i < over.size; i++) {
      const item = over.at(i);
      if (!(two ? visit(BigInt(i), item) : visit(item, undefined))) return;
    }
  } else if (over instanceof CelMap) {
    for (const key of over.keys()) if (!visit(key, two ? over.get(key) : undefined)) return;
  } else throw new Fault(`got '${typeName(over)}', expected iterable type`);
}

/**
 * Evaluates arguments and makes a call of them. One that fails is charged for as well, as is one of up to two arguments
 * that fail (cel-go's CostTracker).
 */
export function calling(
  args: readonly Eval[],
  cost: (args: readonly Value[], result: Value) => number,
  call: (args: Value[]) => Value,
): Eval {
  return (f) => {
    const values: Value[] = [];
    let fault: Fault | undefined;
    for (const arg of args) {
      const value = faultAsValue(arg, f);
      if (!(value instanceof Fault)) values.push(value);
      else if (args.length > 2) throw value;
      else {
        fault ??= value;
        values.push(null);
      }
    }
    const result = fault ?? faultAsValue(() => call(values), f);
    charge(f, cost(values, result instanceof Fault ? null : result));
    if (result instanceof Fault) throw result;
    return result;
  };
}

/** Calls the first overload that takes the arguments. */
export function dispatch(name: string, candidates: readonly Overload[], args: Value[]): Value {
  for (const { args: types, call } of candidates) {
    const matches = types.length === args.length && types.every((type, i) => fits(args[i]!, type));
    if (matches) return call!(...args);
  }
  throw new Fault(`no such overload: ${name}(${args.map(typeName).join(', ')})`);
}

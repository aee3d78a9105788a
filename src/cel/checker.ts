import {
  type Call,
  type Comprehension,
  type Constant,
  type Expr,
  type List,
  type MapExpr,
  partsOf,
  qualifiedName,
  type Select,
  type Struct,
} from './ast.ts';
import type { Environment } from './environment.ts';
import type { Overload } from './functions.ts';
import type { Issue } from './issues.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DYN,
  ERROR,
  formatType,
  INT,
  isDyn,
  isOptional,
  listOf,
  type Mapping,
  mapOf,
  mostGeneral,
  NULL,
  optionalOf,
  param,
  STRING,
  sameType,
  substitute,
  UINT,
  unify,
} from './types.ts';

/**
 * The type checker of CEL (cel-spec, "Gradual Type Checking"; rules and messages as in cel-go's checker). It leaves
 * its findings on the nodes.
 */
export class Checker {
  readonly issues: Issue[] = [];
  readonly #env: Environment;
  #mapping: Mapping = new Map();
  #scopes: Map<string, CelType>[] = [];
  #fresh = 0;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** Checks a whole expression and returns its type. */
  run(root: Expr): CelType {
    this.#check(root);
    this.#settle(root, new Set());
    return root.type!;
  }

  /** Puts what is known in the end in place of type parameters. */
  #settle(e: Expr, seen: Set<Expr>): void {
    if (seen.has(e)) return;
    seen.add(e);
    e.type = substitute(this.#mapping, e.type ?? ERROR, true);
    for (const part of partsOf(e)) this.#settle(part, seen);
  }

  #issue(at: number, message: string): void {
    this.issues.push({ at, message });
  }

  #check(e: Expr): CelType {
    e.type = this.#typeOf(e);
    return e.type;
  }

  #typeOf(e: Expr): CelType {
    switch (e.kind) {
      case 'literal':
        return constantType(e.value);
      case 'ident': {
        const found = this.#variable(e.name);
        if (found !== undefined) return found;
        return this.#undeclared(e.at, e.name);
      }
      case 'select':
        return this.#select(e);
      case 'call':
        return this.#call(e);
      case 'list':
        return this.#list(e);
      case 'map':
        return this.#map(e);
      case 'struct':
        return this.#struct(e);
      case 'comprehension':
        return this.#comprehension(e);
    }
  }

  #undeclared(at: number, name: string): CelType {
    this.#issue(at, `undeclared reference to '${name}' (in container '')`);
    return ERROR;
  }

  #variable(name: string): CelType | undefined {
    const plain = name.startsWith('.') ? name.slice(1) : name;
    if (plain === name) {
      for (let i = this.#scopes.length - 1; i >= 0; i--) {
        const type = this.#scopes[i]!.get(name);
        if (type !== undefined) return type;
      }
    }
    return this.#env.variableType(plain);
  }

  #isLocal(name: string): boolean {
    return this.#scopes.some((scope) => scope.has(name));
  }

  #select(e: Select): CelType {
    const whole = e.test ? undefined : qualifiedName(e);
    const first = whole?.split('.').find((part) => part !== '');
    const variable = whole === undefined || this.#isLocal(first!) ? undefined : this.#variable(whole);
    if (variable !== undefined) {
      Object.assign(e, { kind: 'ident', name: whole });
      return variable;
    }
    const type = this.#field(e.at, e.operand, e.field, false);
    return e.test ? BOOL : substitute(this.#mapping, type, false);
  }

  /** The type of a field of an operand; optional where the operand is, or where it is asked for so. */
  #field(at: number, operand: Expr, field: string, optional: boolean): CelType {
    const operandType = substitute(this.#mapping, this.#check(operand), false);
    const target = isOptional(operandType) ? operandType.params[0]! : operandType;
    const result = this.#fieldOf(at, target, field);
    return optional || isOptional(operandType) ? optionalOf(result) : result;
  }

  #fieldOf(at: number, target: CelType, field: string): CelType {
    switch (target.kind) {
      case 'map':
        return target.params[1]!;
      case 'struct': {
        const type = target.fields?.get(field);
        if (type !== undefined) return type;
        const isKnown = target.fields !== undefined;
        this.#issue(at, isKnown ? `undefined field '${field}'` : `unexpected failed resolution of '${target.name}'`);
        return ERROR;
      }
      case 'param':
        this.#assignable(DYN, target);
        return DYN;
      case 'dyn':
      case 'error':
        return DYN;
      default:
        this.#issue(at, `type '${formatType(target)}' does not support field selection`);
        return DYN;
    }
  }

  #call(e: Call): CelType {
    if (e.name === '_?._') return this.#optionalSelect(e);
    for (const arg of e.args) this.#check(arg);
    const { target } = e;
    if (target === undefined) {
      const name = e.name.startsWith('.') ? e.name.slice(1) : e.name;
      const overloads = this.#env.functions.get(name);
      if (overloads === undefined) return this.#undeclared(e.at, e.name);
      e.name = name;
      return this.#resolve(e, overloads);
    }
    const prefix = qualifiedName(target);
    const named = prefix === undefined ? undefined : this.#env.functions.get(`${prefix}.${e.name}`);
    if (named !== undefined) {
      e.name = `${prefix}.${e.name}`;
      e.target = undefined;
      return this.#resolve(e, named);
    }
    this.#check(target);
    const overloads = this.#env.functions.get(e.name);
    return overloads === undefined ? this.#undeclared(e.at, e.name) : this.#resolve(e, overloads);
  }

  #optionalSelect(e: Call): CelType {
    const [operand, field] = e.args as [Expr, Expr];
    this.#check(field);
    if (field.kind !== 'literal' || typeof field.value !== 'string') {
      this.#issue(field.at, 'unsupported optional field selection');
      return ERROR;
    }
    e.overloads = ['select_optional_field'];
    return substitute(this.#mapping, this.#field(e.at, operand, field.value, true), false);
  }

  #resolve(e: Call, overloads: readonly Overload[]): CelType {
    const args = e.target === undefined ? e.args : [e.target, ...e.args];
    const types = args.map((arg) => arg.type!);
    if (e.name === '_&&_' || e.name === '_||_') return this.#logical(e, types);
    let result: CelType | undefined;
    const ids: string[] = [];
    for (const overload of overloads) {
      if (overload.member !== (e.target !== undefined)) continue;
      const fresh = this.#instantiate(overload);
      const mapping = unify(this.#mapping, types, fresh.args);
      if (mapping === undefined) continue;
      this.#mapping = mapping;
      ids.push(overload.id);
      const own = substitute(this.#mapping, fresh.result, false);
      if (result === undefined) result = own;
      else if (!isDyn(result) && !sameType(own, result)) result = DYN;
    }
    if (result === undefined) {
      this.#noOverload(e, types);
      return ERROR;
    }
    e.overloads = ids;
    return result;
  }

  #noOverload(e: Call, types: readonly CelType[]): void {
    const shown = types.map((type) => formatType(substitute(this.#mapping, type, true)));
    const own = e.target === undefined ? shown : shown.slice(1);
    const target = e.target === undefined ? '' : `${shown[0]}.`;
    const applied = `${target}(${own.join(', ')})`;
    this.#issue(e.at, `found no matching overload for '${e.name}' applied to '${applied}'`);
  }

  #logical(e: Call, types: readonly CelType[]): CelType {
    e.overloads = [e.name === '_&&_' ? 'logical_and' : 'logical_or'];
    let fine = true;
    for (const [i, type] of types.entries()) {
      if (this.#assignable(type, BOOL)) continue;
      fine = false;
      this.#mismatch(e.args[i]!.at, BOOL, type);
    }
    return fine ? BOOL : ERROR;
  }

  #mismatch(at: number, expected: CelType, found: CelType): void {
    this.#issue(at, `expected type '${formatType(expected)}' but found '${formatType(found)}'`);
  }

  /** The overload with type parameters of its own. */
  #instantiate(overload: Overload): { args: readonly CelType[]; result: CelType } {
    const names = new Map<string, CelType>();
    const rename = (type: CelType): CelType => {
      if (type.kind === 'param') {
        if (!names.has(type.name)) names.set(type.name, this.#newParam());
        return names.get(type.name)!;
      }
      return type.params.length === 0 ? type : { ...type, params: type.params.map(rename) };
    };
    return { args: overload.args.map(rename), result: rename(overload.result) };
  }

  #newParam(): CelType {
    return param(`_var${this.#fresh++}`);
  }

  #assignable(a: CelType, b: CelType): boolean {
    const mapping = unify(this.#mapping, [a], [b]);
    if (mapping === undefined) return false;
    this.#mapping = mapping;
    return true;
  }

  #join(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current;
    if (this.#assignable(previous, current)) return mostGeneral(previous, current);
    return DYN;
  }

  /** The type of a member that may be spelt `?member`. */
  #member(value: Expr, optional: boolean): CelType {
    const type = value.type!;
    if (!optional) return type;
    if (isOptional(type)) return type.params[0]!;
    if (!isDyn(type)) this.#mismatch(value.at, optionalOf(type), type);
    return type;
  }

  #list(e: List): CelType {
    let type: CelType | undefined;
    for (const [i, element] of e.elements.entries()) {
      this.#check(element);
      type = this.#join(type, this.#member(element, e.optional.has(i)));
    }
    return listOf(type ?? this.#newParam());
  }

  #map(e: MapExpr): CelType {
    let keys: CelType | undefined;
    let values: CelType | undefined;
    for (const { key, value, optional } of e.entries) {
      keys = this.#join(keys, this.#check(key));
      this.#check(value);
      values = this.#join(values, this.#member(value, optional));
    }
    return mapOf(keys ?? this.#newParam(), values ?? this.#newParam());
  }

  #struct(e: Struct): CelType {
    const type = this.#env.structType(e.name);
    if (type === undefined) return this.#noStruct(e);
    for (const { at, name, value, optional } of e.fields) {
      this.#check(value);
      const field = this.#fieldOf(at, type, name);
      const given = this.#member(value, optional);
      if (!this.#assignable(field, given)) {
        const what = `expected type of field '${name}' is '${formatType(field)}'`;
        this.#issue(at, `${what} but provided type is '${formatType(given)}'`);
      }
    }
    return type;
  }

  #noStruct({ at, name }: Struct): CelType {
    if (this.#env.variableType(name)?.kind !== 'type') return this.#undeclared(at, name);
    this.#issue(at, `'${name}' is not a message type`);
    return ERROR;
  }

  #comprehension(e: Comprehension): CelType {
    this.#check(e.range);
    const accu = this.#check(e.init);
    const range = substitute(this.#mapping, e.range.type!, false);
    const [first, second] = this.#iteration(e, range);
    this.#scopes.push(new Map([[e.accu, accu]]));
    const names = new Map([[e.variable, first]]);
    if (e.second !== undefined) names.set(e.second, second);
    this.#scopes.push(names);
    this.#check(e.condition);
    this.#expect(e.condition, BOOL);
    this.#check(e.step);
    this.#expect(e.step, accu);
    this.#scopes.pop();
    this.#check(e.result);
    this.#scopes.pop();
    return substitute(this.#mapping, e.result.type!, false);
  }

  #expect(e: Expr, type: CelType): void {
    if (!this.#assignable(type, e.type!)) this.#mismatch(e.at, type, e.type!);
  }

  #iteration(e: Comprehension, range: CelType): [CelType, CelType] {
    const two = e.second !== undefined;
    switch (range.kind) {
      case 'list':
        return two ? [INT, range.params[0]!] : [range.params[0]!, DYN];
      case 'map':
        return [range.params[0]!, range.params[1]!];
      case 'dyn':
      case 'error':
      case 'param':
        this.#assignable(DYN, range);
        return [DYN, DYN];
      default: {
        const why = 'cannot be range of a comprehension (must be list, map, or dynamic)';
        this.#issue(e.range.at, `expression of type '${formatType(range)}' ${why}`);
        return [ERROR, ERROR];
      }
    }
  }
}

function constantType(value: Constant): CelType {
  switch (typeof value) {
    case 'boolean':
      return BOOL;
    case 'bigint':
      return INT;
    case 'number':
      return DOUBLE;
    case 'string':
      return STRING;
    default:
      if (value === null) return NULL;
      return 'uint' in value ? UINT : BYTES;
  }
}

import { isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import { type Expr, partsOf } from '../../cel/ast.ts';
import { unescapeName } from '../../cel/declarations.ts';
import { CompileError, check, type Environment } from '../../cel/environment.ts';
import { type Program, ProgramError, planProgram } from '../../cel/interpreter.ts';
import { environmentWith } from '../../cel/kubernetes.ts';
import { DYN, listOf, mapOf, STRING, struct } from '../../cel/types.ts';
import { CelList, CelMap, Fault, type Value } from '../../cel/values.ts';
import type { UserInfo } from '../../request/context.ts';

/** Cost at which an expression ends (k8s.io/apiserver, pkg/apis/cel, PerCallLimit). */
const CALL_LIMIT = 1_000_000;

const claimsEnvironment = environmentWith({ claims: mapOf(STRING, DYN) });
const userEnvironment = environmentWith({
  user: struct(
    'kubernetes.UserInfo',
    new Map([
      ['username', STRING],
      ['uid', STRING],
      ['groups', listOf(STRING)],
      ['extra', mapOf(STRING, listOf(STRING))],
    ]),
  ),
});

/** An expression about a token's claims, or about the user that they make. */
export interface ClaimExpression {
  source: string;
  program: Program;
}

function compile(environment: Environment, source: string, bool: boolean): ClaimExpression {
  try {
    const { expr, type } = check(environment, source);
    if (bool && type.kind !== 'bool') throw new TypeError('must evaluate to bool');
    return { source, program: planProgram(environment, expr) };
  } catch (error) {
    if (error instanceof ProgramError) throw new TypeError(`program instantiation failed: ${error.message}`);
    throw error instanceof CompileError ? new TypeError(`compilation failed: ${error.message}`) : error;
  }
}

/** Compiles an expression with the variable `claims`. Throws TypeError with the reason, also where no bool is made. */
export const compileClaims = (source: string, bool = false): ClaimExpression =>
  compile(claimsEnvironment, source, bool);

/** Compiles a condition with the variable `user`. */
export const compileUser = (source: string): ClaimExpression => compile(userEnvironment, source, true);

const isClaims = (e: Expr | undefined) => e?.kind === 'ident' && e.name === 'claims';

function selects(e: Expr, claim: string): boolean {
  if (e.kind === 'select' && isClaims(e.operand) && e.field === claim) return true;
  if (e.kind === 'call' && e.name === '_?._' && isClaims(e.args[0])) {
    const field = e.args[1];
    if (field?.kind === 'literal' && field.value === claim) return true;
  }
  return partsOf(e).some((part) => selects(part, claim));
}

/** Whether an expression that compiles selects a claim, as `claims.NAME` or `claims.?NAME`. */
export const mentionsClaim = (source: string, claim: string): boolean =>
  selects(check(claimsEnvironment, source).expr, claim);

/** JSON as claims are read: every number is a double, and `a__dot__b` finds `a.b`. */
function claimValue(json: JsonValue | undefined): Value {
  if (Array.isArray(json)) return new ClaimList(json);
  return isObject(json) ? new ClaimMap(json) : (json ?? null);
}

class ClaimList extends CelList {
  readonly #json: readonly JsonValue[];

  constructor(json: readonly JsonValue[]) {
    super();
    this.#json = json;
  }

  get size(): number {
    return this.#json.length;
  }

  at(index: number): Value {
    return claimValue(this.#json[index]);
  }
}

class ClaimMap extends CelMap {
  readonly #json: JsonObject;

  constructor(json: JsonObject) {
    super();
    this.#json = json;
  }

  get size(): number {
    return Object.keys(this.#json).length;
  }

  get(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const name = unescapeName(key);
    return Object.hasOwn(this.#json, name) ? claimValue(this.#json[name]) : undefined;
  }

  keys(): string[] {
    return Object.keys(this.#json);
  }
}

function evaluate({ source, program }: ClaimExpression, variable: string, json: JsonObject): Value {
  const outcome = program.evaluate({ [variable]: claimValue(json) }, CALL_LIMIT);
  if (outcome.ok) return outcome.value;
  throw new Fault(`expression '${source}' resulted in error: ${outcome.fault.message}`);
}

/** Evaluates an expression on claims. Throws a Fault with the reason. */
export const evaluateClaims = (expression: ClaimExpression, claims: JsonObject): Value =>
  evaluate(expression, 'claims', claims);

/** Evaluates a condition on a user. Throws a Fault with the reason. */
export const evaluateUser = (expression: ClaimExpression, { name, uid = '', groups, extra }: UserInfo): Value =>
  evaluate(expression, 'user', { username: name, uid, groups, extra });

/** A string or list of strings without the empty ones; null is none. Throws a Fault for anything else. */
export function textsOf(value: Value): string[] {
  if (value === null) return [];
  const list = value instanceof CelList ? [...value] : [value];
  return list.filter((item): item is string => {
    if (typeof item !== 'string') throw new Fault('expression must return a string or a list of strings');
    return item !== '';
  });
}

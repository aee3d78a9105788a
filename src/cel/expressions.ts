import { namespaceType, requestType } from './admission-types.ts';
import { mentions } from './ast.ts';
import { CompileError, check, type Environment, withVariables } from './environment.ts';
import { LIBRARY_TYPES } from './functions.ts';
import { type Outcome, type Program, ProgramError, planProgram } from './interpreter.ts';
import { kubernetesEnvironment } from './kubernetes.ts';
import { type AccessDecision, type AccessQuery, type Decisions, PendingDecision } from './library/authorizer.ts';
import { mutationEnvironment } from './mutation.ts';
import { type CelType, DYN, ERROR, struct } from './types.ts';
import { CelMap, Fault, type Value } from './values.ts';

/**
 * Expressions of policies and of match conditions, with variables that are evaluated when they are first looked at
 * (k8s.io/apiserver, pkg/admission/plugin/cel).
 */

/** Cost of one expression, of all of a policy for one object, and of match conditions. */
const CALL_LIMIT = 1_000_000;
export const POLICY_BUDGET = 10_000_000;
export const CONDITIONS_BUDGET = 2_500_000;

/** One expression, compiled or not. */
export interface Expression {
  source: string;
  program?: Program;
  type: CelType;
  /** Why it does not compile: `compilation failed: ERROR: …`, or of which type it should be. */
  error?: string;
  /** Whether the error is one that upstream calls internal. */
  internal?: boolean;
  /** Whether it looks at the namespace, which has to be read for it. */
  usesNamespace: boolean;
}

/** A type as Go prints it. */
export const shownType = ({ name, params }: CelType): string =>
  params.length === 0 ? name : `${name}(${params.map(shownType).join(', ')})`;

const authorizerTypes: Readonly<Record<string, CelType>> = {
  authorizer: LIBRARY_TYPES.Authorizer!,
  'authorizer.requestResource': LIBRARY_TYPES.ResourceCheck!,
};

function compileIn(env: Environment, source: string, types: readonly string[]): Expression {
  try {
    const { expr, type } = check(env, source);
    const usesNamespace = mentions(expr, 'namespaceObject') || mentions(expr, 'variables');
    if (types.length === 0 || types.includes(shownType(type))) {
      return { source, type, program: planProgram(env, expr), usesNamespace };
    }
    const wanted = types.length === 1 ? types[0] : `one of [${types.join(' ')}]`;
    return { source, type, error: `must evaluate to ${wanted} but got ${shownType(type)}`, usesNamespace };
  } catch (error) {
    if (error instanceof ProgramError) {
      const why = `program instantiation failed: ${error.message}`;
      return { source, type: ERROR, error: why, internal: true, usesNamespace: false };
    }
    if (!(error instanceof CompileError)) throw error;
    return { source, type: ERROR, error: `compilation failed: ${error.message}`, usesNamespace: false };
  }
}

/** The type by which expressions know a variable: structures and what is opaque are not looked into. */
export function variableType(type: CelType): CelType {
  switch (type.kind) {
    case 'list':
    case 'map':
      return { ...type, params: type.params.map(variableType) };
    case 'struct':
    case 'opaque':
    case 'type':
    case 'error':
      return DYN;
    default:
      return type;
  }
}

/** Compiles the expressions of one policy or webhook. */
export class ExpressionCompiler {
  readonly #base: Environment;
  readonly #fields = new Map<string, CelType>();
  readonly variables = new Map<string, Expression>();

  /** `params`: whether there is that variable. `base`: what expressions may use beside the variables. */
  constructor(options: { params: boolean; composed: boolean; base?: Environment }) {
    const variables: Record<string, CelType> = {
      object: DYN,
      oldObject: DYN,
      request: requestType,
      namespaceObject: namespaceType,
    };
    if (options.params) variables.params = DYN;
    if (options.composed) variables.variables = struct('kubernetes.variables', this.#fields);
    this.#base = withVariables(options.base ?? kubernetesEnvironment, variables);
  }

  /** `types`: names of the types that it may be of; empty: any. */
  compile(source: string, types: readonly string[], authorizer: boolean): Expression {
    return compileIn(authorizer ? withVariables(this.#base, authorizerTypes) : this.#base, source, types);
  }

  /** Compiles what makes a change, which may construct objects (`Object{…}`, `JSONPatch{…}`). */
  compileMutation(source: string, types: readonly string[]): Expression {
    return compileIn(mutationEnvironment(withVariables(this.#base, authorizerTypes)), source, types);
  }

  /** Compiles a variable, which later expressions may use. */
  addVariable(name: string, source: string, authorizer: boolean): Expression {
    const expression = this.compile(source, [], authorizer);
    this.#fields.set(name, variableType(expression.type));
    this.variables.set(name, expression);
    return expression;
  }
}

/** The budget of a policy is used up. */
export class OutOfBudget {
  readonly message = 'validation failed due to running out of cost budget, no further validation rules will be run';
}

/** Values of variables for one object. */
export type Bindings = Readonly<Record<string, Value>>;

/** The variable `variables`: each is evaluated when it is first looked at, and once. */
class LazyVariables extends CelMap {
  readonly #expressions: ReadonlyMap<string, Expression>;
  readonly #evaluate: (expression: Expression) => Outcome | Fault;
  readonly #known = new Map<string, Value | Fault>();

  constructor(expressions: ReadonlyMap<string, Expression>, evaluate: (expression: Expression) => Outcome | Fault) {
    super();
    this.#expressions = expressions;
    this.#evaluate = evaluate;
  }

  override get typeName(): string {
    return 'kubernetes.variables';
  }

  get size(): number {
    return this.#expressions.size;
  }

  keys(): Iterable<string> {
    return this.#expressions.keys();
  }

  get(name: Value): Value | undefined {
    const expression = typeof name === 'string' ? this.#expressions.get(name) : undefined;
    if (expression === undefined || typeof name !== 'string') return undefined;
    const known = this.#known.get(name) ?? this.#find(name, expression);
    if (known instanceof Fault) throw known;
    return known;
  }

  #find(name: string, expression: Expression): Value | Fault {
    const outcome = this.#evaluate(expression);
    let found: Value | Fault;
    if (outcome instanceof Fault) {
      found = new Fault(`composited variable ${JSON.stringify(name)} fails to compile: ${outcome.message}`);
    } else if (outcome.ok) found = outcome.value;
    else found = new Fault(`composited variable ${JSON.stringify(name)} fails to evaluate: ${outcome.fault.message}`);
    this.#known.set(name, found);
    return found;
  }
}

/** The result of an expression: a value, or the sentence that tells why there is none. */
export type Result = { value: Value } | { error: string };

/** Evaluates expressions of one policy for one object, within one budget. */
export class Evaluator {
  readonly #bindings: Record<string, Value>;
  #budget: number;
  #variableCost = 0;

  constructor(bindings: Bindings, variables: ReadonlyMap<string, Expression>, budget: number) {
    this.#budget = budget;
    this.#bindings = { ...bindings };
    this.#bindings.variables = new LazyVariables(variables, (expression) => this.#variable(expression));
  }

  #variable(expression: Expression): Outcome | Fault {
    if (expression.program === undefined) return new Fault(expression.error ?? '');
    const outcome = expression.program.evaluate(this.#bindings, CALL_LIMIT);
    this.#variableCost += outcome.cost;
    return outcome;
  }

  /** Throws {@link OutOfBudget}, and {@link PendingDecision} where the authorizer has to be asked first. */
  evaluate({ source, program, error }: Expression): Result {
    if (program === undefined) return { error: `compilation error: ${error}` };
    const outcome = program.evaluate(this.#bindings, CALL_LIMIT);
    this.#budget -= outcome.cost + this.#variableCost;
    this.#variableCost = 0;
    if (this.#budget < 0) throw new OutOfBudget();
    if (outcome.ok) return { value: outcome.value };
    return { error: `expression '${source}' resulted in error: ${outcome.fault.message}` };
  }
}

/** Asks the authorizer. */
export type Decide = (query: AccessQuery) => Promise<AccessDecision>;

/** Runs what may need decisions of the authorizer, again after each that was not there yet. */
export async function withDecisions<T>(decisions: Decisions, decide: Decide, run: () => T): Promise<T> {
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof PendingDecision)) throw error;
      decisions.set(error.key, await decide(error.query));
    }
  }
}

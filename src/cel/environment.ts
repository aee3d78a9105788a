import { type Expr, partsOf } from './ast.ts';
import { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import { formatIssues, type Issue, SyntaxIssue } from './issues.ts';
import { compileRegex } from './library/regex.ts';
import { parseDuration, parseTimestamp } from './library/time.ts';
import { literalTypeIssues } from './literal-types.ts';
import { type MacroFilter, parse } from './parser.ts';
import type { CelType } from './types.ts';

/** What an expression may use. */
export interface Environment {
  functions: Functions;
  /** Types that may be constructed, `Object.spec{…}`. */
  structType: (name: string) => CelType | undefined;
  /** Whether members of list and map literals may differ in type. */
  mixedLiterals: boolean;
  macros: MacroFilter;
  /** Names of types, which are values too. */
  typeNames: ReadonlyMap<string, CelType>;
  variables: ReadonlyMap<string, CelType>;
  variableType: (name: string) => CelType | undefined;
}

/** A checked expression. */
export interface Checked {
  expr: Expr;
  type: CelType;
}

/** What the compiler says of an expression that it refuses: `ERROR: <input>:1:5: undefined field 'b'`, with the place. */
export class CompileError extends Error {}

/** The environment with more variables. */
export function withVariables(base: Environment, more: Readonly<Record<string, CelType>>): Environment {
  const variables = new Map([...base.variables, ...Object.entries(more)]);
  return { ...base, variables, variableType: (name) => variables.get(name) ?? base.typeNames.get(name) };
}

/** Literals that are wrong whatever the data: durations, times and patterns. */
const LITERALS: Readonly<Record<string, (text: string) => boolean>> = {
  duration: (text) => parseDuration(text) !== undefined,
  timestamp: (text) => parseTimestamp(text) !== undefined,
  matches: (text) => {
    try {
      compileRegex(text);
      return true;
    } catch {
      return false;
    }
  },
};

function literalIssues(e: Expr): Issue[] {
  const found = partsOf(e).flatMap(literalIssues);
  if (e.kind !== 'call' || !Object.hasOwn(LITERALS, e.name)) return found;
  const arg = e.args.at(-1);
  if (arg?.kind !== 'literal' || typeof arg.value !== 'string' || LITERALS[e.name]!(arg.value)) return found;
  return [...found, { at: arg.at, message: `invalid ${e.name} argument` }];
}

/** Parses and checks an expression. Throws a {@link CompileError}. */
export function check(env: Environment, source: string): Checked {
  let expr: Expr;
  try {
    expr = parse(source, env.macros);
  } catch (error) {
    if (!(error instanceof SyntaxIssue)) throw error;
    throw new CompileError(formatIssues([error.issue], source));
  }
  const checker = new Checker(env);
  const type = checker.run(expr);
  const faults = checker.issues.length > 0 ? checker.issues : literalIssues(expr);
  const mixed = env.mixedLiterals || checker.issues.length > 0 ? [] : literalTypeIssues(expr);
  const issues = [...faults, ...mixed];
  if (issues.length > 0) throw new CompileError(formatIssues(issues, source));
  return { expr, type };
}

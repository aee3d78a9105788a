import type { Expr } from './ast.ts';
import { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import { formatIssues, SyntaxIssue } from './issues.ts';
import { literalTypeIssues } from './literal-types.ts';
import { literalIssues } from './literals.ts';
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
  const faults = checker.issues.length > 0 ? checker.issues : literalIssues(env, expr);
  const mixed = env.mixedLiterals || checker.issues.length > 0 ? [] : literalTypeIssues(expr);
  const issues = [...faults, ...mixed];
  if (issues.length > 0) throw new CompileError(formatIssues(issues, source));
  return { expr, type };
}

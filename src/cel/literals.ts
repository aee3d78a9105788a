import { type Call, type Expr, type List, partsOf } from './ast.ts';
import type { Environment } from './environment.ts';
import { ProgramError, planProgram } from './interpreter.ts';
import type { Issue } from './issues.ts';
import { replaceClauses, UNENDED, unfit } from './library/format-string.ts';
import { compileRegex } from './library/regex.ts';

/** Literals that are wrong whatever the data: durations, times, patterns and format strings (cel-go, cel/validator.go). */

function evaluates(env: Environment, call: Call): boolean {
  try {
    return planProgram(env, call).evaluate({}, Number.POSITIVE_INFINITY).ok;
  } catch (error) {
    if (error instanceof ProgramError) return false;
    throw error;
  }
}

function isPattern(text: string): boolean {
  try {
    compileRegex(text);
    return true;
  } catch {
    return false;
  }
}

/** Functions whose first argument is looked at where it is a literal. */
const CHECKED: ReadonlySet<string> = new Set(['duration', 'timestamp', 'matches']);

function argumentIssues(env: Environment, e: Call): Issue[] {
  const [arg] = e.args;
  if (!CHECKED.has(e.name) || arg?.kind !== 'literal') return [];
  const isRight = e.name === 'matches' ? isPattern(String(arg.value)) : evaluates(env, e);
  return isRight ? [] : [{ at: arg.at, message: `invalid ${e.name} argument` }];
}

const kinds = (names: string): ReadonlySet<string> => new Set(['dyn', ...names.split(' ')]);
const TEXTS = kinds('list map int uint double bool string timestamp bytes duration type null');
/** Kinds of types that each clause takes. */
const TAKEN: Readonly<Record<string, ReadonlySet<string>>> = {
  s: TEXTS,
  d: kinds('int uint'),
  f: kinds('double string'),
  e: kinds('double string'),
  b: kinds('int uint bool'),
  x: kinds('int uint string bytes'),
  X: kinds('int uint string bytes'),
  o: kinds('int uint'),
};

/** The first part of an argument that cannot be shown as text. */
function shownBadly(e: Expr): Expr | undefined {
  if (!TEXTS.has(e.type!.kind)) return e;
  return e.kind === 'list' || e.kind === 'map'
    ? partsOf(e)
        .map(shownBadly)
        .find((bad) => bad !== undefined)
    : undefined;
}

class FormatIssue {
  readonly issue: Issue;

  constructor(at: number, message: string) {
    this.issue = { at, message };
  }
}

function checkArgument(letter: string, arg: Expr): void {
  const bad = letter === 's' ? shownBadly(arg) : TAKEN[letter]!.has(arg.type!.kind) ? undefined : arg;
  if (bad !== undefined) throw new FormatIssue(bad.at, unfit(letter, bad.type!.name).message);
}

/** Checks a literal format string against the types of its literal list of arguments. */
function formatIssue(e: Call, format: string, { elements }: List): Issue | undefined {
  let next = 0;
  try {
    replaceClauses(format, (clause) => {
      const isMissing = next >= elements.length;
      if ('fault' in clause && (clause.fault === UNENDED || !isMissing)) throw new FormatIssue(e.at, clause.fault);
      if (isMissing || 'fault' in clause) throw new FormatIssue(e.at, `index ${next} out of range`);
      checkArgument(clause.letter, elements[next++]!);
      return '';
    });
  } catch (error) {
    if (error instanceof FormatIssue) return error.issue;
    throw error;
  }
  const given = elements.length;
  if (given <= next) return undefined;
  const message = `too many arguments supplied to string.format (expected ${next}, got ${given})`;
  return { at: e.at, message };
}

function formatIssues(e: Call): Issue[] {
  const [list] = e.args;
  if (e.name !== 'format' || e.target?.kind !== 'literal' || list?.kind !== 'list') return [];
  const { value } = e.target;
  const issue = typeof value === 'string' ? formatIssue(e, value, list) : undefined;
  return issue === undefined ? [] : [issue];
}

/** What is wrong with the literals of a checked expression. */
export function literalIssues(env: Environment, e: Expr): Issue[] {
  const own = e.kind === 'call' ? [...argumentIssues(env, e), ...formatIssues(e)] : [];
  return [...own, ...partsOf(e).flatMap((part) => literalIssues(env, part))];
}

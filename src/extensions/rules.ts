import { mentions } from '../cel/ast.ts';
import { type Declaration, declaredSize, MAX_REQUEST } from '../cel/declarations.ts';
import { type Checked, CompileError, check } from '../cel/environment.ts';
import { type Program, ProgramError, planProgram } from '../cel/interpreter.ts';
import { environmentWith } from '../cel/kubernetes.ts';
import { estimateCost } from '../cel/static-cost.ts';
import { optionalOf } from '../cel/types.ts';
import { fieldPathOf } from './rule-paths.ts';
import type { Structural, ValidationRule } from './structural.ts';

/** A rule of `x-kubernetes-validations`, compiled. */
export interface CompiledRule {
  rule: ValidationRule;
  /** Left out where the rule is empty or has an error. */
  program?: Program;
  error?: string;
  usesOldSelf: boolean;
  message?: Program;
  messageError?: string;
  /** Where a failure is told to be, below the rule's own place. */
  fieldPath?: string;
  /** Estimates of the worst case of one evaluation. */
  maxCost: number;
  messageMaxCost: number;
}

/** How often data of at least that size can be in a request. */
export const maxCardinality = ({ minSize }: Declaration): number => Math.floor(MAX_REQUEST / (minSize + 1));

function costOf({ expr }: Checked, declaration: Declaration): number {
  return estimateCost(expr, (path) => declaredSize(declaration, path)).max;
}

/** Compiles one rule of a schema. */
function compileRule(rule: ValidationRule, schema: Structural, declaration: Declaration): CompiledRule {
  const out: CompiledRule = { rule, usesOldSelf: false, maxCost: 0, messageMaxCost: 0 };
  if (rule.rule.trim() === '') return out;
  const self = declaration.type;
  const env = environmentWith({ self, oldSelf: rule.optionalOldSelf === true ? optionalOf(self) : self });
  let checked: Checked;
  try {
    checked = check(env, rule.rule);
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return { ...out, error: `compilation failed: ${error.message}` };
  }
  if (checked.type.kind !== 'bool') return { ...out, error: 'cel expression must evaluate to a bool' };
  out.usesOldSelf = mentions(checked.expr, 'oldSelf');
  try {
    out.program = planProgram(env, checked.expr);
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    return { ...out, error: `program instantiation failed: ${error.message}` };
  }
  out.maxCost = costOf(checked, declaration);
  const path = rule.fieldPath === undefined ? undefined : fieldPathOf(rule.fieldPath, schema);
  if (path !== undefined) out.fieldPath = path;
  if (rule.messageExpression) return { ...out, ...compileMessage(rule.messageExpression, env, declaration) };
  return out;
}

function compileMessage(
  source: string,
  env: Parameters<typeof check>[0],
  declaration: Declaration,
): Partial<CompiledRule> {
  try {
    const checked = check(env, source);
    if (checked.type.kind !== 'string') return { messageError: 'messageExpression must evaluate to a string' };
    return { message: planProgram(env, checked.expr), messageMaxCost: costOf(checked, declaration) };
  } catch (error) {
    if (error instanceof ProgramError)
      return { messageError: `messageExpression instantiation failed: ${error.message}` };
    if (!(error instanceof CompileError)) throw error;
    return { messageError: `messageExpression compilation failed: ${error.message}` };
  }
}

/** Compiles the rules of one schema, not of those below it. */
export function compileRules(schema: Structural, declaration: Declaration): CompiledRule[] {
  return (schema['x-kubernetes-validations'] ?? []).map((rule) => compileRule(rule, schema, declaration));
}

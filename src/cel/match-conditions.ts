import { objects, text } from '../api/fields.ts';
import type { JsonValue } from '../api/object.ts';
import { type Evaluator, type Expression, type ExpressionCompiler, OutOfBudget } from './expressions.ts';

/** `matchConditions` of webhooks, policies and authorizers, compiled. */
export interface MatchCondition {
  name: string;
  expression: Expression;
}

export const readConditions = (conditions: JsonValue | undefined, compiler: ExpressionCompiler): MatchCondition[] =>
  objects(conditions).map(({ name, expression }) => ({
    name: text(name),
    expression: compiler.compile(text(expression), ['bool'], true),
  }));

/** What conditions say: all hold; one does not, and decides; or none is false and some failed. */
export type Verdict = { matches: true } | { matches: false } | { error: string };

/** Several errors as one, as Go's aggregates print them. */
function aggregate(errors: readonly string[]): string {
  const unique = [...new Set(errors)];
  return unique.length === 1 ? unique[0]! : `[${unique.join(', ')}]`;
}

/** A condition that is false decides even where others fail. */
export function matchConditions(conditions: readonly MatchCondition[], evaluator: Evaluator): Verdict {
  const errors: string[] = [];
  for (const { expression } of conditions) {
    try {
      const result = evaluator.evaluate(expression);
      if ('error' in result) errors.push(result.error);
      else if (result.value === false) return { matches: false };
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error;
      return { error: error.message };
    }
  }
  return errors.length === 0 ? { matches: true } : { error: aggregate(errors) };
}

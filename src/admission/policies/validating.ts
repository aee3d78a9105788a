import { mapOf, objects, text, textOr } from '../../api/fields.ts';
import type { JsonValue, KubeObject } from '../../api/object.ts';
import type { Bindings } from '../../cel/expressions.ts';
import { Evaluator, type Expression, OutOfBudget, POLICY_BUDGET } from '../../cel/expressions.ts';
import { typeName } from '../../cel/values.ts';
import { shownMessage } from '../../extensions/rule-validation.ts';
import { type Compiled, compiledOnce, conditionsHold, startPolicy } from './compiled.ts';

/** One ValidatingAdmissionPolicy, compiled, and what it says of an object. */

interface Validation {
  expression: Expression;
  message: Expression | undefined;
  text: string;
  reason: string;
}

export interface CompiledPolicy extends Compiled {
  validations: readonly Validation[];
  annotations: readonly { key: string; expression: Expression }[];
}

function compile(policy: KubeObject): CompiledPolicy {
  const { spec, compiler, conditions } = startPolicy(policy);
  const validations = objects(spec.validations).map(
    ({ expression, message, messageExpression, reason }): Validation => ({
      expression: compiler.compile(text(expression), ['bool'], true),
      message:
        text(messageExpression) === '' ? undefined : compiler.compile(text(messageExpression), ['string'], false),
      text: text(message).trim(),
      reason: textOr(reason, 'Invalid'),
    }),
  );
  const annotations = objects(spec.auditAnnotations).map(({ key, valueExpression }) => ({
    key: text(key),
    expression: compiler.compile(text(valueExpression), ['string', 'null_type'], true),
  }));
  const all = [
    ...compiler.variables.values(),
    ...validations.flatMap(({ expression, message }) => (message === undefined ? [expression] : [expression, message])),
    ...annotations.map(({ expression }) => expression),
  ];
  const usesNamespace = all.some((expression) => expression.usesNamespace);
  return { conditions, variables: compiler.variables, validations, annotations, usesNamespace };
}

export const compiledPolicy = compiledOnce(compile);

/** Why a policy refuses an object. */
export interface Denial {
  message: string;
  reason: string;
  /** Which validation it was. */
  index: number;
}

/** What a policy says of an object. */
export interface Findings {
  denials: Denial[];
  annotations: { key: string; value: string }[];
  /** Audit annotations that could not be made, where that refuses the request. */
  annotationFaults: string[];
}

const nothing = (): Findings => ({ denials: [], annotations: [], annotationFaults: [] });
const failed = (message: string, ignores: boolean): Findings => ({
  ...nothing(),
  denials: ignores ? [] : [{ message, reason: 'Invalid', index: 0 }],
});

/**
 * Asks a policy about an object. `ignores`: its failurePolicy. `bindings`: all variables; conditions see no namespace.
 */
export function askPolicy(policy: CompiledPolicy, bindings: Bindings, ignores: boolean): Findings {
  const verdict = conditionsHold(policy, bindings);
  if ('error' in verdict) return failed(verdict.error, ignores);
  if (!verdict.matches) return nothing();
  try {
    const evaluator = new Evaluator(bindings, policy.variables, POLICY_BUDGET);
    const results = policy.validations.map(({ expression }) => evaluator.evaluate(expression));
    const denials: Denial[] = [];
    for (const [index, validation] of policy.validations.entries()) {
      const result = results[index]!;
      if ('error' in result) {
        if (!ignores) denials.push({ message: result.error, reason: 'Invalid', index });
      } else if (result.value !== true) {
        denials.push({ message: messageOf(validation, evaluator), reason: validation.reason, index });
      }
    }
    return { ...annotate(policy, bindings, ignores), denials };
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    return failed(error.message, ignores);
  }
}

function messageOf({ expression, message, text: own }: Validation, evaluator: Evaluator): string {
  const result = message === undefined ? undefined : evaluator.evaluate(message);
  const made = result !== undefined && 'value' in result && typeof result.value === 'string' ? result.value : '';
  return shownMessage(made) ?? (own || `failed expression: ${expression.source.trim()}`);
}

function annotate(policy: CompiledPolicy, bindings: Bindings, ignores: boolean): Findings {
  const out = nothing();
  const evaluator = new Evaluator(bindings, policy.variables, POLICY_BUDGET);
  for (const { key, expression } of policy.annotations) {
    const result = evaluator.evaluate(expression);
    if ('error' in result) {
      if (!ignores) out.annotationFaults.push(result.error);
    } else if (typeof result.value === 'string') {
      const value = result.value.trim();
      if (value !== '') out.annotations.push({ key, value });
    } else if (result.value !== null) {
      const why = `resulted in unsupported return type: ${typeName(result.value)}`;
      const wanted = 'Return type must be either string or null.';
      out.annotationFaults.push(`valueExpression '${expression.source}' ${why}. ${wanted}`);
    }
  }
  return out;
}

/** Actions of a binding. */
export const actionsOf = (binding: KubeObject): readonly JsonValue[] => {
  const actions = mapOf(binding.spec).validationActions;
  return Array.isArray(actions) ? actions : [];
};

import { mapOf, objects, text } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';
import {
  type Bindings,
  CONDITIONS_BUDGET,
  Evaluator,
  type Expression,
  ExpressionCompiler,
} from '../../cel/expressions.ts';
import { type MatchCondition, matchConditions, readConditions, type Verdict } from '../../cel/match-conditions.ts';

/** What validating and mutating policies have in common once compiled. */
export interface Compiled {
  conditions: readonly MatchCondition[];
  variables: ReadonlyMap<string, Expression>;
  /** Whether the namespace has to be read for it. */
  usesNamespace: boolean;
}

/** A compiler that knows a policy's variables, and the policy's conditions. */
export function startPolicy(policy: KubeObject) {
  const spec: JsonObject = mapOf(policy.spec);
  const compiler = new ExpressionCompiler({ params: spec.paramKind !== undefined, composed: true });
  for (const { name, expression } of objects(spec.variables)) {
    compiler.addVariable(text(name), text(expression), true);
  }
  return { spec, compiler, conditions: readConditions(spec.matchConditions, compiler) };
}

/** Compiles each policy once, by its object: a fact of a policy's revision. */
export function compiledOnce<T>(compile: (policy: KubeObject) => T): (policy: KubeObject) => T {
  const compiled = new WeakMap<KubeObject, { value: T }>();
  return (policy) => {
    let known = compiled.get(policy);
    if (known === undefined) {
      known = { value: compile(policy) };
      compiled.set(policy, known);
    }
    return known.value;
  };
}

/** Whether a policy's conditions hold; they see no namespace. */
export function conditionsHold({ conditions, variables }: Compiled, bindings: Bindings): Verdict {
  if (conditions.length === 0) return { matches: true };
  const evaluator = new Evaluator({ ...bindings, namespaceObject: null }, variables, CONDITIONS_BUDGET);
  return matchConditions(conditions, evaluator);
}

import { mapOf, objects, text } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';
import { mergeConfiguration } from '../../apply/apply-configuration.ts';
import type { KindType } from '../../apply/kind-type.ts';
import {
  type Bindings,
  CONDITIONS_BUDGET,
  Evaluator,
  type Expression,
  ExpressionCompiler,
  OutOfBudget,
  POLICY_BUDGET,
} from '../../cel/expressions.ts';
import { type MatchCondition, matchConditions, readConditions, type Verdict } from '../../cel/match-conditions.ts';
import { applyConfigurationOf, jsonPatchOf } from '../../cel/mutation.ts';
import type { Value } from '../../cel/values.ts';
import { applyOperations, PatchFault } from '../json-patches.ts';

/** One MutatingAdmissionPolicy, compiled, and what its mutations make of an object. */

export interface Mutation {
  expression: Expression;
  /** What the expression's value makes of an object of a kind. Throws a {@link MutationFault}. */
  apply: (value: Value, object: KubeObject, kind: KindType) => JsonObject;
}

export interface CompiledMutations {
  conditions: readonly MatchCondition[];
  variables: ReadonlyMap<string, Expression>;
  mutations: readonly Mutation[];
  /** Whether the namespace has to be read for it. */
  usesNamespace: boolean;
}

/** Why a mutation cannot be made; the failure policy decides. */
export class MutationFault extends Error {}

function applyConfiguration(value: Value, object: KubeObject, kind: KindType): JsonObject {
  const made = applyConfigurationOf(value);
  if ('error' in made) throw new MutationFault(made.error);
  const { apiVersion, kind: name } = object;
  const merged = mergeConfiguration(kind, object, { ...mapOf(made.value), apiVersion, kind: name } as JsonObject);
  if ('error' in merged) throw new MutationFault(`error applying patch: ${merged.error}`);
  return merged.value;
}

function applyJsonPatch(value: Value, object: KubeObject): JsonObject {
  const made = jsonPatchOf(value);
  if ('error' in made) throw new MutationFault(made.error);
  try {
    return applyOperations(object, made.value);
  } catch (error) {
    if (!(error instanceof PatchFault)) throw error;
    if (error.isTest) return object;
    throw new MutationFault(`JSON Patch: ${error.message}`);
  }
}

function compileMutation(mutation: JsonObject, compiler: ExpressionCompiler): Mutation {
  const source = (key: string) => text(mapOf(mutation[key]).expression);
  if (mutation.patchType === 'JSONPatch') {
    return { expression: compiler.compileMutation(source('jsonPatch'), ['list(JSONPatch)']), apply: applyJsonPatch };
  }
  return { expression: compiler.compileMutation(source('applyConfiguration'), ['Object']), apply: applyConfiguration };
}

function compile({ spec: given }: KubeObject): CompiledMutations {
  const spec = mapOf(given);
  const compiler = new ExpressionCompiler({ params: spec.paramKind !== undefined, composed: true });
  for (const { name, expression } of objects(spec.variables)) {
    compiler.addVariable(text(name), text(expression), true);
  }
  const conditions = readConditions(spec.matchConditions, compiler);
  const mutations = objects(spec.mutations).map((mutation) => compileMutation(mutation, compiler));
  const all = [...compiler.variables.values(), ...mutations.map(({ expression }) => expression)];
  const usesNamespace = all.some((expression) => expression.usesNamespace);
  return { conditions, variables: compiler.variables, mutations, usesNamespace };
}

/** Compiled policies, by their objects: a fact of a policy's revision. */
const compiled = new WeakMap<KubeObject, CompiledMutations>();

export function compiledMutations(policy: KubeObject): CompiledMutations {
  let known = compiled.get(policy);
  if (known === undefined) {
    known = compile(policy);
    compiled.set(policy, known);
  }
  return known;
}

/** Whether a policy's conditions hold; they see no namespace. */
export function conditionsHold({ conditions, variables }: CompiledMutations, bindings: Bindings): Verdict {
  if (conditions.length === 0) return { matches: true };
  return matchConditions(
    conditions,
    new Evaluator({ ...bindings, namespaceObject: null }, variables, CONDITIONS_BUDGET),
  );
}

/** The value that a mutation's expression makes. Throws a {@link MutationFault}. */
export function valueMadeBy({ expression }: Mutation, { variables }: CompiledMutations, bindings: Bindings): Value {
  if (expression.program === undefined) throw new MutationFault(expression.error);
  try {
    const result = new Evaluator(bindings, variables, POLICY_BUDGET).evaluate(expression);
    if ('error' in result) throw new MutationFault(result.error);
    return result.value;
  } catch (error) {
    throw error instanceof OutOfBudget ? new MutationFault(error.message) : error;
  }
}

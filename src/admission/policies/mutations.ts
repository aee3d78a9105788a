import { mapOf, objects, text } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';
import { mergeConfiguration } from '../../apply/apply-configuration.ts';
import type { KindType } from '../../apply/kind-type.ts';
import {
  type Bindings,
  Evaluator,
  type Expression,
  type ExpressionCompiler,
  OutOfBudget,
  POLICY_BUDGET,
} from '../../cel/expressions.ts';
import { applyConfigurationOf, jsonPatchOf } from '../../cel/mutation.ts';
import type { Value } from '../../cel/values.ts';
import { applyOperations, PatchFault } from '../json-patches.ts';
import { type Compiled, compiledOnce, startPolicy } from './compiled.ts';

/** One MutatingAdmissionPolicy, compiled, and what its mutations make of an object. */

export interface Mutation {
  expression: Expression;
  /** What the expression's value makes of an object of a kind. Throws a {@link MutationFault}. */
  apply: (value: Value, object: KubeObject, kind: KindType) => JsonObject;
}

export interface CompiledMutations extends Compiled {
  mutations: readonly Mutation[];
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

function compile(policy: KubeObject): CompiledMutations {
  const { spec, compiler, conditions } = startPolicy(policy);
  const mutations = objects(spec.mutations).map((mutation) => compileMutation(mutation, compiler));
  const all = [...compiler.variables.values(), ...mutations.map(({ expression }) => expression)];
  const usesNamespace = all.some((expression) => expression.usesNamespace);
  return { conditions, variables: compiler.variables, mutations, usesNamespace };
}

export const compiledMutations = compiledOnce(compile);

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

import { mapOf, objects, text, texts } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';
import { namespaceType, requestType } from '../../cel/admission-types.ts';
import { declare } from '../../cel/declarations.ts';
import { CompileError, check, type Environment, withVariables } from '../../cel/environment.ts';
import { variableType } from '../../cel/expressions.ts';
import { LIBRARY_TYPES } from '../../cel/functions.ts';
import { kubernetesEnvironment } from '../../cel/kubernetes.ts';
import { type CelType, DYN, struct } from '../../cel/types.ts';
import type { GroupVersionKind } from '../../discovery/openapi/model.ts';
import type { Structural } from '../../extensions/structural.ts';

/**
 * Checks the expressions of ValidatingAdmissionPolicies against the schemas of what they match (k8s.io/apiserver,
 * pkg/admission/plugin/policy/validating/typechecking.go). What it finds warns the author and changes no decision.
 */

/** Kinds that a policy is checked against at most. */
const MAX_KINDS = 10;

/** What is served. */
export interface Served {
  /** Kinds of a resource by its plural or singular name; an empty group stands for any. */
  kindsOf(group: string, version: string, resource: string): readonly GroupVersionKind[];
  schemaOf(kind: GroupVersionKind): Structural | undefined;
}

const shown = ({ group, version, kind }: GroupVersionKind) => `${group}/${version}, Kind=${kind}`;
const hasWildcard = (names: readonly string[]) => names.some((name) => name.includes('*'));
const orderOf = (kind: GroupVersionKind) => [kind.group, kind.version, kind.kind].join('\0');

/** The kinds that the rules of a policy name without wildcards, in order. */
function kindsMatched(spec: JsonObject, served: Served): GroupVersionKind[] {
  const found = new Map<string, GroupVersionKind>();
  for (const rule of objects(mapOf(spec.matchConstraints).resourceRules)) {
    const [groups, versions] = [texts(rule.apiGroups), texts(rule.apiVersions)];
    if (hasWildcard(groups) || hasWildcard(versions)) continue;
    const resources = texts(rule.resources).filter((name) => !/[*/]/.test(name));
    const kinds = groups
      .toSorted()
      .flatMap((group) =>
        versions
          .toSorted()
          .flatMap((version) => resources.toSorted().flatMap((name) => served.kindsOf(group, version, name))),
      );
    for (const kind of kinds.slice(0, MAX_KINDS)) found.set(orderOf(kind), kind);
    if (kinds.length >= MAX_KINDS) break;
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind);
}

/** The type of a kind's objects, which is dyn where the schema has no type; undefined where there is no schema. */
function typeOfKind(kind: GroupVersionKind, served: Served, suffix: string): CelType | undefined {
  const schema = served.schemaOf(kind);
  return schema === undefined ? undefined : (declare(schema, true, `${kind.kind}${suffix}`)?.type ?? DYN);
}

function paramKindOf(spec: JsonObject): GroupVersionKind | undefined {
  if (spec.paramKind === undefined) return undefined;
  const { apiVersion, kind } = mapOf(spec.paramKind);
  const parts = text(apiVersion).split('/');
  return { group: parts.length > 1 ? parts[0]! : '', version: parts.at(-1)!, kind: text(kind) };
}

/** Why an expression does not compile. */
function faultOf(env: Environment, source: string): string | undefined {
  try {
    check(env, source);
    return undefined;
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return error.message;
  }
}

function typeOfVariable(env: Environment, source: string): CelType {
  try {
    return variableType(check(env, source).type);
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return DYN;
  }
}

/** The environment of a policy's expressions for objects of a type. */
function environmentFor(spec: JsonObject, object: CelType, params: CelType | undefined): Environment {
  const fields = new Map<string, CelType>();
  const env = withVariables(kubernetesEnvironment, {
    namespaceObject: namespaceType,
    request: requestType,
    object,
    oldObject: object,
    ...(params === undefined ? {} : { params }),
    authorizer: LIBRARY_TYPES.Authorizer!,
    variables: struct('kubernetes.variables', fields),
  });
  for (const { name, expression } of objects(spec.variables)) {
    fields.set(text(name), typeOfVariable(env, text(expression)));
  }
  return env;
}

/** An ExpressionWarning of a policy's status. */
export type ExpressionWarning = { fieldRef: string; warning: string };

/**
 * What the types of what a policy matches, and of its params, tell against its validations. `suffix` makes the names of
 * these types unlike any other.
 */
export function typeWarnings(policy: KubeObject, served: Served, suffix: string): ExpressionWarning[] {
  const spec = mapOf(policy.spec);
  const paramKind = paramKindOf(spec);
  const params = paramKind === undefined ? undefined : (typeOfKind(paramKind, served, suffix) ?? DYN);
  const environments = kindsMatched(spec, served).flatMap((kind) => {
    const type = typeOfKind(kind, served, suffix);
    return type === undefined ? [] : [{ kind, env: environmentFor(spec, type, params) }];
  });
  return objects(spec.validations).flatMap(({ expression, messageExpression }, i) =>
    Object.entries({ expression, messageExpression }).flatMap(([field, source]) => {
      if (field === 'messageExpression' && text(source) === '') return [];
      const faults = environments.flatMap(({ kind, env }) => {
        const fault = faultOf(env, text(source));
        return fault === undefined ? [] : [`${shown(kind)}: ${fault}\n`];
      });
      return faults.length === 0 ? [] : [{ fieldRef: `spec.validations[${i}].${field}`, warning: faults.join('\n') }];
    }),
  );
}

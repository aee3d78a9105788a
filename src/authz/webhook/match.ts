import type { JsonObject } from '../../api/object.ts';
import { CompileError, check } from '../../cel/environment.ts';
import { type Program, ProgramError, planProgram } from '../../cel/interpreter.ts';
import { dynValue } from '../../cel/json-values.ts';
import { environmentWith } from '../../cel/kubernetes.ts';
import { type CelType, listOf, mapOf, STRING, struct } from '../../cel/types.ts';

/** Cost at which an expression ends (k8s.io/apiserver, pkg/apis/cel, PerCallLimit). */
const CALL_LIMIT = 1_000_000;

const of = (name: string, fields: Readonly<Record<string, CelType>>): CelType =>
  struct(`kubernetes.${name}`, new Map(Object.entries(fields)));
const strings = (...names: string[]) => Object.fromEntries(names.map((name) => [name, STRING]));
const requirement = of('SelectorRequirement', { ...strings('key', 'operator'), values: listOf(STRING) });
const selector = (name: string) => of(name, { rawSelector: STRING, requirements: listOf(requirement) });

/** The variable of match conditions: the spec of the SubjectAccessReview (k8s.io/apiserver, pkg/authorization/cel). */
const environment = environmentWith({
  request: of('SubjectAccessReviewSpec', {
    ...strings('user', 'uid'),
    groups: listOf(STRING),
    extra: mapOf(STRING, listOf(STRING)),
    resourceAttributes: of('ResourceAttributes', {
      ...strings('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'),
      fieldSelector: selector('FieldSelectorAttributes'),
      labelSelector: selector('LabelSelectorAttributes'),
    }),
    nonResourceAttributes: of('NonResourceAttributes', strings('path', 'verb')),
  }),
});

export interface MatchCondition {
  source: string;
  program: Program;
}

/** Compiles a condition of a webhook authorizer. Throws TypeError with the reason, also where it makes no bool. */
export function compileMatchCondition(source: string): MatchCondition {
  try {
    const { expr, type } = check(environment, source);
    if (type.kind !== 'bool') throw new TypeError(`must evaluate to bool but got ${type.name}`);
    return { source, program: planProgram(environment, expr) };
  } catch (error) {
    if (error instanceof ProgramError) throw new TypeError(`program instantiation failed: ${error.message}`);
    throw error instanceof CompileError ? new TypeError(`compilation failed: ${error.message}`) : error;
  }
}

/** The spec with every text that it may leave out, as conditions see it. */
function whole(spec: JsonObject): JsonObject {
  const { resourceAttributes: resource, ...rest } = spec;
  const texts = { namespace: '', verb: '', group: '', version: '', resource: '', subresource: '', name: '' };
  return {
    user: '',
    uid: '',
    groups: [],
    extra: {},
    ...rest,
    ...(resource === undefined ? {} : { resourceAttributes: { ...texts, ...(resource as JsonObject) } }),
  };
}

/** Whether a review is for the webhook: one condition that is false decides, else the errors of others. */
export function matchesReview(
  conditions: readonly MatchCondition[],
  spec: JsonObject,
): { matches: boolean } | { error: string } {
  const request = dynValue(whole(spec));
  const errors: string[] = [];
  for (const { source, program } of conditions) {
    const outcome = program.evaluate({ request }, CALL_LIMIT);
    if (!outcome.ok)
      errors.push(`cel evaluation error: expression '${source}' resulted in error: ${outcome.fault.message}`);
    else if (outcome.value !== true) return { matches: false };
  }
  if (errors.length === 0) return { matches: true };
  return { error: errors.length === 1 ? errors[0]! : `[${[...new Set(errors)].join(', ')}]` };
}

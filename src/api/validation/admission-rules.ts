import type { ExpressionCompiler } from '../../cel/expressions.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, has, oneOf, parts, text, texts } from './checks.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { qualifiedNameErrors } from './labels.ts';
import { pathSegment } from './names.ts';

/** What webhooks and policies ask for: rules, selectors, match conditions (pkg/apis/admissionregistration/validation). */

const FAILURE_POLICIES = ['Fail', 'Ignore'];
const MATCH_POLICIES = ['Equivalent', 'Exact'];
const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];
const MAX_CONDITIONS = 64;

/** A cause where a field is none of its values; `required`: also where it is not there. */
export function choiceFaults(
  object: JsonObject,
  key: string,
  at: string,
  known: readonly string[],
  required: boolean,
): StatusCause[] {
  if (!has(object, key)) return required ? [causes.required(`${at}.${key}`)] : [];
  return oneOf(object[key], `${at}.${key}`, known);
}

export const failurePolicyFaults = (object: JsonObject, at: string, required: boolean): StatusCause[] =>
  choiceFaults(object, 'failurePolicy', at, FAILURE_POLICIES, required);

export const matchPolicyFaults = (object: JsonObject, at: string, required: boolean): StatusCause[] =>
  choiceFaults(object, 'matchPolicy', at, MATCH_POLICIES, required);

/** A cause where a wildcard stands beside others. */
function loneWildcard(values: readonly string[], at: string, others: string): StatusCause[] {
  if (values.length < 2 || !values.includes('*')) return [];
  return [causes.invalid(at, values, `if '*' is present, must not specify other ${others}`)];
}

function resourceFaults(resources: readonly string[], at: string): StatusCause[] {
  if (resources.length === 0) return [causes.required(at)];
  const out: StatusCause[] = [];
  const wholly = new Set<string>();
  const everywhere = new Set<string>();
  let isLastWithoutSubresource = false;
  for (const [i, name] of resources.entries()) {
    const where = `${at}[${i}]`;
    const slash = name.indexOf('/');
    if (name === '') out.push(causes.required(where));
    else if (slash < 0) isLastWithoutSubresource = name !== '*';
    else {
      const [resource, subresource] = [name.slice(0, slash), name.slice(slash + 1)];
      for (const [known, all] of [
        [wholly.has(resource), `${resource}/*`],
        [everywhere.has(subresource), `*/${subresource}`],
      ] as const) {
        if (known) out.push(causes.invalid(where, name, `if '${all}' is present, must not specify ${name}`));
      }
      if (subresource === '*') wholly.add(resource);
      if (resource === '*') everywhere.add(subresource);
    }
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    out.push(causes.invalid(at, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes('*') && isLastWithoutSubresource) {
    const why = "if '*' is present, must not specify other resources without subresources";
    out.push(causes.invalid(at, resources, why));
  }
  return out;
}

/** Causes in a RuleWithOperations. */
export function ruleFaults(rule: JsonObject, at: string): StatusCause[] {
  const [operations, groups, versions] = ['operations', 'apiGroups', 'apiVersions'].map((key) => texts(rule, key));
  const needed = (values: readonly string[], key: string) =>
    values.length === 0 ? [causes.required(`${at}.${key}`)] : [];
  return [
    ...needed(operations!, 'operations'),
    ...loneWildcard(operations!, `${at}.operations`, 'operations'),
    ...operations!.flatMap((operation, i) => oneOf(operation, `${at}.operations[${i}]`, OPERATIONS)),
    ...needed(groups!, 'apiGroups'),
    ...loneWildcard(groups!, `${at}.apiGroups`, 'API groups'),
    ...needed(versions!, 'apiVersions'),
    ...loneWildcard(versions!, `${at}.apiVersions`, 'API versions'),
    ...versions!.flatMap((version, i) => (version === '' ? [causes.required(`${at}.apiVersions[${i}]`)] : [])),
    ...resourceFaults(texts(rule, 'resources'), `${at}.resources`),
    ...choiceFaults(rule, 'scope', at, SCOPES, false),
  ];
}

function namedRuleFaults(rule: JsonObject, at: string): StatusCause[] {
  const names = texts(rule, 'resourceNames');
  const where = (i: number) => `${at}.resourceNames[${i}]`;
  return [
    ...names.flatMap((name, i) => [
      ...each(where(i), name, pathSegment(name, false)),
      ...(names.indexOf(name) < i ? [causes.duplicate(where(i), name)] : []),
    ]),
    ...ruleFaults(rule, at),
  ];
}

/** Causes in a MatchResources. */
export function matchResourcesFaults(match: JsonObject, at: string): StatusCause[] {
  return [
    ...matchPolicyFaults(match, at, true),
    ...['namespaceSelector', 'objectSelector'].flatMap((key) =>
      has(match, key) ? labelSelectorFaults(match[key], `${at}.${key}`) : [causes.required(`${at}.${key}`)],
    ),
    ...['resourceRules', 'excludeResourceRules'].flatMap((key) =>
      parts(match, key).flatMap((rule, i) => namedRuleFaults(rule, `${at}.${key}[${i}]`)),
    ),
  ];
}

/** A cause where an expression does not compile, or makes another type. */
export function expressionFaults(
  source: string,
  at: string,
  compile: (source: string) => { error?: string; internal?: boolean },
): StatusCause[] {
  const { error, internal } = compile(source);
  if (error === undefined) return [];
  return [internal === true ? causes.internal(at, error) : causes.invalid(at, source, error)];
}

/** Causes in match conditions. The compiler knows no variables of the policy. */
export function matchConditionFaults(
  conditions: readonly JsonObject[],
  at: string,
  compiler: ExpressionCompiler,
): StatusCause[] {
  const names = conditions.map(({ name }) => text(name));
  const out = conditions.length > MAX_CONDITIONS ? [causes.tooMany(at, conditions.length, MAX_CONDITIONS)] : [];
  for (const [i, { name, expression }] of conditions.entries()) {
    const source = text(expression).trim();
    if (source === '') out.push(causes.required(`${at}[${i}].expression`));
    else out.push(...expressionFaults(source, `${at}[${i}].expression`, (s) => compiler.compile(s, ['bool'], true)));
    if (text(name) === '') out.push(causes.required(`${at}[${i}].name`));
    else out.push(...each(`${at}[${i}].name`, text(name), qualifiedNameErrors(text(name))));
    if (text(name) !== '' && names.indexOf(text(name)) < i) out.push(causes.duplicate(`${at}[${i}].name`, text(name)));
  }
  return out;
}

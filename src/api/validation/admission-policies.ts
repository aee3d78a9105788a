import { ExpressionCompiler } from '../../cel/expressions.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, isObject, type JsonObject, type KubeObject } from '../object.ts';
import {
  expressionFaults,
  failurePolicyFaults,
  matchConditionFaults,
  matchResourcesFaults,
} from './admission-rules.ts';
import { each, has, part, parts, requiredText, text, texts } from './checks.ts';
import { conditionFaults } from './conditions.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { qualifiedNameErrors } from './labels.ts';
import { dns1035LabelErrors, dnsSubdomainErrors, pathSegment } from './names.ts';

/** Admission policies and their bindings (pkg/apis/admissionregistration/validation). */

const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const MUTATED = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const MAX_ANNOTATIONS = 20;
const MAX_ANNOTATION_EXPRESSION = 5 * 1024;
const RESERVED: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace return var ' +
    'void while'
  ).split(' '),
);

const isIdentifier = (name: string) => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !RESERVED.has(name);

function versionFaults(apiVersion: string, at: string): StatusCause[] {
  if (apiVersion === '') return [causes.required(at)];
  const segments = apiVersion.split('/');
  if (segments.length > 2) {
    return [causes.invalid(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  }
  const [version = '', group = ''] = segments.reverse();
  const groupFaults = group === '' ? [] : dnsSubdomainErrors(group);
  const out = groupFaults.length === 0 ? [] : [causes.invalid(at, group, groupFaults.join(','))];
  if (version === '') return [...out, causes.invalid(at, apiVersion, 'version must be specified')];
  const faults = dns1035LabelErrors(version);
  return faults.length === 0 ? out : [...out, causes.invalid(at, version, faults.join(','))];
}

function paramKindFaults(paramKind: JsonObject, at: string): StatusCause[] {
  const kind = text(paramKind.kind);
  const faults = dns1035LabelErrors(kind.toLowerCase());
  const why = `may have mixed case, but should otherwise match: ${faults.join(',')}`;
  const ofKind = faults.length === 0 ? [] : [causes.invalid(`${at}.kind`, kind, why)];
  return [
    ...versionFaults(text(paramKind.apiVersion), `${at}.apiVersion`),
    ...(kind === '' ? [causes.required(`${at}.kind`)] : ofKind),
  ];
}

function constraintFaults(spec: JsonObject, at: string): StatusCause[] {
  if (!has(spec, 'matchConstraints')) return [causes.required(at)];
  const constraints = part(spec, 'matchConstraints');
  const rules = parts(constraints, 'resourceRules');
  return [
    ...matchResourcesFaults(constraints, at),
    ...(rules.length === 0 ? [causes.required(`${at}.resourceRules`)] : []),
  ];
}

function mutatedOperationFaults(match: JsonObject, at: string): StatusCause[] {
  return parts(match, 'resourceRules').flatMap((rule) =>
    texts(rule, 'operations')
      .filter((operation) => !MUTATED.includes(operation))
      .map((operation) => causes.notSupported(`${at}.resourceRules.operations`, operation, MUTATED)),
  );
}

function variableFaults(variables: readonly JsonObject[], at: string, compiler: ExpressionCompiler): StatusCause[] {
  return variables.flatMap(({ name, expression }, i) => {
    const [own, source] = [text(name), text(expression)];
    const out: StatusCause[] = [];
    if (own.trim() === '') out.push(causes.required(`${at}[${i}].name`, 'name is not specified'));
    else if (!isIdentifier(own)) out.push(causes.invalid(`${at}[${i}].name`, own, 'must be a valid CEL identifier'));
    const where = `${at}[${i}].expression`;
    if (source.trim() === '') return [...out, causes.required(where, 'expression is not specified')];
    return [...out, ...expressionFaults(source, where, (s) => compiler.addVariable(own, s, true))];
  });
}

function messageFaults(message: string, at: string): StatusCause[] {
  const trimmed = message.trim();
  if (message !== '' && trimmed === '') return [causes.invalid(at, message, 'must be non-empty if specified')];
  return /[\n\r]/.test(trimmed) ? [causes.invalid(at, message, 'must not contain line breaks')] : [];
}

function validationFaults(validation: JsonObject, at: string, compiler: ExpressionCompiler): StatusCause[] {
  const [source, message] = [text(validation.expression), text(validation.messageExpression)];
  const out =
    source.trim() === ''
      ? [causes.required(`${at}.expression`, 'expression is not specified')]
      : expressionFaults(source, `${at}.expression`, (s) => compiler.compile(s, ['bool'], true));
  const where = `${at}.messageExpression`;
  if (message.trim() !== '') {
    out.push(...expressionFaults(message, where, (s) => compiler.compile(s, ['string'], false)));
  } else if (message !== '') out.push(causes.invalid(where, message, 'must be non-empty if specified'));
  out.push(...messageFaults(text(validation.message), `${at}.message`));
  const { reason } = validation;
  if (reason === undefined || REASONS.includes(text(reason))) return out;
  return [...out, causes.notSupported(`${at}.reason`, reason, REASONS)];
}

function annotationFaults(
  policy: string,
  annotation: JsonObject,
  at: string,
  compiler: ExpressionCompiler,
): StatusCause[] {
  const key = text(annotation.key);
  const qualified = `${policy}/${key}`;
  const out = each(`${at}.key`, qualified, qualifiedNameErrors(qualified));
  const given = text(annotation.valueExpression);
  const source = given.trim();
  const where = `${at}.valueExpression`;
  if (source === '') return [...out, causes.required(where, 'valueExpression is not specified')];
  if (new TextEncoder().encode(source).length > MAX_ANNOTATION_EXPRESSION) {
    return [...out, causes.required(where, `must not exceed ${MAX_ANNOTATION_EXPRESSION} bytes in length`)];
  }
  const compile = () => compiler.compile(source, ['string', 'null_type'], true);
  return [...out, ...expressionFaults(given, where, compile)];
}

function annotationsFaults(object: KubeObject, annotations: readonly JsonObject[], compiler: ExpressionCompiler) {
  const at = 'spec.auditAnnotations';
  const out =
    annotations.length > MAX_ANNOTATIONS
      ? [causes.invalid(at, annotations, `must not have more than ${MAX_ANNOTATIONS} auditAnnotations`)]
      : [];
  const keys = annotations.map(({ key }) => text(key));
  for (const [i, annotation] of annotations.entries()) {
    out.push(...annotationFaults(object.metadata.name ?? '', annotation, `${at}[${i}]`, compiler));
    if (keys.indexOf(keys[i]!) < i) out.push(causes.duplicate(`${at}[${i}].key`, keys[i]));
  }
  return out;
}

/** What both kinds of policies have. */
function commonFaults(spec: JsonObject, more: StatusCause[], old: JsonObject | undefined): StatusCause[] {
  const params = has(spec, 'paramKind');
  const isSame = (key: string) => deepEqual(spec[key] ?? null, old?.[key] ?? null);
  const lenient = old !== undefined && isSame('paramKind') && isSame('matchConditions');
  const plain = new ExpressionCompiler({ params, composed: false });
  return [
    ...failurePolicyFaults(spec, 'spec', true),
    ...(params ? paramKindFaults(part(spec, 'paramKind'), 'spec.paramKind') : []),
    ...constraintFaults(spec, 'spec.matchConstraints'),
    ...more,
    ...(lenient ? [] : matchConditionFaults(parts(spec, 'matchConditions'), 'spec.matchConditions', plain)),
  ];
}

function validatingFaults(object: KubeObject, old: KubeObject | undefined): StatusCause[] {
  const spec = part(object, 'spec');
  const [variables, validations] = [parts(spec, 'variables'), parts(spec, 'validations')];
  const annotations = parts(spec, 'auditAnnotations');
  const compiler = new ExpressionCompiler({ params: has(spec, 'paramKind'), composed: variables.length > 0 });
  const out = [
    ...commonFaults(spec, [], old && part(old, 'spec')),
    ...variableFaults(variables, 'spec.variables', compiler),
  ];
  if (validations.length === 0 && annotations.length === 0) {
    const why = 'validations or auditAnnotations must contain at least one item';
    return [...out, causes.required('spec.validations', why), causes.required('spec.auditAnnotations', why)];
  }
  return [
    ...out,
    ...validations.flatMap((v, i) => validationFaults(v, `spec.validations[${i}]`, compiler)),
    ...annotationsFaults(object, annotations, compiler),
  ];
}

/** What each type of patch is made by, and of which type that is. */
const PATCHES = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const;
const MADE = { ApplyConfiguration: 'Object', JSONPatch: 'list(JSONPatch)' } as const;

function mutationFaults(mutation: JsonObject, at: string, compiler: ExpressionCompiler): StatusCause[] {
  const type = text(mutation.patchType);
  if (type === '') return [causes.required(`${at}.patchType`)];
  if (type !== 'ApplyConfiguration' && type !== 'JSONPatch') {
    return [causes.notSupported(`${at}.patchType`, type, ['ApplyConfiguration', 'JSONPatch'])];
  }
  const key = PATCHES[type];
  const other = type === 'JSONPatch' ? 'applyConfiguration' : 'jsonPatch';
  const out: StatusCause[] = [];
  const where = `${at}.${key}.expression`;
  const source = text(part(mutation, key).expression).trim();
  if (!has(mutation, key)) out.push(causes.required(`${at}.${key}`, `must be specified when patchType is ${type}`));
  else if (source === '') out.push(causes.required(where));
  else out.push(...expressionFaults(source, where, (s) => compiler.compileMutation(s, [MADE[type]])));
  if (!has(mutation, other)) return out;
  return [...out, causes.invalid(`${at}.${other}`, `{${other}}`, `must not be specified when patchType is ${type}`)];
}

function mutatingFaults(object: KubeObject, old: KubeObject | undefined): StatusCause[] {
  const spec = part(object, 'spec');
  const compiler = new ExpressionCompiler({ params: has(spec, 'paramKind'), composed: true });
  const mutations = parts(spec, 'mutations');
  const operations = mutatedOperationFaults(part(spec, 'matchConstraints'), 'spec.matchConstraints');
  const reinvocation = text(spec.reinvocationPolicy);
  const out = [
    ...commonFaults(spec, operations, old && part(old, 'spec')),
    ...variableFaults(parts(spec, 'variables'), 'spec.variables', compiler),
    ...(mutations.length === 0 ? [causes.required('spec.mutations', 'mutations must contain at least one item')] : []),
    ...mutations.flatMap((m, i) => mutationFaults(m, `spec.mutations[${i}]`, compiler)),
  ];
  const at = 'spec.reinvocationPolicy';
  if (reinvocation === '') return [...out, causes.required(at)];
  if (reinvocation === 'IfNeeded' || reinvocation === 'Never') return out;
  return [...out, causes.notSupported(at, reinvocation, ['IfNeeded', 'Never'])];
}

function paramRefFaults(ref: JsonObject, at: string): StatusCause[] {
  const name = text(ref.name);
  const hasSelector = has(ref, 'selector');
  const why = 'name and selector are mutually exclusive';
  const exclusive = (key: string) => (name !== '' && hasSelector ? [causes.forbidden(`${at}.${key}`, why)] : []);
  const action = text(ref.parameterNotFoundAction);
  const out = [
    ...(name === '' ? [] : each(`${at}.name`, name, pathSegment(name, false))),
    ...exclusive('name'),
    ...labelSelectorFaults(ref.selector, `${at}.selector`),
    ...exclusive('selector'),
    ...(name === '' && !hasSelector ? [causes.required(at, 'one of name or selector must be specified')] : []),
  ];
  const where = `${at}.parameterNotFoundAction`;
  if (action === '') return [...out, causes.required(where)];
  return action === 'Deny' || action === 'Allow'
    ? out
    : [...out, causes.notSupported(where, action, ['Deny', 'Allow'])];
}

const ACTIONS = ['Audit', 'Deny', 'Warn'];

function actionFaults(actions: readonly string[], at: string): StatusCause[] {
  if (actions.length === 0) return [causes.required(at, 'at least one validation action is required')];
  const out = actions.flatMap((action, i) => [
    ...(ACTIONS.includes(action) ? [] : [causes.notSupported(`${at}[${i}]`, action, ACTIONS)]),
    ...(actions.indexOf(action) < i ? [causes.duplicate(`${at}[${i}]`, action)] : []),
  ]);
  if (!actions.includes('Deny') || !actions.includes('Warn')) return out;
  const why =
    'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
  return [...out, causes.invalid(at, actions, why)];
}

function bindingFaults(object: KubeObject, isMutating: boolean): StatusCause[] {
  const spec = part(object, 'spec');
  const match = part(spec, 'matchResources');
  return [
    ...requiredText(spec.policyName, 'spec.policyName', dnsSubdomainErrors),
    ...(isObject(spec.paramRef) ? paramRefFaults(spec.paramRef, 'spec.paramRef') : []),
    ...(has(spec, 'matchResources') ? matchResourcesFaults(match, 'spec.matchResources') : []),
    ...(isMutating
      ? mutatedOperationFaults(match, 'spec.matchResources')
      : actionFaults(texts(spec, 'validationActions'), 'spec.validationActions')),
  ];
}

function statusFaults(object: KubeObject): StatusCause[] {
  const status = part(object, 'status');
  const at = 'status.typeChecking.expressionWarnings';
  return [
    ...parts(part(status, 'typeChecking'), 'expressionWarnings').flatMap(({ warning, fieldRef }, i) => [
      ...(text(warning) === '' ? [causes.required(`${at}[${i}].warning`)] : []),
      ...(text(fieldRef).trim() === '' ? [causes.required(`${at}[${i}].fieldRef`)] : []),
    ]),
    ...conditionFaults(status, 'status.conditions'),
  ];
}

const GROUP = 'admissionregistration.k8s.io';

export const admissionPolicyValidators: readonly [string, Validator][] = [
  [
    `${GROUP}/validatingadmissionpolicies`,
    { create: (object) => validatingFaults(object, undefined), update: validatingFaults },
  ],
  [`${GROUP}/validatingadmissionpolicies/status`, { update: statusFaults }],
  [`${GROUP}/validatingadmissionpolicybindings`, { create: (object) => bindingFaults(object, false) }],
  [
    `${GROUP}/mutatingadmissionpolicies`,
    { create: (object) => mutatingFaults(object, undefined), update: mutatingFaults },
  ],
  [`${GROUP}/mutatingadmissionpolicybindings`, { create: (object) => bindingFaults(object, true) }],
];

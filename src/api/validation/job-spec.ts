import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, has, integer, nonNegative, part, parts, text, withoutValue } from './checks.ts';
import { indexCount } from './indexes.ts';
import { qualifiedNameErrors } from './labels.ts';
import { dnsSubdomainErrors } from './names.ts';
import { validatePodTemplate } from './pod-template.ts';

const MAX_PARALLELISM = 100_000;
const MAX_FAILED_INDEXES = 100_000;
/** Above this many completions with a backoff limit per index, parallelism and failed indexes are kept lower. */
const MANY_COMPLETIONS = 100_000;
const LIMIT_FOR_MANY = 10_000;
const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;
const MAX_MANAGED_BY = 63;
const MAX_SUCCEEDED_INDEXES = 64 * 1024;

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const OPERATORS = ['In', 'NotIn'];
const STATUSES = ['False', 'True', 'Unknown'];
const COUNTS = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
];

const HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const httpPath = new RegExp(`^${HTTP_PATH}$`);

const quoted = (values: readonly string[]) => `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;

/** A cause where a text is none of those that are known; one that is missing is told apart. */
function choice(value: unknown, at: string, known: readonly string[]): StatusCause[] {
  if (typeof value !== 'string' || value === '') return [causes.required(at, `valid values: ${quoted(known)}`)];
  return known.includes(value) ? [] : [causes.notSupported(at, value, known)];
}

function validateManager(spec: JsonObject, at: string): StatusCause[] {
  if (!has(spec, 'managedBy')) return [];
  const value = text(spec.managedBy);
  const out = value === '' ? [causes.required(at)] : [];
  const slash = value.indexOf('/');
  const [host, path] = [value.slice(0, Math.max(slash, 0)), value.slice(slash + 1)];
  if (value !== '' && (host === '' || path === '' || slash < 0)) {
    out.push(causes.invalid(at, value, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  } else if (value !== '') {
    out.push(...each(at, host, dnsSubdomainErrors(host)));
    if (!httpPath.test(path)) {
      out.push(causes.invalid(at, path, `Invalid path (regex used for validation is '${HTTP_PATH}')`));
    }
  }
  return value.length > MAX_MANAGED_BY ? [...out, causes.tooLong(at, MAX_MANAGED_BY)] : out;
}

/** A cause where a number that is set is above a limit. */
function atMost(spec: JsonObject, key: string, limit: number, at: string, when = ''): StatusCause[] {
  const value = spec[key];
  if (typeof value !== 'number' || value <= limit) return [];
  return [causes.invalid(`${at}.${key}`, value, `must be less than or equal to ${limit}${when}`)];
}

function validateIndexed(spec: JsonObject, at: string): StatusCause[] {
  const { completions, maxFailedIndexes } = spec;
  const out: StatusCause[] = [];
  if (typeof completions !== 'number') {
    out.push(causes.required(`${at}.completions`, 'when completion mode is Indexed'));
  }
  out.push(...atMost(spec, 'parallelism', MAX_PARALLELISM, at, ' when completion mode is Indexed'));
  if (typeof completions === 'number' && typeof maxFailedIndexes === 'number' && maxFailedIndexes > completions) {
    out.push(causes.invalid(`${at}.maxFailedIndexes`, maxFailedIndexes, 'must be less than or equal to completions'));
  }
  out.push(...atMost(spec, 'maxFailedIndexes', MAX_FAILED_INDEXES, at));
  if (integer(completions) <= MANY_COMPLETIONS || !has(spec, 'backoffLimitPerIndex')) return out;
  const why = `must be specified when completions is above ${MANY_COMPLETIONS}`;
  if (typeof maxFailedIndexes !== 'number') out.push(causes.required(`${at}.maxFailedIndexes`, why));
  const when = ` when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  return [
    ...out,
    ...atMost(spec, 'parallelism', LIMIT_FOR_MANY, at, when),
    ...atMost(spec, 'maxFailedIndexes', LIMIT_FOR_MANY, at, when),
  ];
}

function validateMode(spec: JsonObject, at: string): StatusCause[] {
  const mode = spec.completionMode ?? 'NonIndexed';
  const out: StatusCause[] = [];
  const modes = ['NonIndexed', 'Indexed'];
  if (!modes.includes(text(mode))) out.push(causes.notSupported(`${at}.completionMode`, mode, modes));
  if (mode === 'Indexed') out.push(...validateIndexed(spec, at));
  if (mode !== 'NonIndexed') return out;
  for (const key of ['backoffLimitPerIndex', 'maxFailedIndexes']) {
    if (has(spec, key)) out.push(causes.invalid(`${at}.${key}`, spec[key], 'requires indexed completion mode'));
  }
  return out;
}

function validateExitCodes(codes: JsonObject, names: readonly string[], at: string): StatusCause[] {
  const out = choice(codes.operator, `${at}.operator`, OPERATORS);
  if (has(codes, 'containerName') && !names.includes(text(codes.containerName))) {
    const why = 'must be one of the container or initContainer names in the pod template';
    out.push(causes.invalid(`${at}.containerName`, codes.containerName, why));
  }
  const values = Array.isArray(codes.values) ? codes.values.map(integer) : [];
  const here = `${at}.values`;
  if (values.length === 0) out.push(causes.invalid(here, codes.values, 'at least one value is required'));
  else if (values.length > MAX_EXIT_CODES) out.push(causes.tooMany(here, values.length, MAX_EXIT_CODES));
  for (const [i, value] of values.entries()) {
    if (codes.operator === 'In' && value === 0) {
      out.push(causes.invalid(`${here}[${i}]`, value, 'must not be 0 for the In operator'));
    }
    if (values.indexOf(value) < i) out.push(causes.duplicate(`${here}[${i}]`, value));
  }
  if (values.some((value, i) => i > 0 && values[i - 1]! > value)) {
    out.push(causes.invalid(here, values, 'must be ordered'));
  }
  return out;
}

function validateConditionPatterns(rule: JsonObject, at: string): StatusCause[] {
  const patterns = parts(rule, 'onPodConditions');
  const out = patterns.length > MAX_RULES ? [causes.tooMany(at, patterns.length, MAX_RULES)] : [];
  for (const [i, { type, status }] of patterns.entries()) {
    out.push(...each(`${at}[${i}].type`, text(type), qualifiedNameErrors(text(type))));
    out.push(...choice(status, `${at}[${i}].status`, STATUSES));
  }
  return out;
}

function validateFailureRule(rule: JsonObject, spec: JsonObject, names: readonly string[], at: string): StatusCause[] {
  const out = choice(rule.action, `${at}.action`, ACTIONS);
  if (rule.action === 'FailIndex' && !has(spec, 'backoffLimitPerIndex')) {
    out.push(causes.invalid(`${at}.action`, rule.action, 'requires the backoffLimitPerIndex to be set'));
  }
  const [codes, conditions] = [has(rule, 'onExitCodes'), parts(rule, 'onPodConditions').length > 0];
  if (codes) out.push(...validateExitCodes(part(rule, 'onExitCodes'), names, `${at}.onExitCodes`));
  if (conditions) out.push(...validateConditionPatterns(rule, `${at}.onPodConditions`));
  if (codes && conditions) {
    out.push(withoutValue(at, 'specifying both OnExitCodes and OnPodConditions is not supported'));
  }
  if (!codes && !conditions) {
    out.push(withoutValue(at, 'specifying one of OnExitCodes and OnPodConditions is required'));
  }
  return out;
}

function validateFailurePolicy(spec: JsonObject, at: string): StatusCause[] {
  if (!has(spec, 'podFailurePolicy')) return [];
  const rules = parts(part(spec, 'podFailurePolicy'), 'rules');
  const pod = part(part(spec, 'template'), 'spec');
  const names = [...parts(pod, 'containers'), ...parts(pod, 'initContainers')].map(({ name }) => text(name));
  const out = rules.length > MAX_RULES ? [causes.tooMany(`${at}.rules`, rules.length, MAX_RULES)] : [];
  return [...out, ...rules.flatMap((rule, i) => validateFailureRule(rule, spec, names, `${at}.rules[${i}]`))];
}

function validateSuccessRule(rule: JsonObject, completions: number, at: string): StatusCause[] {
  const { succeededCount: count, succeededIndexes: indexes } = rule;
  const out: StatusCause[] = [];
  if (!has(rule, 'succeededCount') && !has(rule, 'succeededIndexes')) {
    out.push(causes.required(at, 'at least one of succeededCount or succeededIndexes must be specified'));
  }
  let total: number | undefined;
  if (typeof indexes === 'string') {
    const here = `${at}.succeededIndexes`;
    if (indexes.length > MAX_SUCCEEDED_INDEXES) out.push(causes.tooLong(here, MAX_SUCCEEDED_INDEXES));
    const found = indexCount(indexes, completions);
    total = typeof found === 'number' ? found : 0;
    if (typeof found === 'string') {
      out.push(causes.invalid(here, indexes, `error parsing succeededIndexes: ${found}`));
    }
  }
  if (typeof count !== 'number') return out;
  const limits: [number, string][] = [[completions, 'the number of specified completions']];
  if (total !== undefined) limits.push([total, 'the number of indexes in the specified succeededIndexes field']);
  out.push(...nonNegative(rule, at, ['succeededCount']));
  for (const [limit, name] of limits) out.push(...atMost(rule, 'succeededCount', limit, at, ` (${name})`));
  return out;
}

function validateSuccessPolicy(spec: JsonObject, at: string): StatusCause[] {
  if (!has(spec, 'successPolicy')) return [];
  if (spec.completionMode !== 'Indexed') {
    return [causes.invalid(at, spec.successPolicy, 'requires indexed completion mode')];
  }
  const rules = parts(part(spec, 'successPolicy'), 'rules');
  const out: StatusCause[] = [];
  if (rules.length === 0) {
    const why = 'at least one rules must be specified when the successPolicy is specified';
    out.push(causes.required(`${at}.rules`, why));
  }
  if (rules.length > MAX_RULES) out.push(causes.tooMany(`${at}.rules`, rules.length, MAX_RULES));
  const completions = integer(spec.completions);
  return [...out, ...rules.flatMap((rule, i) => validateSuccessRule(rule, completions, `${at}.rules[${i}]`))];
}

function validateReplacement(
  { podReplacementPolicy: policy, podFailurePolicy }: JsonObject,
  at: string,
): StatusCause[] {
  if (typeof policy !== 'string') return [];
  const known = podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  return known.includes(policy) ? [] : [causes.notSupported(at, policy, known)];
}

function validateRestart(spec: JsonObject, at: string): StatusCause[] {
  const policy = text(part(part(spec, 'template'), 'spec').restartPolicy);
  const known = ['OnFailure', 'Never'];
  if (policy === '' || policy === 'Always') {
    return [causes.required(at, `valid values: ${known.map((value) => JSON.stringify(value)).join(', ')}`)];
  }
  if (!known.includes(policy)) return [causes.notSupported(at, policy, known)];
  if (!has(spec, 'podFailurePolicy') || policy === 'Never') return [];
  return [causes.invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')];
}

/** Causes in the spec of a Job at a path, save for its selector, which a template for jobs has not. */
export function validateJobTemplate(spec: JsonObject, at: string): StatusCause[] {
  const counts = nonNegative(spec, at, COUNTS);
  if (has(spec, 'maxFailedIndexes') && !has(spec, 'backoffLimitPerIndex')) {
    counts.push(causes.required(`${at}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  }
  return [
    ...counts,
    ...validateManager(spec, `${at}.managedBy`),
    ...validateMode(spec, at),
    ...validateFailurePolicy(spec, `${at}.podFailurePolicy`),
    ...validateSuccessPolicy(spec, `${at}.successPolicy`),
    ...validateReplacement(spec, `${at}.podReplacementPolicy`),
    ...validatePodTemplate(part(spec, 'template'), `${at}.template`),
    ...validateRestart(spec, `${at}.template.spec.restartPolicy`),
  ];
}

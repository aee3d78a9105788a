import { deviceEnvironment, deviceSelectorCost } from '../../cel/device-selectors.ts';
import { CompileError, check } from '../../cel/environment.ts';
import { shownType } from '../../cel/expressions.ts';
import { ANY, BOOL } from '../../cel/types.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { isObject, type JsonObject, type JsonValue } from '../object.ts';
import { each, has, oneOf, part, parts, text, texts } from './checks.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';
import { driverNameFaults } from './volumes.ts';

/** What the kinds of resource.k8s.io have in common (pkg/apis/resource/validation). */

const MAX_POOL = 253;
const MAX_IDENTIFIER = 32;
const MAX_SELECTORS = 32;
const MAX_EXPRESSION = 10 * 1024;
const MAX_COST = 1_000_000;
const MAX_CONDITIONS = 4;
const EFFECTS = ['NoExecute', 'NoSchedule', 'None'];
const OPERATORS = ['Equal', 'Exists'];
const IDENTIFIER = '[A-Za-z_][A-Za-z0-9_]*';
const identifierPattern = new RegExp(`^${IDENTIFIER}$`);
const IDENTIFIER_RULE = `a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '${IDENTIFIER}')`;

type Rule<T> = (item: T, at: string) => StatusCause[];

/** A cause where a list is longer than it may be; only otherwise those in its items, and one for each key that comes again. */
export function listFaults<T>(
  items: readonly T[],
  at: string,
  rule: Rule<T>,
  { max, key }: { max?: number; key?: (item: T) => JsonValue } = {},
): StatusCause[] {
  if (max !== undefined && items.length > max) return [causes.tooMany(at, items.length, max)];
  const out = items.flatMap((item, i) => rule(item, `${at}[${i}]`));
  if (key === undefined) return out;
  const seen = new Set<string>();
  for (const [i, item] of items.entries()) {
    const own = JSON.stringify(key(item));
    if (seen.has(own)) out.push(causes.duplicate(`${at}[${i}]`, key(item)));
    seen.add(own);
  }
  return out;
}

/** A key as paths show it: shortened in the middle where it is longer than it may be. */
function shortened(key: string, max: number): string {
  if (key.length <= max) return key;
  const remaining = max - 3;
  return `${key.slice(0, Math.floor((remaining + 1) / 2))}...${key.slice(key.length - Math.floor(remaining / 2))}`;
}

/** Causes in the keys and values of a map, of keys that paths show up to a length. */
export function mapFaults(
  map: JsonObject,
  at: string,
  rules: { key: Rule<string>; value: Rule<JsonValue>; shown: number; max?: number },
): StatusCause[] {
  const entries = Object.entries(map);
  if (rules.max !== undefined && entries.length > rules.max) return [causes.tooMany(at, entries.length, rules.max)];
  return entries.flatMap(([key, value]) => [
    ...rules.key(key, at),
    ...rules.value(value ?? null, `${at}[${shortened(key, rules.shown)}]`),
  ]);
}

export const labelNameFaults: Rule<string> = (name, at) => each(at, name, qualifiedNameErrors(name));
export const dnsLabelFaults: Rule<string> = (name, at) => each(at, name, dnsLabelErrors(name));

/** Causes in the name of a pool of devices. */
export function poolNameFaults(name: string, at: string): StatusCause[] {
  if (name === '') return [causes.required(at)];
  const out = name.length > MAX_POOL ? [causes.tooLong(at, MAX_POOL)] : [];
  return [...out, ...name.split('/').flatMap((segment) => each(at, segment, dnsSubdomainErrors(segment)))];
}

function identifierFaults(id: string, at: string): StatusCause[] {
  const out = id.length > MAX_IDENTIFIER ? [causes.tooLong(at, MAX_IDENTIFIER)] : [];
  return identifierPattern.test(id) ? out : [...out, causes.invalid(at, id, IDENTIFIER_RULE)];
}

/** Causes in the name of an attribute or capacity; names with more than one slash are let through, as upstream does. */
export function attributeNameFaults(name: string, at: string): StatusCause[] {
  const [first = '', second, ...others] = name.split('/');
  if (second === undefined) return identifierFaults(first, at);
  if (others.length > 0) return [];
  return [
    ...(first === '' ? [causes.invalid(at, '', 'the domain must not be empty')] : driverNameFaults(first, at)),
    ...(second === '' ? [causes.invalid(at, '', 'the name must not be empty')] : identifierFaults(second, at)),
  ];
}

const hex = (digits: string) => /^[0-9a-fA-F]*$/.test(digits);
const isHyphenated = (id: string) => [8, 13, 18, 23].every((i) => id[i] === '-') && hex(id.replaceAll('-', ''));

/** Why a text is no UUID in any of the forms that are read (github.com/google/uuid); empty when it is one. */
function uuidError(id: string): string {
  switch (id.length) {
    case 36:
      return isHyphenated(id) ? '' : 'invalid UUID format';
    case 45:
      if (id.slice(0, 9).toLowerCase() !== 'urn:uuid:') return `invalid urn prefix: ${JSON.stringify(id.slice(0, 9))}`;
      return isHyphenated(id.slice(9)) ? '' : 'invalid UUID format';
    case 38:
      if (!/^\{.*\}$/.test(id)) return 'invalid bracketed UUID format';
      return isHyphenated(id.slice(1, -1)) ? '' : 'invalid UUID format';
    case 32:
      return hex(id) ? '' : 'invalid UUID format';
    default:
      return `invalid UUID length: ${id.length}`;
  }
}

/** Causes in a UUID, which has to be in lower case with hyphens. */
export function uuidFaults(id: string, at: string): StatusCause[] {
  const error = uuidError(id);
  if (error !== '') return [causes.invalid(at, id, `error validating uid: ${error}`)];
  if (id.length === 36 && id === id.toLowerCase()) return [];
  const why =
    'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';
  return [causes.invalid(at, id, why)];
}

/** Causes in data of a driver's own, which are an object; their length counts when they are new. */
export function rawObjectFaults(data: JsonValue | undefined, at: string, max: number, stored: boolean): StatusCause[] {
  if (data === undefined || data === null) return [causes.required(at)];
  if (!stored && JSON.stringify(data).length > max) return [causes.tooLong(at, max)];
  return isObject(data) ? [] : [causes.invalid(at, '<value omitted>', 'must be a valid JSON object')];
}

function expressionFaults(expression: string, at: string): StatusCause[] {
  if (new TextEncoder().encode(expression).length > MAX_EXPRESSION) return [causes.tooLong(at, MAX_EXPRESSION)];
  try {
    const { expr, type } = check(deviceEnvironment, expression);
    if (type.kind !== BOOL.kind && type.name !== ANY.name) {
      const why = `must evaluate to bool or the unknown type, not ${shownType(type)}`;
      return [causes.invalid(at, expression, why)];
    }
    return deviceSelectorCost(expr) > MAX_COST ? [causes.forbidden(at, 'too complex, exceeds cost limit')] : [];
  } catch (error) {
    if (!(error instanceof CompileError)) throw error;
    return [causes.invalid(at, expression, `compilation failed: ${error.message}`)];
  }
}

/** Causes in the selectors of devices. */
export function selectorFaults(owner: JsonObject, path: string): StatusCause[] {
  const rule = (selector: JsonObject, at: string) =>
    has(selector, 'cel')
      ? expressionFaults(text(part(selector, 'cel').expression), `${at}.cel.expression`)
      : [causes.required(`${at}.cel`)];
  return listFaults(parts(owner, 'selectors'), `${path}.selectors`, rule, { max: MAX_SELECTORS });
}

const valueFaults = (value: string, at: string) => each(at, value, labelValueErrors(value));

function effectFaults(effect: string, at: string): StatusCause[] {
  return effect === '' ? [] : oneOf(effect, at, EFFECTS);
}

/** Causes in a taint of a device. */
export function deviceTaintFaults(taint: JsonObject, at: string): StatusCause[] {
  const effect = text(taint.effect);
  return [
    ...labelNameFaults(text(taint.key), `${at}.key`),
    ...valueFaults(text(taint.value), `${at}.value`),
    ...(effect === '' ? [causes.required(`${at}.effect`)] : effectFaults(effect, `${at}.effect`)),
  ];
}

/** Causes in a toleration of devices' taints. */
export function deviceTolerationFaults(toleration: JsonObject, at: string): StatusCause[] {
  const [key, operator, value] = [text(toleration.key), text(toleration.operator), text(toleration.value)];
  const out = key === '' ? [] : labelNameFaults(key, `${at}.key`);
  if (operator === 'Equal') out.push(...valueFaults(value, `${at}.value`));
  else if (operator === '') out.push(causes.required(`${at}.operator`));
  else if (operator !== 'Exists') out.push(...oneOf(operator, `${at}.operator`, OPERATORS));
  else if (value !== '') out.push(causes.invalid(`${at}.value`, value, 'must be empty for operator `Exists`'));
  return [...out, ...effectFaults(text(toleration.effect), `${at}.effect`)];
}

const conditionKeyFaults = (names: readonly string[], at: string) =>
  names.flatMap((name, i) => (names.indexOf(name) < i ? [causes.duplicate(`${at}[${i}]`, name)] : []));

/** Causes in the conditions that a device is bound by, or by which binding fails. */
export function bindingConditionFaults(device: JsonObject, path: string): StatusCause[] {
  const [good, bad] = ['bindingConditions', 'bindingFailureConditions'] as const;
  const [conditions, failures] = [texts(device, good), texts(device, bad)];
  const [atGood, atBad] = [`${path}.${good}`, `${path}.${bad}`];
  const out = [
    ...listFaults(conditions, atGood, labelNameFaults, { max: MAX_CONDITIONS }),
    ...listFaults(failures, atBad, labelNameFaults, { max: MAX_CONDITIONS }),
    ...conditionKeyFaults(conditions, atGood),
  ];
  for (const [i, name] of failures.entries()) {
    if (failures.indexOf(name) < i) out.push(causes.duplicate(`${atBad}[${i}]`, name));
    if (!conditions.includes(name)) continue;
    out.push(causes.invalid(`${atBad}[${i}]`, name, `${bad} must not overlap with ${good}`));
  }
  if (conditions.length === 0 && failures.length > 0) {
    out.push(causes.invalid(atGood, device[good] ?? null, `${good} are required to use ${bad}`));
  }
  if (failures.length === 0 && conditions.length > 0) {
    out.push(causes.invalid(atBad, device[bad] ?? null, `${bad} are required to use ${good}`));
  }
  return out;
}

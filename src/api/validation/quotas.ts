import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { compareQuantities, parseQuantity } from '../quantity.ts';
import { each, has, part, parts, text, texts } from './checks.ts';
import type { Validator } from './index.ts';
import { qualifiedNameErrors } from './labels.ts';
import {
  allowsOvercommit,
  amountFaults,
  containerResourceNameFaults,
  isQuotaName,
  quotaNameFaults,
  resourceNameFaults,
} from './resource-names.ts';

const LIMIT_TYPES = ['Container', 'PersistentVolumeClaim', 'Pod'];
/** Parts of a limit in the order in which upstream looks at them. */
const BOUNDS = ['max', 'min', 'default', 'defaultRequest'];

function limitTypeFaults(type: string, at: string): StatusCause[] {
  const faults = each(at, type, qualifiedNameErrors(type));
  if (faults.length > 0 || type.includes('/') || LIMIT_TYPES.includes(type)) return faults;
  return [causes.invalid(at, type, 'must be a standard limit type or fully qualified')];
}

const exceeds = (a: string | undefined, b: string | undefined) =>
  a !== undefined && b !== undefined && compareQuantities(a, b) > 0;

/** A pair of bounds of which the first must not exceed the second; the fault is shown at one with a value. */
interface Order {
  bounds: readonly [lower: string, upper: string];
  names: readonly [lower: string, upper: string];
  at: string;
  shown: string;
}
const orders: readonly Order[] = [
  { bounds: ['min', 'max'], names: ['min', 'max'], at: 'min', shown: 'min' },
  {
    bounds: ['min', 'defaultRequest'],
    names: ['min', 'default request'],
    at: 'defaultRequest',
    shown: 'defaultRequest',
  },
  {
    bounds: ['defaultRequest', 'max'],
    names: ['default request', 'max'],
    at: 'defaultRequest',
    shown: 'defaultRequest',
  },
  {
    bounds: ['defaultRequest', 'default'],
    names: ['default request', 'default limit'],
    at: 'defaultRequest',
    shown: 'defaultRequest',
  },
  { bounds: ['min', 'default'], names: ['min', 'default'], at: 'default', shown: 'min' },
  { bounds: ['default', 'max'], names: ['default', 'max'], at: 'default', shown: 'max' },
];

const numberOf = (value: string) => {
  const { unscaled, exponent } = parseQuantity(value);
  return Number(unscaled) * 10 ** exponent;
};

function ratioFaults(ratio: string, min: string | undefined, max: string | undefined, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  if (exceeds('1', ratio)) out.push(causes.invalid(at, ratio, `ratio ${ratio} is less than 1`));
  if (min === undefined || max === undefined) return out;
  const most = numberOf(max) / numberOf(min);
  if (numberOf(ratio) <= most || Number.isNaN(most)) return out;
  return [...out, causes.invalid(at, ratio, `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`)];
}

function validateAmounts(limit: JsonObject, key: string, at: string): StatusCause[] {
  const value = (bound: string): string | undefined => {
    if (limit.type === 'Pod' && bound.startsWith('default')) return undefined;
    const amounts = part(limit, bound);
    return Object.hasOwn(amounts, key) ? text(amounts[key]) : undefined;
  };
  const out = orders.flatMap(({ bounds: [lower, upper], names, at: place, shown }) => {
    const [a, b] = [value(lower), value(upper)];
    if (!exceeds(a, b)) return [];
    const why = `${names[0]} value ${a} is greater than ${names[1]} value ${b}`;
    return [causes.invalid(`${at}.${place}[${key}]`, value(shown) ?? '', why)];
  });
  const ratio = value('maxLimitRequestRatio');
  if (ratio !== undefined) {
    out.push(...ratioFaults(ratio, value('min'), value('max'), `${at}.maxLimitRequestRatio[${key}]`));
  }
  const [most, asked] = [value('default'), value('defaultRequest')];
  if (most === undefined || asked === undefined || allowsOvercommit(key) || compareQuantities(most, asked) === 0) {
    return out;
  }
  const why = `default value ${most} must equal to defaultRequest value ${asked} in ${key}`;
  return [...out, causes.invalid(`${at}.defaultRequest[${key}]`, asked, why)];
}

function validateLimit(limit: JsonObject, at: string): StatusCause[] {
  const pods = limit.type === 'Pod';
  const nameFaults = pods || limit.type === 'Container' ? containerResourceNameFaults : resourceNameFaults;
  const keys = new Set<string>();
  const names = (bound: string) => {
    const all = Object.keys(part(limit, bound));
    for (const key of all) keys.add(key);
    return all.flatMap((key) => nameFaults(key, `${at}.${bound}[${key}]`));
  };
  const out = BOUNDS.flatMap((bound) => {
    if (!pods || !bound.startsWith('default')) return names(bound);
    if (Object.keys(part(limit, bound)).length === 0) return [];
    return [causes.forbidden(`${at}.${bound}`, "may not be specified when `type` is 'Pod'")];
  });
  if (
    limit.type === 'PersistentVolumeClaim' &&
    !has(part(limit, 'min'), 'storage') &&
    !has(part(limit, 'max'), 'storage')
  ) {
    const why = 'either minimum or maximum storage value is required, but neither was provided';
    out.push(causes.required(`${at}.limits`, why));
  }
  out.push(...names('maxLimitRequestRatio'));
  return [...out, ...[...keys].flatMap((key) => validateAmounts(limit, key, at))];
}

function validateLimitRange(object: KubeObject): StatusCause[] {
  const seen = new Set<string>();
  return parts(part(object, 'spec'), 'limits').flatMap((limit, i) => {
    const at = `spec.limits[${i}]`;
    const type = text(limit.type);
    const out = limitTypeFaults(type, `${at}.type`);
    if (seen.has(type)) out.push(causes.duplicate(`${at}.type`, type));
    seen.add(type);
    return [...out, ...validateLimit(limit, at)];
  });
}

const POD_AMOUNTS = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
const POD_NAMES = ['pods', ...POD_AMOUNTS];
/** Scopes of quotas, with the resources without a domain that each can bound. */
const scopes: ReadonlyMap<string, readonly string[]> = new Map([
  ['Terminating', POD_NAMES],
  ['NotTerminating', POD_NAMES],
  ['NotBestEffort', POD_NAMES],
  ['PriorityClass', POD_NAMES],
  ['CrossNamespacePodAffinity', POD_NAMES],
  ['BestEffort', ['pods']],
  ['VolumeAttributesClass', ['persistentvolumeclaims', 'requests.storage']],
]);
const CONFLICTS = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];
const BARE = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];
const BARE_RULE =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

/** Names of the resources that a scope cannot bound. */
const misfits = (scope: string, hard: readonly string[]) =>
  hard.filter((name) => isQuotaName(name) && scopes.get(scope)?.includes(name) === false);

function conflictFaults(used: readonly string[], spec: JsonObject): StatusCause[] {
  const conflicts = CONFLICTS.filter((pair) => pair.every((scope) => used.includes(scope)));
  return conflicts.map(() => causes.invalid('spec.scopes', spec.scopes ?? null, 'conflicting scopes'));
}

function scopeFaults(spec: JsonObject, hard: readonly string[]): StatusCause[] {
  const used = texts(spec, 'scopes');
  const fault = (why: string) => causes.invalid('spec.scopes', used, why);
  const out = used.flatMap((scope) => [
    ...(scopes.has(scope) ? [] : [fault('unsupported scope')]),
    ...misfits(scope, hard).map(() => fault('unsupported scope applied to resource')),
  ]);
  return [...out, ...conflictFaults(used, spec)];
}

function operatorFaults(expression: JsonObject, at: string): StatusCause[] {
  const operator = text(expression.operator);
  const values = texts(expression, 'values');
  const out: StatusCause[] = [];
  if (BARE.includes(text(expression.scopeName)) && operator !== 'Exists') {
    out.push(causes.invalid(`${at}.operator`, operator, BARE_RULE));
  }
  if (operator === 'In' || operator === 'NotIn') {
    const why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    return values.length > 0 ? out : [...out, causes.required(`${at}.values`, why)];
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    return values.length === 0 ? out : [...out, causes.invalid(`${at}.values`, values, why)];
  }
  return [...out, causes.invalid(`${at}.operator`, operator, 'not a valid selector operator')];
}

/** A scope selector as upstream shows it: under the names of its internal type. */
const shownSelector = (expressions: readonly JsonObject[]) => ({
  MatchExpressions: expressions.map(({ scopeName, operator, values }) => ({
    ScopeName: text(scopeName),
    Operator: text(operator),
    Values: values ?? null,
  })),
});

function selectorFaults(spec: JsonObject, hard: readonly string[]): StatusCause[] {
  if (!has(spec, 'scopeSelector')) return [];
  const at = 'spec.scopeSelector.matchExpressions';
  const expressions = parts(part(spec, 'scopeSelector'), 'matchExpressions');
  const out = expressions.flatMap((expression) => {
    const scope = text(expression.scopeName);
    const why = 'unsupported scope applied to resource';
    return [
      ...(scopes.has(scope) ? [] : [causes.invalid(`${at}.scopeName`, scope, 'unsupported scope')]),
      ...misfits(scope, hard).map(() => causes.invalid(at, shownSelector(expressions), why)),
      ...operatorFaults(expression, at),
    ];
  });
  return [
    ...out,
    ...conflictFaults(
      expressions.map(({ scopeName }) => text(scopeName)),
      spec,
    ),
  ];
}

const amountsFaults = (amounts: JsonObject, at: string) =>
  Object.entries(amounts).flatMap(([key, value]) => [
    ...quotaNameFaults(key, `${at}[${key}]`),
    ...amountFaults(key, text(value), `${at}[${key}]`),
  ]);

function validateQuota(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const hard = Object.keys(part(spec, 'hard')).sort();
  return [...amountsFaults(part(spec, 'hard'), 'spec.hard'), ...scopeFaults(spec, hard), ...selectorFaults(spec, hard)];
}

function validateQuotaStatus(object: KubeObject): StatusCause[] {
  const status = part(object, 'status');
  return ['hard', 'used'].flatMap((key) => amountsFaults(part(status, key), `status.${key}`));
}

function fixedScopes(object: KubeObject, old: KubeObject): StatusCause[] {
  const [now, before] = [part(object, 'spec'), part(old, 'spec')];
  const set = (spec: JsonObject) => [...new Set(texts(spec, 'scopes'))].sort();
  if (deepEqual(set(now), set(before))) return [];
  return [causes.invalid('spec.scopes', now.scopes ?? null, 'field is immutable')];
}

/** Limit ranges and resource quotas. */
export const quotaValidators: readonly [string, Validator][] = [
  ['/limitranges', { create: validateLimitRange }],
  [
    '/resourcequotas',
    {
      create: (object) => [...validateQuota(object), ...validateQuotaStatus(object)],
      update: (object, old) => [...validateQuota(object), ...fixedScopes(object, old)],
    },
  ],
  ['/resourcequotas/status', { update: validateQuotaStatus }],
];

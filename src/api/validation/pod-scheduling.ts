import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, has, integer, oneOf, part, parts, text, texts } from './checks.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';
import { dnsLabelErrors } from './names.ts';
import { nodeSelectorFaults, nodeSelectorTermFaults } from './node-selector.ts';

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function weightFaults({ weight }: JsonObject, at: string): StatusCause[] {
  const value = integer(weight);
  return value > 0 && value <= 100 ? [] : [causes.invalid(`${at}.weight`, value, 'must be in the range 1-100')];
}

function nodeAffinityFaults(affinity: JsonObject, at: string): StatusCause[] {
  const required = has(affinity, REQUIRED) ? nodeSelectorFaults(part(affinity, REQUIRED), `${at}.${REQUIRED}`) : [];
  const preferred = parts(affinity, PREFERRED).flatMap((term, i) => [
    ...weightFaults(term, `${at}.${PREFERRED}[${i}]`),
    ...nodeSelectorTermFaults(part(term, 'preference'), `${at}.${PREFERRED}[${i}].preference`, false),
  ]);
  return [...required, ...preferred];
}

const BOTH = 'exists in both matchLabelKeys and';

/** Causes in the keys whose values a selector takes from the pod itself. */
function labelKeyFaults(term: JsonObject, at: string): StatusCause[] {
  const selector = has(term, 'labelSelector') ? part(term, 'labelSelector') : undefined;
  const out = ['matchLabelKeys', 'mismatchLabelKeys'].flatMap((list) => {
    const keys = texts(term, list);
    if (keys.length > 0 && selector === undefined) {
      return [causes.forbidden(`${at}.${list}`, 'must not be specified when labelSelector is not set')];
    }
    return keys.flatMap((key, i) => each(`${at}.${list}[${i}]`, key, qualifiedNameErrors(key)));
  });
  const keys = texts(term, 'matchLabelKeys');
  const seen = new Set(Object.keys(part(selector ?? {}, 'matchLabels')));
  for (const expression of parts(selector ?? {}, 'matchExpressions')) {
    const key = text(expression.key);
    const index = keys.lastIndexOf(key);
    if (index >= 0 && seen.has(key)) out.push(causes.invalid(`${at}[${index}]`, key, `${BOTH} labelSelector`));
    seen.add(key);
  }
  const others = texts(term, 'mismatchLabelKeys');
  for (const [i, key] of keys.entries()) {
    if (!others.includes(key)) continue;
    out.push(causes.invalid(`${at}.matchLabelKeys[${i}]`, key, `${BOTH} mismatchLabelKeys`));
  }
  return out;
}

function podTermFaults(term: JsonObject, at: string): StatusCause[] {
  const key = text(term.topologyKey);
  return [
    ...labelSelectorFaults(term.labelSelector, `${at}.labelSelector`),
    ...labelSelectorFaults(term.namespaceSelector, `${at}.namespaceSelector`),
    ...texts(term, 'namespaces').flatMap((name) => each(`${at}.namespace`, name, dnsLabelErrors(name))),
    ...labelKeyFaults(term, at),
    ...(key === '' ? [causes.required(`${at}.topologyKey`, 'can not be empty')] : []),
    ...each(`${at}.topologyKey`, key, qualifiedNameErrors(key)),
  ];
}

function podAffinityFaults(affinity: JsonObject, at: string): StatusCause[] {
  const required = parts(affinity, REQUIRED).flatMap((term, i) => podTermFaults(term, `${at}.${REQUIRED}[${i}]`));
  const preferred = parts(affinity, PREFERRED).flatMap((term, i) => [
    ...weightFaults(term, `${at}.${PREFERRED}[${i}]`),
    ...podTermFaults(part(term, 'podAffinityTerm'), `${at}.${PREFERRED}[${i}].podAffinityTerm`),
  ]);
  return [...required, ...preferred];
}

/** Causes in the affinities of a pod, whose spec is at a path. */
export function affinityFaults(spec: JsonObject, path: string): StatusCause[] {
  const affinity = part(spec, 'affinity');
  const at = `${path}.affinity`;
  return [
    ...nodeAffinityFaults(part(affinity, 'nodeAffinity'), `${at}.nodeAffinity`),
    ...podAffinityFaults(part(affinity, 'podAffinity'), `${at}.podAffinity`),
    ...podAffinityFaults(part(affinity, 'podAntiAffinity'), `${at}.podAntiAffinity`),
  ];
}

function tolerationFault(toleration: JsonObject, at: string): StatusCause[] {
  const [operator, value] = [text(toleration.operator), text(toleration.value)];
  const here = `${at}.operator`;
  if (operator === '' || operator === 'Equal') {
    const faults = labelValueErrors(value);
    return faults.length === 0 ? [] : [causes.invalid(here, value, faults.join(';'))];
  }
  if (operator === 'Exists') {
    return value === '' ? [] : [causes.invalid(here, value, "value must be empty when `operator` is 'Exists'")];
  }
  const numeric = operator === 'Lt' || operator === 'Gt';
  return [causes.notSupported(here, operator, numeric ? ['Equal', 'Exists', 'Lt', 'Gt'] : ['Equal', 'Exists'])];
}

/** Causes in the tolerations of a pod, whose spec is at a path. */
export function tolerationFaults(spec: JsonObject, path: string): StatusCause[] {
  return parts(spec, 'tolerations').flatMap((toleration, i) => {
    const at = `${path}.tolerations[${i}]`;
    const [key, operator, effect] = [text(toleration.key), text(toleration.operator), text(toleration.effect)];
    const out = key === '' ? [] : each(`${at}.key`, key, qualifiedNameErrors(key));
    if (key === '' && operator !== 'Exists') {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      out.push(causes.invalid(`${at}.operator`, operator, why));
    }
    if (has(toleration, 'tolerationSeconds') && effect !== 'NoExecute') {
      const why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
      out.push(causes.invalid(`${at}.effect`, effect, why));
    }
    out.push(...tolerationFault(toleration, at));
    return effect === '' ? out : [...out, ...oneOf(effect, `${at}.effect`, EFFECTS, false)];
  });
}

const positive = (value: number, at: string) =>
  value > 0 ? [] : [causes.invalid(at, value, 'must be greater than zero')];

/** Causes in the spread constraints of a pod, whose spec is at a path. */
export function spreadFaults(spec: JsonObject, path: string): StatusCause[] {
  const constraints = parts(spec, 'topologySpreadConstraints');
  return constraints.flatMap((constraint, i) => {
    const at = `${path}.topologySpreadConstraints[${i}]`;
    const { topologyKey, whenUnsatisfiable: action, minDomains } = constraint;
    const out = positive(integer(constraint.maxSkew), `${at}.maxSkew`);
    if (text(topologyKey) === '') out.push(causes.required(`${at}.topologyKey`, 'can not be empty'));
    out.push(...oneOf(action, `${at}.whenUnsatisfiable`, ['DoNotSchedule', 'ScheduleAnyway']));
    const same = (one: JsonObject) => one.topologyKey === topologyKey && one.whenUnsatisfiable === action;
    if (constraints.slice(i + 1).some(same)) {
      out.push(causes.duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${text(topologyKey)}, ${text(action)}}`));
    }
    if (typeof minDomains === 'number') {
      out.push(...positive(minDomains, `${at}.minDomains`));
      if (action !== 'DoNotSchedule') {
        const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${text(action)}`;
        out.push(causes.invalid(`${at}.minDomains`, minDomains, why));
      }
    }
    for (const key of ['nodeAffinityPolicy', 'nodeTaintsPolicy']) {
      if (has(constraint, key)) out.push(...oneOf(constraint[key], `${at}.${key}`, ['Honor', 'Ignore']));
    }
    return [
      ...out,
      ...labelKeyFaults(constraint, at),
      ...labelSelectorFaults(constraint.labelSelector, `${at}.labelSelector`),
    ];
  });
}

/** Causes in the gates of a pod, whose spec is at a path: names that are no names, and those that come twice. */
export function gateFaults(spec: JsonObject, path: string): StatusCause[] {
  const readiness = parts(spec, 'readinessGates').map(({ conditionType }) => text(conditionType));
  const scheduling = parts(spec, 'schedulingGates').map(({ name }) => text(name));
  const at = (i: number) => `${path}.schedulingGates[${i}]`;
  return [
    ...readiness.flatMap((type, i) =>
      each(`${path}.readinessGates[${i}].conditionType`, type, qualifiedNameErrors(type)),
    ),
    ...scheduling.flatMap((name, i) => [
      ...each(at(i), name, qualifiedNameErrors(name)),
      ...(scheduling.indexOf(name) < i ? [causes.duplicate(at(i), name)] : []),
    ]),
  ];
}

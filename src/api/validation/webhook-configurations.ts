import { ExpressionCompiler } from '../../cel/expressions.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import {
  choiceFaults,
  failurePolicyFaults,
  matchConditionFaults,
  matchPolicyFaults,
  ruleFaults,
} from './admission-rules.ts';
import { has, integer, oneOf, part, parts, text, texts } from './checks.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { dnsSubdomainErrors } from './names.ts';
import { hasKnownReview, reviewVersionFaults, webhookClientFaults } from './webhook-client.ts';

/** Configurations of admission webhooks (pkg/apis/admissionregistration/validation). */

const QUIET = ['None', 'NoneOnDryRun'];
const SIDE_EFFECTS = [...QUIET, 'Some', 'Unknown'];

/** What is not held against a configuration that was stored already. */
interface Leniency {
  conditions: boolean;
  sideEffects: boolean;
  reviews: boolean;
  names: boolean;
  selectors: boolean;
}

const strict: Leniency = { conditions: false, sideEffects: false, reviews: false, names: false, selectors: false };

const selectorFaults = (hook: JsonObject, at: string): StatusCause[] =>
  ['namespaceSelector', 'objectSelector'].flatMap((key) => labelSelectorFaults(hook[key], `${at}.${key}`));

const namesOf = (hooks: readonly JsonObject[]) => hooks.map(({ name }) => text(name));

function leniencyFor(old: readonly JsonObject[], hooks: readonly JsonObject[]): Leniency {
  const conditions = (all: readonly JsonObject[]) => all.map(({ matchConditions }) => matchConditions ?? null);
  const names = namesOf(old);
  return {
    conditions: deepEqual(conditions(old), conditions(hooks)),
    sideEffects: old.some(({ sideEffects }) => !QUIET.includes(text(sideEffects))),
    reviews: old.some((hook) => {
      const versions = texts(hook, 'admissionReviewVersions');
      return versions.length > 0 && !hasKnownReview(versions);
    }),
    names: new Set(names).size < names.length,
    selectors: old.some((hook) => selectorFaults(hook, '').length > 0),
  };
}

/** A cause where a name is no domain of three segments. */
function domainFaults(name: string, at: string): StatusCause[] {
  if (name === '') return [causes.required(at)];
  const faults = dnsSubdomainErrors(name);
  if (faults.length > 0) return [causes.invalid(at, name, faults.join(','))];
  if (name.split('.').length >= 3) return [];
  return [causes.invalid(at, name, 'should be a domain with at least three segments separated by dots')];
}

function sideEffectFaults({ sideEffects }: JsonObject, at: string, known: readonly string[]): StatusCause[] {
  if (sideEffects === undefined || sideEffects === null)
    return [causes.required(at, `must specify one of ${known.join(', ')}`)];
  return oneOf(sideEffects, at, known);
}

function timeoutFaults(hook: JsonObject, at: string): StatusCause[] {
  const seconds = integer(hook.timeoutSeconds);
  if (!has(hook, 'timeoutSeconds') || (seconds >= 1 && seconds <= 30)) return [];
  return [causes.invalid(at, seconds, 'the timeout value must be between 1 and 30 seconds')];
}

/** Whether a fault of a selector is about a label's value. */
const isValueFault = ({ field = '' }: StatusCause) => /\.values\[\d+\]$|\.matchLabels$/.test(field);

function hookFaults(hook: JsonObject, at: string, lenient: Leniency, isMutating: boolean): StatusCause[] {
  const selectors = selectorFaults(hook, at);
  const compiler = new ExpressionCompiler({ params: false, composed: false });
  return [
    ...domainFaults(text(hook.name), `${at}.name`),
    ...parts(hook, 'rules').flatMap((rule, i) => ruleFaults(rule, `${at}.rules[${i}]`)),
    ...failurePolicyFaults(hook, at, false),
    ...matchPolicyFaults(hook, at, false),
    ...sideEffectFaults(hook, `${at}.sideEffects`, lenient.sideEffects ? SIDE_EFFECTS : QUIET),
    ...timeoutFaults(hook, `${at}.timeoutSeconds`),
    ...(lenient.selectors ? selectors.filter((fault) => !isValueFault(fault)) : selectors),
    ...(isMutating ? choiceFaults(hook, 'reinvocationPolicy', at, ['IfNeeded', 'Never'], false) : []),
    ...webhookClientFaults(part(hook, 'clientConfig'), `${at}.clientConfig`),
    ...(lenient.conditions
      ? []
      : matchConditionFaults(parts(hook, 'matchConditions'), `${at}.matchConditions`, compiler)),
  ];
}

function configurationFaults(object: KubeObject, lenient: Leniency, isMutating: boolean): StatusCause[] {
  const hooks = parts(object, 'webhooks');
  const names = namesOf(hooks);
  return hooks.flatMap((hook, i) => {
    const at = `webhooks[${i}]`;
    const name = text(hook.name);
    const isRepeated = !lenient.names && name !== '' && names.indexOf(name) < i;
    return [
      ...hookFaults(hook, at, lenient, isMutating),
      ...reviewVersionFaults(
        texts(hook, 'admissionReviewVersions'),
        `${at}.admissionReviewVersions`,
        'must specify one of v1, v1beta1',
        !lenient.reviews,
      ),
      ...(isRepeated ? [causes.duplicate(`${at}.name`, name)] : []),
    ];
  });
}

const validator = (isMutating: boolean): Validator => ({
  create: (object) => configurationFaults(object, strict, isMutating),
  update: (object, old) =>
    configurationFaults(object, leniencyFor(parts(old, 'webhooks'), parts(object, 'webhooks')), isMutating),
});

export const webhookConfigurationValidators: readonly [string, Validator][] = [
  ['admissionregistration.k8s.io/validatingwebhookconfigurations', validator(false)],
  ['admissionregistration.k8s.io/mutatingwebhookconfigurations', validator(true)],
];

import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, JsonValue, KubeObject } from '../object.ts';
import { has, nonNegative, oneOf, part } from './checks.ts';
import { conditionFaults } from './conditions.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';

const PERCENT_RULE =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** Causes in a number or percentage of pods, of which there is no more than all. */
function shareFaults(value: JsonValue | undefined, at: string): StatusCause[] {
  if (typeof value === 'number') {
    return value < 0 ? [causes.invalid(at, value, 'must be greater than or equal to 0')] : [];
  }
  if (typeof value !== 'string') return [];
  if (!/^[0-9]+%$/.test(value)) return [causes.invalid(at, value, PERCENT_RULE)];
  return Number.parseInt(value, 10) > 100 ? [causes.invalid(at, value, 'must not be greater than 100%')] : [];
}

/** The spec as upstream shows it: all fields, under the names of its internal type. */
const shown = (spec: JsonObject) => ({
  MinAvailable: spec.minAvailable ?? null,
  Selector: spec.selector ?? null,
  MaxUnavailable: spec.maxUnavailable ?? null,
  UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
});

function validateBudget(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const out: StatusCause[] = [];
  if (has(spec, 'minAvailable') && has(spec, 'maxUnavailable')) {
    out.push(causes.invalid('spec', shown(spec), 'minAvailable and maxUnavailable cannot be both set'));
  }
  out.push(
    ...shareFaults(spec.minAvailable, 'spec.minAvailable'),
    ...shareFaults(spec.maxUnavailable, 'spec.maxUnavailable'),
    ...labelSelectorFaults(spec.selector, 'spec.selector'),
  );
  if (has(spec, 'unhealthyPodEvictionPolicy')) {
    const known = ['AlwaysAllow', 'IfHealthyBudget'];
    out.push(...oneOf(spec.unhealthyPodEvictionPolicy, 'spec.unhealthyPodEvictionPolicy', known));
  }
  return out;
}

const COUNTS: readonly string[] = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'];

/** Pod disruption budgets. */
export const policyValidators: readonly [string, Validator][] = [
  ['policy/poddisruptionbudgets', { create: validateBudget }],
  [
    'policy/poddisruptionbudgets/status',
    {
      update: (object) => {
        const status = part(object, 'status');
        return [...conditionFaults(status, 'status'), ...nonNegative(status, 'status', COUNTS)];
      },
    },
  ],
];

import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { addQuantities, compareQuantities, formatQuantity, unitsOf } from '../quantity.ts';
import { has, part, text, texts } from './checks.ts';
import { listFaults } from './device-checks.ts';

/** How much of a device's capacity may be asked for (pkg/apis/resource/validation). */

const MAX_VALUES = 10;

function valuesFaults(policy: JsonObject, path: string, capacity: string): StatusCause[] {
  const at = `${path}.validValues`;
  const values = texts(policy, 'validValues');
  const standard = text(policy.default);
  const unsorted = values.slice(1).flatMap((value, i) => {
    if (compareQuantities(values[i]!, value) <= 0) return [];
    return [causes.invalid(`${at}[${i + 1}]`, value, 'values must be sorted in ascending order')];
  });
  const rule = (value: string, here: string) =>
    compareQuantities(value, capacity) > 0
      ? [causes.invalid(here, value, `option is larger than capacity value: ${capacity}`)]
      : [];
  const rules = { max: MAX_VALUES, key: (value: string) => String(unitsOf(value, 0)) };
  const looked = values.length <= MAX_VALUES && values.some((value) => compareQuantities(value, standard) === 0);
  const why = 'default value is not valid according to the requestPolicy';
  return [...unsorted, ...listFaults(values, at, rule, rules), ...(looked ? [] : [causes.invalid(at, standard, why)])];
}

interface Step {
  min: string;
  step: string;
}

function stepFaults(value: string, { min, step }: Step, at: string): StatusCause[] {
  const units = unitsOf(step, 0);
  if (units !== 0n && (unitsOf(value, 0) - unitsOf(min, 0)) % units === 0n) return [];
  return [causes.invalid(at, value, `value is not a multiple of a given step (${step}) from (${min})`)];
}

function rangeFaults(policy: JsonObject, path: string, capacity: string): StatusCause[] {
  const at = `${path}.validRange`;
  const range = part(policy, 'validRange');
  if (!has(range, 'min')) return [causes.required(`${at}.min`, 'required when validRange is defined')];
  const [min, standard] = [text(range.min), text(policy.default)];
  const out: StatusCause[] = [];
  const bound = (key: string, shown: string, other: string, exceeds: boolean, why: string) => {
    if (exceeds) out.push(causes.invalid(`${at}.${key}`, shown, `${why}: ${other}`));
  };
  const more = (a: string, b: string) => compareQuantities(a, b) > 0;
  bound('min', min, capacity, more(min, capacity), 'min is larger than capacity value');
  bound('min', standard, min, more(min, standard), 'default is less than min');
  const max = has(range, 'max') ? text(range.max) : undefined;
  if (max !== undefined) {
    bound('max', min, max, more(min, max), 'min is larger than max');
    bound('max', max, capacity, more(max, capacity), 'max is larger than capacity value');
    bound('max', standard, max, more(standard, max), 'default is more than max');
  }
  if (!has(range, 'step')) return out;
  const step = text(range.step);
  const first = formatQuantity(addQuantities(min, step));
  bound('step', step, capacity, more(first, capacity), `one step ${first} is larger than capacity value`);
  for (const value of max === undefined ? [standard] : [standard, max]) {
    out.push(...stepFaults(value, { min, step }, `${at}.step`));
  }
  return out;
}

/** Causes in a capacity of a device; only one that is allocated many times has a policy. */
export function capacityFaults(capacity: JsonObject, path: string, multiple: boolean): StatusCause[] {
  if (!has(capacity, 'requestPolicy')) return [];
  const at = `${path}.requestPolicy`;
  if (!multiple) return [causes.forbidden(at, 'allowMultipleAllocations must be true')];
  const policy = part(capacity, 'requestPolicy');
  const [values, range] = [texts(policy, 'validValues').length > 0, has(policy, 'validRange')];
  if (values && range) {
    const why = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
    return [causes.forbidden(at, why)];
  }
  if (!values && !range) return [];
  const key = values ? 'validValues' : 'validRange';
  if (!has(policy, 'default')) return [causes.required(`${at}.default`, `required when ${key} is defined`)];
  return (values ? valuesFaults : rangeFaults)(policy, at, text(capacity.value));
}

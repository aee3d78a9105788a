import { causes, type StatusCause } from '../../status/status.ts';
import { list, text } from '../fields.ts';
import { isObject, type JsonValue } from '../object.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';

const withValues: ReadonlySet<string> = new Set(['In', 'NotIn']);
const withoutValues: ReadonlySet<string> = new Set(['Exists', 'DoesNotExist']);

function operatorFaults(operator: string, values: readonly JsonValue[], path: string): StatusCause[] {
  if (withValues.has(operator)) {
    if (values.length > 0) return [];
    return [causes.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if (withoutValues.has(operator)) {
    if (values.length === 0) return [];
    return [causes.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
  }
  return [causes.invalid(`${path}.operator`, operator, 'not a valid selector operator')];
}

function expressionFaults(expression: JsonValue, path: string): StatusCause[] {
  const { key, operator, values } = isObject(expression) ? expression : {};
  const faults = operatorFaults(text(operator), list(values), path);
  for (const fault of qualifiedNameErrors(text(key))) faults.push(causes.invalid(`${path}.key`, text(key), fault));
  for (const [i, value] of list(values).entries()) {
    for (const fault of labelValueErrors(text(value)))
      faults.push(causes.invalid(`${path}.values[${i}]`, value, fault));
  }
  return faults;
}

/** Causes in a metav1.LabelSelector at `path`. */
export function labelSelectorFaults(selector: JsonValue | undefined, path: string): StatusCause[] {
  if (!isObject(selector)) return [];
  const faults: StatusCause[] = [];
  const labels = isObject(selector.matchLabels) ? selector.matchLabels : {};
  for (const [key, value] of Object.entries(labels)) {
    const at = `${path}.matchLabels`;
    for (const fault of qualifiedNameErrors(key)) faults.push(causes.invalid(at, key, fault));
    for (const fault of labelValueErrors(text(value))) faults.push(causes.invalid(at, value, fault));
  }
  for (const [i, expression] of list(selector.matchExpressions).entries()) {
    faults.push(...expressionFaults(expression, `${path}.matchExpressions[${i}]`));
  }
  return faults;
}

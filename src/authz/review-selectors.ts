import { list, text } from '../api/fields.ts';
import { isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import { labelValueErrors, qualifiedNameErrors } from '../api/validation/labels.ts';
import { causes, type StatusCause } from '../status/status.ts';

function valuesFaults(operator: string, values: JsonValue[], path: string): StatusCause[] {
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0) {
    return [causes.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0) {
    return [causes.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
  }
  return [];
}

function fieldFaults(requirement: JsonObject, path: string): StatusCause[] {
  const faults = valuesFaults(text(requirement.operator), list(requirement.values), path);
  if (text(requirement.key) === '') faults.unshift(causes.required(`${path}.key`, 'must be specified'));
  return faults;
}

function labelFaults(requirement: JsonObject, path: string): StatusCause[] {
  const key = text(requirement.key);
  const values = list(requirement.values);
  const faults = valuesFaults(text(requirement.operator), values, path);
  for (const fault of qualifiedNameErrors(key)) faults.push(causes.invalid(`${path}.key`, key, fault));
  for (const [i, value] of values.entries()) {
    for (const fault of labelValueErrors(text(value)))
      faults.push(causes.invalid(`${path}.values[${i}]`, value, fault));
  }
  return faults;
}

function faultsOf(
  selector: JsonValue | undefined,
  path: string,
  each: (requirement: JsonObject, path: string) => StatusCause[],
): StatusCause[] {
  if (!isObject(selector)) return [];
  const raw = text(selector.rawSelector);
  const requirements = list(selector.requirements);
  const faults: StatusCause[] = [];
  if (raw !== '' && requirements.length > 0) {
    faults.push(causes.invalid(`${path}.rawSelector`, raw, 'may not specified at the same time as requirements'));
  }
  if (raw === '' && requirements.length === 0) {
    faults.push(
      causes.required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`),
    );
  }
  for (const [i, requirement] of requirements.entries()) {
    faults.push(...each(isObject(requirement) ? requirement : {}, `${path}.requirements[${i}]`));
  }
  return faults;
}

/** Faults of the field and label selectors of resource attributes; operators that are unknown are none. */
export function selectorFaults(attributes: JsonObject, path: string): StatusCause[] {
  return [
    ...faultsOf(attributes.fieldSelector, `${path}.fieldSelector`, fieldFaults),
    ...faultsOf(attributes.labelSelector, `${path}.labelSelector`, labelFaults),
  ];
}

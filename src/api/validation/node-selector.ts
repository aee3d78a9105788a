import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, parts, text, texts } from './checks.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';
import { dnsSubdomainErrors } from './names.ts';

const BAD_OPERATOR = 'not a valid selector operator';

function operatorFaults(operator: string, values: readonly string[], at: string): StatusCause[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length > 0) return [];
      return [causes.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      if (values.length === 0) return [];
      return [causes.forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    case 'Gt':
    case 'Lt':
      if (values.length === 1) return [];
      return [causes.required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
    default:
      return [causes.invalid(`${at}.operator`, operator, BAD_OPERATOR)];
  }
}

function validateExpression(expression: JsonObject, at: string, required: boolean): StatusCause[] {
  const [key, values] = [text(expression.key), texts(expression, 'values')];
  return [
    ...operatorFaults(text(expression.operator), values, at),
    ...each(`${at}.key`, key, qualifiedNameErrors(key)),
    ...(required ? values.flatMap((value, i) => each(`${at}.values[${i}]`, value, labelValueErrors(value))) : []),
  ];
}

function validateField(expression: JsonObject, at: string): StatusCause[] {
  const [key, operator, values] = [text(expression.key), text(expression.operator), texts(expression, 'values')];
  const out: StatusCause[] = [];
  if (operator !== 'In' && operator !== 'NotIn') out.push(causes.invalid(`${at}.operator`, operator, BAD_OPERATOR));
  else if (values.length !== 1) {
    const why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    out.push(causes.required(`${at}.values`, why));
  }
  if (key !== 'metadata.name') return [...out, causes.invalid(`${at}.key`, key, 'not a valid field selector key')];
  return [...out, ...values.flatMap((value, i) => each(`${at}.values[${i}]`, value, dnsSubdomainErrors(value)))];
}

/** Causes in one term of a NodeSelector; terms that only prefer nodes may have values that no label can have. */
export function nodeSelectorTermFaults(term: JsonObject, at: string, required = true): StatusCause[] {
  return [
    ...parts(term, 'matchExpressions').flatMap((one, j) =>
      validateExpression(one, `${at}.matchExpressions[${j}]`, required),
    ),
    ...parts(term, 'matchFields').flatMap((one, j) => validateField(one, `${at}.matchFields[${j}]`)),
  ];
}

/** Causes in a core/v1 NodeSelector at `path`, which has to have a term. */
export function nodeSelectorFaults(selector: JsonObject, path: string): StatusCause[] {
  const terms = parts(selector, 'nodeSelectorTerms');
  const here = `${path}.nodeSelectorTerms`;
  if (terms.length === 0) return [causes.required(here, 'must have at least one node selector term')];
  return terms.flatMap((term, i) => nodeSelectorTermFaults(term, `${here}[${i}]`));
}

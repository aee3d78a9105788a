import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, has, integer, oneOf, parts, text } from './checks.ts';
import { qualifiedNameErrors } from './labels.ts';

const REASON = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const REASON_RULE = `a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${REASON}')`;
const reasonPattern = new RegExp(`^${REASON}$`);
const MAX_REASON = 1024;
const MAX_MESSAGE = 32768;

function validateReason(condition: JsonObject, at: string): StatusCause[] {
  const reason = text(condition.reason);
  if (reason === '') return [causes.required(at)];
  const out = reasonPattern.test(reason) ? [] : [causes.invalid(at, reason, REASON_RULE)];
  return reason.length > MAX_REASON ? [...out, causes.tooLong(at, MAX_REASON)] : out;
}

/** Causes in the metav1.Conditions of a status at `path`. */
export function conditionFaults(status: JsonObject, path: string): StatusCause[] {
  const seen = new Set<string>();
  return parts(status, 'conditions').flatMap((condition, i) => {
    const at = `${path}.conditions[${i}]`;
    const type = text(condition.type);
    const out = seen.has(type) ? [causes.duplicate(`${at}.type`, type)] : [];
    seen.add(type);
    out.push(...each(`${at}.type`, type, qualifiedNameErrors(type)));
    out.push(...oneOf(condition.status, `${at}.status`, ['False', 'True', 'Unknown']));
    const observed = integer(condition.observedGeneration);
    if (observed < 0) {
      out.push(causes.invalid(`${at}.observedGeneration`, observed, 'must be greater than or equal to zero'));
    }
    if (!has(condition, 'lastTransitionTime')) out.push(causes.required(`${at}.lastTransitionTime`));
    out.push(...validateReason(condition, `${at}.reason`));
    if (text(condition.message).length > MAX_MESSAGE) out.push(causes.tooLong(`${at}.message`, MAX_MESSAGE));
    return out;
  });
}

import { mapOf } from '../api/fields.ts';
import type { JsonObject } from '../api/object.ts';
import { compareQuantities, parseQuantity } from '../api/quantity.ts';

/** What is held against a limit. */
interface Amounts {
  requests: JsonObject;
  limits: JsonObject;
}

const amountOf = (amounts: JsonObject, name: string): string | undefined =>
  Object.hasOwn(amounts, name) ? String(amounts[name]) : undefined;

/** A quantity as a number, near enough for a ratio. */
function amount(text: string): number {
  const { unscaled, exponent } = parseQuantity(text);
  return Number(unscaled) * 10 ** exponent;
}

function minimumFault(name: string, type: string, least: string, { requests, limits }: Amounts): string | undefined {
  const usage = `minimum ${name} usage per ${type} is ${least}`;
  const request = amountOf(requests, name);
  const limit = amountOf(limits, name);
  if (request === undefined) return `${usage}.  No request is specified`;
  if (compareQuantities(request, least) < 0) return `${usage}, but request is ${request}`;
  return limit !== undefined && compareQuantities(limit, least) < 0 ? `${usage}, but limit is ${limit}` : undefined;
}

function maximumFault(name: string, type: string, most: string, { requests, limits }: Amounts): string | undefined {
  const usage = `maximum ${name} usage per ${type} is ${most}`;
  const request = amountOf(requests, name);
  const limit = amountOf(limits, name);
  if (limit === undefined) return `${usage}.  No limit is specified`;
  if (compareQuantities(limit, most) > 0) return `${usage}, but limit is ${limit}`;
  return request !== undefined && compareQuantities(request, most) > 0
    ? `${usage}, but request is ${request}`
    : undefined;
}

function ratioFault(name: string, type: string, most: string, { requests, limits }: Amounts): string | undefined {
  const usage = `${name} max limit to request ratio per ${type} is ${most}`;
  const request = amount(amountOf(requests, name) ?? '0');
  const limit = amount(amountOf(limits, name) ?? '0');
  if (request === 0) return `${usage}, but no request is specified or request is 0`;
  if (limit === 0) return `${usage}, but no limit is specified or limit is 0`;
  const ratio = limit / request;
  return ratio > amount(most) ? `${usage}, but provided ratio is ${ratio.toFixed(6)}` : undefined;
}

const rules = [
  ['min', minimumFault],
  ['max', maximumFault],
  ['maxLimitRequestRatio', ratioFault],
] as const;

/** What is wrong with amounts under one entry of a limit range; `type` is what the entry is for. */
export function limitFaults(limit: JsonObject, type: string, amounts: Amounts): string[] {
  return rules.flatMap(([key, faultOf]) =>
    Object.entries(mapOf(limit[key])).flatMap(([name, bound]) => faultOf(name, type, String(bound), amounts) ?? []),
  );
}

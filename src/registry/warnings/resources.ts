import { mapOf, objectAt } from '../../api/fields.ts';
import type { JsonObject, JsonValue } from '../../api/object.ts';
import { canonicalQuantity, compareQuantities, parseQuantity } from '../../api/quantity.ts';

/** Whether an amount is no whole number of units, rounded up to a thousandth. */
function isFractional(value: JsonValue): boolean {
  const { unscaled, exponent } = parseQuantity(String(value));
  if (exponent >= 0) return false;
  const one = 10n ** BigInt(Math.max(-3 - exponent, 0));
  const milli = exponent > -3 ? unscaled * 10n ** BigInt(exponent + 3) : (unscaled + one - 1n) / one;
  return milli % 1000n !== 0n;
}

/** `AT[NAME]: …` for an amount of bytes that is not whole. */
export function fractionWarnings(amounts: JsonValue | undefined, at: string, names: readonly string[]): string[] {
  return names.flatMap((name) => {
    const value = mapOf(amounts)[name];
    if (value === undefined || value === null || !isFractional(value)) return [];
    const shown = JSON.stringify(canonicalQuantity(String(value)));
    return [`${at}[${name}]: fractional byte value ${shown} is invalid, must be an integer`];
  });
}

/** Warnings about what a container asks for. */
export function containerResourceWarnings(container: JsonObject, at: string): string[] {
  const resources = objectAt(container, 'resources');
  return ['memory', 'ephemeral-storage'].flatMap((name) =>
    ['limits', 'requests'].flatMap((part) => fractionWarnings(resources[part], `${at}.resources.${part}`, [name])),
  );
}

/** Warnings about the spec of a claim for a volume. */
export function claimWarnings(spec: JsonObject, at: string): string[] {
  const resources = objectAt(spec, 'resources');
  return ['requests', 'limits'].flatMap((part) =>
    fractionWarnings(resources[part], `${at}.resources.${part}`, ['storage']),
  );
}

/** Warnings about a quota that asks for more than it limits. */
export function quotaWarnings(spec: JsonObject): string[] {
  const hard = mapOf(spec.hard);
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((name) => {
    const bare = (name === 'cpu' || name === 'memory') && hard[`requests.${name}`] === undefined;
    const [request, limit] = [bare ? name : `requests.${name}`, `limits.${name}`];
    const [asked, allowed] = [hard[request], hard[limit]];
    if (asked === undefined || allowed === undefined) return [];
    if (compareQuantities(String(asked), String(allowed)) <= 0) return [];
    const [a, b] = [asked, allowed].map((value) => canonicalQuantity(String(value)));
    return [`ResourceQuota ${request} (${a}) should be less than ${limit} (${b})`];
  });
}

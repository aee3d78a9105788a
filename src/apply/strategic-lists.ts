import type { JsonObject, JsonValue } from '../api/object.ts';
import { isObject, setKey } from '../api/object.ts';
import type { StatusError } from '../status/status.ts';
import { badRequest, plainError } from '../status/status.ts';
import { goText, goType } from './go-text.ts';

export const DIRECTIVE = '$patch';
export const RETAIN_KEYS = '$retainKeys';
export const DELETE_FROM_LIST = '$deleteFromPrimitiveList';
export const SET_ORDER = '$setElementOrder';

const MALFORMED: Readonly<Record<string, string>> = {
  [DELETE_FROM_LIST]: 'invalid patch format of primitive list',
  [SET_ORDER]: 'invalid patch format of setElementOrder list',
};

/** The key that a directive such as `$setElementOrder/containers` speaks of. Throws 400 when it names none. */
export function keyIn(member: string, directive: string): string {
  if (!member.startsWith(`${directive}/`)) throw badRequest(MALFORMED[directive] ?? '');
  return member.slice(directive.length + 1);
}

/** The value as a list. Throws 500 for anything else. */
export function listOf(value: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(value)) return value;
  throw plainError(`expected a []interface {}, but received a ${goType(value)}`);
}

export const noMergeKey = (item: JsonObject, key: string): StatusError =>
  plainError(`map: ${goText(item)} does not contain declared merge key: ${key}`);

export const unknownDirective = (directive: JsonValue | undefined, map: JsonObject): StatusError =>
  plainError(`unknown patch type: ${goText(directive)} in map: ${goText(map)}`);

/** A value of the patch that meets nothing to merge with: without `null` members and directed maps; undefined when it is one. */
export function keptValue(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) return value.map(keptValue).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, DIRECTIVE)) return undefined;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key] ?? null;
    const kept = member === null ? undefined : keptValue(member);
    if (kept !== undefined) setKey(out, key, kept);
  }
  return out;
}

export const dropMatching = (list: JsonValue[], key: string, value: JsonValue | undefined): JsonValue[] =>
  list.filter((item, index) => asMap(item, index)[key] !== value);

function asMap(item: JsonValue, index: number): JsonObject {
  if (isObject(item)) return item;
  throw plainError(`value for key ${index} is not a map`);
}

/** What identifies an item: itself, or its merge key. Throws 500 for a map without it. */
function identity(item: JsonValue, key: string): JsonValue | undefined {
  if (key === '') return item;
  if (!isObject(item)) throw plainError(`expected a map[string]interface {}, but received a ${goType(item)}`);
  if (!Object.hasOwn(item, key)) throw noMergeKey(item, key);
  return item[key];
}

/** Checks that the items of a patch are in its element order. Throws 500 when they are not. */
export function checkOrder(patch: JsonValue[], order: JsonValue[], key: string): void {
  if (order.length === 0 || patch.length === 0) return;
  const items = patch.filter((item) => !isObject(item) || !Object.hasOwn(item, DIRECTIVE));
  let at = 0;
  for (const item of order) {
    const next = items[at];
    if (next === undefined) return;
    if (identity(next, key) === identity(item, key)) at++;
  }
  if (at < items.length) {
    throw plainError(
      `The order in patch list:\n${goText(patch)}\n doesn't match ${SET_ORDER} list:\n${goText(order)}\n`,
    );
  }
}

/**
 * Puts merged items in order: those that the patch's order names in that order, the others as they were in the original, each
 * before the first named item that followed it there. Named items that the original has not come first.
 */
export function inOrder(merged: JsonValue[], order: JsonValue[], original: JsonValue[], key: string): JsonValue[] {
  const named = positions(order, key);
  const old = positions(original, key);
  const place = (at: Map<JsonValue | undefined, number>, item: JsonValue) => at.get(identity(item, key)) ?? -1;
  const fromPatch = merged
    .filter((item) => named.has(identity(item, key)))
    .sort((a, b) => place(named, a) - place(named, b));
  const others = merged.filter((item) => !named.has(identity(item, key))).sort((a, b) => place(old, a) - place(old, b));
  const out: JsonValue[] = [];
  let i = 0;
  for (const item of fromPatch) {
    const at = place(old, item);
    while (
      i < others.length &&
      at >= 0 &&
      place(old, others[i] as JsonValue) >= 0 &&
      place(old, others[i] as JsonValue) < at
    ) {
      out.push(others[i++] as JsonValue);
    }
    out.push(item);
  }
  return [...out, ...others.slice(i)];
}

function positions(list: JsonValue[], key: string): Map<JsonValue | undefined, number> {
  const out = new Map<JsonValue | undefined, number>();
  for (const [index, item] of list.entries()) {
    const id = identity(item, key);
    if (!out.has(id)) out.set(id, index);
  }
  return out;
}

import type { JsonObject, JsonValue } from '../api/object.ts';
import { deepCopy, deepEqual, isObject, setKey } from '../api/object.ts';
import { badRequest, requestEntityTooLarge, unprocessable } from '../status/status.ts';
import { jsonTypeName } from './json-type.ts';

/** Operations that one JSON patch may hold. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000;
/** Bytes of JSON that the copy operations of one patch may add up to. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

const MEMBERS = ['op', 'path', 'from', 'value'];

/**
 * Applies a JSON patch (RFC 6902) the way kube-apiserver does: `replace` of a missing key adds it, and list indexes may be
 * negative. `document` and `patch` are not changed. A patch that is `null` does nothing.
 *
 * Throws 400 when the patch is no list of operations, 413 for more than {@link MAX_JSON_PATCH_OPERATIONS}, and 422, with the
 * one message upstream has for all of them, for an operation that is unknown or does not apply.
 */
export function jsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  checkShape(patch);
  const operations = (patch ?? []) as (JsonObject | null)[];
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    throw requestEntityTooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${operations.length}`,
    );
  }
  if (operations.length === 0) return document;
  const state: State = { root: deepCopy(document), copied: 0 };
  for (const operation of operations) {
    const name = operation?.op;
    const apply = typeof name === 'string' && Object.hasOwn(APPLY, name) ? APPLY[name] : undefined;
    if (operation === null || apply === undefined) throw doesNotApply();
    apply(state, operation);
  }
  return state.root;
}

/** What strict decoding says of the patch itself: members that no JSON patch operation has. */
export function jsonPatchUnknownFields(patch: JsonValue): string[] {
  if (!Array.isArray(patch)) return [];
  return patch.flatMap((operation, index) =>
    isObject(operation)
      ? Object.keys(operation)
          .filter((member) => !MEMBERS.includes(member))
          .map((member) => `unknown field "[${index}].${member}"`)
      : [],
  );
}

const doesNotApply = () => unprocessable('the server rejected our request due to an error in our request');

function checkShape(patch: JsonValue): void {
  if (patch === null) return;
  const cannot = (value: JsonValue, type: string) =>
    badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeName(value)} into Go ${type}`);
  if (!Array.isArray(patch)) throw cannot(patch, 'value of type []handlers.jsonPatchOp');
  for (const operation of patch) {
    if (operation === null) continue;
    if (!isObject(operation)) throw cannot(operation, 'value of type handlers.jsonPatchOp');
    for (const member of ['op', 'path', 'from']) {
      const value = operation[member];
      if (value !== undefined && value !== null && typeof value !== 'string') {
        throw cannot(value, `struct field jsonPatchOp.${member} of type string`);
      }
    }
  }
}

interface State {
  root: JsonValue;
  copied: number;
}

const APPLY: Readonly<Record<string, (state: State, operation: JsonObject) => void>> = {
  add: (state, operation) => add(state, operation.path, givenValue(operation)),
  remove: (state, operation) => {
    remove(find(state, operation.path));
  },
  replace,
  move: (state, operation) => {
    const place = find(state, operation.from);
    const value = get(place) ?? null;
    remove(place);
    add(state, operation.path, value);
  },
  copy: (state, operation) => {
    const value = get(find(state, operation.from)) ?? null;
    find(state, operation.path);
    if (value !== null) state.copied += sizeOf(value);
    if (state.copied > MAX_COPIED_BYTES) throw doesNotApply();
    add(state, operation.path, deepCopy(value));
  },
  test: (state, operation) => {
    const expected = givenValue(operation);
    const actual = operation.path === '' ? state.root : (get(find(state, operation.path)) ?? null);
    if (!deepEqual(actual, expected)) throw doesNotApply();
  },
};

const sizeOf = (value: JsonValue): number =>
  new TextEncoder().encode(JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? v.toString() : v))).length;

/** A value of the patch, copied: later operations may change what it becomes. */
const givenValue = (operation: JsonObject): JsonValue => deepCopy(operation.value ?? null);

/** A member of a map or an item of a list. */
type Place = { map: JsonObject; key: string } | { list: JsonValue[]; key: string };

/** What a JSON pointer points at; its parent must exist. */
function find(state: State, pointer: JsonValue | undefined): Place {
  if (typeof pointer !== 'string') throw doesNotApply();
  const [, ...tokens] = pointer.split('/');
  const last = tokens.pop();
  if (last === undefined) throw doesNotApply();
  let parent = state.root;
  for (const token of tokens) {
    const child = get(placeIn(parent, decode(token)));
    if (child === undefined) throw doesNotApply();
    parent = child;
  }
  return placeIn(parent, decode(last));
}

const decode = (token: string): string => token.replace(/~[01]/g, (c) => (c === '~1' ? '/' : '~'));

function placeIn(parent: JsonValue, key: string): Place {
  if (Array.isArray(parent)) return { list: parent, key };
  if (isObject(parent)) return { map: parent, key };
  throw doesNotApply();
}

/** An index into a list of `length` items; negative ones count from the end. */
function indexOf(key: string, length: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw doesNotApply();
  const index = Number(key);
  const absolute = index < 0 ? index + length : index;
  if (absolute < 0 || absolute >= length) throw doesNotApply();
  return absolute;
}

/** The value there; undefined for a key that a map has not. */
function get(place: Place): JsonValue | undefined {
  if ('list' in place) return place.list[indexOf(place.key, place.list.length)];
  return Object.hasOwn(place.map, place.key) ? place.map[place.key] : undefined;
}

function add(state: State, pointer: JsonValue | undefined, value: JsonValue): void {
  const place = find(state, pointer);
  if ('map' in place) setKey(place.map, place.key, value);
  else if (place.key === '-') place.list.push(value);
  else place.list.splice(indexOf(place.key, place.list.length + 1), 0, value);
}

function remove(place: Place): void {
  if ('list' in place) place.list.splice(indexOf(place.key, place.list.length), 1);
  else if (!Object.hasOwn(place.map, place.key)) throw doesNotApply();
  else delete place.map[place.key];
}

function replace(state: State, operation: JsonObject): void {
  const value = givenValue(operation);
  if (operation.path === '') {
    if (value === null || typeof value !== 'object') throw doesNotApply();
    state.root = value;
    return;
  }
  const place = find(state, operation.path);
  if ('list' in place) place.list[indexOf(place.key, place.list.length)] = value;
  else setKey(place.map, place.key, value);
}

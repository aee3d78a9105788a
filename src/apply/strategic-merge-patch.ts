import type { JsonObject, JsonValue } from '../api/object.ts';
import { isObject, setKey } from '../api/object.ts';
import type { Schema } from '../api/schema.ts';
import { definition, resolve } from '../api/schema.ts';
import { badRequest, plainError } from '../status/status.ts';
import { goText } from './go-text.ts';
import { jsonTypeName } from './json-type.ts';
import type { KindType } from './kind-type.ts';
import {
  checkOrder,
  DELETE_FROM_LIST,
  DIRECTIVE,
  dropMatching,
  inOrder,
  keptValue,
  keyIn,
  listOf,
  noMergeKey,
  RETAIN_KEYS,
  SET_ORDER,
  unknownDirective,
} from './strategic-lists.ts';

/**
 * Applies a strategic merge patch to an object of a built-in kind. Lists with the patch strategy `merge` merge by their key, and
 * lists of primitives with it are joined; the directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…` and
 * `$setElementOrder/…` are obeyed. `original` and `patch` are not changed; the result may share parts with both.
 *
 * Throws 400 for a patch that is no object or has a malformed directive, and 500 for list elements without their key, unknown
 * directives and orders that contradict the list, as kube-apiserver does.
 */
export function strategicMergePatch(original: JsonObject, patch: JsonValue, kind: KindType): JsonObject {
  if (patch === null) return original;
  if (!isObject(patch)) {
    throw badRequest(`json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`);
  }
  const name = kind.definition ?? '';
  return mergeMap(original, patch, { schema: definition(name) ?? {}, name });
}

/** A schema node with the name of the definition that it came from, for errors. */
interface Place {
  schema: Schema;
  name: string;
}

interface Field {
  place: Place;
  strategy: string;
  key: string;
}

/** How a field of a struct merges. Throws 500 where there is no such field. */
function fieldOf(place: Place, name: string): Field {
  const { properties } = place.schema;
  if (properties === undefined)
    throw plainError('merging an object in json but data type is not struct, instead is: map');
  const node = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (node === undefined) {
    const struct = place.name.slice(place.name.lastIndexOf('.') + 1);
    throw plainError(`unable to find api field in struct ${struct} for the json field ${JSON.stringify(name)}`);
  }
  const strategies = (node['x-kubernetes-patch-strategy'] ?? '').split(',');
  return {
    place: placeOf(node, place.name),
    strategy: strategies.find((s) => s !== 'retainKeys') ?? '',
    key: node['x-kubernetes-patch-merge-key'] ?? '',
  };
}

const placeOf = (node: Schema, name: string): Place => ({ schema: resolve(node), name: node.$ref ?? name });

/** Like {@link fieldOf}, for a list: the place is that of its items. */
function listFieldOf(place: Place, name: string): Field {
  const field = fieldOf(place, name);
  const items = field.place.schema.items;
  return items === undefined ? field : { ...field, place: placeOf(items, field.place.name) };
}

function mergeMap(original: JsonObject, patch: JsonObject, place: Place): JsonObject {
  if (Object.hasOwn(patch, DIRECTIVE)) return directed(patch);
  const out: JsonObject = { ...retained(original, patch) };
  const rest: JsonObject = { ...patch };
  delete rest[RETAIN_KEYS];
  for (const member of Object.keys(patch)) if (member.startsWith(SET_ORDER)) mergeOrdered(out, rest, member, place);
  for (const member of Object.keys(rest)) mergeMember(out, member, rest[member] ?? null, place);
  return out;
}

/** What `$patch` in a map makes of it. */
function directed(patch: JsonObject): JsonObject {
  const { [DIRECTIVE]: directive, ...rest } = patch;
  if (directive === 'replace') return rest;
  if (directive === 'delete') return {};
  throw unknownDirective(directive, patch);
}

/** The original without the keys that `$retainKeys` does not name. */
function retained(original: JsonObject, patch: JsonObject): JsonObject {
  const keys = Object.hasOwn(patch, RETAIN_KEYS) ? patch[RETAIN_KEYS] : undefined;
  if (keys === undefined) return original;
  if (!Array.isArray(keys)) throw badRequest('invalid patch format of retainKeys');
  for (const member of Object.keys(patch)) {
    if (member === RETAIN_KEYS || patch[member] === null) continue;
    if (member.startsWith(DELETE_FROM_LIST) || member.startsWith(SET_ORDER) || keys.includes(member)) continue;
    throw badRequest('invalid patch format of retainKeys');
  }
  const out: JsonObject = {};
  for (const key of Object.keys(original)) if (keys.includes(key)) setKey(out, key, original[key] ?? null);
  return out;
}

function mergeMember(out: JsonObject, member: string, value: JsonValue, place: Place): void {
  const deletes = member.startsWith(DELETE_FROM_LIST);
  const key = deletes ? keyIn(member, DELETE_FROM_LIST) : member;
  const current = Object.hasOwn(out, key) ? out[key] : undefined;
  if (value === null) delete out[key];
  else if (Array.isArray(current) && Array.isArray(value)) {
    const field = listFieldOf(place, key);
    setKey(out, key, deletes || field.strategy === 'merge' ? mergeList(current, value, field, deletes) : value);
  } else if (deletes) return;
  else if (isObject(current) && isObject(value)) {
    const field = fieldOf(place, key);
    setKey(out, key, field.strategy === 'replace' ? value : mergeMap(current, value, field.place));
  } else {
    const kept = keptValue(value);
    if (kept === undefined) delete out[key];
    else setKey(out, key, kept);
  }
}

/** Merges a list that comes with its order. Changes `out` and takes what it has done from `rest`. */
function mergeOrdered(out: JsonObject, rest: JsonObject, member: string, place: Place): void {
  const order = listOf(rest[member]);
  delete rest[member];
  const key = keyIn(member, SET_ORDER);
  const given = Object.hasOwn(rest, key) ? rest[key] : undefined;
  const current = Object.hasOwn(out, key) ? out[key] : undefined;
  const original = current === undefined ? [] : listOf(current);
  const patch = given === undefined ? [] : listOf(given);
  const field = listFieldOf(place, key);
  if (given !== undefined) checkOrder(patch, order, field.key);
  if (current === undefined && given === undefined) return;
  let merged = original;
  if (current === undefined) merged = (keptValue(patch) ?? []) as JsonValue[];
  else if (given !== undefined) merged = field.strategy === 'merge' ? mergeList(original, patch, field, false) : patch;
  if (original.length === 0 && patch.length === 0) throw plainError('no elements in any of the given slices');
  setKey(out, key, inOrder(merged, order, original, field.key));
  delete rest[key];
}

function mergeList(original: JsonValue[], patch: JsonValue[], field: Field, deletes: boolean): JsonValue[] {
  if (original.length === 0 && patch.length === 0) return original;
  const ofMaps = sameForm([original, patch]) === 'object';
  if (!ofMaps) {
    if (deletes) return original.filter((item) => !patch.includes(item));
    return inOrder([...new Set([...original, ...patch])], patch, original, '');
  }
  if (field.key === '') throw plainError('cannot merge lists without merge key for struct');
  const { kept, plain } = special(original, patch as JsonObject[], field.key);
  const merged = [...kept];
  for (const item of plain) {
    if (!Object.hasOwn(item, field.key)) throw noMergeKey(item, field.key);
    const index = merged.findIndex((candidate) => isObject(candidate) && candidate[field.key] === item[field.key]);
    if (index < 0) merged.push(item);
    else merged[index] = mergeMap(merged[index] as JsonObject, item, field.place);
  }
  return inOrder(merged, plain, kept, field.key);
}

/** Obeys the directives among the items of a patch: what stays of the original, and the items without directive. */
function special(original: JsonValue[], patch: JsonObject[], key: string): { kept: JsonValue[]; plain: JsonObject[] } {
  const plain: JsonObject[] = [];
  let kept = original;
  let replaces = false;
  for (const item of patch) {
    const directive = item[DIRECTIVE];
    if (!Object.hasOwn(item, DIRECTIVE)) plain.push(item);
    else if (directive === 'replace') replaces = true;
    else if (directive === 'merge') throw plainError('merging lists cannot yet be specified in the patch');
    else if (directive !== 'delete') throw unknownDirective(directive, item);
    else if (!Object.hasOwn(item, key)) throw noMergeKey(item, key);
    else kept = dropMatching(kept, key, item[key]);
  }
  return replaces ? { kept: plain, plain: [] } : { kept, plain };
}

/** The form that all items have. */
function sameForm(lists: JsonValue[][]): string {
  let form: string | undefined;
  for (const item of lists.flat()) {
    const own = Array.isArray(item) ? 'list' : item === null ? 'null' : typeof item;
    form ??= own;
    if (form === 'list') throw plainError('lists of lists are not supported');
    if (form !== own || form === 'null') throw plainError(`list element types are not identical: ${goText(lists)}`);
  }
  return form ?? '';
}

import type { JsonObject, JsonValue } from '../api/object.ts';
import { deepEqual, isObject, setKey } from '../api/object.ts';
import type { FieldSet, MutableFieldSet } from './field-set.ts';
import { asMember, EMPTY_SET, isEmptySet, isMember, LEAF, recursiveDifference, setOf, union } from './field-set.ts';
import type { FieldType, ListType, MapType } from './kind-type.ts';
import { deducedType } from './kind-type.ts';
import { itemElementOrNone } from './list-items.ts';

export type Form = 'map' | 'list' | 'scalar';

/** The form in which a value is handled; values that the type does not allow are handled as its first form. */
export function formOf(type: FieldType, value: JsonValue | undefined): Form {
  if (type.list !== undefined && Array.isArray(value)) return 'list';
  if (type.map !== undefined && isObject(value)) return 'map';
  if (type.scalar !== undefined && value !== undefined && value !== null && typeof value !== 'object') return 'scalar';
  return type.map !== undefined ? 'map' : type.scalar !== undefined ? 'scalar' : 'list';
}

/** The type of a key of a map; deduced where nothing is declared. */
export function typeOfKey(type: MapType, key: string): FieldType {
  return type.fields.get(key)?.type ?? type.element ?? deducedType;
}

// ---- the set of a value

/** Every leaf and list item that a value mentions (TypedValue.ToFieldSet of structured-merge-diff). */
export function fieldSetOf(type: FieldType, value: JsonValue): FieldSet {
  return nodeOf(type, value) ?? EMPTY_SET;
}

function nodeOf(type: FieldType, value: JsonValue): FieldSet | undefined {
  switch (formOf(type, value)) {
    case 'scalar':
      return LEAF;
    case 'list':
      return listNode(type.list as ListType, value);
    case 'map':
      return mapNode(type.map as MapType, value);
  }
}

function mapNode(type: MapType, value: JsonValue): FieldSet | undefined {
  if (type.atomic) return LEAF;
  if (!isObject(value)) return undefined;
  let out: MutableFieldSet | undefined;
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (child === undefined) continue;
    const node = nodeOf(typeOfKey(type, key), child);
    const member = child === null || isEmptyMap(child) || !type.fields.has(key);
    if (node === undefined && !member) continue;
    out ??= {};
    out[`f:${key}`] = member || node === undefined ? asMember(node) : node;
  }
  return out;
}

function listNode(type: ListType, value: JsonValue): FieldSet | undefined {
  if (type.atomic) return LEAF;
  if (!Array.isArray(value)) return undefined;
  const out: MutableFieldSet = {};
  const repeated = new Set<string>();
  for (const item of value) {
    const element = itemElementOrNone(type, item);
    if (element === undefined || repeated.has(element)) continue;
    if (out[element] === undefined) out[element] = asMember(nodeOf(type.element, item));
    else {
      repeated.add(element);
      out[element] = LEAF;
    }
  }
  return isEmptySet(out) ? undefined : out;
}

const isEmptyMap = (value: JsonValue): boolean => {
  if (!isObject(value)) return false;
  for (const _ in value) return false;
  return true;
};

// ---- comparison

/** What differs from one value to another; no path is in two of the sets. */
export interface Comparison {
  added: FieldSet;
  modified: FieldSet;
  removed: FieldSet;
}

interface Diff {
  added?: MutableFieldSet | FieldSet;
  modified?: MutableFieldSet | FieldSet;
  removed?: MutableFieldSet | FieldSet;
}

const ADDED: Diff = { added: LEAF };
const MODIFIED: Diff = { modified: LEAF };
const REMOVED: Diff = { removed: LEAF };
const PARTS = ['added', 'modified', 'removed'] as const;

/** Compares two values of one type (TypedValue.Compare of structured-merge-diff). */
export function compare(type: FieldType, before: JsonValue, after: JsonValue): Comparison {
  const diff = diffOf(type, before, after);
  return {
    added: diff?.added ?? EMPTY_SET,
    modified: diff?.modified ?? EMPTY_SET,
    removed: diff?.removed ?? EMPTY_SET,
  };
}

function diffOf(type: FieldType, before: JsonValue | undefined, after: JsonValue | undefined): Diff | undefined {
  if (before === after) return undefined;
  const from = formOf(type, before);
  const to = formOf(type, after);
  if (after === undefined) return diffAs(from, type, before, after);
  const diff = diffAs(to, type, before, after);
  if (before === undefined || from === to) return diff;
  const other = diffAs(from, type, before, after);
  return joinDiffs(other, diff);
}

function diffAs(
  form: Form,
  type: FieldType,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): Diff | undefined {
  switch (form) {
    case 'scalar':
      return leafDiff(before, after);
    case 'list':
      return listDiff(type.list as ListType, before, after);
    case 'map':
      return mapDiff(type.map as MapType, before, after);
  }
}

function leafDiff(before: JsonValue | undefined, after: JsonValue | undefined): Diff | undefined {
  if (before === undefined) return ADDED;
  if (after === undefined) return REMOVED;
  return deepEqual(before, after) ? undefined : MODIFIED;
}

const NOTHING: JsonObject = Object.freeze({});

function mapDiff(type: MapType, before: JsonValue | undefined, after: JsonValue | undefined): Diff | undefined {
  const left = isObject(before) ? before : NOTHING;
  const right = isObject(after) ? after : NOTHING;
  const keys = Object.keys(right);
  const old = Object.keys(left);
  if (type.atomic || (keys.length === 0 && old.length === 0)) return leafDiff(before, after);
  let out: Diff | undefined;
  for (const key of keys) {
    const mine = right[key];
    const theirs = Object.hasOwn(left, key) ? left[key] : undefined;
    out = addBelow(out, `f:${key}`, diffOf(typeOfKey(type, key), theirs, mine));
  }
  for (const key of old) {
    if (Object.hasOwn(right, key) && right[key] !== undefined) continue;
    out = addBelow(out, `f:${key}`, diffOf(typeOfKey(type, key), left[key], undefined));
  }
  return withSelf(out, before, after);
}

/** Adds the differences of a child below its path element. */
function addBelow(out: Diff | undefined, element: string, child: Diff | undefined): Diff | undefined {
  if (child === undefined) return out;
  const diff = out ?? {};
  for (const part of PARTS) {
    const node = child[part];
    if (node === undefined) continue;
    const mine = (diff[part] ?? {}) as MutableFieldSet;
    mine[element] = node;
    diff[part] = mine;
  }
  return diff;
}

/** A map or list that appears or disappears is itself a difference. */
function withSelf(
  diff: Diff | undefined,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): Diff | undefined {
  if (before === undefined) return { ...diff, added: asMember(diff?.added) };
  if (after === undefined) return { ...diff, removed: asMember(diff?.removed) };
  return diff;
}

function joinDiffs(a: Diff | undefined, b: Diff | undefined): Diff | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const out: Diff = {};
  for (const part of PARTS) {
    const left = a[part];
    const right = b[part];
    if (left === undefined && right === undefined) continue;
    const member = (left !== undefined && isMember(left)) || (right !== undefined && isMember(right));
    const both = union(left ?? EMPTY_SET, right ?? EMPTY_SET);
    out[part] = member ? asMember(both) : both;
  }
  return out;
}

/** Items by path element, with all the items of one that is repeated. */
function itemsByElement(type: ListType, list: JsonValue[] | undefined): Map<string, JsonValue[]> {
  const out = new Map<string, JsonValue[]>();
  for (const item of list ?? []) {
    const element = itemElementOrNone(type, item);
    if (element === undefined) continue;
    const same = out.get(element);
    if (same === undefined) out.set(element, [item]);
    else same.push(item);
  }
  return out;
}

function listDiff(type: ListType, before: JsonValue | undefined, after: JsonValue | undefined): Diff | undefined {
  const left = Array.isArray(before) ? before : undefined;
  const right = Array.isArray(after) ? after : undefined;
  if (type.atomic || ((left?.length ?? 0) === 0 && (right?.length ?? 0) === 0)) return leafDiff(before, after);
  const old = itemsByElement(type, left);
  const now = itemsByElement(type, right);
  let out: Diff | undefined;
  for (const [element, items] of now) out = addBelow(out, element, itemDiff(type, old.get(element) ?? [], items));
  for (const [element, items] of old) if (!now.has(element)) out = addBelow(out, element, itemDiff(type, items, []));
  return withSelf(out, before, after);
}

/** Repeated items are compared as a whole: they are owned by their path element only. */
function itemDiff(type: ListType, before: JsonValue[], after: JsonValue[]): Diff | undefined {
  const repeatedBefore = before.length > 1;
  const repeatedAfter = after.length > 1;
  if (!repeatedBefore && !repeatedAfter) return diffOf(type.element, before[0], after[0]);
  if (repeatedBefore && repeatedAfter) return deepEqual(before, after) ? undefined : MODIFIED;
  const rest = repeatedBefore
    ? after.length === 0
      ? undefined
      : diffOf(type.element, undefined, after[0])
    : before.length === 0
      ? undefined
      : diffOf(type.element, before[0], undefined);
  return joinDiffs(rest, repeatedBefore ? REMOVED : ADDED);
}

// ---- removal

/** The value without the items of a set; undefined when nothing is left of a map or list. */
export function removeItems(type: FieldType, value: JsonValue, items: FieldSet): JsonValue | undefined {
  switch (formOf(type, value)) {
    case 'scalar':
      return value;
    case 'list':
      return removeFromList(type.list as ListType, value, items);
    case 'map':
      return removeFromMap(type.map as MapType, value, items);
  }
}

function removeFromMap(type: MapType, value: JsonValue, items: FieldSet): JsonValue | undefined {
  if (!isObject(value) || type.atomic) return undefined;
  const out: JsonObject = {};
  let left = false;
  for (const key of Object.keys(value)) {
    const child = value[key];
    const node = items[`f:${key}`];
    if (child === undefined || (node !== undefined && isMember(node))) continue;
    const rest = node === undefined ? child : (removeItems(typeOfKey(type, key), child, node) ?? null);
    setKey(out, key, rest);
    left = true;
  }
  return left ? out : undefined;
}

function removeFromList(type: ListType, value: JsonValue, items: FieldSet): JsonValue | undefined {
  if (!Array.isArray(value) || type.atomic) return undefined;
  const out: JsonValue[] = [];
  for (const item of value) {
    const element = itemElementOrNone(type, item);
    const node = element === undefined ? undefined : items[element];
    if (node !== undefined && isMember(node)) continue;
    out.push(node === undefined ? item : (removeItems(type.element, item, node) ?? null));
  }
  return out.length > 0 ? out : undefined;
}

// ---- sets and types

/** The set with every declared field on the way to a member as a member too. */
export function withNamedFields(type: FieldType, set: FieldSet): FieldSet {
  const out: MutableFieldSet = {};
  for (const element in set) {
    const node = set[element] as FieldSet;
    if (element === '.' || isEmptySet(node)) {
      out[element] = node;
      continue;
    }
    const below = withNamedFields(typeBelow(type, element) ?? {}, node);
    const named = element.startsWith('f:') && type.map?.fields.has(element.slice(2)) === true;
    out[element] = named ? asMember(below) : below;
  }
  return out;
}

function typeBelow(type: FieldType, element: string): FieldType | undefined {
  if (element.startsWith('f:')) return type.map?.fields.get(element.slice(2))?.type ?? type.map?.element;
  return element.startsWith('k:') ? type.list?.element : undefined;
}

/** The set as the type of today would record it: what has become atomic since is owned as a whole. */
export function reconcile(type: FieldType, set: FieldSet): FieldSet {
  const atomics: string[][] = [];
  findAtomics(type, set, [], atomics);
  if (atomics.length === 0) return set;
  const whole = setOf(atomics);
  return union(recursiveDifference(set, whole), whole);
}

function findAtomics(type: FieldType, node: FieldSet, path: string[], found: string[][]): void {
  const granular = !isEmptySet(node);
  const form = formOf(type, undefined);
  if (form === 'scalar' || !granular) return;
  const map = form === 'map' ? type.map : undefined;
  if (map !== undefined && map.fields.size === 0 && map.element === deducedType) return;
  if (map?.atomic === true || (form === 'list' && type.list?.atomic === true)) {
    if (path.length > 0) found.push([...path]);
    return;
  }
  for (const element in node) {
    if (element === '.') continue;
    const below = map === undefined ? type.list?.element : typeBelow(type, element);
    if (below === undefined) continue;
    path.push(element);
    findAtomics(below, node[element] as FieldSet, path, found);
    path.pop();
  }
}

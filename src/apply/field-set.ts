import type { JsonObject, JsonValue } from '../api/object.ts';
import { isObject } from '../api/object.ts';
import { stringifyJson } from '../codec/json.ts';

/**
 * A set of field paths, held as the tree that `fieldsV1` shows (KEP-555): keys are path elements (`f:name`, `k:{…}`, `v:…`,
 * `i:0`), `{}` is a member without members below, and `.` marks a member that has some. Trees are never changed once made, so
 * they are shared freely. No node is without members, except the empty set itself.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

/** A tree under construction. */
export interface MutableFieldSet {
  [element: string]: FieldSet;
}

export const EMPTY_SET: FieldSet = Object.freeze({});
/** A member with nothing below. The same value as {@link EMPTY_SET}, under the name of its other role. */
export const LEAF = EMPTY_SET;

export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Whether the node of a path element says that the path itself is in the set. */
export function isMember(node: FieldSet): boolean {
  return node['.'] !== undefined || isEmptySet(node);
}

/** The node with its own path added to the set. */
export function asMember(node: FieldSet | undefined): FieldSet {
  if (node === undefined) return LEAF;
  return isMember(node) ? node : { '.': LEAF, ...node };
}

/** A path element of a field. */
export const fieldElement = (name: string): string => `f:${name}`;

/** The set of these paths, each a list of path elements. */
export function setOf(paths: readonly (readonly string[])[]): FieldSet {
  let out = EMPTY_SET;
  for (const path of paths) {
    let node = LEAF;
    for (let i = path.length - 1; i >= 0; i--) node = { [path[i] ?? '']: node };
    out = union(out, node);
  }
  return out;
}

/** Whether the set has the path. */
export function hasPath(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node[element];
    if (node === undefined) return false;
  }
  return isMember(node);
}

/** Paths that either set has. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  return isEmptySet(a) ? b : join(a, b, false);
}

function join(a: FieldSet, b: FieldSet, member: boolean): FieldSet {
  const out: MutableFieldSet = {};
  if (member) out['.'] = LEAF;
  for (const element in a) if (element !== '.') out[element] = a[element] as FieldSet;
  for (const element in b) {
    if (element === '.') continue;
    const left = out[element];
    const right = b[element] as FieldSet;
    out[element] = left === undefined ? right : joinNodes(left, right);
  }
  return out;
}

function joinNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isEmptySet(b)) return asMember(a);
  return isEmptySet(a) ? asMember(b) : join(a, b, isMember(a) || isMember(b));
}

/** Paths of `a` that `b` has not. Members above or below a path of `b` stay. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return isEmptySet(b) ? a : (subtract(a, b, false, false) ?? EMPTY_SET);
}

/** Paths of `a` that are neither in `b` nor below a path of `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return isEmptySet(b) ? a : (subtract(a, b, false, true) ?? EMPTY_SET);
}

/** What is left of a node; undefined when that is nothing, and `a` itself when it is all. */
function subtract(a: FieldSet, b: FieldSet, member: boolean, recursive: boolean): FieldSet | undefined {
  const out: MutableFieldSet = {};
  if (member) out['.'] = LEAF;
  let same = member === (a['.'] !== undefined);
  let left = false;
  for (const element in a) {
    if (element === '.') continue;
    const mine = a[element] as FieldSet;
    const theirs = b[element];
    const rest = theirs === undefined ? mine : subtractNode(mine, theirs, recursive);
    if (rest !== mine) same = false;
    if (rest === undefined) continue;
    out[element] = rest;
    left = true;
  }
  if (!left) return member ? LEAF : undefined;
  return same ? a : out;
}

function subtractNode(a: FieldSet, b: FieldSet, recursive: boolean): FieldSet | undefined {
  const gone = isMember(b);
  if (gone && recursive) return undefined;
  return subtract(a, b, isMember(a) && !gone, recursive);
}

/** Paths that both sets have. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return intersect(a, b, false) ?? EMPTY_SET;
}

function intersect(a: FieldSet, b: FieldSet, member: boolean): FieldSet | undefined {
  let out: MutableFieldSet | undefined;
  for (const element in a) {
    const mine = a[element] as FieldSet;
    const theirs = b[element];
    if (theirs === undefined || element === '.') continue;
    const both = intersect(mine, theirs, isMember(mine) && isMember(theirs));
    if (both === undefined) continue;
    out ??= member ? { '.': LEAF } : {};
    out[element] = both;
  }
  return out ?? (member ? LEAF : undefined);
}

/** Calls `visit` with every path of the set in canonical order; members of a node come before what is below its siblings. */
export function eachPath(set: FieldSet, visit: (path: readonly string[]) => void): void {
  const path: string[] = [];
  const walk = (node: FieldSet) => {
    const elements = sortedElements(node);
    for (const element of elements) if (isMember(node[element] as FieldSet)) visit([...path, element]);
    for (const element of elements) {
      path.push(element);
      walk(node[element] as FieldSet);
      path.pop();
    }
  };
  walk(set);
}

const sortedElements = (node: FieldSet): string[] =>
  Object.keys(node)
    .filter((element) => element !== '.')
    .sort(compareElements);

/** The set in the key order of `fieldsV1`: the mark, fields, keys, values, indexes. */
export function canonical(set: FieldSet): FieldSet {
  let previous = '';
  let inOrder = true;
  let same = true;
  const children: MutableFieldSet = {};
  for (const element in set) {
    if (previous !== '' && inOrder && compareElements(previous, element) > 0) inOrder = false;
    previous = element;
    const child = set[element] as FieldSet;
    const sorted = isEmptySet(child) ? child : canonical(child);
    if (sorted !== child) same = false;
    children[element] = sorted;
  }
  if (inOrder) return same ? set : children;
  const out: MutableFieldSet = {};
  if (children['.'] !== undefined) out['.'] = LEAF;
  for (const element of sortedElements(children)) out[element] = children[element] as FieldSet;
  return out;
}

const KINDS = '.fkvi';

/** Canonical order of two path elements. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0;
  const kind = a.charAt(0);
  if (kind !== b.charAt(0)) return KINDS.indexOf(kind) - KINDS.indexOf(b.charAt(0));
  if (kind === 'f') return a < b ? -1 : 1;
  if (kind === 'i') return Number(a.slice(2)) - Number(b.slice(2));
  const left = JSON.parse(a.slice(2)) as JsonValue;
  const right = JSON.parse(b.slice(2)) as JsonValue;
  return kind === 'v' ? compareScalars(left, right) : compareKeys(left as JsonObject, right as JsonObject);
}

function compareKeys(a: JsonObject, b: JsonObject): number {
  const left = Object.keys(a);
  const right = Object.keys(b);
  for (let i = 0; i < left.length && i < right.length; i++) {
    const l = left[i] as string;
    const r = right[i] as string;
    if (l !== r) return l < r ? -1 : 1;
    const order = compareScalars(a[l] ?? null, b[r] ?? null);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

const FORMS = ['number', 'string', 'boolean', 'object'];

/** Numbers before strings before booleans, each by value. */
function compareScalars(a: JsonValue, b: JsonValue): number {
  const form = FORMS.indexOf(typeof a) - FORMS.indexOf(typeof b);
  if (form !== 0) return form;
  if (a === b || a === null || b === null) return 0;
  return a < b ? -1 : 1;
}

/** JSON of a scalar as it stands inside path elements: Go's, with HTML characters escaped. */
export function scalarText(value: JsonValue): string {
  if (typeof value !== 'string') return stringifyJson(value);
  const text = JSON.stringify(value);
  return /[<>&\u2028\u2029]/.test(text)
    ? text.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text;
}

/** A path element as conflicts and errors show it: `.spec`, `[name="a"]`, `[="x"]`, `[0]`. */
export function elementText(element: string): string {
  const rest = element.slice(2);
  switch (element.charAt(0)) {
    case 'f':
      return `.${rest}`;
    case 'k': {
      const key = JSON.parse(rest) as JsonObject;
      return `[${Object.keys(key)
        .map((name) => `${name}=${JSON.stringify(key[name])}`)
        .join(',')}]`;
    }
    case 'v':
      return `[=${JSON.stringify(JSON.parse(rest))}]`;
    default:
      return `[${rest}]`;
  }
}

export const pathText = (path: readonly string[]): string => path.map(elementText).join('');

/**
 * Reads `fieldsV1` that a client may have written: keys come out in canonical form, and elements of unknown kinds are dropped.
 * Throws an Error for keys that are no path elements.
 */
export function parseFieldSet(fields: JsonValue | undefined): FieldSet {
  if (!isObject(fields)) return EMPTY_SET;
  const { '.': _, ...set } = parseNode(fields);
  return canonical(set);
}

function parseNode(node: JsonObject): FieldSet {
  let out: MutableFieldSet | undefined;
  for (const key of Object.keys(node)) {
    if (key === '.') {
      out ??= {};
      out['.'] = LEAF;
      continue;
    }
    const element = parseElement(key);
    if (element === undefined) continue;
    out ??= {};
    const below = node[key];
    out[element] = isObject(below) ? collapse(parseNode(below)) : LEAF;
  }
  return out ?? EMPTY_SET;
}

/** `{".": {}}` says no more than `{}`. */
function collapse(node: FieldSet): FieldSet {
  if (node['.'] === undefined) return node;
  for (const element in node) if (element !== '.') return node;
  return LEAF;
}

function parseElement(key: string): string | undefined {
  if (key.charAt(1) !== ':') throw new Error(`missing colon: ${key}`);
  const rest = key.slice(2);
  switch (key.charAt(0)) {
    case 'f':
      return key;
    case 'i':
      if (!/^[+-]?\d+$/.test(rest)) throw new Error(`invalid index: ${key}`);
      return `i:${Number(rest)}`;
    case 'v':
      return `v:${scalarText(JSON.parse(rest) as JsonValue)}`;
    case 'k': {
      const fields = JSON.parse(rest) as JsonValue;
      if (!isObject(fields)) throw new Error(`invalid key: ${key}`);
      return keyElement(Object.keys(fields).sort(), (name) => fields[name] ?? null);
    }
    default:
      return undefined;
  }
}

/** The path element of a list item with these key fields, whose names must be sorted. Fields without a value are left out. */
export function keyElement(names: readonly string[], fieldValue: (name: string) => JsonValue | undefined): string {
  let text = '';
  for (const name of names) {
    const value = fieldValue(name);
    if (value === undefined) continue;
    text += `${text === '' ? '' : ','}${scalarText(name)}:${scalarText(value)}`;
  }
  return `k:{${text}}`;
}

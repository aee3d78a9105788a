import type { JsonObject, JsonValue } from '../api/object.ts';
import { isObject, setKey } from '../api/object.ts';
import type { FieldType, ListType, MapType } from './kind-type.ts';
import { itemElementOrNone } from './list-items.ts';
import { formOf, typeOfKey } from './typed.ts';

/**
 * Merges a configuration into a value of the same type (TypedValue.Merge of structured-merge-diff): maps and associative lists
 * merge by key, anything else is the configuration's. Nothing is removed: `null` for a map or list that has contents keeps them.
 * Undefined when nothing is left to say. Parts are shared with both.
 */
export function mergeValues(type: FieldType, live: JsonValue, config: JsonValue): JsonValue | undefined {
  switch (formOf(type, config)) {
    case 'scalar':
      return config;
    case 'list':
      return mergeLists(type.list as ListType, live, config);
    case 'map':
      return mergeMaps(type.map as MapType, live, config);
  }
}

const size = (value: JsonValue): number =>
  Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;

function mergeMaps(type: MapType, live: JsonValue, config: JsonValue): JsonValue | undefined {
  if (type.atomic) return config;
  const left = isObject(live) ? live : {};
  const right = isObject(config) ? config : {};
  if (size(left) === 0 && size(right) === 0) return config;
  const out: JsonObject = {};
  for (const key of Object.keys(left)) {
    const mine = left[key];
    const theirs = Object.hasOwn(right, key) ? right[key] : undefined;
    let merged = theirs === undefined ? mine : theirs;
    if (mine !== undefined && theirs !== undefined) merged = mergeValues(typeOfKey(type, key), mine, theirs);
    if (merged !== undefined) setKey(out, key, merged);
  }
  for (const key of Object.keys(right)) {
    const theirs = right[key];
    if (theirs !== undefined && !Object.hasOwn(left, key)) setKey(out, key, theirs);
  }
  return size(out) > 0 ? out : undefined;
}

/** Items of an associative list in order, and by path element; an item that is repeated stands for nothing to merge with. */
function indexItems(type: ListType, list: JsonValue[]): { order: string[]; items: Map<string, JsonValue> } {
  const order: string[] = [];
  const items = new Map<string, JsonValue>();
  for (const item of list) {
    const element = itemElementOrNone(type, item) ?? '';
    items.set(element, items.has(element) ? null : item);
    order.push(element);
  }
  return { order, items };
}

function mergeLists(type: ListType, live: JsonValue, config: JsonValue): JsonValue | undefined {
  if (type.atomic || (size(live) === 0 && size(config) === 0)) return config;
  const list = Array.isArray(live) ? live : [];
  const left = indexItems(type, list);
  const right = indexItems(type, Array.isArray(config) ? config : []);
  const out: JsonValue[] = [];
  const mergeItem = (element: string) => {
    const mine = left.items.get(element);
    const theirs = right.items.get(element) ?? null;
    const merged = mine === undefined ? theirs : mergeValues(type.element, mine, theirs);
    if (merged !== undefined) out.push(merged);
  };
  for (const step of interleave(left.order, right.order)) {
    if (typeof step === 'string') mergeItem(step);
    else out.push(list[step] ?? null);
  }
  return out.length > 0 ? out : undefined;
}

/**
 * The order of a merged list: items of the configuration keep their order, and those only in the live list (given by index)
 * keep their place between the shared ones.
 */
function interleave(live: readonly string[], config: readonly string[]): (string | number)[] {
  const inLive = new Set(live);
  const inConfig = new Set(config);
  const shared = config.filter((element) => inLive.has(element));
  const merged = new Set<string>();
  const out: (string | number)[] = [];
  let next = shared.shift();
  let l = 0;
  let r = 0;
  while (l < live.length || r < config.length) {
    const mine = live[l];
    const theirs = config[r];
    if (mine !== undefined && theirs !== undefined) {
      if (mine === theirs) {
        merged.add(theirs);
        out.push(theirs);
        l++;
        r++;
        next = shared.shift();
        continue;
      }
      if (inConfig.has(mine) && next !== undefined && next !== mine) {
        l++;
        continue;
      }
    }
    if (mine !== undefined) {
      if (!inConfig.has(mine)) {
        out.push(l++);
        continue;
      }
      if (merged.has(mine)) l++;
    }
    if (theirs !== undefined) {
      merged.add(theirs);
      out.push(theirs);
      r++;
      if (next === theirs) next = shared.shift();
    }
  }
  return out;
}

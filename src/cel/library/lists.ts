import type { Definition } from '../functions.ts';
import { add } from '../operators.ts';
import {
  ArrayList,
  CelList,
  type CelMap,
  compare,
  Duration,
  EntryMap,
  equal,
  Fault,
  NONE,
  Optional,
  plainText,
  sizeOf,
  typeName,
  Uint,
  type Value,
} from '../values.ts';

/** Kubernetes' lists library, cel-go's lists (version 3), sets, optional and two-variable extensions. */

const COMPARABLE = [
  ['int', 'int'],
  ['uint', 'uint'],
  ['double', 'double'],
  ['bool', 'bool'],
  ['duration', 'duration'],
  ['timestamp', 'timestamp'],
  ['string', 'string'],
  ['bytes', 'bytes'],
] as const;
/** In the ids of cel-go's own extension, times have their full names. */
const FULL: Readonly<Record<string, string>> = {
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
};
const ZEROS: readonly (readonly [string, string, Value])[] = [
  ['int', 'int', 0n],
  ['uint', 'uint', new Uint(0n)],
  ['double', 'double', 0],
  ['duration', 'duration', new Duration(0n)],
];

function isSorted(list: CelList): boolean {
  for (let i = 1; i < list.size; i++) if (compare(list.at(i - 1), list.at(i)) > 0) return false;
  return true;
}

function extreme(name: string, sign: number): (list: CelList) => Value {
  return (list) => {
    if (list.size === 0) throw new Fault(`${name} called on empty list`);
    let best = list.at(0);
    for (const item of list) if (compare(item, best) * sign > 0) best = item;
    return best;
  };
}

function indexOf(list: CelList, wanted: Value): bigint {
  for (let i = 0; i < list.size; i++) if (equal(list.at(i), wanted)) return BigInt(i);
  return -1n;
}

function lastIndexOf(list: CelList, wanted: Value): bigint {
  for (let i = list.size - 1; i >= 0; i--) if (equal(list.at(i), wanted)) return BigInt(i);
  return -1n;
}

const contains = (list: CelList, value: Value): boolean => indexOf(list, value) >= 0n;
const containsAll = (list: CelList, values: CelList): boolean => [...values].every((v) => contains(list, v));

function slice(list: CelList, from: bigint, to: bigint): ArrayList {
  const what = `cannot slice(${from}, ${to})`;
  if (from < 0n || to < 0n) throw new Fault(`${what}, negative indexes not supported`);
  if (from > to) throw new Fault(`${what}, start index must be less than or equal to end index`);
  if (BigInt(list.size) < to) throw new Fault(`${what}, list is length ${list.size}`);
  return new ArrayList([...list].slice(Number(from), Number(to)));
}

function flatten(list: CelList, depth = 1n): ArrayList {
  if (depth < 0n) throw new Fault('level must be non-negative');
  const inner = (item: Value): Value[] =>
    item instanceof CelList && depth > 0n ? [...flatten(item, depth - 1n)] : [item];
  return new ArrayList([...list].flatMap(inner));
}

function sortByKeys(list: CelList, keys: CelList): CelList {
  if (list.size !== keys.size) {
    const sizes = `but got ${list.size} and ${keys.size} elements respectively`;
    throw new Fault(`@sortByAssociatedKeys() expected a list of the same size as the associated keys list, ${sizes}`);
  }
  if (list.size === 0) return list;
  const type = typeName(keys.at(0));
  const pairs = [...list].map((item, i): [Value, Value] => [keys.at(i), item]);
  if (pairs.some(([key]) => typeName(key) !== type)) throw new Fault('list elements must have the same type');
  return new ArrayList(pairs.sort(([a], [b]) => compare(a, b)).map(([, item]) => item));
}

function distinct(list: CelList): ArrayList {
  const out = new ArrayList([]);
  for (const item of list) if (!contains(out, item)) out.push(item);
  return out;
}

/** More elements than any budget pays for. */
const MAX_RANGE = 10_000_000n;

function range(size: bigint): ArrayList {
  if (size > MAX_RANGE) throw new Fault('operation cancelled: actual cost limit exceeded');
  return new ArrayList(Array.from({ length: Math.max(0, Number(size)) }, (_, i) => BigInt(i)));
}

export const lists: readonly Definition[] = [
  ...COMPARABLE.flatMap(([id, type]): Definition[] => [
    [`list_${id}_is_sorted_bool`, `list(${type}).isSorted(): bool`, isSorted],
    [`list_${id}_max_${id}`, `list(${type}).max(): ${type}`, extreme('max', 1)],
    [`list_${id}_min_${id}`, `list(${type}).min(): ${type}`, extreme('min', -1)],
    [`list_${FULL[id] ?? id}_sort`, `list(${type}).sort(): list(${type})`, (list: CelList) => sortByKeys(list, list)],
    [
      `list_${FULL[id] ?? id}_sortByAssociatedKeys`,
      `list(T).@sortByAssociatedKeys(list(${type})): list(T)`,
      sortByKeys,
    ],
  ]),
  ...ZEROS.map(
    ([id, type, zero]): Definition => [
      `list_${id}_sum_${id}`,
      `list(${type}).sum(): ${type}`,
      (list: CelList) => [...list].reduce(add, zero),
    ],
  ),
  ['list_a_index_of_int', 'list(A).indexOf(A): int', indexOf],
  ['list_a_last_index_of_int', 'list(A).lastIndexOf(A): int', lastIndexOf],
  ['list_slice', 'list(T).slice(int, int): list(T)', slice],
  ['list_flatten', 'list(list(T)).flatten(): list(T)', flatten],
  ['list_flatten_int', 'list(dyn).flatten(int): list(dyn)', flatten],
  ['lists_range', 'lists.range(int): list(int)', range],
  ['list_reverse', 'list(T).reverse(): list(T)', (list: CelList) => new ArrayList([...list].reverse())],
  ['list_distinct', 'list(T).distinct(): list(T)', distinct],
];

export const sets: readonly Definition[] = [
  ['list_sets_contains_list', 'sets.contains(list(T), list(T)): bool', containsAll],
  [
    'list_sets_equivalent_list',
    'sets.equivalent(list(T), list(T)): bool',
    (a: CelList, b: CelList) => containsAll(a, b) && containsAll(b, a),
  ],
  [
    'list_sets_intersects_list',
    'sets.intersects(list(T), list(T)): bool',
    (a: CelList, b: CelList) => [...a].some((item) => contains(b, item)),
  ],
];

/** Whether a value is the zero of its type. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === '') return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Optional) return !value.present;
  return typeof value === 'object' && 'size' in value && !('type' in value) && sizeOf(value) === 0;
}

function unwrap(list: CelList): ArrayList {
  const out: Value[] = [];
  for (const item of list) {
    if (!(item instanceof Optional)) throw new Fault(`value ${plainText(item)} is not optional`);
    if (item.present) out.push(item.value);
  }
  return new ArrayList(out);
}

const optionalAt = (list: CelList, index: number) => (list.size === 0 ? NONE : new Optional(list.at(index)));

export const optionals: readonly Definition[] = [
  ['optional_of', 'optional.of(V): optional(V)', (value: Value) => new Optional(value)],
  [
    'optional_ofNonZeroValue',
    'optional.ofNonZeroValue(V): optional(V)',
    (value: Value) => (isZero(value) ? NONE : new Optional(value)),
  ],
  ['optional_none', 'optional.none(): optional(V)', () => NONE],
  ['optional_value', 'optional(V).value(): V', (o: Optional) => o.value],
  ['optional_hasValue', 'optional(V).hasValue(): bool', (o: Optional) => o.present],
  ['optional_or_optional', 'optional(V).or(optional(V)): optional(V)'],
  ['optional_orValue_value', 'optional(V).orValue(V): V'],
  ['select_optional_field', '_?._(dyn, string): optional(V)'],
  ['list_optindex_optional_int', '_[?_](list(V), int): optional(V)'],
  ['optional_list_optindex_optional_int', '_[?_](optional(list(V)), int): optional(V)'],
  ['map_optindex_optional_value', '_[?_](map(K, V), K): optional(V)'],
  ['optional_map_optindex_optional_value', '_[?_](optional(map(K, V)), K): optional(V)'],
  ['optional_list_index_int', '_[_](optional(list(V)), int): optional(V)'],
  ['optional_map_index_value', '_[_](optional(map(K, V)), K): optional(V)'],
  ['list_last', 'list(V).last(): optional(V)', (list: CelList) => optionalAt(list, list.size - 1)],
  ['list_first', 'list(V).first(): optional(V)', (list: CelList) => optionalAt(list, 0)],
  ['optional_unwrap', 'optional.unwrap(list(optional(V))): list(V)', unwrap],
  ['optional_unwrapOpt', 'list(optional(V)).unwrapOpt(): list(V)', unwrap],
];

function insertAll(into: CelMap, from: CelMap): EntryMap {
  const out = copy(into);
  for (const key of from.keys()) out.insert(key, from.get(key)!);
  return out;
}

const copy = (map: CelMap) => new EntryMap([...map.keys()].map((key): [Value, Value] => [key, map.get(key)!]));

function insert(map: CelMap, key: Value, value: Value): EntryMap {
  const out = copy(map);
  out.insert(key, value);
  return out;
}

export const mapInserts: readonly Definition[] = [
  ['@mapInsert_map_key_value', 'cel.@mapInsert(map(K, V), K, V): map(K, V)', insert],
  ['@mapInsert_map_map', 'cel.@mapInsert(map(K, V), map(K, V)): map(K, V)', insertAll],
];

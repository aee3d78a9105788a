import { CHECK_COST, LIST_COST, PATTERN, STRUCT_COST, TRAVERSAL } from './cost-numbers.ts';
import { CelList, CelMap, Opaque, sizeOf, type Value } from './values.ts';

/**
 * What a call costs while it runs, in upstream's units (cel-go's CostTracker, and library.CostEstimator of
 * k8s.io/apiserver).
 */
type Cost = (args: readonly Value[], result: Value) => number;

const traversal = (value: Value, factor = 1) => Math.ceil(sizeOf(value) * factor * TRAVERSAL);
const reading =
  (factor = 1): Cost =>
  ([first]) =>
    traversal(first!, factor);
const one: Cost = () => 1;

const pattern: Cost = ([text, regex]) =>
  Math.ceil((1 + sizeOf(text!)) * TRAVERSAL) * Math.ceil(sizeOf(regex!) * PATTERN);

/** Cost of walking over a value with all that is in it. */
function wholeCost(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return Math.floor(sizeOf(value) * TRAVERSAL);
  if (value instanceof CelList) return [...value].reduce<number>((sum, item) => sum + wholeCost(item), 0);
  if (value instanceof CelMap) {
    let sum = 0;
    for (const key of value.keys()) sum += wholeCost(key) + wholeCost(value.get(key)!);
    return sum;
  }
  return 1;
}
const whole: Cost = ([first]) => wholeCost(first!);

const selector: Cost = ([, text]) => {
  const size = sizeOf(text!);
  return LIST_COST + Math.ceil(size * TRAVERSAL) + Math.ceil(Math.ceil(size * 0.5) * (LIST_COST + STRUCT_COST));
};

const comparison: Cost = ([a, b]) => Math.ceil(Math.min(sizeOf(a!), sizeOf(b!)) * TRAVERSAL);
const equality: Cost = (args, result) => (args[0] instanceof Opaque ? 1 : comparison(args, result));

const allocating = (factor: number, size: number) => Math.floor(size * factor) + 1 + LIST_COST;
const output: Cost = (_args, result) => allocating(1, sizeOf(result));

function selfComparison(list: Value): number {
  const size = sizeOf(list);
  const first = list instanceof CelList && size > 0 ? list.at(0) : undefined;
  const isText = typeof first === 'string' || first instanceof Uint8Array;
  return allocating(isText ? 2 + TRAVERSAL : 2, size * size);
}

const sets =
  (factor: number): Cost =>
  ([a, b]) =>
    1 + sizeOf(a!) * sizeOf(b!) * factor;

const contained =
  (base: number): Cost =>
  ([cidr, other]) => {
    const parsing = typeof other === 'string' ? traversal(other) : 0;
    const more = base === 0 ? 0 : traversal(cidr!) + base;
    return traversal(cidr!, 2) + more + parsing;
  };

const each = (names: string, cost: Cost): [string, Cost][] => names.split(' ').map((name) => [name, cost]);

const BY_NAME: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ['check', () => CHECK_COST],
  ...each('fieldSelector labelSelector', selector),
  ...each('isSorted sum max min indexOf lastIndexOf', whole),
  ...each('url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR', reading()),
  ...each('quantity isQuantity semver isSemver startsWith endsWith strings.quote format', reading()),
  ...each('replace split ip.isCanonical', reading(2)),
  ['join', (_args, result) => traversal(result, 2)],
  ...each('find findAll matches', pattern),
  ['ip', ([first]) => (first instanceof Opaque ? 1 : traversal(first!))],
  ['containsIP', contained(0)],
  ['containsCIDR', contained(1)],
  ['contains', ([text, part]) => traversal(text!) * traversal(part!)],
  ['bytes', ([first]) => (typeof first === 'string' ? traversal(first) : 1)],
  ['string', ([first]) => (first instanceof Uint8Array ? traversal(first) : 1)],
  ['@in', ([, list]) => (list instanceof CelList ? sizeOf(list) : 1)],
  ...each('_==_', equality),
  ...each('_!=_', comparison),
  ['slice', output],
  ['lists.range', output],
  ['reverse', output],
  ['flatten', ([list, depth]) => allocating(depth === undefined ? 1 : Number(depth), sizeOf(list!))],
  ...each('distinct sort', ([list]) => selfComparison(list!)),
  ['@sortByAssociatedKeys', ([, keys]) => selfComparison(keys!)],
  ...each('sets.contains sets.intersects', sets(1)),
  ['sets.equivalent', sets(2)],
]);

const isText = (value: Value | undefined) => typeof value === 'string' || value instanceof Uint8Array;
const ORDERED: ReadonlySet<string> = new Set(['_<_', '_<=_', '_>_', '_>=_']);

/** The cost function of a call, looked up once for all its runs. */
export function runtimeCostOf(name: string): Cost {
  const known = BY_NAME.get(name);
  if (known !== undefined) return known;
  if (ORDERED.has(name)) return (args, result) => (isText(args[0]) ? comparison(args, result) : 1);
  if (name === '_+_') {
    return ([a, b]) => (isText(a) ? Math.ceil((sizeOf(a!) + sizeOf(b!)) * TRAVERSAL) : 1);
  }
  if (name === 'validate') {
    return ([format, text]) => {
      const regex = Math.ceil((format instanceof Opaque ? format.size : 1) * PATTERN);
      return Math.ceil((1 + sizeOf(text!)) * TRAVERSAL) * regex;
    };
  }
  return one;
}

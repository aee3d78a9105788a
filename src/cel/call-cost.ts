import {
  CHECK_COST,
  fixed,
  LIST_COST,
  MAX,
  PATTERN,
  plus,
  type Range,
  STRUCT_COST,
  TRAVERSAL,
  times,
  timesFactor,
  UNKNOWN,
} from './cost-numbers.ts';
import type { CallEstimate, CostNode, SizeOf } from './static-cost.ts';
import type { CelType } from './types.ts';

/** What a call is estimated to cost without its arguments (cel-go, and library.CostEstimator of k8s.io/apiserver). */

interface CallToEstimate {
  name: string;
  overload: string;
  target: CostNode | undefined;
  args: readonly CostNode[];
  sizeOf: SizeOf;
}
type Estimate = (call: CallToEstimate) => CallEstimate | undefined;

const ONE = fixed(1);
const one: Estimate = () => ({ cost: ONE });
const nodeSize = ({ path, size }: CostNode, sizeOf: SizeOf): Range =>
  size ?? (path === undefined || path.length === 0 ? undefined : sizeOf(path)) ?? UNKNOWN;
const reading = (size: Range, factor = 1) => timesFactor(size, factor * TRAVERSAL);

const firstArg = ({ args, sizeOf }: CallToEstimate) => nodeSize(args[0]!, sizeOf);
const targetSize = ({ target, sizeOf }: CallToEstimate) => nodeSize(target!, sizeOf);

const readArg =
  (factor = 1): Estimate =>
  (call) =>
    call.args.length === 0 ? undefined : { cost: reading(firstArg(call), factor) };
const readTarget: Estimate = (call) => {
  if (call.target === undefined) return undefined;
  const size = targetSize(call);
  return { cost: reading(size), size };
};
const convertArg: Estimate = (call) => ({ cost: reading(firstArg(call)), size: firstArg(call) });

const selector: Estimate = (call) => {
  const size = firstArg(call);
  const requirements = timesFactor(timesFactor(size, 0.5), LIST_COST + STRUCT_COST);
  return { cost: plus(fixed(LIST_COST), reading(size), requirements) };
};

/** The members of a list, of which only the type or the path is known. */
function members({ path, type }: CostNode): CostNode | undefined {
  const element: CelType | undefined = type.params[0];
  if (element === undefined) return undefined;
  return path === undefined ? { type: element } : { type: element, path: [...path, '@items'] };
}

const walk: Estimate = (call) => {
  if (call.target === undefined) return undefined;
  const size = targetSize(call);
  const item = members(call.target);
  if (item === undefined) return { cost: reading(size) };
  const isText = item.type.kind === 'string' || item.type.kind === 'bytes';
  const each = isText ? plus(ONE, reading(nodeSize(item, call.sizeOf))) : ONE;
  return { cost: times(size, each) };
};

const replace: Estimate = (call) => {
  if (call.target === undefined || call.args.length < 2) return undefined;
  const size = targetSize(call);
  const [from, to] = call.args.slice(0, 2).map((arg) => nodeSize(arg, call.sizeOf)) as [Range, Range];
  const most = longestReplacement(size.max, from.min, to.max);
  const least = shortestReplacement(size.min, from.max, to.min);
  const counts = { min: least.count, max: most.count };
  const kept = { min: least.kept, max: most.kept };
  return { cost: reading(size, 2), size: plus(times(counts, to), kept) };
};

function longestReplacement(size: number, from: number, to: number): { count: number; kept: number } {
  if (from === 0) return { count: Math.min(size + 1, MAX), kept: size };
  if (to <= from) return { count: 0, kept: size };
  return { count: Math.ceil(size / from), kept: 0 };
}

function shortestReplacement(size: number, from: number, to: number): { count: number; kept: number } {
  if (from === 0) return { count: Math.min(size + 1, MAX), kept: size };
  if (from <= to) return { count: 0, kept: size };
  return { count: Math.ceil(size / from), kept: 0 };
}

const literalInt = (node: CostNode | undefined): number | undefined => {
  const expr = node?.expr;
  return expr?.kind === 'literal' && typeof expr.value === 'bigint' ? Number(expr.value) : undefined;
};

const split: Estimate = (call) => {
  if (call.target === undefined) return undefined;
  const size = targetSize(call);
  return { cost: reading(size, 2), size: { min: 0, max: literalInt(call.args[1]) ?? size.max } };
};

const join: Estimate = (call) => {
  if (call.target === undefined) return undefined;
  const list = targetSize(call);
  const item = members(call.target);
  let size = item === undefined ? fixed(0) : times(list, nodeSize(item, call.sizeOf));
  if (call.args.length > 0) {
    const separators = { min: Math.max(list.min - 1, 0), max: Math.max(list.max - 1, 0) };
    size = plus(size, times(firstArg(call), separators));
  }
  return { cost: reading(size), size };
};

const patternCost = (text: Range, regex: Range) => times(reading(plus(text, ONE)), timesFactor(regex, PATTERN));

const find: Estimate = (call) => {
  if (call.target === undefined || call.args.length === 0) return undefined;
  const size = targetSize(call);
  return { cost: patternCost(size, firstArg(call)), size: { min: 0, max: size.max } };
};

const ADDRESS: Range = { min: 4, max: 16 };
const contained =
  (parses: string, more: Range): Estimate =>
  (call) => {
    const parsing = call.overload === parses ? reading(firstArg(call)) : fixed(0);
    return { cost: plus(reading(ADDRESS, 2), more, parsing) };
  };

const MAX_NAME_PATTERN = 128;
const MAX_FORMAT = 64;
const validate: Estimate = (call) => ({
  cost: timesFactor(reading(firstArg(call)), MAX_NAME_PATTERN * PATTERN),
});

const comparison: Estimate = (call) => {
  const [a, b] = call.args.map((arg) => arg.size ?? UNKNOWN) as [Range, Range];
  const max = Math.min(a.max, b.max);
  return { cost: reading({ min: max > 0 ? 1 : 0, max }) };
};

const FLAT: ReadonlySet<string> = new Set(
  ['Quantity', 'Semver', 'authorization.Authorizer', 'authorization.PathCheck', 'authorization.GroupCheck']
    .concat(['authorization.ResourceCheck', 'authorization.Decision'])
    .map((name) => `kubernetes.${name}`)
    .concat(['net.IP', 'net.CIDR']),
);

const equality: Estimate = (call) => {
  const [a, b] = call.args as [CostNode, CostNode];
  if (a.type.name !== b.type.name) return comparison(call);
  if (FLAT.has(a.type.name)) return { cost: ONE };
  if (a.type.name === 'kubernetes.NamedFormat') return { cost: reading({ min: 1, max: MAX_FORMAT }) };
  if (a.type.name === 'kubernetes.URL') return { cost: reading({ min: 1, max: b.size?.max ?? 1 }) };
  return comparison(call);
};

const allocating = (factor: number, size: Range): CallEstimate => ({
  cost: plus(timesFactor(size, factor), fixed(1 + LIST_COST)),
  size,
});
/** A literal number of members or levels, as upstream reads it: below zero counts as none. */
const literalCount = (node: CostNode | undefined): number | undefined => {
  const value = literalInt(node);
  return value === undefined ? undefined : Math.max(0, value);
};
/** A slice that ends before it begins counts as endless: upstream's difference has no sign. */
const slice: Estimate = (call) => {
  const from = literalCount(call.args[0]) ?? 0;
  const to = literalCount(call.args[1]) ?? targetSize(call).max;
  return allocating(1, fixed(to < from ? MAX : to - from));
};
const flatten: Estimate = (call) => {
  const depth = call.args.length === 0 ? 1 : (literalCount(call.args[0]) ?? MAX);
  return allocating(depth, targetSize(call));
};
const squared =
  (factor: number, sizeOf: (call: CallToEstimate) => Range): Estimate =>
  (call) => {
    const isText = /^list_(string|bytes)_sort/.test(call.overload);
    const size = sizeOf(call);
    return allocating(factor + (isText ? TRAVERSAL : 0), times(size, size));
  };
const sets =
  (factor: number): Estimate =>
  ({ args, sizeOf }) => {
    const [a, b] = args.map((arg) => nodeSize(arg, sizeOf)) as [Range, Range];
    return { cost: plus(timesFactor(times(a, b), factor), ONE) };
  };

const each = (names: string, estimate: Estimate): [string, Estimate][] =>
  names.split(' ').map((name) => [name, estimate]);

/** By the name of the function. */
const BY_NAME: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ['check', () => ({ cost: fixed(CHECK_COST) })],
  ...each('fieldSelector labelSelector', selector),
  ...each('isSorted sum max min indexOf lastIndexOf', walk),
  ...each('url jsonpatch.escapeKey', convertArg),
  ...each('lowerAscii upperAscii substring trim', readTarget),
  ['replace', replace],
  ['split', split],
  ['join', join],
  ...each('find findAll', find),
  ...each('cidr isIP isCIDR quantity isQuantity semver isSemver', readArg()),
  ['ip', (call) => (call.overload === 'cidr_ip' ? one(call) : readArg()(call))],
  ['ip.isCanonical', readArg(2)],
  ['containsIP', contained('cidr_contains_ip_string', fixed(0))],
  ['containsCIDR', contained('cidr_contains_cidr_string', plus(reading(ADDRESS), ONE))],
  ['validate', validate],
  ['_==_', equality],
  ['slice', slice],
  ['flatten', flatten],
  ['lists.range', (call) => allocating(1, fixed(literalCount(call.args[0]) ?? MAX))],
  ['reverse', (call) => allocating(1, targetSize(call))],
  ...each('distinct sort', squared(2, targetSize)),
  ['@sortByAssociatedKeys', squared(2, firstArg)],
  ...each('sets.contains sets.intersects', sets(1)),
  ['sets.equivalent', sets(2)],
]);

const sizeOrUnknown = (node: CostNode | undefined) => node?.size ?? UNKNOWN;
const added: Estimate = ({ args: [a, b] }) => {
  const size = plus(sizeOrUnknown(a), sizeOrUnknown(b));
  return { cost: reading(size), size };
};
const readOne: Estimate = ({ args }) => ({ cost: reading(sizeOrUnknown(args[0])) });

/** By the id of the overload, for functions of CEL itself. */
const BY_OVERLOAD: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ['string_format', ({ target }) => ({ cost: reading(sizeOrUnknown(target)) })],
  [
    'string_to_bytes',
    ({ args }) => {
      const size = sizeOrUnknown(args[0]);
      return { cost: reading(size), size: { min: size.min, max: Math.min(size.max * 4, MAX) } };
    },
  ],
  [
    'bytes_to_string',
    ({ args }) => {
      const size = sizeOrUnknown(args[0]);
      return { cost: reading(size), size: { min: Math.floor(size.min / 4), max: size.max } };
    },
  ],
  [
    'strings_quote',
    ({ args }) => {
      const size = sizeOrUnknown(args[0]);
      return { cost: reading(size), size: { min: size.min + 2, max: Math.min(size.max * 2 + 2, MAX) } };
    },
  ],
  ...each('starts_with_string ends_with_string', readOne),
  ['in_list', ({ args }) => ({ cost: timesFactor(sizeOrUnknown(args[1]), 1) })],
  ['matches_string', ({ target, args }) => ({ cost: patternCost(sizeOrUnknown(target), sizeOrUnknown(args[0])) })],
  [
    'contains_string',
    ({ target, args }) => ({ cost: times(reading(sizeOrUnknown(target)), reading(sizeOrUnknown(args[0]))) }),
  ],
  ...each('add_string add_bytes', added),
  ...each('less_string greater_string less_equals_string greater_equals_string', comparison),
  ...each('less_bytes greater_bytes less_equals_bytes greater_equals_bytes not_equals', comparison),
]);

/** The estimate of a call. */
export function callCost(call: CallToEstimate): CallEstimate {
  const estimate = BY_NAME.get(call.name) ?? BY_OVERLOAD.get(call.overload) ?? one;
  return estimate(call) ?? { cost: ONE };
}

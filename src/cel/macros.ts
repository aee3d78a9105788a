import { ACCU, type Expr } from './ast.ts';
import { SyntaxIssue } from './issues.ts';

/** Macros: calls that are written out as presence tests and comprehensions while parsing (cel-spec, "Macros"). */

type Expand = (target: Expr, args: Expr[], at: number) => Expr;

const literal = (value: boolean | bigint, at: number): Expr => ({ kind: 'literal', value, at });
const ident = (name: string, at: number): Expr => ({ kind: 'ident', name, at });
const call = (name: string, args: Expr[], at: number): Expr => ({ kind: 'call', name, args, at });
const method = (name: string, target: Expr, args: Expr[], at: number): Expr => ({
  kind: 'call',
  name,
  target,
  args,
  at,
});
const list = (elements: Expr[], at: number): Expr => ({ kind: 'list', elements, optional: new Set(), at });
const accu = (at: number) => ident(ACCU, at);

function variable(arg: Expr, why = 'argument must be a simple name'): string {
  if (arg.kind !== 'ident') throw new SyntaxIssue(arg.at, why);
  if (arg.name === ACCU || arg.name === '__result__') {
    throw new SyntaxIssue(arg.at, 'iteration variable overwrites accumulator variable');
  }
  return arg.name;
}

function pair(args: Expr[]): [string, string] {
  const why = 'argument must be a simple name';
  const names: [string, string] = [variable(args[0]!, why), variable(args[1]!, why)];
  if (names[0] === names[1]) throw new SyntaxIssue(args[1]!.at, `duplicate variable name: ${names[0]}`);
  return names;
}

interface Loop {
  init: Expr;
  condition: Expr;
  step: Expr;
  result?: Expr;
}

function loop(range: Expr, names: [string, string?], at: number, { init, condition, step, result }: Loop): Expr {
  const [first, second] = names;
  const end = result ?? accu(at);
  return { kind: 'comprehension', range, variable: first, second, accu: ACCU, init, condition, step, result: end, at };
}

const all = (predicate: Expr, at: number): Loop => ({
  init: literal(true, at),
  condition: call('@not_strictly_false', [accu(at)], at),
  step: call('_&&_', [accu(at), predicate], at),
});
const exists = (predicate: Expr, at: number): Loop => ({
  init: literal(false, at),
  condition: call('@not_strictly_false', [call('!_', [accu(at)], at)], at),
  step: call('_||_', [accu(at), predicate], at),
});
const existsOne = (predicate: Expr, at: number): Loop => ({
  init: literal(0n, at),
  condition: literal(true, at),
  step: call('_?_:_', [predicate, call('_+_', [accu(at), literal(1n, at)], at), accu(at)], at),
  result: call('_==_', [accu(at), literal(1n, at)], at),
});

const when = (filter: Expr | undefined, step: Expr, at: number): Expr =>
  filter === undefined ? step : call('_?_:_', [filter, step, accu(at)], at);

function collect(transform: Expr, filter: Expr | undefined, at: number): Loop {
  const step = call('_+_', [accu(at), list([transform], at)], at);
  return { init: list([], at), condition: literal(true, at), step: when(filter, step, at) };
}

function insert(values: Expr[], filter: Expr | undefined, at: number): Loop {
  const step = call('cel.@mapInsert', [accu(at), ...values], at);
  return { init: { kind: 'map', entries: [], at }, condition: literal(true, at), step: when(filter, step, at) };
}

/** Gives a value a name within an expression. */
function bind(name: string, value: Expr, within: Expr, at: number): Expr {
  return {
    kind: 'comprehension',
    range: list([], at),
    variable: '#unused',
    accu: name,
    init: value,
    condition: literal(false, at),
    step: ident(name, at),
    result: within,
    at,
  };
}

const one =
  (body: (predicate: Expr, at: number) => Loop): Expand =>
  (target, args, at) =>
    loop(target, [variable(args[0]!)], at, body(args[1]!, at));
const two =
  (body: (predicate: Expr, at: number) => Loop): Expand =>
  (target, args, at) =>
    loop(target, pair(args), at, body(args[2]!, at));
const NOT_IDENTIFIER = 'argument is not an identifier';

const map: Expand = (target, args, at) => {
  const filter = args.length === 3 ? args[1] : undefined;
  return loop(target, [variable(args[0]!, NOT_IDENTIFIER)], at, collect(args.at(-1)!, filter, at));
};
const filterOf = (args: Expr[]) => (args.length === 4 ? args[2] : undefined);

const SORT_INPUT = '@__sortBy_input__';

const sortBy: Expand = (target, args, at) => {
  const keys = map(ident(SORT_INPUT, at), args, at);
  return bind(SORT_INPUT, target, method('@sortByAssociatedKeys', ident(SORT_INPUT, at), [keys], at), at);
};

const optional =
  (name: string, wrap: (inner: Expr, at: number) => Expr): Expand =>
  (target, args, at) => {
    const arg = args[0]!;
    if (arg.kind !== 'ident') throw new SyntaxIssue(arg.at, `${name}() variable name must be a simple identifier`);
    const inner = bind(arg.name, method('value', target, [], at), args[1]!, at);
    const present = method('hasValue', target, [], at);
    return call('_?_:_', [present, wrap(inner, at), call('optional.none', [], at)], at);
  };

const transformList: Expand = (target, args, at) =>
  loop(target, pair(args), at, collect(args.at(-1)!, filterOf(args), at));
const transformMap: Expand = (target, args, at) => {
  const names = pair(args);
  return loop(target, names, at, insert([ident(names[0], at), args.at(-1)!], filterOf(args), at));
};
const transformMapEntry: Expand = (target, args, at) =>
  loop(target, pair(args), at, insert([args.at(-1)!], filterOf(args), at));

/** By name and number of arguments. */
const METHODS: Readonly<Record<string, Expand>> = {
  'all 2': one(all),
  'exists 2': one(exists),
  'exists_one 2': one(existsOne),
  'existsOne 2': one(existsOne),
  'map 2': map,
  'map 3': map,
  'filter 2': (target, args, at) =>
    loop(target, [variable(args[0]!, NOT_IDENTIFIER)], at, collect(args[0]!, args[1], at)),
  'all 3': two(all),
  'exists 3': two(exists),
  'exists_one 3': two(existsOne),
  'existsOne 3': two(existsOne),
  'transformList 3': transformList,
  'transformList 4': transformList,
  'transformMap 3': transformMap,
  'transformMap 4': transformMap,
  'transformMapEntry 3': transformMapEntry,
  'transformMapEntry 4': transformMapEntry,
  'sortBy 2': sortBy,
  'optMap 2': optional('optMap', (inner, at) => call('optional.of', [inner], at)),
  'optFlatMap 2': optional('optFlatMap', (inner) => inner),
};

function has(arg: Expr, at: number): Expr {
  if (arg.kind !== 'select' || arg.test) throw new SyntaxIssue(arg.at, 'invalid argument to has() macro');
  return { ...arg, test: true, at };
}

function celBind(target: Expr, args: Expr[], at: number): Expr | undefined {
  if (target.kind !== 'ident' || target.name !== 'cel') return undefined;
  const name = args[0]!;
  if (name.kind !== 'ident') throw new SyntaxIssue(name.at, 'cel.bind() variable names must be simple identifiers');
  return bind(name.name, args[1]!, args[2]!, at);
}

/** The expression that a macro stands for; `undefined` where the call is none. Throws a {@link SyntaxIssue}. */
export function expandMacro(name: string, target: Expr | undefined, args: Expr[], at: number): Expr | undefined {
  if (target === undefined) return name === 'has' && args.length === 1 ? has(args[0]!, at) : undefined;
  if (name === 'bind' && args.length === 3) return celBind(target, args, at);
  const key = `${name} ${args.length}`;
  return Object.hasOwn(METHODS, key) ? METHODS[key]!(target, args, at) : undefined;
}

/** The macros of kube-apiserver's expressions: all but `cel.bind`. */
export const kubernetesMacros = (name: string, args: number, member: boolean): boolean =>
  member ? name !== 'bind' && Object.hasOwn(METHODS, `${name} ${args}`) : name === 'has' && args === 1;

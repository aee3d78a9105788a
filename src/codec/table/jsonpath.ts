import { isObject, type JsonValue } from '../../api/object.ts';

/** One step: from the values reached so far to the next ones. Throws where the path does not fit the data. */
type Step = (values: JsonValue[]) => JsonValue[];

/** A compiled path; answers every value that it reaches. Throws {@link PathError} where the data has another shape. */
export type Path = (data: JsonValue) => JsonValue[];

/** A path that cannot be parsed, or data that a path cannot be followed in. */
export class PathError extends Error {}

/**
 * Compiles the JSONPath of a printer column: the dialect of `kubectl -o jsonpath` without the braces (fields, escaped
 * dots, `['key']`, indexes, slices, `*`, `..`, unions and filters). Throws {@link PathError} if it cannot be parsed.
 */
export function compilePath(source: string): Path {
  const steps = parse(source);
  return (data) => run(steps, [data]);
}

const run = (steps: Step[], values: JsonValue[]) => steps.reduce((reached, step) => step(reached), values);

const terminators = new Set([' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}']);

function parse(source: string): Step[] {
  const steps: Step[] = [];
  let rest = source;
  while (rest !== '') {
    const [step, length] = parseStep(rest);
    if (step !== undefined) steps.push(step);
    rest = rest.slice(length);
  }
  return steps;
}

/** The step at the start of a text, if it is one, and its length. */
function parseStep(rest: string): [Step | undefined, number] {
  if (rest.startsWith('[?(')) return parseFilter(rest);
  if (rest.startsWith('..')) {
    if (rest.startsWith('....')) throw new PathError('repeated recursive descent');
    const [name, length] = /^[\p{L}\p{Nd}_]/u.test(rest.slice(2)) ? scanName(rest.slice(2)) : ['', 0];
    return [length === 0 ? descend : (values) => field(name)(descend(values)), 2 + length];
  }
  const head = rest[0]!;
  if (head === ' ' || head === '@' || head === '$') return [undefined, 1];
  if (head === '[') return parseBrackets(rest);
  if (head === '.') {
    const [name, length] = scanName(rest.slice(1));
    return [name === '*' ? everything : field(name.replaceAll('\\', '')), 1 + length];
  }
  if (head === '"' || head === "'") return parseQuoted(rest, head);
  const literal = /^(?:[+-]?[\d.]+|true|false)/.exec(rest)?.[0];
  if (literal === undefined) throw new PathError(`cannot parse ${rest}`);
  return [constant(JSON.parse(literal.replace(/^\+/, '')) as JsonValue), literal.length];
}

function scanName(text: string): [string, number] {
  let end = 0;
  while (end < text.length && !terminators.has(text[end]!)) end += text[end] === '\\' ? 2 : 1;
  return [text.slice(0, end), Math.min(end, text.length)];
}

function parseQuoted(rest: string, quote: string): [Step, number] {
  let end = 1;
  while (end < rest.length && rest[end] !== quote) end += rest[end] === '\\' ? 2 : 1;
  if (end >= rest.length) throw new PathError('unterminated string');
  const value = rest.slice(1, end).replace(/\\(.)/g, '$1');
  return [constant(value), end + 1];
}

function parseBrackets(rest: string): [Step, number] {
  const end = rest.indexOf(']');
  if (end < 0) throw new PathError('unterminated brackets');
  const parts = rest.slice(1, end).split(',');
  const steps = parts.map((part) => parseSubscript(parts.length > 1 ? part.trim() : part));
  return [steps.length === 1 ? steps[0]! : (values) => steps.flatMap((step) => step(values)), end + 1];
}

function parseSubscript(text: string): Step {
  if (text === '*') return slice(0, undefined, 1);
  const key = /^'([^']*)'$/.exec(text)?.[1];
  if (key !== undefined) return (values) => run(parse(`.${key}`), values);
  const match = /^(-?\d*)(:-?\d*)?(:\d*)?$/.exec(text);
  if (match === null || text === '') throw new PathError(`invalid subscript ${text}`);
  const [, first = '', second, third = ''] = match;
  const start = first === '' ? 0 : Number(first);
  const step = third.length > 1 ? Number(third.slice(1)) : 1;
  if (second === undefined) return slice(start, start + 1 === 0 ? undefined : start + 1, step);
  return slice(start, second.length > 1 ? Number(second.slice(1)) : undefined, step);
}

function parseFilter(rest: string): [Step, number] {
  const end = filterEnd(rest);
  const text = rest.slice(3, end);
  const comparison = /^([^!<>=]+)([!<>=]+)(.+?)$/.exec(text);
  if (comparison === null) return [filter(parse(text)), end + 2];
  const [, left = '', operator = '', right = ''] = comparison;
  const holds = comparisons[operator];
  if (holds === undefined) throw new PathError(`unknown operator ${operator}`);
  return [filter(parse(left), holds, parse(right)), end + 2];
}

/** Where the `)]` of a filter is, one quoted text aside. */
function filterEnd(rest: string): number {
  let quote = '';
  for (let i = 3; i < rest.length; i++) {
    const c = rest[i]!;
    if (quote === '' ? c === '"' || c === "'" : c === quote && rest[i - 1] !== '\\') quote = quote === '' ? c : '';
    else if (c === ')' && quote === '') {
      if (rest[i + 1] !== ']') break;
      return i;
    }
  }
  throw new PathError('unterminated filter');
}

const constant =
  (value: JsonValue): Step =>
  (values) =>
    values.map(() => value);

const field =
  (name: string): Step =>
  (values) =>
    values.flatMap((v) => {
      const value = isObject(v) && Object.hasOwn(v, name) ? v[name] : undefined;
      return value === undefined ? [] : [value];
    });

const children = (v: JsonValue): JsonValue[] =>
  Array.isArray(v) ? v : isObject(v) ? Object.values(v).filter((c) => c !== undefined) : [];

const everything: Step = (values) => values.flatMap(children);

const descend: Step = (values) =>
  values.flatMap((v) => {
    const inner = children(v);
    return inner.length === 0 ? [] : [v, ...descend(inner)];
  });

/** Elements from `start` up to `end`, negative ones counted from the back. Out of bounds is an error, as upstream. */
function slice(start: number, end: number | undefined, step: number): Step {
  if (step <= 0) throw new PathError('a step must be positive');
  return (values) =>
    values.flatMap((v) => {
      if (v === null) return [];
      if (!Array.isArray(v)) throw new PathError('not a list');
      const from = start < 0 ? start + v.length : start;
      const to = end === undefined ? v.length : end < 0 ? end + v.length : end;
      if (from === to) return [];
      if (from < 0 || from >= v.length || to > v.length || to < from) throw new PathError('out of bounds');
      return v.slice(from, to).filter((_, i) => i % step === 0);
    });
}

type Comparison = (left: JsonValue, right: JsonValue) => boolean;

/** Values of different kinds cannot be compared; nor can any be ordered but numbers and texts. */
const comparable =
  (holds: (a: string | number, b: string | number) => boolean, ordered: boolean): Comparison =>
  (left, right) => {
    const [a, b] = [left, right].map((v) => (typeof v === 'bigint' ? Number(v) : v)) as [JsonValue, JsonValue];
    if (typeof a !== typeof b || a === null || typeof a === 'object') throw new PathError('cannot be compared');
    if (ordered && typeof a === 'boolean') throw new PathError('cannot be ordered');
    return holds(a as string, b as string);
  };

const comparisons: Readonly<Record<string, Comparison>> = {
  '==': comparable((a, b) => a === b, false),
  '!=': comparable((a, b) => a !== b, false),
  '<': comparable((a, b) => a < b, true),
  '>': comparable((a, b) => a > b, true),
  '<=': comparable((a, b) => a <= b, true),
  '>=': comparable((a, b) => a >= b, true),
};

function filter(left: Step[], holds?: Comparison, right: Step[] = []): Step {
  return (values) =>
    values.flatMap((v) => {
      if (!Array.isArray(v)) throw new PathError('not a list');
      return v.filter((element) => {
        if (holds === undefined) return exists(left, element);
        const lefts = run(left, [element]);
        if (lefts.length > 1) throw new PathError('more than one value to compare');
        const rights = lefts.length === 0 ? [] : run(right, [element]);
        if (rights.length > 1) throw new PathError('more than one value to compare');
        return rights.length === 1 && holds(lefts[0]!, rights[0]!);
      });
    });
}

function exists(steps: Step[], element: JsonValue): boolean {
  try {
    return run(steps, [element]).length > 0;
  } catch (error) {
    if (error instanceof PathError) return false;
    throw error;
  }
}

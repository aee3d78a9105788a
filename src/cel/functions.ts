import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  opaque,
  optionalOf,
  param,
  STRING,
  sealed,
  TIMESTAMP,
  typeOf,
  UINT,
} from './types.ts';
import type { Value } from './values.ts';

/** One signature of a function. */
export interface Overload {
  id: string;
  member: boolean;
  /** The target of a method comes first. */
  args: readonly CelType[];
  result: CelType;
  /** Left out where the interpreter does the work itself. Throws a Fault. */
  call?: ((...args: Value[]) => Value) | undefined;
}

export type Functions = ReadonlyMap<string, readonly Overload[]>;

/** `id`, signature, implementation. Signatures: `name(T, int): list(T)` or `string.name(int): bool`. */
export type Definition = readonly [id: string, signature: string, call?: (...args: never[]) => Value];

const NAMED: Readonly<Record<string, CelType>> = {
  bool: BOOL,
  bytes: BYTES,
  double: DOUBLE,
  duration: DURATION,
  dyn: DYN,
  int: INT,
  null: NULL,
  string: STRING,
  timestamp: TIMESTAMP,
  uint: UINT,
};

/** Types of libraries that may stand in signatures, by the names that `type()` gives them. */
export const LIBRARY_TYPES: Readonly<Record<string, CelType>> = {
  Quantity: sealed('kubernetes.Quantity'),
  URL: sealed('kubernetes.URL'),
  IP: opaque('net.IP'),
  CIDR: opaque('net.CIDR'),
  Format: sealed('kubernetes.NamedFormat'),
  Semver: sealed('kubernetes.Semver'),
  Authorizer: sealed('kubernetes.authorization.Authorizer'),
  PathCheck: sealed('kubernetes.authorization.PathCheck'),
  GroupCheck: sealed('kubernetes.authorization.GroupCheck'),
  ResourceCheck: sealed('kubernetes.authorization.ResourceCheck'),
  Decision: sealed('kubernetes.authorization.Decision'),
};

/** Splits at commas outside of parentheses. */
function splitTypes(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth++;
    else if (text[i] === ')') depth--;
    else if (text[i] === ',' && depth === 0) {
      out.push(text.slice(from, i));
      from = i + 1;
    }
  }
  if (text.trim() !== '') out.push(text.slice(from));
  return out.map((part) => part.trim());
}

function readType(text: string): CelType {
  const [, outer, inner] = /^(list|map|optional|type)\((.*)\)$/.exec(text) ?? [];
  if (outer !== undefined && inner !== undefined) {
    const [first, second] = splitTypes(inner).map(readType) as [CelType, CelType];
    if (outer === 'list') return listOf(first);
    if (outer === 'map') return mapOf(first, second);
    return outer === 'optional' ? optionalOf(first) : typeOf(first);
  }
  const named = NAMED[text] ?? LIBRARY_TYPES[text];
  if (named !== undefined) return named;
  if (/^[A-Z]$/.test(text)) return param(text);
  throw new TypeError(`no such type: ${text}`);
}

/** Where the name of a function ends its target: the last dot outside of parentheses, where the text before is a type. */
function readSignature(text: string): { name: string; member: boolean; args: CelType[]; result: CelType } {
  const [, head, args = '', result] =
    /^(.*?[^()\s.]+)\(((?:[^()]|\([^()]*(?:\([^()]*\))?[^()]*\))*)\): (.*)$/.exec(text) ?? [];
  if (head === undefined || result === undefined) throw new TypeError(`no signature: ${text}`);
  const [, target, method] = /^((?:[a-zA-Z]+)(?:\(.*\))?) ?\.\s?([^.]+)$/.exec(head) ?? [];
  const own = splitTypes(args).map(readType);
  if (target !== undefined && method !== undefined && !head.startsWith('@') && isType(target)) {
    return { name: method, member: true, args: [readType(target), ...own], result: readType(result) };
  }
  return { name: head, member: false, args: own, result: readType(result) };
}

const isType = (text: string): boolean =>
  /^(list|map|optional)\(/.test(text) || text in NAMED || text in LIBRARY_TYPES || /^[A-Z]$/.test(text);

/** Gathers definitions by the names of their functions, in order. */
export function defineFunctions(...libraries: readonly (readonly Definition[])[]): Functions {
  const out = new Map<string, Overload[]>();
  for (const [id, text, call] of libraries.flat()) {
    const { name, ...signature } = readSignature(text);
    const overload = { id, ...signature, call: call as Overload['call'] };
    const known = out.get(name);
    if (known === undefined) out.set(name, [overload]);
    else known.push(overload);
  }
  return out;
}

/** Types of CEL expressions, and which value of one may stand where another is asked for (cel-spec, "Type checking"). */

export type TypeKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'param'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'uint';

export interface CelType {
  readonly kind: TypeKind;
  /** As messages show it, without parameters. */
  readonly name: string;
  readonly params: readonly CelType[];
  /** Fields of a struct, by the names that expressions use. */
  readonly fields?: Pick<ReadonlyMap<string, CelType>, 'get'> | undefined;
}

const plain = (kind: TypeKind, name: string = kind): CelType => ({ kind, name, params: [] });

export const BOOL = plain('bool');
export const BYTES = plain('bytes');
export const DOUBLE = plain('double');
export const DYN = plain('dyn');
/** google.protobuf.Any: of no known type, as `dyn` is, but under a name of its own. */
export const ANY = plain('dyn', 'google.protobuf.Any');
export const ERROR = plain('error', '!error!');
export const INT = plain('int');
export const NULL = plain('null', 'null_type');
export const STRING = plain('string');
export const UINT = plain('uint');
export const TIMESTAMP = plain('timestamp', 'google.protobuf.Timestamp');
export const DURATION = plain('duration', 'google.protobuf.Duration');
export const TYPE = plain('type');

export const listOf = (element: CelType): CelType => ({ kind: 'list', name: 'list', params: [element] });
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', name: 'map', params: [key, value] });
export const typeOf = (type: CelType): CelType => ({ kind: 'type', name: 'type', params: [type] });
export const param = (name: string): CelType => ({ kind: 'param', name, params: [] });
export const opaque = (name: string, ...params: CelType[]): CelType => ({ kind: 'opaque', name, params });
export const optionalOf = (type: CelType): CelType => opaque('optional_type', type);
export const struct = (name: string, fields: ReadonlyMap<string, CelType> = new Map()): CelType => ({
  kind: 'struct',
  name,
  params: [],
  fields,
});

/** A type of objects whose fields no expression can name. */
export const sealed = (name: string): CelType => plain('struct', name);

const SHOWN: Partial<Record<TypeKind, string>> = { duration: 'duration', null: 'null', timestamp: 'timestamp' };

/** A type as the checker's messages show it. */
export function formatType(type: CelType): string {
  const shown = type.name === ANY.name ? 'any' : SHOWN[type.kind];
  if (shown !== undefined) return shown;
  return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(formatType).join(', ')})`;
}

export const isOptional = (type: CelType) => type.kind === 'opaque' && type.name === 'optional_type';
export const isDyn = (type: CelType) => type.kind === 'dyn';
const isDynOrError = (type: CelType) => type.kind === 'dyn' || type.kind === 'error';

export function sameType(a: CelType, b: CelType): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((p, i) => sameType(p, b.params[i]!));
}

/** What is known about type parameters, by their names. */
export type Mapping = ReadonlyMap<string, CelType>;

const NULLABLE: ReadonlySet<TypeKind> = new Set(['opaque', 'struct', 'duration', 'timestamp', 'null']);

/** Unification of types: collects what type parameters stand for. */
class Unifier {
  readonly mapping: Map<string, CelType>;

  constructor(mapping: Mapping) {
    this.mapping = new Map(mapping);
  }

  assignable(a: CelType, b: CelType): boolean {
    if (b.kind === 'param') {
      const { valid, bound } = this.#bind(a, b);
      if (valid) return true;
      if (bound) return false;
    }
    if (a.kind === 'param') return this.#bind(b, a).valid;
    if (isDynOrError(a) || isDynOrError(b)) return true;
    if (a.kind === 'null') return NULLABLE.has(b.kind);
    if (b.kind === 'null') return NULLABLE.has(a.kind);
    if (a.kind !== b.kind) return false;
    if (a.kind === 'type') return true;
    return a.name === b.name && this.allAssignable(a.params, b.params);
  }

  allAssignable(a: readonly CelType[], b: readonly CelType[]): boolean {
    return a.length === b.length && a.every((type, i) => this.assignable(type, b[i]!));
  }

  /** Whether `a` may be what the parameter stands for, and whether that was known already. */
  #bind(a: CelType, parameter: CelType): { valid: boolean; bound: boolean } {
    if (sameType(a, parameter)) return { valid: true, bound: true };
    const known = this.mapping.get(parameter.name);
    if (known !== undefined) {
      if (sameType(a, known)) return { valid: true, bound: true };
      if (!this.assignable(a, known)) return { valid: false, bound: true };
      const general = mostGeneral(a, known);
      if (!this.#occurs(parameter, general)) this.mapping.set(parameter.name, general);
      return { valid: true, bound: true };
    }
    if (this.#occurs(parameter, a)) return { valid: false, bound: false };
    this.mapping.set(parameter.name, a);
    return { valid: true, bound: false };
  }

  #occurs(parameter: CelType, within: CelType): boolean {
    if (sameType(parameter, within)) return true;
    if (within.kind === 'param') {
      const known = this.mapping.get(within.name);
      return known !== undefined && this.#occurs(parameter, known);
    }
    return within.params.some((p) => this.#occurs(parameter, p));
  }
}

/** What type parameters stand for when every `a` may stand for its `b`; `undefined` when one may not. */
export function unify(mapping: Mapping, a: readonly CelType[], b: readonly CelType[]): Mapping | undefined {
  const unifier = new Unifier(mapping);
  return unifier.allAssignable(a, b) ? unifier.mapping : undefined;
}

function isLessSpecific(a: CelType, b: CelType): boolean {
  if (isDyn(a) || a.kind === 'param') return true;
  if (isDyn(b) || b.kind === 'param') return false;
  if (a.kind !== b.kind) return false;
  if (a.kind === 'type') return true;
  if (a.name !== b.name || a.params.length !== b.params.length) return false;
  return a.params.every((p, i) => isLessSpecific(p, b.params[i]!));
}

/** The more general of two types that unify. */
export const mostGeneral = (a: CelType, b: CelType): CelType => (isLessSpecific(a, b) ? a : b);

/** A type with its parameters replaced by what they stand for; the others become dyn when `toDyn`. */
export function substitute(mapping: Mapping, type: CelType, toDyn: boolean): CelType {
  if (type.kind === 'param') {
    const known = mapping.get(type.name);
    if (known !== undefined) return substitute(mapping, known, toDyn);
    return toDyn ? DYN : type;
  }
  if (type.params.length === 0) return type;
  return { ...type, params: type.params.map((p) => substitute(mapping, p, toDyn)) };
}

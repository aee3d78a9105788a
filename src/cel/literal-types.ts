import { type Expr, partsOf } from './ast.ts';
import type { Issue } from './issues.ts';
import { type CelType, formatType, isOptional, sameType } from './types.ts';

/** Members of literals are of one type, but for what is given to `format` (cel-go, cel/validator.go). */

const memberType = ({ type }: Expr, optional: boolean): CelType =>
  optional && isOptional(type!) ? type!.params[0]! : type!;

const mismatch = (at: number, expected: CelType, actual: CelType): Issue => ({
  at,
  message: `expected type '${formatType(expected)}' but found '${formatType(actual)}'`,
});

function differing(members: readonly (readonly [Expr, boolean])[]): Issue[] {
  const [first, ...others] = members.map(([e, optional]) => ({ at: e.at, type: memberType(e, optional) }));
  return others.flatMap(({ at, type }) => (sameType(first!.type, type) ? [] : [mismatch(at, first!.type, type)]));
}

/** Members of checked list and map literals that differ in type from those before them. */
export function literalTypeIssues(e: Expr): Issue[] {
  if (e.kind === 'call' && e.name === 'format') return [];
  const below = partsOf(e).flatMap(literalTypeIssues);
  if (e.kind === 'list') {
    return [...differing(e.elements.map((x, i) => [x, e.optional.has(i)])).slice(0, 1), ...below];
  }
  if (e.kind !== 'map') return below;
  const keys = differing(e.entries.map(({ key }) => [key, false]));
  return [...keys, ...differing(e.entries.map(({ value, optional }) => [value, optional])), ...below];
}

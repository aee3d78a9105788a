import type { Expr } from './ast.ts';
import type { Range } from './cost-numbers.ts';
import type { Environment } from './environment.ts';
import { LIBRARY_TYPES } from './functions.ts';
import { environmentWith } from './kubernetes.ts';
import { estimateCost } from './static-cost.ts';
import { ANY, BOOL, type CelType, mapOf, STRING, struct } from './types.ts';

/** Expressions that select devices (k8s.io/dynamic-resource-allocation/cel). */

const byDomain = (value: CelType): CelType => mapOf(STRING, mapOf(STRING, value));

/** What a device selector may use: the variable `device`. */
export const deviceEnvironment: Environment = environmentWith({
  device: struct(
    'kubernetes.DRADevice',
    new Map([
      ['driver', STRING],
      ['allowMultipleAllocations', BOOL],
      ['attributes', byDomain(ANY)],
      ['capacity', byDomain(LIBRARY_TYPES.Quantity!)],
    ]),
  ),
});

interface Node {
  /** Most characters or entries. */
  max: number;
  fields?: Readonly<Record<string, Node>>;
  key?: Node;
  value?: Node;
  /** Whether every field of it is one of its values. */
  open?: boolean;
}

const MAX_DRIVER = 63;
const MAX_DOMAIN = 63;
const MAX_IDENTIFIER = 32;
const MAX_VALUE = 64;
const MAX_ENTRIES = 32;
const entries = (key: number, value: Node, open = false): Node => ({
  max: MAX_ENTRIES,
  key: { max: key },
  value,
  open,
});
const device: Node = {
  max: 0,
  fields: {
    driver: { max: MAX_DRIVER },
    allowMultipleAllocations: { max: 1 },
    attributes: entries(MAX_DOMAIN, entries(MAX_IDENTIFIER, { max: MAX_VALUE }, true)),
    capacity: entries(MAX_DOMAIN, entries(MAX_IDENTIFIER, { max: 0 })),
  },
};

function below(node: Node, step: string): Node | undefined {
  if (step === '@items' || step === '@values') return node.value;
  if (step === '@keys') return node.key;
  return node.open ? node.value : node.fields?.[step];
}

function sizeOf([root, ...steps]: readonly string[]): Range | undefined {
  const start: Node | undefined = root === 'device' ? device : undefined;
  const found = steps.reduce<Node | undefined>((node, step) => node && below(node, step), start);
  return found && { min: 0, max: found.max };
}

/** What a checked selector can cost at most. */
export const deviceSelectorCost = (expr: Expr): number => estimateCost(expr, sizeOf).max;

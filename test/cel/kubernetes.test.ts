import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CompileError, check, withVariables } from '../../src/cel/environment.ts';
import { withDecisions } from '../../src/cel/expressions.ts';
import { LIBRARY_TYPES } from '../../src/cel/functions.ts';
import { type Outcome, type Program, ProgramError, planProgram } from '../../src/cel/interpreter.ts';
import { kubernetesEnvironment } from '../../src/cel/kubernetes.ts';
import { type AccessDecision, authorizerValue, type Decisions } from '../../src/cel/library/authorizer.ts';
import { formatTimestamp } from '../../src/cel/library/time.ts';
import { estimateCost } from '../../src/cel/static-cost.ts';
import type { CelType } from '../../src/cel/types.ts';
import {
  CelList,
  CelMap,
  Duration,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from '../../src/cel/values.ts';

/** What kube-apiserver's environment says of expressions (recorded/main.go wrote it down). */
interface Recorded {
  expr: string;
  compile?: string;
  error?: string;
  type?: string;
  value?: unknown;
  /** Of the one evaluation; and the estimates before it. */
  cost?: number;
  min?: number;
  max?: number;
}

const recorded = readFileSync(join(import.meta.dirname, 'recorded', 'answers.jsonl'), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Recorded);

const env = withVariables(kubernetesEnvironment, { authorizer: LIBRARY_TYPES.Authorizer! });

const shownType = ({ name, params }: CelType): string =>
  params.length === 0 ? name : `${name}(${params.map(shownType).join(', ')})`;

function shown(value: Value): unknown {
  if (typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'bigint') return { int: String(value) };
  if (value === null) return { null: true };
  if (typeof value === 'number') {
    const special = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
    return { double: Number.isFinite(value) ? value : special };
  }
  if (value instanceof Uint) return { uint: String(value.value) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') };
  if (value instanceof Timestamp) return { timestamp: formatTimestamp(value) };
  if (value instanceof Duration) return { duration: String(value.nanos) };
  if (value instanceof Optional) return { optional: value.present ? shown(value.value) : null };
  if (value instanceof CelList) return [...value].map(shown);
  if (value instanceof CelMap) {
    return { map: [...value.keys()].map((key) => [shown(key), shown(value.get(key)!)]) };
  }
  return { opaque: value instanceof TypeValue || value instanceof Opaque ? typeName(value) : String(value) };
}

/** Entries of maps come in no order. */
const inOrder = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, v: unknown) =>
    key === 'map' && Array.isArray(v) ? [...v].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : v,
  );

/** What comes of an expression; of one that cannot be made ready to run, the reason alone. */
async function evaluate(source: string): Promise<Outcome | { ok: false; fault: ProgramError; cost: undefined }> {
  let program: Program;
  try {
    program = planProgram(env, check(env, source).expr);
  } catch (fault) {
    if (!(fault instanceof ProgramError)) throw fault;
    return { ok: false, fault, cost: undefined };
  }
  const decisions: Decisions = new Map();
  const decide = ({ verb }: { verb: string }): Promise<AccessDecision> =>
    Promise.resolve(
      verb === 'get'
        ? { allowed: true, reason: 'may read', error: '' }
        : { allowed: false, reason: verb === 'fail' ? '' : 'may not', error: verb === 'fail' ? 'no authorizer' : '' },
    );
  return withDecisions(decisions, decide, () =>
    program.evaluate({ authorizer: authorizerValue(decisions) }, Number.POSITIVE_INFINITY),
  );
}

describe('expressions that do not compile', () => {
  test.each(recorded.filter(({ compile }) => compile !== undefined))('$expr', ({ expr, compile }) => {
    let message = '';
    try {
      check(env, expr);
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      message = error.message;
    }
    const told = (text: string) => (text.includes('Syntax error') ? 'Syntax error' : text);
    expect(told(message)).toBe(told(compile!));
  });
});

describe('values, errors and costs', () => {
  test.each(recorded.filter(({ compile }) => compile === undefined))('$expr', async (wanted) => {
    const { expr, type } = check(env, wanted.expr);
    expect(shownType(type)).toBe(wanted.type);
    const outcome = await evaluate(wanted.expr);
    if (wanted.error === undefined) {
      expect(outcome.ok ? inOrder(shown(outcome.value)) : outcome.fault.message).toEqual(inOrder(wanted.value ?? null));
    } else expect(outcome.ok ? shown(outcome.value) : outcome.fault.message).toBe(wanted.error);
    expect(outcome.cost).toBe(wanted.cost);
    expect(estimateCost(expr, () => undefined).max).toBe(wanted.max);
  });
});

import type { Type } from '@bufbuild/cel-spec/cel/expr/checked_pb.js';
import {
  getCheckingSuite,
  getConformanceSuite,
  getParsingSuite,
  type IncrementalTest,
  type IncrementalTestSuite,
} from '@bufbuild/cel-spec/testdata/tests.js';
import { describe, expect, test } from 'vitest';
import { CompileError, check, withVariables } from '../../src/cel/environment.ts';
import { ProgramError, planProgram } from '../../src/cel/interpreter.ts';
import { kubernetesEnvironment } from '../../src/cel/kubernetes.ts';
import { parse } from '../../src/cel/parser.ts';
import * as types from '../../src/cel/types.ts';
import { equal, type Value } from '../../src/cel/values.ts';
import { fromProto } from './conformance-values.ts';

/** Files of the conformance data that need what kube-apiserver does not have: messages, enums, other extensions. */
const NEEDS_OTHERS = new Set(
  'basic bindings_ext block_ext dynamic encoders_ext enums math_ext proto2 proto2_ext proto3 wrappers network_ext'.split(
    ' ',
  ),
);

/** Where version 2 of the strings extension, which kube-apiserver has, differs from the one of the data. */
const DIFFERENT: ReadonlySet<string> = new Set([
  // The last value of a key counts in the version of cel-go that kube-apiserver has.
  'fields/qualified_identifier_resolution/map_value_repeat_key',
  'fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous',
  'string_ext/format/scientific notation formatting clause',
  // Expressions that have not been checked never run here.
  'fields/qualified_identifier_resolution/qualified_identifier_resolution_unchecked',
  'string_ext/format/default precision for scientific notation',
  'string_ext/format/positive infinity support for scientific notation',
  'string_ext/format/negative infinity support for scientific notation',
  'string_ext/format/NaN support for decimal',
  'string_ext/format/positive infinity support for decimal',
  'string_ext/format/negative infinity support for decimal',
  'string_ext/format/positive infinity support for fixed-point',
  'string_ext/format/negative infinity support for fixed-point',
  'string_ext/format/list support for string',
  'string_ext/format/map support for string',
  'string_ext/format/map support (all key types)',
  'string_ext/format/dyntype support for scientific notation',
  'string_ext/format/dyntype NaN/infinity support',
  'string_ext/format/dyntype support for lists',
  'string_ext/format/dyntype support for maps',
  'string_ext/format/scientific notation formatting clause in a string variable',
  'string_ext/value_errors/indexof_out_of_range',
  'string_ext/value_errors/lastindexof_out_of_range',
]);

function flatten(suite: IncrementalTestSuite, path = ''): [string, IncrementalTest][] {
  const own = suite.tests.map((t): [string, IncrementalTest] => [`${path}${suite.name}/${t.name}`, t]);
  return [...own, ...suite.suites.flatMap((s) => flatten(s, `${path}${suite.name}/`))];
}

const PRIMITIVES = [types.DYN, types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES];

/** A type of the conformance data as ours; `undefined` where it needs messages. */
function typeOf(type: Type | undefined): types.CelType | undefined {
  const kind = type?.typeKind;
  switch (kind?.case) {
    case 'dyn':
      return types.DYN;
    case 'null':
      return types.NULL;
    case 'primitive':
      return PRIMITIVES[kind.value];
    case 'wellKnown':
      return [undefined, undefined, types.TIMESTAMP, types.DURATION][kind.value];
    case 'listType': {
      const element = typeOf(kind.value.elemType);
      return element && types.listOf(element);
    }
    case 'mapType': {
      const [key, value] = [typeOf(kind.value.keyType), typeOf(kind.value.valueType)];
      return key && value && types.mapOf(key, value);
    }
    default:
      return undefined;
  }
}

interface Case {
  variables: Record<string, types.CelType>;
  bindings: Record<string, Value>;
  expected: Value | 'error';
}

const MESSAGES = /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|proto2|proto3|cel\.bind|math\.|base64/;

/** What a test asks; `undefined` where that needs messages. */
function caseOf({ original }: IncrementalTest): Case | undefined {
  if (MESSAGES.test(original.expr) || original.container !== '' || original.disableMacros) return undefined;
  const variables: Record<string, types.CelType> = {};
  for (const { name, declKind } of original.typeEnv) {
    const type = declKind.case === 'ident' ? typeOf(declKind.value.type) : undefined;
    if (type === undefined) return undefined;
    variables[name] = type;
  }
  const bindings: Record<string, Value> = {};
  for (const [name, { kind }] of Object.entries(original.bindings)) {
    const value = kind.case === 'value' ? fromProto(kind.value) : undefined;
    if (value === undefined) return undefined;
    bindings[name] = value;
  }
  const { resultMatcher } = original;
  if (resultMatcher.case === 'evalError') return { variables, bindings, expected: 'error' };
  const wanted = resultMatcher.case === 'typedResult' ? resultMatcher.value.result : resultMatcher.value;
  const expected = resultMatcher.case === undefined ? true : fromProto(wanted as never);
  return expected === undefined ? undefined : { variables, bindings, expected };
}

function answer(source: string, { variables, bindings }: Case, checked: boolean): Value | string {
  const env = { ...withVariables(kubernetesEnvironment, variables), mixedLiterals: true };
  const expr = checked ? check(env, source).expr : parse(source, env.macros);
  const outcome = planProgram(env, expr).evaluate(bindings, Number.POSITIVE_INFINITY);
  return outcome.ok ? outcome.value : `error: ${outcome.fault.message}`;
}

function verdict(t: IncrementalTest, c: Case): string {
  let got: Value | string;
  try {
    got = answer(t.original.expr, c, !t.original.disableCheck);
  } catch (error) {
    if (!(error instanceof CompileError || error instanceof ProgramError)) throw error;
    got = `error: ${error.message}`;
  }
  const isError = typeof got === 'string' && got.startsWith('error: ');
  if (c.expected === 'error') return isError ? 'passes' : `no error, but ${String(got)}`;
  if (isError) return got as string;
  const bothNaN = Number.isNaN(got) && Number.isNaN(c.expected);
  return bothNaN || equal(got, c.expected) ? 'passes' : `${String(got)} instead of ${String(c.expected)}`;
}

const lines = (parts: readonly unknown[]) => parts.join('\n');

describe('conformance data of cel-spec', () => {
  const all = getConformanceSuite().suites.filter(({ name }) => !NEEDS_OTHERS.has(name));
  for (const suite of all) {
    test(suite.name, () => {
      const cases = flatten(suite).flatMap(([name, t]) => {
        const c = caseOf(t);
        return c === undefined || DIFFERENT.has(name) ? [] : [[name, t.original.expr, verdict(t, c)]];
      });
      expect(cases.filter((found) => found.at(-1) !== 'passes').map(lines)).toEqual([]);
    });
  }
});

/** Syntax that cel-go's tests turn off, and functions and messages that they declare. */
const OTHER_ENVIRONMENT =
  /unsupported syntax|recursion|lookahead|existsOne|\d (?:[<>]=?) \d+u?\.|TestAllTypes|is not a type/;
/** After a syntax error upstream's parser goes on, and its words are those of its generator: only that it refuses counts. */
const refusal = (text: string) => text.startsWith('ERROR: ');
const undeclared = (text: string) => text.split('undeclared reference').length;
const same = (text: string) => text;
const firstLine = (text: string) => text.split('\n')[0]!;

describe.each([
  ['parsing', getParsingSuite, 100],
  ['checking', getCheckingSuite, 40],
] as const)('%s as in cel-go', (_name, get, least) => {
  test('types and messages', () => {
    const env = { ...kubernetesEnvironment, mixedLiterals: true };
    let compared = 0;
    const found = flatten(get()).flatMap(([, t]) => {
      const source = t.original.expr;
      const wanted = (t.error ?? t.type ?? '').replaceAll('ERROR: :', 'ERROR: <input>:');
      if (MESSAGES.test(source) || OTHER_ENVIRONMENT.test(source + wanted)) return [];
      let got: string;
      try {
        got = types.formatType(check(env, source).type);
      } catch (error) {
        if (!(error instanceof CompileError)) throw error;
        got = error.message;
      }
      // What the tests of cel-go declare for themselves is not in the data.
      if (undeclared(got) > undeclared(wanted)) return [];
      compared++;
      const shown = wanted.includes('Syntax error') ? refusal : wanted.includes('reserved') ? firstLine : same;
      return shown(got) === shown(wanted) ? [] : [[source, shown(got), shown(wanted)]];
    });
    expect(found.map(lines)).toEqual([]);
    expect(compared).toBeGreaterThan(least);
  });
});

import { type Environment, withVariables } from './environment.ts';
import { defineFunctions, type Functions, LIBRARY_TYPES } from './functions.ts';
import { authorizers } from './library/authorizer.ts';
import { formats, jsonPatchKeys } from './library/formats.ts';
import { lists, mapInserts, optionals, sets } from './library/lists.ts';
import { addresses } from './library/net.ts';
import { quantities } from './library/quantity.ts';
import { regexes } from './library/regex.ts';
import { semvers } from './library/semver.ts';
import { conversions, operators } from './library/standard.ts';
import { strings } from './library/strings.ts';
import { times } from './library/time.ts';
import { urls } from './library/url.ts';
import { kubernetesMacros } from './macros.ts';
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
  optionalOf,
  STRING,
  TIMESTAMP,
  TYPE,
  typeOf,
  UINT,
} from './types.ts';

/** The environments of kube-apiserver 1.36 (k8s.io/apiserver, pkg/cel/environment). */

const standardTypes: readonly CelType[] = [
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  NULL,
  STRING,
  TIMESTAMP,
  TYPE,
  UINT,
  listOf(DYN),
  mapOf(DYN, DYN),
  optionalOf(DYN),
];

const typeNamesOf = (types: readonly CelType[]): ReadonlyMap<string, CelType> =>
  new Map(types.map((type) => [type.name, typeOf(type)]));

function environment(functions: Functions, types: readonly CelType[]): Environment {
  const typeNames = typeNamesOf(types);
  return {
    functions,
    structType: () => undefined,
    mixedLiterals: false,
    macros: kubernetesMacros,
    typeNames,
    variables: new Map(),
    variableType: (name) => typeNames.get(name),
  };
}

const standard = [operators, conversions, times, regexes, optionals, mapInserts] as const;

/** CEL with optional values and two-variable comprehensions, and nothing of Kubernetes. */
export const standardEnvironment: Environment = environment(defineFunctions(...standard), standardTypes);

/** What every expression in the Kubernetes API may use. */
export const kubernetesEnvironment: Environment = environment(
  defineFunctions(...standard, strings, lists, sets, urls, quantities, addresses, formats, semvers, authorizers),
  [...standardTypes, ...Object.values(LIBRARY_TYPES)],
);

/** What mutating policies may use besides. */
export const mutationFunctions: Functions = new Map([
  ...kubernetesEnvironment.functions,
  ...defineFunctions(jsonPatchKeys),
]);

/** The environment of Kubernetes with variables of the given types. */
export const environmentWith = (variables: Readonly<Record<string, CelType>>): Environment =>
  withVariables(kubernetesEnvironment, variables);

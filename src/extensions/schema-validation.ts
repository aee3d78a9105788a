import type { RE2JS } from 're2js';
import { deepEqual, isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import { stringifyJson } from '../codec/json.ts';
import { causes, type StatusCause } from '../status/status.ts';
import { hasFormat } from './formats.ts';
import { compilePattern } from './patterns.ts';
import type { Structural } from './structural.ts';

/** Compiled patterns by schema: compiling one costs more than most matches. */
const compiled = new WeakMap<Structural, RE2JS>();

/** The pattern of a schema; undefined for one that does not compile, which matches everything. */
function patternOf(schema: Structural): RE2JS | undefined {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = compilePattern(schema.pattern ?? '');
  if (made !== undefined) compiled.set(schema, made);
  return made;
}

const INT_OR_STRING = 'x-kubernetes-int-or-string';

/** JSON schema's name of a value's type, as messages show it. */
function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

const bare = (message: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: "": ${message}`,
  field: '<nil>',
});
const wrongType = (path: string, expected: string, value: unknown) =>
  causes.typeInvalid(path, value, `${path} in body must be of type ${expected}: ${JSON.stringify(value)}`);

/** What validation of one value found; `matched` counts passed checks, by which the best branch of anyOf is chosen. */
interface Result {
  found: StatusCause[];
  matched: number;
}

function check(value: JsonValue, schema: Structural, path: string): Result {
  const found: StatusCause[] = [];
  let matched = 0;
  const add = (list: StatusCause[]) => {
    if (list.length === 0) matched++;
    else found.push(...list);
  };
  add(typeFaults(value, schema, path));
  if (value === null) {
    add(enumFaults(value, schema, path));
    return { found, matched };
  }
  const combined = combinators(value, schema, path);
  found.push(...combined.found);
  matched += combined.matched;
  if (typeof value === 'string') add(stringFaults(value, schema, path));
  else if (typeof value === 'number' || typeof value === 'bigint') add(numberFaults(value, schema, path));
  else if (Array.isArray(value)) add(listFaults(value, schema, path));
  add(enumFaults(value, schema, path));
  if (isObject(value)) add(objectFaults(value, schema, path));
  return { found, matched };
}

function typeFaults(value: JsonValue, schema: Structural, path: string): StatusCause[] {
  const expected = schema[INT_OR_STRING] === true ? 'integer,string' : (schema.type ?? '');
  if (expected === '') return [];
  if (value === null) return schema.nullable === true ? [] : [wrongType(path, expected, 'null')];
  const actual = typeName(value);
  const fits = expected.split(',').some((t) => t === actual || (t === 'number' && actual === 'integer'));
  if (!fits) return [wrongType(path, expected, actual)];
  if (
    typeof value === 'string' &&
    schema.format !== undefined &&
    schema[INT_OR_STRING] !== true &&
    !hasFormat(value, schema.format)
  ) {
    return [wrongType(path, schema.format, value)];
  }
  return [];
}

function combinators(value: JsonValue, schema: Structural, path: string): Result {
  const out: Result = { found: [], matched: 0 };
  const take = (r: Result | undefined) => {
    if (r === undefined) return;
    out.found.push(...r.found);
    out.matched += r.matched;
  };
  const best = (results: Result[]) =>
    results.reduce<Result | undefined>((a, r) => (a === undefined || r.matched > a.matched ? r : a), undefined);
  const passes = (r: Result) => r.found.length === 0;
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
    const results = schema.anyOf.map((s) => check(value, s, path));
    const pass = results.find(passes);
    if (pass === undefined) out.found.push(bare(`"${path}" must validate at least one schema (anyOf)`));
    take(pass ?? best(results));
  }
  if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
    const results = schema.oneOf.map((s) => check(value, s, path));
    const passed = results.filter(passes);
    if (passed.length !== 1) {
      const why = passed.length === 0 ? 'Found none valid' : `Found ${passed.length} valid alternatives`;
      out.found.push(bare(`"${path}" must validate one and only one schema (oneOf). ${why}`));
    }
    take(passed[0] ?? best(results));
  }
  if (schema.allOf !== undefined && schema.allOf.length > 0) {
    const results = schema.allOf.map((s) => check(value, s, path));
    for (const r of results) take(r);
    const passed = results.filter(passes).length;
    if (passed < results.length) {
      out.found.push(bare(`"${path}" must validate all the schemas (allOf)${passed === 0 ? '. None validated' : ''}`));
    }
  }
  if (schema.not !== undefined && passes(check(value, schema.not, path))) {
    out.found.push(bare(`"${path}" must not validate the schema (not)`));
  }
  return out;
}

function stringFaults(value: string, schema: Structural, path: string): StatusCause[] {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) return [causes.tooLong(path, schema.maxLength)];
  if (schema.minLength !== undefined && length < schema.minLength) {
    return [causes.invalid(path, value, `${path} in body should be at least ${schema.minLength} chars long`)];
  }
  if (schema.pattern !== undefined && schema.pattern !== '' && patternOf(schema)?.matcher(value).find() === false) {
    return [causes.invalid(path, value, `${path} in body should match '${schema.pattern}'`)];
  }
  return [];
}

const RANGES: Record<string, [bigint, bigint]> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** The largest number that has 32 bits. */
const MAX_FLOAT = (2 - 2 ** -23) * 2 ** 127;

function numberFaults(value: number | bigint, schema: Structural, path: string): StatusCause[] {
  const out: StatusCause[] = [];
  if (schema.type === 'integer') {
    const format = schema.format === 'int32' || schema.format === 'int64' ? schema.format : undefined;
    const named = format === undefined ? '(default format)' : `with format ${format}`;
    const range = RANGES[format ?? 'int64'];
    const whole = typeof value === 'bigint' || Number.isInteger(value);
    const fits = whole && range !== undefined && BigInt(value) >= range[0] && BigInt(value) <= range[1];
    if (!fits) out.push(bare(`Checked value must be of type integer ${named} in ${path}`));
    if (!whole) return out;
  }
  const n = Number(value);
  if (schema.type === 'number' && schema.format === 'float' && Math.abs(n) > MAX_FLOAT) {
    out.push(bare(`Checked value must be of type number with format float in ${path}`));
  }
  const { minimum, maximum, multipleOf } = schema;
  if (multipleOf !== undefined) out.push(...multipleFaults(value, multipleOf, path));
  if (maximum !== undefined && (schema.exclusiveMaximum ? n >= maximum : n > maximum)) {
    const bound = schema.exclusiveMaximum ? 'less than' : 'less than or equal to';
    out.push(causes.invalid(path, value, `${path} in body should be ${bound} ${maximum}`));
  }
  if (minimum !== undefined && (schema.exclusiveMinimum ? n <= minimum : n < minimum)) {
    const bound = schema.exclusiveMinimum ? 'greater than' : 'greater than or equal to';
    out.push(causes.invalid(path, value, `${path} in body should be ${bound} ${minimum}`));
  }
  return out;
}

/** Whole numbers are compared with the whole part of the factor alone, which may leave nothing of it. */
function multipleFaults(value: number | bigint, of: number, path: string): StatusCause[] {
  const whole = typeof value === 'bigint' || Number.isInteger(value);
  const factor = whole ? Math.trunc(of) : of;
  if (factor <= 0) {
    return [causes.invalid(path, factor, `factor MultipleOf declared for ${path} must be positive: ${factor}`)];
  }
  if (isMultiple(Number(value), factor)) return [];
  return [causes.invalid(path, value, `${path} in body should be a multiple of ${of}`)];
}

function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9;
}

function listFaults(value: JsonValue[], schema: Structural, path: string): StatusCause[] {
  const out: StatusCause[] = [];
  if (schema.items !== undefined) {
    for (const [i, item] of value.entries()) out.push(...check(item, schema.items, `${path}[${i}]`).found);
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    out.push(causes.invalid(path, value.length, `${path} in body should have at least ${schema.minItems} items`));
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    out.push(causes.tooMany(path, value.length, schema.maxItems));
  }
  if (schema.uniqueItems === true && value.some((v, i) => value.slice(0, i).some((w) => deepEqual(v, w)))) {
    out.push(causes.duplicate(path, value));
  }
  return out;
}

function enumFaults(value: JsonValue, schema: Structural, path: string): StatusCause[] {
  if (schema.enum === undefined || schema.enum.length === 0 || schema.enum.some((e) => deepEqual(e, value))) return [];
  const shown = schema.enum.map((e) => JSON.stringify(typeof e === 'string' ? e : stringifyJson(e))).join(', ');
  return [
    {
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${stringifyJson(value)}: supported values: ${shown}`,
      field: path,
    },
  ];
}

function objectFaults(value: JsonObject, schema: Structural, path: string): StatusCause[] {
  const keys = Object.keys(value).filter((k) => value[k] !== undefined);
  if (schema.minProperties !== undefined && keys.length < schema.minProperties) {
    return [
      causes.invalid(path, keys.length, `${path} in body should have at least ${schema.minProperties} properties`),
    ];
  }
  if (schema.maxProperties !== undefined && keys.length > schema.maxProperties) {
    return [causes.tooMany(path, keys.length, schema.maxProperties)];
  }
  const out: StatusCause[] = [];
  const at = (key: string) => (path === '' ? key : `${path}.${key}`);
  const known = schema.properties ?? {};
  for (const key of keys) {
    const inMap = isObject(schema.additionalProperties) && !Object.hasOwn(known, key);
    if (inMap) out.push(...check(value[key]!, schema.additionalProperties as Structural, at(key)).found);
  }
  for (const [key, property] of Object.entries(known)) {
    if (keys.includes(key)) out.push(...check(value[key]!, property, at(key)).found);
  }
  for (const key of schema.required ?? []) if (!keys.includes(key)) out.push(causes.required(at(key)));
  return out;
}

/**
 * Validates a custom object against its schema (OpenAPI v3 as kube-apiserver reads it) and returns the causes of a 422
 * in its words. `kind`, `apiVersion` and `metadata` are validated elsewhere.
 */
export function validateSchema(object: JsonValue, schema: Structural): StatusCause[] {
  return check(object, schema, '').found;
}

/** Whether the value at a path is the same in both, or lies in something that is. */
function isUnchanged(value: JsonValue | undefined, old: JsonValue | undefined, path: string): boolean {
  const keys = path.split(/[.[]/);
  let [now, before] = [value, old];
  for (const key of keys) {
    if (!isObject(now) || !isObject(before)) return false;
    [now, before] = [now[key], before[key]];
    if (now !== undefined && deepEqual(now, before)) return true;
  }
  return false;
}

/**
 * Causes that an update is refused for: those in parts that it leaves as they were are borne with (KEP-4008,
 * ratcheting).
 */
export function ratchet(faults: StatusCause[], object: JsonValue, old: JsonValue): StatusCause[] {
  return faults.filter(({ field = '' }) => !isUnchanged(object, old, field));
}

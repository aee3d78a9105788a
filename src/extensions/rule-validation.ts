import { deepEqual, isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import { type Declaration, declare, escapeName, withTypeMeta } from '../cel/declarations.ts';
import { CostExceeded } from '../cel/evaluation.ts';
import { schemaValue } from '../cel/json-values.ts';
import { Fault, NONE, Optional, type Value } from '../cel/values.ts';
import { causes, type StatusCause } from '../status/status.ts';
import { type CompiledRule, compileRules } from './rules.ts';
import type { Structural, ValidationRule } from './structural.ts';

/** Evaluation of `x-kubernetes-validations` (apiextensions-apiserver, pkg/apiserver/schema/cel). */

/** Cost of one expression, and of all for one object. */
const CALL_LIMIT = 1_000_000;
const BUDGET = 10_000_000;
/** Bytes of an evaluated message. */
const MAX_MESSAGE = 5 * 1024;

/** Rules of a schema and below it; parts without any are left out. */
interface RuleNode {
  schema: Structural;
  isResource: boolean;
  rules: CompiledRule[];
  items?: RuleNode | undefined;
  values?: RuleNode | undefined;
  properties: Map<string, RuleNode>;
}

/** Compiled rules of each schema: a fact of the schema, which never changes. */
const compiled = new WeakMap<Structural, { node: RuleNode | undefined }>();

const isEmbedded = (schema: Structural) => schema['x-kubernetes-embedded-resource'] === true;
const mapValues = ({ additionalProperties }: Structural) =>
  isObject(additionalProperties) ? (additionalProperties as Structural) : undefined;

function hasOwnRules(schema: Structural): boolean {
  if ((schema['x-kubernetes-validations']?.length ?? 0) > 0) return true;
  const inner = [...Object.values(schema.properties ?? {}), schema.items, mapValues(schema)];
  return inner.some((one) => one !== undefined && hasOwnRules(one));
}

function build(schema: Structural, isResource: boolean, declaration: Declaration | undefined): RuleNode | undefined {
  const own =
    (schema['x-kubernetes-validations']?.length ?? 0) > 0 ? (declaration ?? declare(schema, isResource)) : undefined;
  const rules = own === undefined ? [] : compileRules(schema, own);
  const below = declaration ?? own;
  const child = (inner: Structural | undefined, known: Declaration | undefined) =>
    inner === undefined ? undefined : build(inner, isEmbedded(inner), known);
  const properties = new Map<string, RuleNode>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeName(name);
    const node = child(property, escaped === undefined ? undefined : below?.fields?.get(escaped));
    if (node !== undefined) properties.set(name, node);
  }
  const items = child(schema.items, below?.element);
  const values = child(mapValues(schema), below?.element);
  if (rules.length === 0 && properties.size === 0 && items === undefined && values === undefined) return undefined;
  return { schema, isResource, rules, items, values, properties };
}

function nodeOf(schema: Structural): RuleNode | undefined {
  const known = compiled.get(schema);
  if (known !== undefined) return known.node;
  const node = hasOwnRules(schema) ? build(schema, true, undefined) : undefined;
  compiled.set(schema, { node });
  return node;
}

/** Whether a schema has rules anywhere. */
export const hasRules = (schema: Structural): boolean => nodeOf(schema) !== undefined;

/** A value with what it was: `parent` is the nearest one above that is known to be the same as before. */
interface Correlation {
  current: { value: JsonValue; old: JsonValue } | undefined;
  parent: { value: JsonValue; old: JsonValue } | undefined;
}

function isUnchanged({ current, parent }: Correlation): boolean {
  const pair = current ?? parent;
  return pair !== undefined && deepEqual(pair.value, pair.old);
}

function descend(correlation: Correlation, value: JsonValue, old: JsonValue | undefined): Correlation {
  if (correlation.current === undefined) return correlation;
  return { current: old === undefined ? undefined : { value, old }, parent: correlation.current };
}

const shownRule = ({ rule, message = '' }: ValidationRule) => (message === '' ? rule : message).trim();
const defaultMessage = (rule: ValidationRule) =>
  (rule.message ?? '') === '' ? `failed rule: ${rule.rule.trim()}` : rule.message!.trim();
const NO_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';

/** Ends an evaluation: what was found so far counts. */
class OutOfBudget {}

const join = (path: string, key: string) => (path === '' ? key : `${path}.${key}`);

class RuleRun {
  readonly faults: StatusCause[] = [];
  readonly #warnings: string[];
  #budget = BUDGET;

  constructor(warnings: string[]) {
    this.#warnings = warnings;
  }

  visit(node: RuleNode, value: JsonValue, old: JsonValue | undefined, path: string, correlation: Correlation): void {
    if (value === null) return;
    if (node.rules.length > 0) this.#rules(node, value, old ?? undefined, path, correlation);
    if (Array.isArray(value)) this.#list(node, value, old, path, correlation);
    else if (isObject(value)) this.#object(node, value, isObject(old) ? old : undefined, path, correlation);
  }

  #list(node: RuleNode, list: JsonValue[], old: JsonValue | undefined, path: string, correlation: Correlation): void {
    const { items } = node;
    if (items === undefined) return;
    const before = oldItems(node.schema, Array.isArray(old) ? old : []);
    for (const [i, item] of list.entries()) {
      const oldItem = before(item);
      this.visit(items, item, oldItem, `${path}[${i}]`, descend(correlation, item, oldItem));
    }
  }

  #object(
    node: RuleNode,
    object: JsonObject,
    old: JsonObject | undefined,
    path: string,
    correlation: Correlation,
  ): void {
    for (const [key, value] of Object.entries(object)) {
      if (value === undefined) continue;
      const own = node.properties.get(key);
      const inner = own ?? node.values;
      if (inner === undefined) continue;
      const before = old !== undefined && Object.hasOwn(old, key) ? old[key] : undefined;
      const at = own === undefined ? `${path}[${key}]` : join(path, key);
      const isTop = node.isResource && correlation.parent === undefined && (key === 'apiVersion' || key === 'kind');
      const next = isTop ? { current: undefined, parent: undefined } : descend(correlation, value, before);
      this.visit(inner, value, before, at, next);
    }
  }

  #rules(node: RuleNode, value: JsonValue, old: JsonValue | undefined, path: string, correlation: Correlation): void {
    const schema = node.isResource ? withTypeMeta(node.schema) : node.schema;
    const field = path === '' ? '<nil>' : path;
    const self = readValue(schema, value);
    const oldSelf = old === undefined || old === null ? undefined : readValue(schema, old);
    for (const rule of node.rules) {
      const isOptional = rule.rule.optionalOldSelf === true;
      if (rule.error !== undefined) {
        this.faults.push(causes.invalid(field, schema.type, `rule compile error: ${rule.error}`));
        continue;
      }
      if (rule.program === undefined || (rule.usesOldSelf && oldSelf === undefined && !isOptional)) continue;
      const bindings = {
        self,
        oldSelf: isOptional ? (oldSelf === undefined ? NONE : new Optional(oldSelf)) : oldSelf,
      };
      if (this.#holds(rule, bindings, field, schema)) continue;
      this.#fail(rule, bindings, value, path, schema, correlation);
    }
  }

  #stop(field: string, schema: Structural, why: string): never {
    this.faults.push(causes.invalid(field, schema.type, why));
    throw new OutOfBudget();
  }

  /** Whether a rule holds, or has been told to have failed to be evaluated. */
  #holds(rule: CompiledRule, bindings: Record<string, Value | undefined>, field: string, schema: Structural): boolean {
    const outcome = rule.program!.evaluate(bindings, CALL_LIMIT);
    if (outcome.cost > this.#budget) this.#stop(field, schema, NO_BUDGET);
    this.#budget -= outcome.cost;
    if (outcome.ok) return outcome.value === true;
    const { message } = outcome.fault;
    const shown = shownRule(rule.rule);
    if (outcome.fault instanceof CostExceeded) {
      const why = `no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`;
      this.#stop(field, schema, `'${message}': ${why}`);
    }
    const isOverload = message.startsWith('no such overload');
    const where = 'call arguments did not match a supported operator, function or macro signature for rule';
    const why = isOverload ? `'${message}': ${where}: ${shown}` : `${message} evaluating rule: ${shown}`;
    this.faults.push(causes.invalid(field, schema.type, why));
    return true;
  }

  #fail(
    rule: CompiledRule,
    bindings: Record<string, Value | undefined>,
    value: JsonValue,
    path: string,
    schema: Structural,
    correlation: Correlation,
  ): void {
    const at = rule.fieldPath === undefined ? path : join(path, rule.fieldPath);
    const field = at === '' ? '<nil>' : at;
    const detail = this.#message(rule, bindings, field, schema) ?? defaultMessage(rule.rule);
    const fault = faultFor(rule.rule.reason, field, schema, value, detail);
    if (!rule.usesOldSelf && isUnchanged(correlation)) this.#warnings.push(`${field}: ${fault.message}`);
    else this.faults.push(fault);
  }

  /** The message that an expression makes; `undefined` where it makes none that can be shown. */
  #message(
    rule: CompiledRule,
    bindings: Record<string, Value | undefined>,
    field: string,
    schema: Structural,
  ): string | undefined {
    if (rule.message === undefined) return undefined;
    const source = JSON.stringify(rule.rule.messageExpression);
    const outcome = rule.message.evaluate(bindings, CALL_LIMIT);
    if (outcome.cost > this.#budget) {
      const why = 'running out of cost budget, no further validation rules will be run';
      this.#stop(field, schema, `messageExpression evaluation failed due to ${why}`);
    }
    if (!outcome.ok && outcome.fault instanceof CostExceeded) {
      const why = 'no further validation rules will be run due to call cost exceeds limit for messageExpression';
      this.#stop(field, schema, `${why}: ${source}`);
    }
    this.#budget -= outcome.cost;
    return outcome.ok && typeof outcome.value === 'string' ? shownMessage(outcome.value) : undefined;
  }
}

/** A message that can be shown: of one line, not empty and not too long. */
export function shownMessage(text: string): string | undefined {
  const message = text.trim();
  const isShowable =
    message !== '' && !message.includes('\n') && new TextEncoder().encode(message).length <= MAX_MESSAGE;
  return isShowable ? message : undefined;
}

/** A value that cannot be read fails where an expression looks at it. */
function readValue(schema: Structural, value: JsonValue): Value | undefined {
  try {
    return schemaValue(value, schema);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

function faultFor(
  reason: string | undefined,
  field: string,
  schema: Structural,
  value: JsonValue,
  detail: string,
): StatusCause {
  const isWhole = schema.type === 'object' || schema.type === 'array';
  switch (reason) {
    case 'FieldValueForbidden':
      return causes.forbidden(field, detail);
    case 'FieldValueRequired':
      return causes.required(field, detail);
    case 'FieldValueDuplicate':
      if (isWhole) return { reason, message: 'Duplicate value', field };
      return causes.duplicate(field, value);
    default:
      if (isWhole) return { reason: 'FieldValueInvalid', message: `Invalid value: ${detail}`, field };
      return causes.invalid(field, value, detail);
  }
}

/** Finds the old item that is the same as a new one, which only map lists can tell. */
function oldItems(schema: Structural, old: readonly JsonValue[]): (item: JsonValue) => JsonValue | undefined {
  if (schema['x-kubernetes-list-type'] !== 'map' || old.length === 0) return () => undefined;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const keyOf = (item: JsonValue) => (isObject(item) ? JSON.stringify(keys.map((key) => item[key] ?? null)) : '');
  const known = new Map(old.map((item) => [keyOf(item), item]));
  return (item) => known.get(keyOf(item));
}

/**
 * Causes of an object that breaks rules of its schema. Rules with old values run where there are any. On an update,
 * rules broken by what has not changed are told in `warnings` (KEP-4008).
 */
export function validateRules(
  schema: Structural,
  object: JsonObject,
  old: JsonObject | undefined,
  warnings: string[],
): StatusCause[] {
  const node = nodeOf(schema);
  if (node === undefined) return [];
  const run = new RuleRun(warnings);
  const current = old === undefined ? undefined : { value: object, old };
  try {
    run.visit(node, object, old, '', { current, parent: undefined });
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
  }
  return run.faults;
}

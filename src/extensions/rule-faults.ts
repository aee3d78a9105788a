import { type Declaration, declare, escapeName } from '../cel/declarations.ts';
import { causes, type StatusCause } from '../status/status.ts';
import { fieldPathOf } from './rule-paths.ts';
import { type CompiledRule, compileRules, maxCardinality } from './rules.ts';
import type { Structural, ValidationRule } from './structural.ts';
import { propertiesOf, type RawSchema, schemaAt } from './structural-rules.ts';

/** Checks of `x-kubernetes-validations` when a definition is written. */

/** Largest estimates of the cost of one rule, and of all rules of a version. */
const RULE_LIMIT = 10_000_000;
const TOTAL_LIMIT = 100_000_000;
/** So many of the dearest rules are named where all together are too dear. */
const NAMED = 4;

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];
const WORD = 'x-kubernetes-validations';
const hasBreaks = (text: string) => /[\n\r]/.test(text);

function messageFaults({ rule, message = '' }: ValidationRule, at: string): StatusCause[] {
  if (rule.trim() === '') return [causes.required(`${at}.rule`, 'rule is not specified')];
  const own = message.trim();
  if (message !== '' && own === '') return [causes.invalid(`${at}.message`, message, 'must be non-empty if specified')];
  if (hasBreaks(own)) return [causes.invalid(`${at}.message`, message, 'must not contain line breaks')];
  if (!hasBreaks(rule.trim()) || own !== '') return [];
  return [causes.required(`${at}.message`, 'message must be specified if rule contains line breaks')];
}

/** Causes in a rule apart from its expressions. */
function plainFaults(rule: ValidationRule, schema: Structural, at: string): StatusCause[] {
  const out = messageFaults(rule, at);
  const { messageExpression = '', fieldPath = '', reason } = rule;
  if (messageExpression !== '' && messageExpression.trim() === '') {
    out.push(causes.required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified'));
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    out.push(causes.notSupported(`${at}.reason`, reason, REASONS));
  }
  const path = (why: string) => out.push(causes.invalid(`${at}.fieldPath`, fieldPath, why));
  if (fieldPath !== '' && fieldPath.trim() === '') path('must be non-empty if specified');
  if (hasBreaks(fieldPath)) path('must not contain line breaks');
  if (fieldPath !== '' && fieldPathOf(fieldPath, schema) === undefined) path('must be a valid path');
  return out;
}

/** `what exceeds budget by factor of …`. */
function costFault(at: string, what: string, cost: number, limit: number): StatusCause {
  const times = cost / limit;
  const factor = times > 100 ? 'more than 100x' : times < 1.5 ? `${times.toFixed(6)}x` : `${times.toFixed(1)}x`;
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return causes.forbidden(at, `${what} exceeds budget by factor of ${factor} (${advice})`);
}

/** Where a schema stands: what is known above it. */
interface Place {
  at: string;
  isResource: boolean;
  /** How often a value of the schema can be there; `undefined` where nothing bounds it. */
  cardinality: number | undefined;
  /** Where old and new values cannot be told to belong together any more. */
  uncorrelatable: string | undefined;
  /** What the parent declares it as, when there are rules above. */
  declaration: Declaration | undefined;
}

/** How a bad value that is a whole rule is shown: as Go prints the structure. */
const shownRule = ({ rule, message = '', messageExpression = '', reason, fieldPath = '' }: ValidationRule) => ({
  Rule: rule,
  Message: message,
  MessageExpression: messageExpression,
  Reason: reason ?? null,
  FieldPath: fieldPath,
  OptionalOldSelf: null,
});

class DefinitionRules {
  readonly faults: StatusCause[] = [];
  readonly #dearest: [string, number][] = [];
  #total = 0;

  /** Checks a schema and all below it; tells whether no plain fault was found there. */
  visit(schema: RawSchema, place: Place): { plain: StatusCause[] } {
    const plain: StatusCause[] = [];
    const rules = schema[WORD] ?? [];
    const declaration = place.declaration ?? (rules.length > 0 ? declare(schema, place.isResource) : undefined);
    for (const [inner, below] of this.#inner(schema, place, declaration)) plain.push(...this.visit(inner, below).plain);
    for (const [i, rule] of rules.entries()) plain.push(...plainFaults(rule, schema, `${place.at}.${WORD}[${i}]`));
    if (plain.length === 0 && rules.length > 0) this.#expressions(schema, place, declaration);
    return { plain };
  }

  #inner(schema: RawSchema, place: Place, declaration: Declaration | undefined): [RawSchema, Place][] {
    const out: [RawSchema, Place][] = [];
    const below = (inner: RawSchema, at: string, own: Declaration | undefined, more: Partial<Place> = {}) => {
      const isResource = inner['x-kubernetes-embedded-resource'] === true;
      out.push([
        inner,
        { ...place, at, isResource, declaration: own, cardinality: this.#times(schema, place), ...more },
      ]);
    };
    const values = schemaAt(schema.additionalProperties);
    if (values !== undefined) below(values, `${place.at}.additionalProperties`, declaration?.element);
    for (const [name, property] of propertiesOf(schema)) {
      const escaped = escapeName(name);
      const own = escaped === undefined ? undefined : declaration?.fields?.get(escaped);
      below(property, `${place.at}.properties[${name}]`, own);
    }
    const items = schemaAt(schema.items);
    if (items !== undefined) {
      const isMapList = schema['x-kubernetes-list-type'] === 'map';
      const uncorrelatable = isMapList ? place.uncorrelatable : (place.uncorrelatable ?? place.at);
      below(items, `${place.at}.items`, declaration?.element, { uncorrelatable });
    }
    return out;
  }

  #times(schema: RawSchema, { cardinality }: Place): number | undefined {
    if (cardinality === undefined) return undefined;
    if (schema.type === 'array') return schema.maxItems === undefined ? undefined : cardinality * schema.maxItems;
    if (schema.type !== 'object' || schema.additionalProperties === undefined) return cardinality;
    return schema.maxProperties === undefined ? undefined : cardinality * schema.maxProperties;
  }

  #expressions(schema: RawSchema, place: Place, declaration: Declaration | undefined): void {
    if (declaration === undefined) return;
    for (const [i, compiled] of compileRules(schema, declaration).entries()) {
      this.#rule(compiled, `${place.at}.${WORD}[${i}]`, place, declaration);
    }
  }

  #rule(compiled: CompiledRule, at: string, place: Place, declaration: Declaration): void {
    const { rule } = compiled;
    const times = place.cardinality ?? maxCardinality(declaration);
    const cost = compiled.maxCost * times;
    this.#charge(`${at}.rule`, 'estimated rule cost', cost);
    if (compiled.error !== undefined) this.faults.push(causes.invalid(`${at}.rule`, shownRule(rule), compiled.error));
    if (compiled.messageError !== undefined) {
      this.faults.push(causes.invalid(`${at}.messageExpression`, shownRule(rule), compiled.messageError));
    } else if (compiled.message !== undefined) {
      this.#charge(`${at}.messageExpression`, 'estimated messageExpression cost', compiled.messageMaxCost);
    }
    if (!compiled.usesOldSelf) {
      if (rule.optionalOldSelf === undefined) return;
      const why = 'may not be set if oldSelf is not used in rule';
      this.faults.push(causes.invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, why));
    } else if (place.uncorrelatable !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`;
      this.faults.push(causes.invalid(`${at}.rule`, rule.rule, why));
    }
  }

  #charge(at: string, what: string, cost: number): void {
    if (cost > RULE_LIMIT) this.faults.push(costFault(at, what, cost, RULE_LIMIT));
    this.#total += cost;
    if (cost >= TOTAL_LIMIT / 100) this.#dearest.push([at, cost]);
  }

  /** Causes where all rules together are too dear. */
  total(at: string): StatusCause[] {
    if (this.#total <= TOTAL_LIMIT) return [];
    const why = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const named = [...this.#dearest].sort(([, a], [, b]) => b - a).slice(0, NAMED);
    const what = `${WORD} estimated rule cost total for entire OpenAPIv3 schema`;
    return [...named.map(([path]) => causes.forbidden(path, why)), costFault(at, what, this.#total, TOTAL_LIMIT)];
  }
}

/**
 * Causes in the rules of a whole schema: first those apart from expressions, which keep the expressions around them
 * from being looked at; then those of expressions, unless `withExpressions` is off, and the cost of all.
 */
export function ruleFaults(schema: RawSchema, at: string, withExpressions: boolean): StatusCause[] {
  const rules = new DefinitionRules();
  const place: Place = { at, isResource: true, cardinality: 1, uncorrelatable: undefined, declaration: undefined };
  const { plain } = rules.visit(schema, place);
  return withExpressions ? [...plain, ...rules.faults, ...rules.total(at)] : plain;
}

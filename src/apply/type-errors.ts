import type { JsonValue } from '../api/object.ts';
import { isObject } from '../api/object.ts';
import { elementText } from './field-set.ts';
import { goSyntax, goText, goType } from './go-text.ts';
import type { FieldType, ListType, MapType, ScalarType } from './kind-type.ts';
import { ItemError, itemElement } from './list-items.ts';
import { formOf } from './typed.ts';

/** What of a configuration its type does not allow, in structured-merge-diff's words; undefined when all of it is allowed. */
export function typeErrors(type: FieldType, value: JsonValue): string | undefined {
  const errors: string[] = [];
  check(type, value, '', errors);
  if (errors.length <= 1) return errors[0];
  return ['errors:', ...errors.map((error) => `  ${error}`)].join('\n');
}

const at = (path: string, message: string): string => (path === '' ? message : `${path}: ${message}`);

function check(type: FieldType, value: JsonValue, path: string, errors: string[]): void {
  switch (formOf(type, value)) {
    case 'scalar': {
      const message = scalarError(type.scalar as ScalarType, value);
      if (message !== undefined) errors.push(at(path, message));
      return;
    }
    case 'list':
      checkList(type.list as ListType, value, path, errors);
      return;
    case 'map':
      checkMap(type.map as MapType, value, path, errors);
  }
}

function scalarError(type: ScalarType, value: JsonValue): string | undefined {
  if (value === null) return undefined;
  const actual = typeof value;
  const numeric = actual === 'number' || actual === 'bigint';
  switch (type) {
    case 'numeric':
      return numeric ? undefined : `expected numeric (int or float), got ${goType(value)}`;
    case 'string':
      return actual === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case 'boolean':
      return actual === 'boolean' ? undefined : `expected boolean, got &{${goText(value)}}`;
    case 'untyped':
      return actual === 'object' ? `expected any scalar, got &{${goText(value)}}` : undefined;
  }
}

function checkMap(type: MapType, value: JsonValue, path: string, errors: string[]): void {
  if (value === null) return;
  if (!isObject(value)) {
    errors.push(at(path, `expected map, got &{${goText(value)}}`));
    return;
  }
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (child === undefined) continue;
    const below = type.fields.get(key)?.type ?? type.element;
    if (below === undefined) {
      errors.push(at(`${path}.${key}`, 'field not declared in schema'));
      return;
    }
    check(below, child, `${path}.${key}`, errors);
  }
}

function checkList(type: ListType, value: JsonValue, path: string, errors: string[]): void {
  if (value === null) return;
  if (!Array.isArray(value)) {
    errors.push(at(path, `expected list, got &{${goText(value)}}`));
    return;
  }
  const seen = new Set<string>();
  for (const [index, item] of value.entries()) {
    const element = type.atomic ? `i:${index}` : elementOf(type, item);
    if (element instanceof ItemError) {
      errors.push(at(path, `element ${index}: ${element.message}`));
      return;
    }
    const text = elementText(element);
    if (seen.has(element)) errors.push(at(path, `duplicate entries for key ${text}`));
    seen.add(element);
    check(type.element, item, path + text, errors);
  }
}

function elementOf(type: ListType, item: JsonValue): string | ItemError {
  try {
    return itemElement(type, item);
  } catch (error) {
    if (error instanceof ItemError) return error;
    throw error;
  }
}

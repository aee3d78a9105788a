import type { JsonObject, JsonValue } from '../api/object.ts';
import { isObject } from '../api/object.ts';
import { keyElement, scalarText } from './field-set.ts';
import type { ListType } from './kind-type.ts';

/** Why an item of an associative list cannot be told from its siblings. */
export class ItemError extends Error {}

/**
 * The path element of an item of an associative list: its keys, with defaults of the type for those left out, or its value.
 * Throws an {@link ItemError} when it has none.
 */
export function itemElement(type: ListType, item: JsonValue): string {
  return type.keys.length > 0 ? keyedItem(type, item) : setItem(item);
}

function keyedItem(type: ListType, item: JsonValue): string {
  if (item === null) throw new ItemError('associative list with keys may not have a null element');
  if (!isObject(item)) throw new ItemError('associative list with keys may not have non-map elements');
  const element = keyElement(type.keys, (name) => keyValue(type, item, name));
  if (element !== 'k:{}') return element;
  const keys = type.keys.map((key) => JSON.stringify(key)).join(' ');
  throw new ItemError(
    `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`,
  );
}

function keyValue(type: ListType, item: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(item, name) ? item[name] : type.element.map?.fields.get(name)?.default;
}

function setItem(item: JsonValue): string {
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements');
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null");
  if (typeof item === 'object') throw new ItemError("associative list without keys has an element that's a map type");
  return `v:${scalarText(item)}`;
}

/** The item's path element, or undefined when it has none. */
export function itemElementOrNone(type: ListType, item: JsonValue): string | undefined {
  try {
    return itemElement(type, item);
  } catch (error) {
    if (error instanceof ItemError) return undefined;
    throw error;
  }
}

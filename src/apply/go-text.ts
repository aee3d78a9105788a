import type { JsonValue } from '../api/object.ts';

/** Go's `%v` of a decoded JSON value: `map[a:1 b:x]`, `[x y]`, `<nil>`. */
export function goText(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (typeof value === 'number') return goNumber(value);
  if (typeof value !== 'object') return String(value);
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goText(value[key])}`);
  return `map[${pairs.join(' ')}]`;
}

/** Go writes exponents of two digits, and writes them from 0.0001 downwards. */
function goNumber(value: number): string {
  const text = value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Go's `%#v` of a decoded JSON value: `map[string]interface {}{"a":1}`, `[]interface {}{"x"}`. */
export function goSyntax(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (typeof value !== 'object') return String(value);
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${goSyntax(value[key])}`);
  return `map[string]interface {}{${pairs.join(', ')}}`;
}

/** Go's `%T` of a decoded JSON value. */
export function goType(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return '[]interface {}';
  return typeof value === 'object' ? 'map[string]interface {}' : 'float64';
}

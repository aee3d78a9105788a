import { isObject, type JsonObject, type JsonValue } from '../api/object.ts';

const MISSING = 'missing value';
const BAD_INDEX = 'invalid index referenced';

const decode = (token: string): string => token.replace(/~[01]/g, (c) => (c === '~1' ? '/' : '~'));

function child(parent: JsonValue | undefined, token: string): JsonValue | undefined {
  if (Array.isArray(parent)) return parent[/^\d+$/.test(token) ? Number(token) : Number.NaN];
  return isObject(parent) && Object.hasOwn(parent, token) ? parent[token] : undefined;
}

/** The map or list that holds what a pointer points at, and the last part of the pointer. */
function placeOf(document: JsonValue, pointer: string): { parent: JsonObject | JsonValue[] | undefined; key: string } {
  const [, ...tokens] = pointer.split('/').map(decode);
  const key = tokens.pop() ?? '';
  let parent: JsonValue | undefined = document;
  for (const token of tokens) parent = child(parent, token);
  return { parent: Array.isArray(parent) || isObject(parent) ? parent : undefined, key };
}

function indexFault(key: string): string {
  if (/^[+-]?\d+$/.test(key)) return `Unable to access invalid index: ${Number(key)}: ${BAD_INDEX}`;
  return `value was not a proper array index: '${key}': strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
}

/** Why an operation of a JSON patch does not apply to a document, in the words of the library that upstream uses. */
export function jsonPatchFault(document: JsonValue, operation: JsonValue): string {
  const { op, path, from } = isObject(operation) ? operation : ({} as JsonObject);
  const name = String(op);
  if (!['add', 'remove', 'replace', 'move', 'copy', 'test'].includes(name)) return `Unexpected kind: ${name}`;
  const isFrom = name === 'move' || name === 'copy';
  if (isFrom && typeof from !== 'string') return `${name} operation failed to decode from: ${MISSING}`;
  if (typeof path !== 'string') return `${name} operation failed to decode path: ${MISSING}`;
  if (isFrom) return fromFault(document, name, String(from), path);
  const { parent, key } = placeOf(document, path);
  if (name === 'test') {
    if (parent === undefined) return `test operation does not apply: is missing path: ${path}: ${MISSING}`;
    return `testing value ${path} failed: test failed`;
  }
  if (parent === undefined) {
    const shown = name === 'replace' ? path : `"${path}"`;
    return `${name} operation does not apply: doc is missing path: ${shown}: ${MISSING}`;
  }
  if (name === 'replace') return `replace operation does not apply: doc is missing key: ${path}: ${MISSING}`;
  if (Array.isArray(parent)) return `error in ${name} for path: '${path}': ${indexFault(key)}`;
  return `error in ${name} for path: '${path}': Unable to remove nonexistent key: ${key}: ${MISSING}`;
}

function fromFault(document: JsonValue, name: string, from: string, path: string): string {
  const { parent, key } = placeOf(document, from);
  if (parent === undefined) return `${name} operation does not apply: doc is missing from path: ${from}: ${MISSING}`;
  if (Array.isArray(parent) && child(parent, key) === undefined)
    return name === 'copy'
      ? `error in copy for from: '${from}': ${indexFault(key)}`
      : `error in move for path: '${key}': ${indexFault(key)}`;
  if (name === 'move' && child(parent, key) === undefined)
    return `error in move for path: '${key}': Unable to remove nonexistent key: ${key}: ${MISSING}`;
  const target = placeOf(document, path);
  if (target.parent === undefined)
    return `${name} operation does not apply: doc is missing destination path: ${path}: ${MISSING}`;
  return `error in ${name} for path: '${path}': ${indexFault(target.key)}`;
}

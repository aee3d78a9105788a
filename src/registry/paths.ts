import { deepCopy, isObject, type JsonObject, type JsonValue } from '../api/object.ts';

/** A path of the strategy tables: keys separated by dots, `[]` after a key for each element of its list. */
export type TablePath = readonly { key: string; each: boolean }[];

/** Parses `spec.containers[].image`. */
export function tablePath(text: string): TablePath {
  return text
    .split('.')
    .map((part) => (part.endsWith('[]') ? { key: part.slice(0, -2), each: true } : { key: part, each: false }));
}

function visit(
  object: JsonObject,
  path: TablePath,
  at: number,
  change: (parent: JsonObject, key: string) => void,
): void {
  const step = path[at]!;
  if (at === path.length - 1) {
    change(object, step.key);
    return;
  }
  const next = object[step.key];
  if (!step.each) {
    if (isObject(next)) visit(next, path, at + 1, change);
  } else if (Array.isArray(next)) {
    for (const element of next) if (isObject(element)) visit(element, path, at + 1, change);
  }
}

/** Removes what a path leads to, in place. */
export function removePath(object: JsonObject, path: TablePath): void {
  visit(object, path, 0, (parent, key) => {
    delete parent[key];
  });
}

/** Sets what a path leads to where its parents exist, in place. */
export function setPath(object: JsonObject, path: TablePath, value: JsonValue): void {
  visit(object, path, 0, (parent, key) => {
    parent[key] = value;
  });
}

/** The value at a path without lists, if all of it exists. */
export function valueAt(object: JsonObject, path: TablePath): JsonValue | undefined {
  let current: JsonValue | undefined = object;
  for (const { key } of path) current = isObject(current) ? current[key] : undefined;
  return current;
}

/** Makes the value at a path that of `old`, absent when it is absent there, in place. */
export function keepPath(object: JsonObject, old: JsonObject, path: TablePath): void {
  const kept = valueAt(old, path);
  let parent = object;
  for (const { key } of path.slice(0, -1)) {
    const next = parent[key];
    if (!isObject(next)) {
      if (kept === undefined) return;
      parent[key] = {};
    }
    parent = parent[key] as JsonObject;
  }
  const { key } = path.at(-1)!;
  if (kept === undefined) delete parent[key];
  else parent[key] = deepCopy(kept);
}

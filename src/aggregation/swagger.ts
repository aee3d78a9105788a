import { deepEqual, isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import type { AggregatedVersion } from './api-service.ts';

/** Parts of a Swagger document that others refer to, with the prefix of a reference to them. */
const SHARED = { definitions: '#/definitions/', parameters: '#/parameters/' } as const;
type Part = keyof typeof SHARED;
const PARTS = Object.keys(SHARED) as Part[];

const mapAt = (document: JsonObject, key: string): JsonObject => {
  const value = document[key];
  return isObject(value) ? value : {};
};

/** A copy of a tree with its references renamed. */
function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (Array.isArray(value)) return value.map((one) => renamed(one, names));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, v]): [string, JsonValue] => {
    if (key === '$ref' && typeof v === 'string') return [key, names.get(v) ?? v];
    return [key, renamed(v ?? null, names)];
  });
  return Object.fromEntries(entries);
}

function referencesOf(value: JsonValue, into: Set<string>): void {
  if (Array.isArray(value)) for (const one of value) referencesOf(one, into);
  else if (isObject(value))
    for (const [key, v] of Object.entries(value)) {
      if (key === '$ref' && typeof v === 'string') into.add(v);
      else referencesOf(v ?? null, into);
    }
}

/** What the paths of one group version need of a document: those, and all that they refer to, through others too. */
function extract(document: JsonObject, { groupVersion }: AggregatedVersion): JsonObject {
  const paths = Object.fromEntries(
    Object.entries(mapAt(document, 'paths')).filter(([path]) => path.startsWith(`/apis/${groupVersion}/`)),
  );
  const out: JsonObject = { paths, definitions: {}, parameters: {} };
  const seen = new Set<string>();
  referencesOf(paths, seen);
  for (const reference of seen) {
    const part = PARTS.find((one) => reference.startsWith(SHARED[one]));
    const name = part === undefined ? '' : reference.slice(SHARED[part].length);
    const found = part === undefined ? undefined : mapAt(document, part)[name];
    if (part === undefined || found === undefined) continue;
    mapAt(out, part)[name] = found;
    referencesOf(found, seen);
  }
  return out;
}

/** A name that is free, or has the same meaning: `NAME`, `NAME_v2`, … */
function freeName(name: string, value: JsonValue, taken: JsonObject): string {
  for (let i = 1; ; i++) {
    const candidate = i === 1 ? name : `${name}_v${i}`;
    if (!Object.hasOwn(taken, candidate) || deepEqual(taken[candidate], value)) return candidate;
  }
}

const inOrder = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * One Swagger document of this server's and those of others: their paths of their group versions, with what these refer
 * to; what has a name of this server's and another meaning is renamed.
 */
export function mergeSwagger(
  own: JsonObject,
  others: readonly { document: JsonObject; version: AggregatedVersion }[],
): JsonObject {
  const paths = { ...mapAt(own, 'paths') };
  const shared: Record<Part, JsonObject> = {
    definitions: { ...mapAt(own, 'definitions') },
    parameters: { ...mapAt(own, 'parameters') },
  };
  for (const { document, version } of others) {
    const added = extract(document, version);
    const names = new Map<string, string>();
    const chosen: [Part, string, JsonValue][] = [];
    for (const part of PARTS) {
      for (const [name, value] of Object.entries(mapAt(added, part))) {
        const free = freeName(name, value ?? null, shared[part]);
        names.set(`${SHARED[part]}${name}`, `${SHARED[part]}${free}`);
        chosen.push([part, free, value ?? null]);
      }
    }
    for (const [part, name, value] of chosen) shared[part][name] = renamed(value, names);
    for (const [path, item] of Object.entries(mapAt(added, 'paths'))) paths[path] ??= renamed(item ?? null, names);
  }
  const { definitions, parameters } = shared;
  return { ...own, paths: inOrder(paths), definitions: inOrder(definitions), parameters: inOrder(parameters) };
}

import { objects, text, texts } from '../api/fields.ts';
import { isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import type { AggregatedVersion } from './api-service.ts';

type Named = Pick<AggregatedVersion, 'group' | 'version'>;

/** The entry of a group version whose server does not say what it has. */
export const STALE = ({ version }: Named): JsonObject => ({ version, freshness: 'Stale' });

const NO_KIND = { group: '', version: '', kind: '' };
const kindOf = ({ group, version, kind }: JsonObject): JsonObject => ({
  group: text(group),
  version: text(version),
  kind: text(kind),
});
const scopeOf = ({ namespaced }: JsonObject) => (namespaced === true ? 'Namespaced' : 'Cluster');

/** Clients of old versions need a kind everywhere. */
function withKinds(resource: JsonObject): JsonObject {
  const { responseKind = NO_KIND, subresources, ...rest } = resource;
  const below = objects(subresources).map((one) => ({ ...one, responseKind: one.responseKind ?? NO_KIND }));
  return { ...rest, responseKind, ...(below.length > 0 && { subresources: below }) };
}

function resourceOf(entry: JsonObject): JsonObject {
  const { name, singularName, verbs, shortNames, categories } = entry;
  return {
    resource: text(name),
    responseKind: kindOf(entry),
    scope: scopeOf(entry),
    singularResource: text(singularName),
    verbs: texts(verbs),
    ...(texts(shortNames).length > 0 && { shortNames: texts(shortNames) }),
    ...(texts(categories).length > 0 && { categories: texts(categories) }),
  };
}

/** The resources of an APIResourceList in the form of aggregated discovery, subresources below theirs. */
export function resourcesOf(list: readonly JsonObject[]): JsonObject[] {
  const isSub = ({ name }: JsonObject) => text(name).includes('/');
  const made = new Map<string, JsonObject>();
  for (const entry of list) if (!isSub(entry)) made.set(text(entry.name), resourceOf(entry));
  for (const entry of list.filter(isSub)) {
    const [parent = '', ...rest] = text(entry.name).split('/');
    const above: JsonObject = made.get(parent) ?? {
      resource: parent,
      responseKind: NO_KIND,
      scope: scopeOf(entry),
      verbs: null,
    };
    const responseKind = text(entry.kind) === '' ? NO_KIND : kindOf(entry);
    const own = { subresource: rest.join('/'), responseKind, verbs: texts(entry.verbs) };
    made.set(parent, { ...above, subresources: [...objects(above.subresources), own] });
  }
  return [...made.values()];
}

/**
 * The entry of a group version in aggregated discovery: out of its server's own APIGroupDiscoveryList, or of its
 * APIResourceList. One that its server does not list has no resources.
 */
export function discoveryEntry(
  { group, version }: Named,
  whole: JsonValue | undefined,
  list: JsonValue | undefined,
): JsonObject {
  if (isObject(list)) return { version, resources: resourcesOf(objects(list.resources)), freshness: 'Current' };
  const groups = isObject(whole) ? objects(whole.items) : [];
  const own = groups.find(({ metadata }) => isObject(metadata) && metadata.name === group);
  const found = objects(own?.versions).find((one) => one.version === version);
  if (found === undefined) return { version, freshness: 'Current' };
  return { version, resources: objects(found.resources).map(withKinds), freshness: 'Current' };
}

import type { JsonObject } from '../api/object.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import type { Catalog, GroupRows, GroupVersionRows } from './catalog.ts';
import { verbsOf } from './groups.ts';

/** Aggregated discovery (KEP-3352), apidiscovery.k8s.io/v2. */

/** Built-in kinds of the group version at hand are named without it, custom ones with it. */
function responseKind(
  row: Resource,
  { group, version, kind }: Pick<Subresource, 'group' | 'version' | 'kind'>,
): JsonObject {
  const own = row.custom === undefined && group === row.group && version === row.version;
  return own ? { group: '', version: '', kind } : { group, version, kind };
}

const subresourceEntry = (row: Resource, sub: Subresource): JsonObject => ({
  subresource: sub.name,
  responseKind: responseKind(row, sub),
  verbs: [...sub.verbs],
});

function resourceEntry(row: Resource): JsonObject {
  const subresources = [...row.subresources.values()];
  return {
    resource: row.resource,
    responseKind: responseKind(row, row),
    scope: row.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: row.singular,
    verbs: verbsOf(row),
    ...(row.shortNames.length === 0 ? {} : { shortNames: [...row.shortNames] }),
    ...(row.categories.length === 0 ? {} : { categories: [...row.categories] }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map((sub) => subresourceEntry(row, sub)) }),
  };
}

/** Entries of the group versions of other servers, by group version. */
export type Elsewhere = ReadonlyMap<string, JsonObject>;

const versionEntry = ({ version, groupVersion, rows }: GroupVersionRows, elsewhere: Elsewhere): JsonObject =>
  elsewhere.get(groupVersion) ?? { version, resources: rows.map(resourceEntry), freshness: 'Current' };

const groupEntry = ({ name, versions }: GroupRows, elsewhere: Elsewhere): JsonObject => ({
  metadata: name === '' ? {} : { name },
  versions: versions.map((one) => versionEntry(one, elsewhere)),
});

/** APIGroupDiscoveryList of `/api` (the core group) or of `/apis` (all others). */
export const groupDiscoveryList = (catalog: Catalog, core: boolean, elsewhere: Elsewhere = new Map()): JsonObject => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: catalog.groups.filter((group) => (group.name === '') === core).map((group) => groupEntry(group, elsewhere)),
});

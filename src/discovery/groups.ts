import type { JsonObject } from '../api/object.ts';
import type { Resource, Subresource, Verb } from '../registry/resource.ts';
import { type Catalog, type GroupRows, type GroupVersionRows, legacyOrder } from './catalog.ts';

/** Discovery without aggregation: metav1.APIVersions, APIGroupList, APIGroup and APIResourceList. */

/** Verbs of custom resources in the order in which upstream lists them. */
const customVerbOrder: Verb[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

/** Verbs of a row in upstream's order. */
export const verbsOf = (row: Resource): string[] =>
  row.custom === undefined ? [...row.verbs] : customVerbOrder.filter((verb) => row.verbs.has(verb));

/** `/api`. `host` is the address that the client has used. */
export const apiVersions = (host: string): JsonObject => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: host }],
});

const versionEntry = ({ groupVersion, version }: GroupVersionRows): JsonObject => ({ groupVersion, version });

const groupEntry = ({ name, versions }: GroupRows): JsonObject => ({
  name,
  versions: versions.map(versionEntry),
  preferredVersion: versionEntry(versions[0]!),
});

/** `/apis`. */
export const apiGroupList = (catalog: Catalog): JsonObject => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: catalog.legacyGroups.map(groupEntry),
});

/** `/apis/GROUP`. */
export const apiGroup = (group: GroupRows): JsonObject => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  ...groupEntry(group),
});

function resourceEntry(row: Resource): JsonObject {
  return {
    name: row.resource,
    singularName: row.singular,
    namespaced: row.namespaced,
    kind: row.kind,
    verbs: verbsOf(row),
    ...(row.shortNames.length === 0 ? {} : { shortNames: [...row.shortNames] }),
    ...(row.categories.length === 0 ? {} : { categories: [...row.categories] }),
    ...(row.storageVersionHash === '' ? {} : { storageVersionHash: row.storageVersionHash }),
  };
}

function subresourceEntry(row: Resource, sub: Subresource): JsonObject {
  const foreign = sub.group !== row.group || sub.version !== row.version;
  return {
    name: `${row.resource}/${sub.name}`,
    singularName: '',
    namespaced: row.namespaced,
    ...(foreign ? { group: sub.group, version: sub.version } : {}),
    kind: sub.kind,
    verbs: [...sub.verbs],
  };
}

/** `/api/v1`, which has no apiVersion of its own for the sake of old clients, and `/apis/GROUP/VERSION`. */
export function apiResourceList({ groupVersion, rows }: GroupVersionRows): JsonObject {
  const entries = rows.flatMap((row) => [
    resourceEntry(row),
    ...[...row.subresources.values()].map((sub) => subresourceEntry(row, sub)),
  ]);
  const order = legacyOrder(groupVersion);
  if (order !== undefined) entries.sort((a, b) => order.indexOf(a.name as string) - order.indexOf(b.name as string));
  const typed = groupVersion === 'v1' ? { kind: 'APIResourceList' } : { kind: 'APIResourceList', apiVersion: 'v1' };
  return { ...typed, groupVersion, resources: entries };
}

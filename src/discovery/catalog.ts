import tables from '../api/tables/resources.json';
import { builtins, type Resource } from '../registry/resource.ts';
import { compareVersions } from './version.ts';

/** The rows of one group version, in the order in which aggregated discovery lists them. */
export interface GroupVersionRows {
  group: string;
  version: string;
  groupVersion: string;
  rows: readonly Resource[];
}

/** One group with its versions, the preferred one first. */
export interface GroupRows {
  name: string;
  versions: readonly GroupVersionRows[];
}

/** Rows of custom resources by group version and plural name, as the policy bundle keeps them. */
export type CustomRows = ReadonlyMap<string, ReadonlyMap<string, Resource>>;

/**
 * Everything served to one tenant at one time, and the documents derived from it, built when first asked for. A catalog
 * never changes: other custom resources make another one.
 */
export interface Catalog {
  /** Every group in aggregated order, the core group first. */
  groups: readonly GroupRows[];
  /** The named groups in the order of `/apis` without aggregation. */
  legacyGroups: readonly GroupRows[];
  /** Rows of every group version. */
  byGroupVersion: ReadonlyMap<string, GroupVersionRows>;
  custom: CustomRows;
  /** Derived documents by name. */
  memo: Map<string, unknown>;
}

interface Orders {
  groupOrder: { aggregated: [string, ...string[]][]; legacyApis: string[] };
  groupVersions: Record<string, { discoveryOrder: string[]; legacyOrder: string[] }>;
}
const orders = tables as unknown as Orders;

const groupVersionName = (group: string, version: string) => (group === '' ? version : `${group}/${version}`);

function builtinRows(group: string, version: string): GroupVersionRows {
  const groupVersion = groupVersionName(group, version);
  const rows = builtins.get(groupVersion)!;
  return {
    group,
    version,
    groupVersion,
    rows: orders.groupVersions[groupVersion]!.discoveryOrder.map((name) => rows.get(name)!),
  };
}

const builtinGroups: readonly GroupRows[] = orders.groupOrder.aggregated.map(([name, ...versions]) => ({
  name,
  versions: versions.map((version) => builtinRows(name, version)),
}));

/** Whether a group is served without any custom resource. */
export const isBuiltinGroup = (group: string): boolean => builtinGroups.some((g) => g.name === group);

/** Order of resources and subresources in a built-in version's own list, as `pods/log`; custom ones have none. */
export const legacyOrder = (groupVersion: string): readonly string[] | undefined =>
  orders.groupVersions[groupVersion]?.legacyOrder;

/** Custom groups by name, their versions by kube-aware order, their resources by name. */
function customGroups(custom: CustomRows): GroupRows[] {
  const groups = new Map<string, GroupVersionRows[]>();
  for (const [groupVersion, rows] of custom) {
    const sorted = [...rows.values()].sort((a, b) => (a.resource < b.resource ? -1 : 1));
    const [first] = sorted;
    if (first === undefined || builtins.has(groupVersion)) continue;
    const { group, version } = first;
    groups.set(group, [...(groups.get(group) ?? []), { group, version, groupVersion, rows: sorted }]);
  }
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, versions]) => ({ name, versions: versions.sort((a, b) => compareVersions(a.version, b.version)) }));
}

/** Groups of equal priority follow the names of their APIServices, `version.group`, in the list without aggregation. */
function byServiceName(a: GroupRows, b: GroupRows): number {
  const first = (g: GroupRows) => g.versions.map((v) => `${v.version}.${v.group}`).sort()[0]!;
  return first(a) < first(b) ? -1 : 1;
}

function makeCatalog(custom: CustomRows): Catalog {
  const extra = customGroups(custom);
  const groups = [...builtinGroups, ...extra];
  const legacy = orders.groupOrder.legacyApis.map((name) => builtinGroups.find((g) => g.name === name)!);
  return {
    groups,
    legacyGroups: [...legacy, ...extra.toSorted(byServiceName)],
    byGroupVersion: new Map(groups.flatMap((g) => g.versions).map((v) => [v.groupVersion, v])),
    custom,
    memo: new Map(),
  };
}

const rowsOf = (custom: CustomRows): Resource[] => [...custom.values()].flatMap((rows) => [...rows.values()]);

/** Isolate caches: a catalog follows from its rows alone, and goes with the bundle or the rows that it was made of. */
const byBundle = new WeakMap<CustomRows, Catalog>();
const byFirstRow = new WeakMap<Resource, Catalog>();
const withoutCustom: Catalog = makeCatalog(new Map());

/** The catalog of a tenant's custom resources. Bundles that hold the very same rows share one. */
export function catalogOf(custom: CustomRows): Catalog {
  const known = byBundle.get(custom);
  if (known !== undefined) return known;
  const rows = rowsOf(custom);
  const [first] = rows;
  if (first === undefined) return withoutCustom;
  let catalog = byFirstRow.get(first);
  if (catalog === undefined || !sameRows(rowsOf(catalog.custom), rows)) {
    catalog = makeCatalog(custom);
    byFirstRow.set(first, catalog);
  }
  byBundle.set(custom, catalog);
  return catalog;
}

const sameRows = (a: Resource[], b: Resource[]) => a.length === b.length && a.every((row, i) => row === b[i]);

/** A document derived from a catalog, built when first asked for. */
export function derived<T>(catalog: Catalog, name: string, build: () => T): T {
  const known = catalog.memo.get(name);
  if (known !== undefined) return known as T;
  const built = build();
  catalog.memo.set(name, built);
  return built;
}

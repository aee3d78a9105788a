import type { AggregatedVersion } from '../aggregation/api-service.ts';
import bootstrap from '../api/tables/bootstrap.json';
import tables from '../api/tables/resources.json';
import { builtins, type Resource } from '../registry/resource.ts';
import { compareVersions } from './version.ts';

/** The rows of one group version, in the order in which aggregated discovery lists them. */
export interface GroupVersionRows {
  group: string;
  version: string;
  groupVersion: string;
  rows: readonly Resource[];
  /** Who serves it, where that is not this server; then `rows` is empty. */
  aggregated?: AggregatedVersion;
}

/** One group with its versions, the preferred one first. */
export interface GroupRows {
  name: string;
  versions: readonly GroupVersionRows[];
}

/** Rows of custom resources by group version and plural name, as the policy bundle keeps them. */
export type CustomRows = ReadonlyMap<string, ReadonlyMap<string, Resource>>;
/** Group versions of other servers, as the policy bundle keeps them. */
export type AggregatedVersions = ReadonlyMap<string, AggregatedVersion>;

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
  aggregated: readonly AggregatedVersion[];
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

/** Priorities of group versions: of the built-in ones, by the names of their APIServices, and of custom ones. */
const CUSTOM_PRIORITY = { group: 1000, version: 100 };
const builtinPriorities = new Map(
  bootstrap.apiservices.map(({ metadata, spec }) => [
    metadata.name,
    { group: spec.groupPriorityMinimum, version: spec.versionPriority },
  ]),
);
/** The group of APIServices themselves goes before all that they can be of. */
const OWN_PRIORITY = { group: 20_001, version: 0 };

function priorityOf({ group, version, groupVersion, aggregated }: GroupVersionRows): typeof CUSTOM_PRIORITY {
  if (aggregated !== undefined) return { group: aggregated.groupPriority, version: aggregated.versionPriority };
  if (!builtins.has(groupVersion)) return CUSTOM_PRIORITY;
  return builtinPriorities.get(`${version}.${group}`) ?? OWN_PRIORITY;
}

/** Puts group versions of other servers among the groups: in the place of a version of the same name, or beside it. */
function withAggregated(groups: readonly GroupRows[], aggregated: readonly AggregatedVersion[]): GroupRows[] {
  const byName = new Map(groups.map(({ name, versions }) => [name, versions]));
  for (const one of aggregated) {
    const { group, version, groupVersion } = one;
    const others = (byName.get(group) ?? []).filter((other) => other.groupVersion !== groupVersion);
    byName.set(group, [...others, { group, version, groupVersion, rows: [], aggregated: one }]);
  }
  const byPriority = (a: GroupVersionRows, b: GroupVersionRows) =>
    priorityOf(b).version - priorityOf(a).version || compareVersions(a.version, b.version);
  return [...byName].map(([name, versions]) => ({
    name,
    versions: versions.some((one) => one.aggregated) ? versions.toSorted(byPriority) : versions,
  }));
}

const groupPriority = ({ versions }: GroupRows) => Math.max(...versions.map((one) => priorityOf(one).group));

/** Groups by priority; those of one priority by `tie`, built-in ones as they come. */
function inOrder(groups: readonly GroupRows[], tie: (a: GroupRows, b: GroupRows) => number): GroupRows[] {
  const isBuiltin = ({ name }: GroupRows) => isBuiltinGroup(name);
  return groups.toSorted(
    (a, b) => groupPriority(b) - groupPriority(a) || (isBuiltin(a) && isBuiltin(b) ? 0 : tie(a, b)),
  );
}

function makeCatalog(custom: CustomRows, aggregated: readonly AggregatedVersion[]): Catalog {
  const extra = customGroups(custom);
  const own = [...builtinGroups, ...extra];
  const legacy = orders.groupOrder.legacyApis.map((name) => builtinGroups.find((g) => g.name === name)!);
  const ownLegacy = [...legacy, ...extra.toSorted(byServiceName)];
  const isAlone = aggregated.length === 0;
  const groups = isAlone ? own : inOrder(withAggregated(own, aggregated), (a, b) => (a.name < b.name ? -1 : 1));
  return {
    groups,
    legacyGroups: isAlone ? ownLegacy : inOrder(withAggregated(ownLegacy, aggregated), byServiceName),
    byGroupVersion: new Map(groups.flatMap((g) => g.versions).map((v) => [v.groupVersion, v])),
    custom,
    aggregated,
    memo: new Map(),
  };
}

const rowsOf = (custom: CustomRows): Resource[] => [...custom.values()].flatMap((rows) => [...rows.values()]);

/** Isolate caches: a catalog follows from its rows and versions alone, and goes with the bundle or those that it was made of. */
const byBundle = new WeakMap<CustomRows, Catalog>();
const byFirst = new WeakMap<Resource | AggregatedVersion, Catalog>();
const builtinAlone: Catalog = makeCatalog(new Map(), []);

/**
 * The catalog of a tenant's custom resources and of the group versions of other servers. Bundles that hold the very same
 * ones share one. Both arguments are of one bundle.
 */
export function catalogOf(custom: CustomRows, aggregated: AggregatedVersions = new Map()): Catalog {
  const known = byBundle.get(custom);
  if (known !== undefined) return known;
  const rows = rowsOf(custom);
  const others = [...aggregated.values()];
  const first = rows[0] ?? others[0];
  if (first === undefined) return builtinAlone;
  let catalog = byFirst.get(first);
  if (catalog === undefined || !same(rowsOf(catalog.custom), rows) || !same(catalog.aggregated, others)) {
    catalog = makeCatalog(custom, others);
    byFirst.set(first, catalog);
  }
  byBundle.set(custom, catalog);
  return catalog;
}

const same = <T>(a: readonly T[], b: readonly T[]) => a.length === b.length && a.every((one, i) => one === b[i]);

/** A document derived from a catalog, built when first asked for. */
export function derived<T>(catalog: Catalog, name: string, build: () => T): T {
  const known = catalog.memo.get(name);
  if (known !== undefined) return known as T;
  const built = build();
  catalog.memo.set(name, built);
  return built;
}

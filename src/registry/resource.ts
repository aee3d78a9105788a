import fieldSelectors from '../api/tables/fieldselectors.json';
import metadataStrategies from '../api/tables/metadata-strategies.json';
import resources from '../api/tables/resources.json';
import type { ClientConfig } from '../outbound/client-config.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

export interface Subresource {
  name: string;
  /** Kind that the subresource takes and answers, for example `autoscaling/v1 Scale`; group and version default to the parent's. */
  group: string;
  version: string;
  kind: string;
  verbs: ReadonlySet<Verb>;
}

/** What create and update do to an object before validation, and which resources may be created by PUT. Facts of 1.36.3. */
export interface Strategy {
  allowCreateOnUpdate: boolean;
  allowUnconditionalUpdate: boolean;
  gracefulDelete: boolean;
  deleteReturnsObject: boolean;
  /** `OrphanDependents` orphans when a delete names no policy. */
  defaultGarbageCollectionPolicy?: string;
  /** Top-level parts whose change raises `metadata.generation`; empty: the resource keeps none. */
  generationRises: readonly string[];
  /** Paths that an update through this endpoint cannot change. */
  keepsOld: readonly string[];
  /** Paths that create clears (`null`) or sets. */
  onCreate: Readonly<Record<string, unknown>>;
  /** Fields that server-side apply drops, per served version. */
  resetFields: Readonly<Record<string, readonly string[]>>;
  /** Seconds after which a record expires (events), if it does. */
  expires?: boolean;
  stored: boolean;
}

/** One served resource of one group and version: a row of the registry. */
export interface Resource {
  group: string;
  version: string;
  /** `v1` or `apps/v1`. */
  groupVersion: string;
  /** Plural, as in the URL. */
  resource: string;
  singular: string;
  kind: string;
  listKind: string;
  namespaced: boolean;
  verbs: ReadonlySet<Verb>;
  shortNames: readonly string[];
  categories: readonly string[];
  subresources: ReadonlyMap<string, Subresource>;
  /** apiVersion of the stored form; the key prefix below which records live, without a trailing slash. */
  storage?: { apiVersion: string; prefix: string };
  storageVersionHash: string;
  strategy: Strategy;
  /** Strategies of the subresources that have one. */
  subresourceStrategies: ReadonlyMap<string, Strategy>;
  /** Selectable fields, and the message for any other with `<field>` in it. */
  fields: readonly string[];
  unknownFieldMessage: string;
  /** Set for resources that a CustomResourceDefinition made. */
  custom?: CustomResource;
}

/** What a CRD version adds to its row. */
export interface CustomResource {
  /** openAPIV3Schema of this version. */
  schema: unknown;
  /** Those of all versions of the definition, served or not, by apiVersion. */
  schemas: ReadonlyMap<string, unknown>;
  /** Text of the warning that every use of this version gets. */
  deprecation?: string;
  generation: number;
  /** Who converts between its versions; left out: they only differ in their apiVersion. */
  conversion?: { client: ClientConfig; versions: readonly string[] };
  preserveUnknownFields: boolean;
  /** Its definition is being deleted: no more objects are created. */
  terminating?: boolean;
  printerColumns: {
    name: string;
    type: string;
    format?: string;
    description?: string;
    priority?: number;
    jsonPath: string;
  }[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
}

interface RawResource {
  kind: string;
  namespaced: boolean;
  singular: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  storageVersionHash?: string;
  storage?: { apiVersion: string; prefix: string; expires?: unknown };
  subresources?: Record<string, { kind: string; group?: string; version?: string; verbs: string[] }>;
}
interface RawStrategy {
  allowCreateOnUpdate?: boolean;
  allowUnconditionalUpdate?: boolean;
  gracefulDelete?: boolean;
  deleteReturnsObject?: boolean;
  defaultGarbageCollectionPolicy?: string;
  expires?: unknown;
  store?: boolean;
  onCreate?: Record<string, unknown>;
  onUpdate?: { generationRises?: string[]; keepsOld?: string[] };
  resetFields?: Record<string, string[]>;
}

const rawStrategies = metadataStrategies as unknown as Record<string, RawStrategy>;
const rawFields = fieldSelectors as unknown as Record<string, { fields: Record<string, unknown>; otherwise: string }>;
const rawGroupVersions = (
  resources as unknown as { groupVersions: Record<string, { resources: Record<string, RawResource> }> }
).groupVersions;

function strategy(key: string): Strategy {
  const raw = rawStrategies[key] ?? {};
  return {
    allowCreateOnUpdate: raw.allowCreateOnUpdate ?? false,
    allowUnconditionalUpdate: raw.allowUnconditionalUpdate ?? false,
    gracefulDelete: raw.gracefulDelete ?? false,
    deleteReturnsObject: raw.deleteReturnsObject ?? false,
    ...(raw.defaultGarbageCollectionPolicy === undefined
      ? {}
      : { defaultGarbageCollectionPolicy: raw.defaultGarbageCollectionPolicy }),
    generationRises: raw.onUpdate?.generationRises ?? [],
    keepsOld: raw.onUpdate?.keepsOld ?? [],
    onCreate: raw.onCreate ?? {},
    resetFields: raw.resetFields ?? {},
    ...(raw.expires === undefined ? {} : { expires: Boolean(raw.expires) }),
    stored: raw.store !== false,
  };
}

function row(groupVersion: string, resource: string, raw: RawResource): Resource {
  const slash = groupVersion.indexOf('/');
  const group = slash < 0 ? '' : groupVersion.slice(0, slash);
  const version = groupVersion.slice(slash + 1);
  const key = `${groupVersion} ${resource}`;
  const subresources = new Map<string, Subresource>();
  const subresourceStrategies = new Map<string, Strategy>();
  for (const [name, s] of Object.entries(raw.subresources ?? {})) {
    subresources.set(name, {
      name,
      group: s.group ?? group,
      version: s.version ?? version,
      kind: s.kind,
      verbs: new Set(s.verbs as Verb[]),
    });
    subresourceStrategies.set(name, strategy(`${key}/${name}`));
  }
  return {
    group,
    version,
    groupVersion,
    resource,
    singular: raw.singular,
    kind: raw.kind,
    listKind: `${raw.kind}List`,
    namespaced: raw.namespaced,
    verbs: new Set(raw.verbs as Verb[]),
    shortNames: raw.shortNames ?? [],
    categories: raw.categories ?? [],
    subresources,
    ...(raw.storage === undefined
      ? {}
      : { storage: { apiVersion: raw.storage.apiVersion, prefix: raw.storage.prefix } }),
    storageVersionHash: raw.storageVersionHash ?? '',
    strategy: strategy(key),
    subresourceStrategies,
    fields: Object.keys(rawFields[key]?.fields ?? { 'metadata.name': {}, 'metadata.namespace': {} }),
    unknownFieldMessage:
      rawFields[key]?.otherwise ??
      '"<field>" is not a known field selector: only "metadata.name", "metadata.namespace"',
  };
}

/** Every built-in resource, by `groupVersion` and then plural name. */
export const builtins: ReadonlyMap<string, ReadonlyMap<string, Resource>> = new Map(
  Object.entries(rawGroupVersions).map(([gv, { resources: rows }]) => [
    gv,
    new Map(Object.entries(rows).map(([name, raw]) => [name, row(gv, name, raw)])),
  ]),
);

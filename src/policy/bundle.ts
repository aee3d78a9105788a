import { type AggregatedVersion, aggregatedVersion } from '../aggregation/api-service.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { FlowIndex, flowEntry } from '../flowcontrol/flow-schemas.ts';
import { type Keyspace, POLICY_PREFIXES, type Revision, type StoredRecord } from '../keyspace/types.ts';
import type { Resource } from '../registry/resource.ts';
import type { TenantUid } from '../request/context.ts';
import { type AdmissionPolicies, admissionPolicies, isAdmissionPolicy } from './admission-policies.ts';
import { customResources } from './custom-resources.ts';
import { quotaOfMark } from './quota-marks.ts';
import { type RbacEntry, RbacIndex, rbacEntry } from './rbac-index.ts';

/** What one policy record compiles to; kept between loads while its modRevision stays. */
interface Compiled {
  modRevision: Revision;
  rbac?: RbacEntry;
  rows?: Resource[];
  flow?: NonNullable<ReturnType<typeof flowEntry>>;
  /** A LimitRange, as it is stored. */
  limits?: KubeObject;
  /** An admission policy or the binding of one, as it is stored. */
  admission?: KubeObject;
  aggregated?: AggregatedVersion;
}

/** A tenant's policy objects, compiled. Immutable; `revision` is the policy revision that it was built from. */
export interface PolicyBundle {
  readonly revision: Revision;
  readonly rbac: RbacIndex;
  /** Rows of served custom resources, by `group/version` and then plural name, like `builtins`. */
  readonly resources: ReadonlyMap<string, ReadonlyMap<string, Resource>>;
  /** Group versions that other API servers serve, by `group/version`. */
  readonly aggregated: ReadonlyMap<string, AggregatedVersion>;
  /** Limit ranges, by namespace. */
  readonly limitRanges: ReadonlyMap<string, readonly KubeObject[]>;
  /** Names of the quotas that may count something, by namespace: their records are read at need. */
  readonly quotas: ReadonlyMap<string, readonly string[]>;
  readonly admission: AdmissionPolicies;
  /** Flow schemas and priority levels. */
  readonly flows: FlowIndex;
  /** By key, in key order. */
  readonly compiled: ReadonlyMap<string, Compiled>;
}

interface Cached {
  bundle: PolicyBundle;
  /** The highest policy revision that any answer of this isolate has carried. */
  seen: Revision;
}

/**
 * The isolate's compiled policy bundles, by tenant: the one piece of module state that requests share. Isolates cannot
 * run informers, so every keyspace answer carries the policy revision in force, and a bundle is only trusted for an
 * answer whose policy revision it was built from (see guard.ts). Holds values only, never a promise.
 */
const cache = new Map<TenantUid, Cached>();
/** Tenants whose bundles an isolate keeps; the least recently added goes first. */
const CACHED_TENANTS = 200;

const decoder = new TextDecoder();

async function compile(record: StoredRecord): Promise<Compiled> {
  const object = JSON.parse(decoder.decode(record.value)) as JsonObject;
  if (object.kind === 'CustomResourceDefinition') {
    return { modRevision: record.modRevision, rows: await customResources(object) };
  }
  if (object.kind === 'LimitRange') return { modRevision: record.modRevision, limits: object as KubeObject };
  if (object.kind === 'APIService') return withAggregated(record.modRevision, object as KubeObject);
  if (isAdmissionPolicy(object.kind)) return { modRevision: record.modRevision, admission: object as KubeObject };
  const flow = flowEntry(object);
  if (flow !== undefined) return { modRevision: record.modRevision, flow };
  const rbac = rbacEntry(object);
  return { modRevision: record.modRevision, ...(rbac === undefined ? {} : { rbac }) };
}

function withAggregated(modRevision: Revision, object: KubeObject): Compiled {
  const aggregated = aggregatedVersion(object);
  return { modRevision, ...(aggregated && { aggregated }) };
}

/** Every record of one prefix, page by page; the policy revision is the first page's, so never too new. */
async function listAll(keyspace: Keyspace, prefix: string, keysOnly: boolean) {
  const first = await keyspace.list({ prefix, limit: 0, consistency: { type: 'linearizable' }, keysOnly });
  const records = [...first.records];
  let page = first;
  while (page.more) {
    const after = page.records.at(-1)!.key;
    page = await keyspace.list({
      prefix,
      limit: 0,
      consistency: { type: 'exact', revision: first.revision },
      after,
      keysOnly,
    });
    records.push(...page.records);
  }
  return { records, policyRevision: first.policyRevision };
}

/** Reads what changed since `previous` (all, without one) and compiles it. */
async function load(keyspace: Keyspace, previous: PolicyBundle | undefined): Promise<PolicyBundle> {
  const lists = await Promise.all(POLICY_PREFIXES.map((prefix) => listAll(keyspace, prefix, previous !== undefined)));
  const compiled = new Map<string, Compiled>();
  const changed: string[] = [];
  for (const record of lists.flatMap((l) => l.records)) {
    const known = previous?.compiled.get(record.key);
    if (known?.modRevision === record.modRevision) compiled.set(record.key, known);
    else if (previous === undefined) compiled.set(record.key, await compile(record));
    else {
      compiled.set(record.key, { modRevision: 0 });
      changed.push(record.key);
    }
  }
  if (changed.length > 0) {
    const { records } = await keyspace.get(changed, { type: 'linearizable' });
    for (const [i, key] of changed.entries()) {
      const record = records[i];
      if (record === undefined) compiled.delete(key);
      else compiled.set(key, await compile(record));
    }
  }
  return build(Math.min(...lists.map((l) => l.policyRevision)), compiled);
}

function append<T>(map: Map<string, T[]>, key: string, value: T): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

function build(revision: Revision, compiled: Map<string, Compiled>): PolicyBundle {
  const resources = new Map<string, Map<string, Resource>>();
  const rbac: RbacEntry[] = [];
  const limitRanges = new Map<string, KubeObject[]>();
  const quotas = new Map<string, string[]>();
  const flows: NonNullable<Compiled['flow']>[] = [];
  const policies: KubeObject[] = [];
  const aggregated = new Map<string, AggregatedVersion>();
  for (const [key, entry] of compiled) {
    if (entry.limits !== undefined) append(limitRanges, entry.limits.metadata.namespace ?? '', entry.limits);
    const quota = quotaOfMark(key);
    if (quota !== undefined) append(quotas, quota.namespace, quota.name);
    if (entry.admission !== undefined) policies.push(entry.admission);
    if (entry.flow !== undefined) flows.push(entry.flow);
    if (entry.aggregated !== undefined) aggregated.set(entry.aggregated.groupVersion, entry.aggregated);
    if (entry.rbac !== undefined) rbac.push(entry.rbac);
    for (const row of entry.rows ?? []) {
      const rows = resources.get(row.groupVersion) ?? new Map<string, Resource>();
      resources.set(row.groupVersion, rows.set(row.resource, row));
    }
  }
  return {
    revision,
    rbac: new RbacIndex(rbac),
    resources,
    aggregated,
    flows: new FlowIndex(flows),
    limitRanges,
    quotas,
    admission: admissionPolicies(policies),
    compiled,
  };
}

/**
 * The tenant's bundle, at least as new as every policy revision that this isolate has seen; costs a round trip only on
 * the first use and after the policy moved. Another isolate may have moved it since: see {@link RequestPolicy}.
 */
export async function policyFor(tenant: TenantUid, keyspace: Keyspace): Promise<PolicyBundle> {
  const cached = cache.get(tenant);
  if (cached !== undefined && cached.seen <= cached.bundle.revision) return cached.bundle;
  return policyAsOf(tenant, keyspace, cached?.seen ?? 0);
}

/** The tenant's bundle at `revision` or later, reloaded where the cached one is older. */
export async function policyAsOf(tenant: TenantUid, keyspace: Keyspace, revision: Revision): Promise<PolicyBundle> {
  const cached = cache.get(tenant);
  if (cached !== undefined && cached.bundle.revision >= revision) return cached.bundle;
  const loaded = await load(keyspace, cached?.bundle);
  const latest = cache.get(tenant);
  if (latest !== undefined && latest.bundle.revision > loaded.revision) return latest.bundle;
  if (latest === undefined && cache.size >= CACHED_TENANTS) {
    const oldest = cache.keys().next().value;
    if (oldest !== undefined) cache.delete(oldest);
  }
  cache.set(tenant, { bundle: loaded, seen: Math.max(loaded.revision, latest?.seen ?? 0) });
  return loaded;
}

/** Notes a policy revision that an answer carried, so that the next request starts from it. */
export function notePolicyRevision(tenant: TenantUid, revision: Revision): void {
  const cached = cache.get(tenant);
  if (cached !== undefined && revision > cached.seen) cached.seen = revision;
}

/** Forgets a tenant's bundle (a deleted tenant; tests). */
export function forgetPolicy(tenant: TenantUid): void {
  cache.delete(tenant);
}

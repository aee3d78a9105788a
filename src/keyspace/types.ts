/**
 * What the Worker may ask of a shard. The implementation (`client.ts`) talks to the Durable Objects; tests use the
 * in-memory twin in `test/support/memory-keyspace.ts`.
 */

/** A shard's revision: an integer below 2^53, one for each put or delete; it is the resourceVersion. */
export type Revision = number;

/** Where the Worker may cut and splice a stored JSON value without parsing it. */
export interface ValueTag {
  /** apiVersion that the value was encoded in, for example `apps/v1`. */
  storageVersion: string;
  /** Generation of the schema it was written under: 0 for built-ins, the CRD's generation for custom resources. */
  schema: number;
  /** Bytes `[1, typeMetaEnd)` of the value are `"kind":…,"apiVersion":…,`; list items of built-ins leave them out. */
  typeMetaEnd: number;
  /** Byte offset inside metadata at which `"resourceVersion":"N",` is spliced in; another member follows. */
  resourceVersionAt: number;
}

/** What replicas filter and index by without parsing the value. The Worker extracts it at write time. */
export interface RecordMeta {
  labels: Record<string, string>;
  /** Selectable fields with their values, `metadata.name` and `metadata.namespace` included. */
  fields: Record<string, string>;
  /** Index terms: `owner:UID`, `uid:UID`, `node:NAME`, `ref:secret/ns/name` … */
  terms: string[];
  tag: ValueTag;
}

export interface StoredRecord {
  key: string;
  /** UTF-8 JSON of the object in its storage version, without resourceVersion. */
  value: Uint8Array;
  meta: RecordMeta;
  createRevision: Revision;
  modRevision: Revision;
}

/** A precondition of a batch, decided by the state machine at apply. */
export type Condition =
  | { type: 'absent'; key: string }
  | { type: 'exists'; key: string }
  | { type: 'revision'; key: string; revision: Revision }
  /** The record exists and its stored selectable field has that value, for example a namespace's `status.phase`. */
  | { type: 'field'; key: string; field: string; value: string };

export type Operation =
  | { type: 'put'; key: string; value: Uint8Array; meta: RecordMeta; ttlSeconds?: number; work?: WorkItem[] }
  | { type: 'delete'; key: string; work?: WorkItem[] }
  /** Takes a finished item out of the outbox of the control loops. */
  | { type: 'done'; id: number };

/** An outbox row for the control loops, written in the same apply as its cause. */
export interface WorkItem {
  loop:
    | 'namespace'
    | 'garbage-collector'
    | 'clusterrole-aggregation'
    | 'customresourcedefinition'
    | 'resourcequota'
    | 'validatingadmissionpolicy-status'
    | 'apiservice'
    | 'certificatesigningrequest'
    | 'bootstraptoken';
  /** What to look at, for example a key or a uid; meaning is the loop's. */
  item: string;
  /** Only written when some record carries this index term at that moment (a deleted owner without dependents makes no work). */
  ifTerm?: string;
}

export interface Batch {
  conditions: Condition[];
  operations: Operation[];
}

export type ProposeResult =
  /** `revisions[i]` belongs to `operations[i]`; `previous[i]` is the record that a delete or put replaced. */
  | { ok: true; revisions: Revision[]; previous: (StoredRecord | undefined)[]; policyRevision: Revision }
  /** `failed` is the index of the first condition that did not hold; `current` the record at its key now. */
  | { ok: false; failed: number; current: StoredRecord | undefined; policyRevision: Revision }
  /** The batch was decided under an older policy revision than is in force: decide anew. Nothing was written. */
  | { ok: false; policyMoved: true; policyRevision: Revision };

/**
 * How fresh a read must be.
 * `linearizable`: ReadIndex, confirmed by a quorum round that began after the read arrived.
 * `any`: whatever the nearest replica has applied (resourceVersion=0).
 * `leader`: what the leader has applied, unconfirmed: only for values whose use is guarded by a condition.
 * `turn`: as `leader`, but reads of the first key for a change are let through one after another, each once the one before
 * has proposed or read again (at most 1 s; advisory).
 * `notOlderThan`: some state at or after that revision; throws {@link FutureRevisionError} after 3 s.
 * `exact`: the state at exactly that revision (lists only); throws {@link CompactedError} when history is gone.
 */
export type Consistency =
  | { type: 'linearizable' }
  | { type: 'any' }
  | { type: 'leader' }
  | { type: 'turn' }
  | { type: 'notOlderThan'; revision: Revision }
  | { type: 'exact'; revision: Revision };

/** One requirement of a label or field selector; all must hold. */
export type Requirement =
  | { op: 'in' | 'notIn'; key: string; values: string[] }
  | { op: 'exists' | 'notExists'; key: string }
  | { op: 'gt' | 'lt'; key: string; value: number };

export interface Selector {
  /** `notIn` also holds for records without the key, as for labels in Kubernetes. */
  labels: Requirement[];
  /** Only `in` and `notIn`; an absent field counts as the empty string. */
  fields: Requirement[];
}

export interface GetResult {
  records: (StoredRecord | undefined)[];
  revision: Revision;
  policyRevision: Revision;
}

export interface ListRequest {
  /** Key prefix, ending in `/`. */
  prefix: string;
  /** Page start: only keys strictly greater. */
  after?: string;
  /** Most records wanted; 0 means no limit (a page may still end at about 4 MiB of values). */
  limit: number;
  consistency: Consistency;
  selector?: Selector;
  /** Only records that carry this index term. */
  term?: string;
  /** Values are left empty. */
  keysOnly?: boolean;
}

export interface ListPage {
  records: StoredRecord[];
  /** The revision of the snapshot; ask for the next page with `exact` and this. */
  revision: Revision;
  policyRevision: Revision;
  /** Whether matching records follow the last one. */
  more: boolean;
  /** Records after this page under the prefix (selector not applied); only counted when there is no selector. */
  remaining?: number;
  /** Answers already made of this page, by form; there where other requests may have got the same page. */
  answers?: Map<string, EncodedAnswer>;
}

/** The bytes of an answer, and their gzip once somebody wanted that. */
export interface EncodedAnswer {
  body: Uint8Array;
  gzip?: Uint8Array;
}

export interface WatchRequest {
  /** Key prefix ending in `/`, or one whole key. */
  prefix: string;
  selector?: Selector;
  /**
   * `after`: events with a revision greater than this, from history; {@link CompactedError} comes as an event.
   * `initial`: first the state as `added` events in key order, then `synced`, then events after it.
   * `now`: events after the present revision only.
   */
  start:
    | { type: 'after'; revision: Revision }
    | { type: 'initial'; consistency: Consistency }
    | { type: 'now'; consistency: Consistency };
}

export type WatchEvent =
  /** `record.modRevision` is the event's revision; a `deleted` record carries the last state that matched. */
  | { type: 'added' | 'modified' | 'deleted'; record: StoredRecord }
  /** The initial state is complete as of this revision. */
  | { type: 'synced'; revision: Revision }
  /** Nothing up to this revision is missing (a basis for bookmarks). */
  | { type: 'progress'; revision: Revision }
  /** History is gone (410); the stream ends after it. */
  | { type: 'compacted'; revision: Revision };

export interface WatchStream {
  /** The next events in order, at least one; `undefined` once closed. Taking them gives credit back to the replica. */
  next(): Promise<WatchEvent[] | undefined>;
  /** Asks for a `progress` event: it comes through {@link next} once the stream has everything. */
  progress(): void;
  /** Closes the socket to the replica. Idempotent. */
  close(): void;
}

/** One shard as its client sees it. Every method may throw the errors below. */
export interface Keyspace {
  get(keys: string[], consistency: Consistency): Promise<GetResult>;
  list(request: ListRequest): Promise<ListPage>;
  /** `policyRevision`: the revision that the decision was made under; left out, no check is made (bootstrap, loops). */
  propose(batch: Batch, policyRevision?: Revision): Promise<ProposeResult>;
  watch(request: WatchRequest, signal: AbortSignal): Promise<WatchStream>;
  /** The policy revision in force, confirmed by a quorum. */
  policyRevision(): Promise<Revision>;
  /** Outbox of the control loops, oldest first. */
  work(limit: number): Promise<{ id: number; loop: WorkItem['loop']; item: string }[]>;
}

/** Key prefixes whose records are policy: a put or delete below one moves the policy revision. */
export const POLICY_PREFIXES = [
  '/registry/roles/',
  '/registry/rolebindings/',
  '/registry/clusterroles/',
  '/registry/clusterrolebindings/',
  '/registry/apiextensions.k8s.io/customresourcedefinitions/',
  '/registry/apiregistration.k8s.io/apiservices/',
  '/registry/flowschemas/',
  '/registry/prioritylevelconfigurations/',
  '/registry/limitranges/',
  '/registry/quotas-in-force/',
  '/registry/validatingadmissionpolicies/',
  '/registry/validatingadmissionpolicybindings/',
  '/registry/mutatingadmissionpolicies/',
  '/registry/mutatingadmissionpolicybindings/',
  '/registry/validatingwebhookconfigurations/',
  '/registry/mutatingwebhookconfigurations/',
] as const;

/** The record that says, in a shard without policy, from which policy revision of `main` on decisions are taken. */
export const POLICY_FLOOR_KEY = '/shard/policy-floor';

/** Whether a put or delete of a key moves its shard's policy revision. */
export const isPolicyKey = (key: string): boolean =>
  key === POLICY_FLOOR_KEY || POLICY_PREFIXES.some((prefix) => key.startsWith(prefix));

/** The revision asked for has been compacted away: 410 Expired. */
export class CompactedError extends Error {
  readonly compacted: Revision;
  constructor(compacted: Revision) {
    super(`revision compacted at ${compacted}`);
    this.compacted = compacted;
  }
}

/** The revision asked for lies ahead of the shard and did not arrive in time: 504 with cause ResourceVersionTooLarge. */
export class FutureRevisionError extends Error {
  readonly requested: Revision;
  readonly current: Revision;
  constructor(requested: Revision, current: Revision) {
    super(`revision ${requested} is ahead of ${current}`);
    this.requested = requested;
    this.current = current;
  }
}

/** The proposal may or may not have been committed: 500 or 504 without Retry-After. */
export class OutcomeUnknownError extends Error {}

/** No quorum or no replica answered a read, or a proposal that was certainly not made. */
export class UnavailableError extends Error {}

/** The request is larger than the keyspace takes (a value over 3 MiB): 413 or 500. */
export class TooLargeError extends Error {}

/** Queues are full; certainly not proposed: 429 with Retry-After. */
export class OverloadedError extends Error {}

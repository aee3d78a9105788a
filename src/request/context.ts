import type { Plugin } from '../admission/chain.ts';
import type { AuditRecord } from '../audit/event.ts';
import type { Config } from '../config.ts';
import type { WebhookMetrics } from '../discovery/webhook-metrics.ts';
import type { Keyspace } from '../keyspace/types.ts';
import type { Outbound } from '../outbound/index.ts';
import type { RequestPolicy } from '../policy/guard.ts';
import type { Resource } from '../registry/resource.ts';

declare const tenantBrand: unique symbol;
/** A tenant's uid, made only where a request enters: whatever names a storage key takes one. */
export type TenantUid = string & { readonly [tenantBrand]: true };

/** Who a request comes from (authentication.k8s.io UserInfo). */
export interface UserInfo {
  name: string;
  uid?: string;
  groups: string[];
  extra: Record<string, string[]>;
}

/** The verbs that authorization knows. Non-resource requests use the lower-case HTTP method. */
export interface RequestInfo {
  isResourceRequest: boolean;
  /** Path below the tenant, for example `/api/v1/namespaces/default/pods`. */
  path: string;
  verb: string;
  apiPrefix: string;
  group: string;
  version: string;
  namespace: string;
  resource: string;
  subresource: string;
  name: string;
  /** Path parts after the resource, for proxies. */
  parts: string[];
}

/** What every stage may read, and the earlier stages fill in. */
export interface RequestContext {
  readonly request: Request;
  readonly url: URL;
  readonly tenant: TenantUid;
  readonly auditId: string;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  /** The policy's guarded keyspace: answers under a newer policy re-run the request's decisions. */
  readonly keyspace: Keyspace;
  /** The request's hold on RBAC and custom resources; absent only in unit tests of the store. */
  readonly policy?: RequestPolicy;
  /** The cluster's configuration; absent only in unit tests of the store. */
  readonly config?: Config;
  /** The admission plugins that are on, in order; absent only in unit tests of the store: the usual ones. */
  readonly plugins?: readonly Plugin[];
  /** Resolved row, once known. */
  resource?: Resource;
  /** Texts of `Warning: 299 - "…"` headers, in order. */
  readonly warnings: string[];
  /** Adds an annotation to the request's audit event, where one is written. */
  readonly annotate?: (key: string, value: string) => void;
  readonly now: () => Date;
  /** Sends to webhooks and other peers; absent only in unit tests of the store. */
  readonly outbound?: Outbound;
  /** Counts calls of admission webhooks; absent only in unit tests of the store. */
  readonly webhookMetrics?: WebhookMetrics;
  /** Waits so many milliseconds; absent only in unit tests. */
  readonly sleep?: (milliseconds: number) => Promise<void>;
  /** Counts a long-running request (watch, log, exec) in the metrics until the returned function is called. */
  /** The request's audit record, where it is recorded. */
  readonly audit?: AuditRecord;
  /** Notes how many objects a list found, from which the cost of the next is estimated; absent only in unit tests. */
  readonly listed?: (objects: number) => void;
  readonly longRunning: (resource: Resource) => () => void;
}

import type { JsonObject, JsonValue, KubeObject } from '../../src/api/object.ts';
import { deepCopy } from '../../src/api/object.ts';
import type { KindType } from '../../src/apply/kind-type.ts';
import type { FieldManagerOptions } from '../../src/apply/managed-fields.ts';
import { updateManagedFields } from '../../src/apply/managed-fields.ts';
import { mergePatch } from '../../src/apply/merge-patch.ts';
import { serverSideApply } from '../../src/apply/server-side-apply.ts';
import { StatusError } from '../../src/status/status.ts';

/** One stored object and the writes that managers make to it, without defaults, admission and validation. */
export class OneObject {
  live: KubeObject | undefined;
  /** Seconds since the start; every write takes one. */
  clock = 0;
  readonly groupVersion: string;
  readonly kindName: string;
  readonly kind: KindType;
  readonly more: Partial<FieldManagerOptions>;

  constructor(groupVersion: string, kindName: string, kind: KindType, more: Partial<FieldManagerOptions> = {}) {
    this.groupVersion = groupVersion;
    this.kindName = kindName;
    this.kind = kind;
    this.more = more;
  }

  private options(manager: string): FieldManagerOptions {
    const now = new Date(Date.UTC(2026, 0, 1, 0, 0, this.clock++));
    return { manager, groupVersion: this.groupVersion, subresource: '', now, kind: this.kind, ...this.more };
  }

  private named(body: JsonObject): KubeObject {
    const metadata = { name: 'x', ...(body.metadata as JsonObject | undefined) };
    return { apiVersion: this.groupVersion, kind: this.kindName, ...body, metadata };
  }

  apply(manager: string, body: JsonObject, force = false): KubeObject {
    const options = { ...this.options(manager), kindName: this.kindName, force, finish: withoutNulls };
    return this.store(serverSideApply(this.live, this.named(body), options));
  }

  put(manager: string, body: JsonObject): KubeObject {
    return this.store(updateManagedFields(this.live, this.named(body), this.options(manager)));
  }

  patch(manager: string, patch: JsonObject): KubeObject {
    const object = mergePatch(this.live as JsonValue, patch) as KubeObject;
    return this.store(updateManagedFields(this.live, object, this.options(manager)));
  }

  private store(object: KubeObject): KubeObject {
    this.live = { ...deepCopy(object), metadata: { ...deepCopy(object.metadata), uid: 'u' } };
    return this.live;
  }

  /** Manager, operation and fieldsV1 of each entry, by name. */
  owners(): Record<string, JsonValue | undefined> {
    const entries = this.live?.metadata.managedFields ?? [];
    return Object.fromEntries(entries.map((entry) => [`${entry.manager} ${entry.operation}`, entry.fieldsV1]));
  }

  times(): Record<string, string | undefined> {
    const entries = this.live?.metadata.managedFields ?? [];
    return Object.fromEntries(
      entries.map((entry) => [`${entry.manager} ${entry.operation}`, entry.time?.slice(17, 19)]),
    );
  }
}

/** Decoding drops `null` members, also at depth. */
const withoutNulls = (object: KubeObject): KubeObject => (mergePatch({}, { object }) as { object: KubeObject }).object;

/** Code, message and causes of the Status that a call throws; undefined when it throws none. */
export function failureOf(call: () => unknown): { code: number; message: string; causes: string[] } | undefined {
  try {
    call();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { code, message, details } = error.status;
    return { code, message, causes: (details?.causes ?? []).map((cause) => `${cause.field} ${cause.message}`) };
  }
  return undefined;
}

import { countable, usageOf } from '../../src/admission/quota/recount.ts';
import { listOf, sameList } from '../../src/admission/resource-lists.ts';
import { mapOf } from '../../src/api/fields.ts';
import type { KubeObject } from '../../src/api/object.ts';
import { decodeStored } from '../../src/codec/stored.ts';
import type { StoredRecord } from '../../src/keyspace/types.ts';
import { collectionPrefix } from '../../src/registry/keys.ts';
import { builtins, type Resource } from '../../src/registry/resource.ts';
import { ApiClient, isConflict, type LoopConnection, pathOf, unlessMissing } from './connection.ts';
import { Resources } from './locate.ts';
import type { Outcome } from './outcome.ts';

const quotas = builtins.get('v1')!.get('resourcequotas')!;
/** How often a quota is counted again while others are charged to it. */
const ATTEMPTS = 5;

/**
 * Quota recount: puts the limits of a namespace's quotas in force and counts what they bound. Objects are counted after
 * the quota was read, and what is created meanwhile charges the quota, so a count that misses it is not stored.
 */
export class QuotaRecount {
  readonly #connection: LoopConnection;
  readonly #api: ApiClient;

  constructor(connection: LoopConnection) {
    this.#connection = connection;
    this.#api = new ApiClient(connection);
  }

  /** Counts for every quota of a namespace; `later` where one kept changing. */
  async handle(namespace: string): Promise<Outcome> {
    const rows = (await Resources.load(this.#connection)).all();
    let outcome: Outcome = 'done';
    for (const { metadata } of await this.#objects(quotas, namespace)) {
      if (!(await this.#recount(rows, namespace, metadata.name ?? ''))) outcome = 'later';
    }
    return outcome;
  }

  async #recount(rows: readonly Resource[], namespace: string, name: string): Promise<boolean> {
    const path = pathOf(quotas, namespace, name);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const quota = await unlessMissing(this.#api.get(path));
      if (quota === undefined) return true;
      const hard = listOf(mapOf(quota.spec).hard);
      const used = await this.#count(rows, quota);
      const status = mapOf(quota.status);
      if (sameList(listOf(status.hard), hard) && sameList(listOf(status.used), used)) return true;
      const counted = { ...quota, status: { ...status, hard, used } };
      try {
        await unlessMissing(this.#api.update(`${path}/status`, counted));
        return true;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    return false;
  }

  async #count(rows: readonly Resource[], quota: KubeObject) {
    const names = Object.keys(listOf(mapOf(quota.spec).hard));
    const counted = await Promise.all(
      rows
        .filter((row) => countable(row, names))
        .map(async (row) => ({ row, objects: await this.#objects(row, quota.metadata.namespace ?? '') })),
    );
    return usageOf(quota, counted, this.#connection.now());
  }

  /** Objects of a namespace, as a quorum confirms them. */
  async #objects(row: Resource, namespace: string): Promise<KubeObject[]> {
    const prefix = collectionPrefix(row, namespace, []);
    const records: StoredRecord[] = [];
    let after: string | undefined;
    for (;;) {
      const from = after === undefined ? {} : { after };
      const page = await this.#connection.keyspace.list({
        prefix,
        limit: 0,
        consistency: { type: 'linearizable' },
        ...from,
      });
      records.push(...page.records);
      after = page.records.at(-1)?.key;
      if (!page.more || after === undefined) return records.map(decodeStored);
    }
  }
}

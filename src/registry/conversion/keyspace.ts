import type { KubeObject } from '../../api/object.ts';
import { decodeStored, encodeStored } from '../../codec/stored.ts';
import type { Batch, Keyspace, Operation, StoredRecord, WatchEvent, WatchStream } from '../../keyspace/types.ts';
import type { RequestContext } from '../../request/context.ts';
import { pruneToVersion, settleStored } from '../custom.ts';
import { recordMeta } from '../meta.ts';
import type { Resource } from '../resource.ts';
import { convertCustom } from './webhook.ts';

type Put = Extract<Operation, { type: 'put' }>;

/**
 * The keyspace of a request for a custom resource whose versions a webhook converts: its records are read, watched and
 * written in the version of the request, and stored in that of the definition. The rest of the server never sees another.
 */
export function convertingKeyspace(ctx: RequestContext, resource: Resource): Keyspace {
  const { keyspace } = ctx;
  const converter = new RecordConverter(ctx, resource);
  return {
    get: async (keys, consistency) => {
      const result = await keyspace.get(keys, consistency);
      return { ...result, records: await converter.read(result.records) };
    },
    list: async (request) => {
      const page = await keyspace.list(request);
      return { ...page, records: await converter.read(page.records) };
    },
    propose: async (batch, policyRevision) => {
      const stored = await converter.write(batch);
      const result = await keyspace.propose(stored, policyRevision);
      if (result.ok) await converter.readBack(batch, stored);
      if (result.ok || !('current' in result)) return result;
      const [current] = await converter.read([result.current]);
      return { ...result, current };
    },
    watch: async (request, signal) => converter.stream(await keyspace.watch(request, signal)),
    policyRevision: () => keyspace.policyRevision(),
    work: (limit) => keyspace.work(limit),
  };
}

class RecordConverter {
  readonly #ctx: RequestContext;
  readonly #resource: Resource;
  readonly #prefix: string;
  readonly #generation: number;

  constructor(ctx: RequestContext, resource: Resource) {
    this.#ctx = ctx;
    this.#resource = resource;
    this.#prefix = `${resource.storage?.prefix}/`;
    this.#generation = resource.custom?.generation ?? 0;
  }

  #isForeign(record: StoredRecord | undefined): record is StoredRecord {
    if (record === undefined || record.value.byteLength === 0 || !record.key.startsWith(this.#prefix)) return false;
    return record.meta.tag.storageVersion !== this.#resource.groupVersion;
  }

  /** Records in the version of the request. */
  async read<T extends StoredRecord | undefined>(records: readonly T[]): Promise<T[]> {
    const foreign = records.filter((record) => this.#isForeign(record)) as StoredRecord[];
    if (foreign.length === 0) return [...records];
    const objects = foreign.map((record) => this.#stored(record));
    const converted = await convertCustom(this.#ctx, this.#resource, objects, this.#resource.groupVersion);
    const byRecord = new Map<unknown, StoredRecord>();
    for (const [i, record] of foreign.entries()) {
      const { value, tag } = encodeStored(pruneToVersion(this.#resource, converted[i]!), this.#generation);
      byRecord.set(record, { ...record, value, meta: { ...record.meta, tag } });
    }
    return records.map((record) => (byRecord.get(record) as T | undefined) ?? record);
  }

  /** The object of a record as its own version has it; webhooks see no resourceVersion in what is stored. */
  #stored(record: StoredRecord): KubeObject {
    const object = decodeStored(record);
    delete object.metadata.resourceVersion;
    if (record.meta.tag.schema !== this.#generation) settleStored(this.#resource, object);
    return object;
  }

  /** A batch whose records of this resource are in the version that is stored. */
  async write(batch: Batch): Promise<Batch> {
    const { apiVersion = '' } = this.#resource.storage ?? {};
    const isOwn = (operation: Operation): operation is Put =>
      operation.type === 'put' &&
      operation.key.startsWith(this.#prefix) &&
      operation.meta.tag.storageVersion !== apiVersion;
    const puts = batch.operations.filter(isOwn);
    if (puts.length === 0) return batch;
    const objects = puts.map((put) => JSON.parse(new TextDecoder().decode(put.value)) as KubeObject);
    const converted = await convertCustom(this.#ctx, this.#resource, objects, apiVersion);
    const byPut = new Map<Operation, Put>();
    for (const [i, put] of puts.entries()) {
      const object = pruneToVersion(this.#resource, converted[i]!);
      const { value, tag } = encodeStored(object, this.#generation);
      byPut.set(put, { ...put, value, meta: recordMeta(this.#resource, object, tag) });
    }
    return { ...batch, operations: batch.operations.map((operation) => byPut.get(operation) ?? operation) };
  }

  /** Leaves in the operations of a batch what readers get by now: conversions need not give back what they took. */
  async readBack(batch: Batch, stored: Batch): Promise<void> {
    const changed = batch.operations.flatMap((operation, i) => {
      const written = stored.operations[i];
      if (operation.type !== 'put' || written?.type !== 'put' || written === operation) return [];
      return [{ operation, record: { ...written, createRevision: 0, modRevision: 0 } }];
    });
    const records = await this.read(changed.map(({ record }) => record));
    for (const [i, { operation }] of changed.entries()) {
      const { value, meta } = records[i]!;
      Object.assign(operation, { value, meta });
    }
  }

  stream(stream: WatchStream): WatchStream {
    return {
      next: async () => {
        const events = await stream.next();
        return events && (await this.#events(events));
      },
      progress: () => stream.progress(),
      close: () => stream.close(),
    };
  }

  async #events(events: WatchEvent[]): Promise<WatchEvent[]> {
    const records = await this.read(events.map((event) => ('record' in event ? event.record : undefined)));
    return events.map((event, i) => ('record' in event ? { ...event, record: records[i]! } : event));
  }
}

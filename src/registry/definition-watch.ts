import { decodeStored } from '../codec/stored.ts';
import type { StoredRecord } from '../keyspace/types.ts';
import type { RequestContext } from '../request/context.ts';
import { isCurrentDefinition } from './custom.ts';
import { keyOf } from './keys.ts';
import { builtins, type Resource } from './resource.ts';

/**
 * Waits until the definition of a custom resource is another than the one that made this row: its schema changed, the
 * version is not served any more, or it is gone. Resolves with the revision of that change; with `undefined` when the
 * signal says so, or the stream ends, before.
 */
export async function definitionChange(
  ctx: RequestContext,
  resource: Resource,
  signal: AbortSignal,
): Promise<number | undefined> {
  const definitions = builtins.get('apiextensions.k8s.io/v1')!.get('customresourcedefinitions')!;
  const prefix = keyOf(definitions, '', `${resource.resource}.${resource.group}`);
  const keyspace = ctx.policy?.bare ?? ctx.keyspace;
  const stream = await keyspace.watch(
    { prefix, start: { type: 'initial', consistency: { type: 'linearizable' } } },
    signal,
  );
  const isCurrent = (record: StoredRecord) => isCurrentDefinition(resource, decodeStored(record));
  let seen = false;
  try {
    for (let events = await stream.next(); events !== undefined; events = await stream.next()) {
      for (const event of events) {
        if (event.type === 'synced' && !seen) return event.revision;
        if (!('record' in event)) continue;
        seen = true;
        if (event.type === 'deleted' || !isCurrent(event.record)) return event.record.modRevision;
      }
    }
    return undefined;
  } finally {
    stream.close();
  }
}

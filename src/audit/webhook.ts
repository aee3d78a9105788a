import * as v from 'valibot';
import { connectionSchema } from '../outbound/connection.ts';
import type { Outbound } from '../outbound/index.ts';
import type { AuditBackend } from './sink.ts';

const TIMEOUT_MS = 30_000;
/** What every event begins with; in a list only the list says it (as upstream encodes them). */
const TYPE = '{"kind":"Event","apiVersion":"audit.k8s.io/v1",';

const count = v.pipe(v.number(), v.integer(), v.minValue(1));
const milliseconds = v.pipe(v.number(), v.minValue(0));

/**
 * The webhook that audit events go to. Upstream lets a batch wait 30 s and waits 10 s before the second try; a Worker may
 * work for 30 s altogether once it has answered, so both are shorter here.
 */
export const auditWebhookSchema = v.object({
  connection: connectionSchema,
  bufferSize: v.optional(count, 10_000),
  maxSize: v.optional(count, 400),
  maxWaitMilliseconds: v.optional(milliseconds, 2_000),
  initialBackoffMilliseconds: v.optional(milliseconds, 1_000),
});

export type AuditWebhook = v.InferOutput<typeof auditWebhookSchema>;

/** Sends events to a webhook, as an EventList of audit.k8s.io/v1 in JSON. */
export function webhookBackend({ connection }: Pick<AuditWebhook, 'connection'>, outbound: Outbound): AuditBackend {
  const { server, authority, insecure, serverName, identity, authorization } = connection;
  const url = new URL(server);
  url.searchParams.set('timeout', `${TIMEOUT_MS / 1000}s`);
  const send = async (events: readonly string[]) => {
    const items = events.map((event) => (event.startsWith(TYPE) ? `{${event.slice(TYPE.length)}` : event)).join();
    const response = await outbound({
      url: url.href,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, */*',
        ...(authorization === '' ? {} : { authorization }),
      },
      body: `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items}]}\n`,
      authority,
      insecure,
      ...(serverName === '' ? {} : { serverName }),
      ...(identity && { identity }),
      timeoutMilliseconds: TIMEOUT_MS,
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the audit webhook answers ${response.status}`);
  };
  return { name: 'webhook', send };
}

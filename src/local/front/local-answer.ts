import { encodeField } from './hpack.ts';
import type { Refusal } from './request-head.ts';
import type { ResponseHead } from './response-parser.ts';

/** The Status, as kube-apiserver words it, of a request that never reached the API. */
export function localAnswer({ status, reason, message, details }: Refusal): { head: ResponseHead; body: Buffer } {
  const outcome = { status: 'Failure', message, reason, ...(details ? { details: {} } : {}), code: status };
  const failure = { kind: 'Status', apiVersion: 'v1', metadata: {}, ...outcome };
  const body = Buffer.from(JSON.stringify(failure));
  const fields = Object.entries({ 'content-type': 'application/json', 'content-length': String(body.length) });
  return {
    head: {
      status,
      reason,
      fields: fields.map(([name, value]) => ({ name, value, encoded: encodeField(name, value) })),
      text: '',
    },
    body,
  };
}

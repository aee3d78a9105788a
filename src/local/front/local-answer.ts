import { encodeField } from './hpack.ts';
import type { Refusal } from './request-head.ts';
import type { ResponseHead } from './response-parser.ts';

/** An answer of the front itself, in plain text: the request never reached the API server. */
export function localHead({ status, reason }: Refusal): { head: ResponseHead; body: Buffer } {
  const body = Buffer.from(`${status} ${reason}\n`);
  const fields = Object.entries({ 'content-type': 'text/plain; charset=utf-8', 'content-length': String(body.length) });
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

import { int, text } from '../api/fields.ts';
import type { JsonObject } from '../api/object.ts';
import { OutboundError, unreachable } from '../outbound/index.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';
import {
  badRequest,
  causes,
  internalError,
  invalid,
  plainError,
  type StatusCause,
  serverResponse,
} from '../status/status.ts';
import { containerOf, kubeletOfPod, podOf } from './pod.ts';
import { type Fields, readQuery } from './query.ts';

const FIELDS: Fields = {
  container: 'text',
  follow: 'flag',
  previous: 'flag',
  timestamps: 'flag',
  insecureSkipTLSVerifyBackend: 'flag',
  sinceSeconds: 'integer',
  sinceTime: 'text',
  tailLines: 'integer',
  limitBytes: 'integer',
  stream: 'text',
};
const STREAMS = ['All', 'Stderr', 'Stdout'];

function faultsOf(options: JsonObject): StatusCause[] {
  const { tailLines, limitBytes, sinceSeconds, sinceTime } = options;
  const stream = text(options.stream);
  const out: StatusCause[] = [];
  if (tailLines !== undefined && int(tailLines) < 0)
    out.push(causes.invalid('tailLines', tailLines, 'must be greater than or equal to 0'));
  if (limitBytes !== undefined && int(limitBytes) < 1)
    out.push(causes.invalid('limitBytes', limitBytes, 'must be greater than 0'));
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    out.push(causes.forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  else if (sinceSeconds !== undefined && int(sinceSeconds) < 1)
    out.push(causes.invalid('sinceSeconds', sinceSeconds, 'must be greater than 0'));
  if (!STREAMS.includes(stream)) out.push(causes.notSupported('stream', stream, STREAMS));
  if (stream !== 'All' && tailLines !== undefined)
    out.push(causes.forbidden('[]', '`tailLines` and specific `stream` are mutually exclusive for now'));
  return out;
}

const FLAGS = ['follow', 'previous', 'timestamps'];
const VALUES = ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes', 'stream'];

/** The query that a kubelet gets. */
function kubeletQuery(options: JsonObject): string {
  const query = new URLSearchParams();
  for (const name of FLAGS) if (options[name] === true) query.set(name, 'true');
  for (const name of VALUES) if (options[name] !== undefined) query.set(name, String(options[name]));
  query.sort();
  return query.toString();
}

/** GET of a pod's log: what the kubelet of its node streams; 204 while it has no node. */
export async function serveLog(ctx: RequestContext, resource: Resource): Promise<Response> {
  const { name, namespace } = ctx.info;
  const options = { stream: 'All', ...readQuery(ctx.url.searchParams, FIELDS) };
  const faults = faultsOf(options);
  if (faults.length > 0) throw invalid({ group: '', name: 'PodLogOptions' }, name, faults);
  const pod = await podOf(ctx, name);
  const container = containerOf(pod, text((options as JsonObject).container));
  const kubelet = await kubeletOfPod(ctx, pod);
  if (kubelet === undefined) return new Response(null, { status: 204 });
  const landed = ctx.longRunning(resource);
  const { insecureSkipTLSVerifyBackend } = options as JsonObject;
  const answer = await (ctx.outbound ?? unreachable)({
    ...kubelet.peer,
    ...(insecureSkipTLSVerifyBackend === true && { authority: '', insecure: true }),
    url: `${kubelet.origin}/containerLogs/${namespace}/${name}/${container}?${kubeletQuery(options)}`,
    method: 'GET',
    signal: ctx.request.signal,
  })
    .catch((error: unknown) => {
      throw error instanceof OutboundError ? plainError(error.message) : error;
    })
    .finally(landed);
  if (answer.status < 200 || answer.status > 206) throw await refusal(answer, name);
  return new Response(answer.body, { headers: { 'Content-Type': 'text/plain' } });
}

const MAX_REFUSAL = 2048;

/** What a kubelet's refusal is to the client. */
async function refusal(answer: Response, name: string) {
  const body = (await answer.text()).slice(0, MAX_REFUSAL);
  if (answer.status === 500) return internalError(body);
  if (answer.status === 400) return badRequest(body);
  return serverResponse(answer.status, { group: '', name: 'pods/log' }, name, body);
}

import { text } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { attributesOf } from '../authz/attributes.ts';
import { requireAllowed } from '../authz/index.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';
import { badRequest } from '../status/status.ts';
import { isUpgrade, passUpgradeOn } from './backend.ts';
import { admitConnect } from './connect.ts';
import { containerOf, kubeletOfPod, podOf } from './pod.ts';
import { type Fields, readQuery } from './query.ts';

const STREAM_FIELDS: Fields = { stdin: 'flag', stdout: 'flag', stderr: 'flag', tty: 'flag', container: 'text' };

/** A call that becomes a stream to a pod: how its options are read, and what of them its kubelet gets. */
interface Call {
  kind: string;
  fields: Fields;
  /** First part of the path at the kubelet. */
  path: string;
  query: (options: JsonObject) => [string, string][];
}

/** Names at the kubelet of the streams that are asked for. */
const streamsOf = (options: JsonObject): [string, string][] =>
  [
    ['stdin', 'input'],
    ['stdout', 'output'],
    ['stderr', 'error'],
    ['tty', 'tty'],
  ].flatMap(([name, at]): [string, string][] => (options[name!] === true ? [[at!, '1']] : []));

const calls = {
  exec: {
    kind: 'PodExecOptions',
    fields: { ...STREAM_FIELDS, command: 'texts' },
    path: 'exec',
    query: (options) => [
      ...streamsOf(options),
      ...((options.command ?? []) as string[]).map((word): [string, string] => ['command', word]),
    ],
  },
  attach: { kind: 'PodAttachOptions', fields: STREAM_FIELDS, path: 'attach', query: streamsOf },
  portforward: {
    kind: 'PodPortForwardOptions',
    fields: { ports: 'integers' },
    path: 'portForward',
    query: ({ ports }) => (Array.isArray(ports) && ports.length > 0 ? [['port', ports.join(',')]] : []),
  },
} as const satisfies Record<string, Call>;

/**
 * Opens a stream to a pod through the kubelet of its node. Whoever opens one may create it, whatever the method. Throws
 * 400 for a pod without a node and for a request that is no upgrade.
 */
export async function serveStream(
  ctx: RequestContext,
  resource: Resource,
  name: keyof typeof calls,
): Promise<Response> {
  const call: Call = calls[name];
  const { namespace, name: podName } = ctx.info;
  const options = readQuery(ctx.url.searchParams, call.fields);
  await admitConnect(ctx, resource, { kind: call.kind, apiVersion: 'v1', metadata: {}, ...options } as KubeObject);
  if (ctx.policy) await requireAllowed({ ...attributesOf(ctx.user, ctx.info), verb: 'create' }, ctx.policy);
  const pod = await podOf(ctx, podName);
  const container = name === 'portforward' ? '' : `/${containerOf(pod, text(options.container))}`;
  const kubelet = await kubeletOfPod(ctx, pod);
  if (kubelet === undefined) throw badRequest(`pod ${podName} does not have a host assigned`);
  if (!isUpgrade(ctx.request)) throw badRequest('Upgrade request required');
  const query = new URLSearchParams(call.query(options)).toString();
  const url = `${kubelet.origin}/${call.path}/${namespace}/${podName}${container}${query === '' ? '' : `?${query}`}`;
  return passUpgradeOn(ctx, url, kubelet.peer);
}

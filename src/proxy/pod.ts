import { builtinRow, lookUp } from '../admission/lookup.ts';
import { objectAt, objectsAt, text } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import type { RequestContext } from '../request/context.ts';
import { badRequest, notFound } from '../status/status.ts';
import { type Kubelet, kubeletOf } from './kubelet.ts';

const pods = builtinRow('v1', 'pods');

/** A pod of the request's namespace. Throws 404. */
export async function podOf(ctx: RequestContext, name: string): Promise<KubeObject> {
  const pod = await lookUp(ctx, pods, ctx.info.namespace, name);
  if (pod === undefined) throw notFound({ group: '', name: 'pods' }, name);
  return pod;
}

const specOf = (pod: KubeObject): JsonObject => objectAt(pod, 'spec');

/** The container that a call is about: the one named, or the only one. Throws 400. */
export function containerOf(pod: KubeObject, asked: string): string {
  const name = pod.metadata.name ?? '';
  const names = ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    objectsAt(specOf(pod), list).map((container) => text(container.name)),
  );
  if (asked !== '') {
    if (names.includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  const [first, ...others] = objectsAt(specOf(pod), 'containers');
  if (first !== undefined && others.length === 0) return text(first.name);
  const choice = first === undefined ? '' : `, choose one of: [${names.join(' ')}]`;
  throw badRequest(`a container name must be specified for pod ${name}${choice}`);
}

/** The kubelet of a pod's node; nothing while the pod has no node. */
export async function kubeletOfPod(ctx: RequestContext, pod: KubeObject): Promise<Kubelet | undefined> {
  const node = text(specOf(pod).nodeName);
  return node === '' ? undefined : kubeletOf(ctx, node);
}

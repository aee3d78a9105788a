import { objectAt, objectsAt } from '../../api/fields.ts';
import { deepCopy, isObject, type JsonObject, type KubeObject } from '../../api/object.ts';
import { formatTime } from '../../api/time.ts';
import { readObject } from '../../request/body.ts';
import type { RequestContext } from '../../request/context.ts';
import { writeOptions } from '../../request/options.ts';
import { badRequest, conflict, plainError } from '../../status/status.ts';
import { formOf, respondObject } from '../present.ts';
import { builtins, type Resource } from '../resource.ts';
import { OPTIMISTIC_LOCK, type Scope, subject } from '../scope.ts';
import { updateObject } from '../update.ts';
import { admitCall } from './admitted.ts';
import { success } from './success.ts';

/** Sets a condition of a pod, in place; the time of its last transition changes with its status only. */
export function setPodCondition(pod: KubeObject, condition: JsonObject, now: Date): void {
  const status = objectAt(pod, 'status');
  const conditions = objectsAt(status, 'conditions');
  const at = conditions.findIndex((c) => c.type === condition.type);
  const before = conditions[at];
  const time = before?.status === condition.status ? before?.lastTransitionTime : undefined;
  const next = { lastProbeTime: null, lastTransitionTime: time ?? formatTime(now), ...condition };
  if (at < 0) conditions.push(next);
  else conditions[at] = next;
  pod.status = { ...status, conditions };
}

const refused = (name: string, why: string) => conflict({ group: '', name: 'pods/binding' }, name, why);

/** The pod as bound to a node. Throws 409 for one that cannot be bound. */
function bound(pod: KubeObject, binding: KubeObject, node: string, now: Date): KubeObject {
  const name = pod.metadata.name ?? '';
  const out = deepCopy(pod);
  const spec = objectAt(out, 'spec');
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw refused(name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if (spec.nodeName) throw refused(name, `pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`);
  if (objectsAt(spec, 'schedulingGates').length > 0) {
    throw refused(name, `pod ${name} has non-empty .spec.schedulingGates`);
  }
  out.spec = { ...spec, nodeName: node };
  if (isObject(out.status)) delete out.status.nominatedNodeName;
  const { annotations, labels } = binding.metadata;
  if (annotations !== undefined) out.metadata.annotations = { ...out.metadata.annotations, ...annotations };
  if (labels !== undefined && Object.keys(labels).length > 0)
    out.metadata.labels = { ...out.metadata.labels, ...labels };
  setPodCondition(out, { type: 'PodScheduled', status: 'True' }, now);
  return out;
}

/**
 * POST of a Binding, to a pod's `binding` or to `bindings`: assigns the pod to a node, once. `name` is empty where the
 * URL names no pod.
 */
export async function serveBinding(ctx: RequestContext, resource: Resource): Promise<Response> {
  formOf(ctx, resource, false);
  const options = writeOptions(ctx.url.searchParams, 'CreateOptions');
  const expected = { group: '', version: 'v1', kind: 'Binding', custom: false };
  const binding = (await readObject(ctx, expected, options.fieldValidation)) as KubeObject;
  binding.metadata ??= {};
  const { name = '', namespace = '' } = binding.metadata;
  if (namespace !== '' && namespace !== ctx.info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (ctx.info.name !== '' && name !== ctx.info.name) {
    throw badRequest('name in URL does not match name in Binding object');
  }
  const pods = builtins.get('v1')!.get('pods')!;
  const scope: Scope = { ctx, resource: pods, subresource: '', namespace: ctx.info.namespace, name, options };
  await admitCall({ ...scope, subresource: 'binding' }, binding, () => bind(scope, binding));
  return respondObject(ctx, resource, success(201), 201);
}

async function bind(scope: Scope, binding: KubeObject): Promise<void> {
  const { uid, resourceVersion } = binding.metadata;
  const target = objectAt(binding, 'target');
  const faults: string[] = [];
  if (target.kind && target.kind !== 'Node') {
    faults.push(`target.kind: Unsupported value: ${JSON.stringify(target.kind)}: supported values: "Node", "<empty>"`);
  }
  if (!target.name) faults.push('target.name: Required value');
  if (faults.length > 0) throw plainError(faults.length === 1 ? faults[0]! : `[${faults.join(', ')}]`);
  await updateObject(scope, {
    raw: true,
    ...(uid === undefined ? {} : { uid }),
    transform: (pod) => {
      if (resourceVersion !== undefined && resourceVersion !== pod!.metadata.resourceVersion) {
        throw conflict(subject(scope), scope.name, OPTIMISTIC_LOCK);
      }
      return bound(pod!, binding, String(target.name), scope.ctx.now());
    },
  });
}

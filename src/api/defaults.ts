import { toBase64 } from '../codec/base64.ts';
import type { Field, Message } from '../codec/plan.ts';
import { message, messageName } from '../codec/plan.ts';
import { objects } from './fields.ts';
import type { JsonObject, JsonValue, KubeObject } from './object.ts';
import { deepCopy, isObject, setKey } from './object.ts';
import { defaultPod, defaultPodSpec, defaultPodStatus, fill } from './pod-defaults.ts';
import defaults from './tables/defaults.json';
import { formatTime } from './time.ts';

interface RawDefault {
  default?: JsonValue;
  when?: unknown[];
  only?: string;
  sameAs?: string;
}
const table = defaults as unknown as Record<string, Record<string, RawDefault>>;

/** Defaults below one value: `members` of an object, or of each object in a list. */
interface Node {
  readonly members: Map<string, Node>;
  value: JsonValue | undefined;
  /** Absent and zero differ, so a zero is kept. */
  pointer: boolean;
}

/** Isolate cache, constant once built: compiled defaults by kind. */
const compiled = new Map<string, Node>();

/**
 * Fills in the defaults of a built-in kind, in place, as upstream does after decoding: by defaulting, and by conversion
 * to and from its internal version (a Secret's stringData becomes data). The object must be one that `decodeTyped`
 * gave. `now` dates device taints.
 */
export function applyDefaults(object: KubeObject, groupVersion: string, kind: string, now: Date = new Date()): void {
  const key = `${groupVersion} ${kind}`;
  if (!Object.hasOwn(table, key)) return;
  functions.get(key)?.(object, now);
  let root = compiled.get(key);
  if (root === undefined) {
    root = compile(key, messageName(groupVersion, kind));
    compiled.set(key, root);
  }
  applyNode(root, object);
}

function applyNode(node: Node, target: JsonObject): void {
  for (const [name, child] of node.members) {
    const value = target[name];
    if (child.value !== undefined && isUnset(value, child.pointer)) target[name] = deepCopy(child.value);
    if (child.members.size === 0 || value === undefined || value === null) continue;
    if (Array.isArray(value)) for (const item of objects(value)) applyNode(child, item);
    else if (isObject(value)) applyNode(child, value);
  }
}

function isUnset(value: JsonValue | undefined, pointer: boolean): boolean {
  return value === undefined || value === null || (!pointer && (value === '' || value === 0));
}

/** What the table alone decides; the rest is in {@link functions}. */
function isPlain(path: string, raw: RawDefault): boolean {
  if (raw.default === undefined || raw.when !== undefined || /\[\d+\]|\[\]$/.test(path)) return false;
  return raw.only === undefined || (isObject(raw.default) && Object.keys(raw.default).length === 0);
}

function compile(key: string, root: string | undefined): Node {
  const node = newNode();
  for (const [path, raw] of Object.entries(table[key] ?? {})) {
    const steps = path.replaceAll('[]', '').split('.');
    if (raw.sameAs !== undefined) {
      const [groupVersion = '', kind = '', at = ''] = raw.sameAs.split(' ');
      const source = compile(`${groupVersion} ${kind}`, messageName(groupVersion, kind));
      graft(
        node,
        steps,
        at.split('.').reduce((n, step) => n.members.get(step) ?? newNode(), source),
      );
    } else if (isPlain(path, raw)) {
      const leaf = descend(node, steps);
      leaf.value = raw.default;
      leaf.pointer = root !== undefined && isPointer(message(root), steps);
    }
  }
  return node;
}

function newNode(): Node {
  return { members: new Map(), value: undefined, pointer: false };
}

function descend(node: Node, steps: readonly string[]): Node {
  let at = node;
  for (const step of steps) {
    const next = at.members.get(step) ?? newNode();
    at.members.set(step, next);
    at = next;
  }
  return at;
}

function graft(node: Node, steps: readonly string[], branch: Node): void {
  descend(node, steps.slice(0, -1)).members.set(steps.at(-1) ?? '', branch);
}

function isPointer(plan: Message, steps: readonly string[]): boolean {
  let at = plan;
  let found: Field | undefined;
  for (const step of steps) {
    found = at.fields[at.positions.get(step) ?? -1];
    if (found === undefined) return false;
    if (found.scalar === undefined) at = message(found.type);
  }
  return found?.pointer ?? false;
}

// Defaults that depend on more than one field, or that make an object.

type Default = (object: KubeObject, now: Date) => void;

function member(parent: JsonValue | undefined, name: string): JsonObject | undefined {
  const value = isObject(parent) ? parent[name] : undefined;
  return isObject(value) ? value : undefined;
}

/** The object at that field, made when there is none. */
function ensure(parent: JsonObject, name: string): JsonObject {
  const value = parent[name];
  if (isObject(value)) return value;
  const made: JsonObject = {};
  parent[name] = made;
  return made;
}

function fillEmpty(target: JsonObject, field: string, value: JsonValue): void {
  const old = target[field];
  if (old === undefined || old === null || old === '' || (Array.isArray(old) && old.length === 0))
    target[field] = value;
}

const template = (object: KubeObject): void => {
  const spec = member(member(object.spec, 'template'), 'spec');
  if (spec !== undefined) defaultPodSpec(spec);
};

const pod: Default = ({ spec, status }) => {
  if (isObject(status)) defaultPodStatus(status);
  if (!isObject(spec)) return;
  defaultPodSpec(spec);
  defaultPod(spec);
};

/** Labels of the template stand in for the object's own. */
function labelsOfTemplate(object: KubeObject): JsonObject | undefined {
  const labels = member(member(member(object.spec, 'template'), 'metadata'), 'labels');
  if (labels !== undefined && Object.keys(object.metadata.labels ?? {}).length === 0) {
    object.metadata.labels = { ...labels } as Record<string, string>;
  }
  return labels;
}

function rollingUpdate(field: string, fields: Record<string, JsonValue>): Default {
  return (object) => {
    template(object);
    if (!isObject(object.spec)) return;
    const strategy = ensure(object.spec, field);
    fillEmpty(strategy, 'type', 'RollingUpdate');
    if (strategy.type !== 'RollingUpdate') return;
    const rolling = ensure(strategy, 'rollingUpdate');
    for (const [name, value] of Object.entries(fields)) fill(rolling, name, value);
  };
}

const statefulSet: Default = (object) => {
  template(object);
  if (!isObject(object.spec)) return;
  const strategy = ensure(object.spec, 'updateStrategy');
  if (strategy.type === undefined || strategy.type === '') {
    strategy.type = 'RollingUpdate';
    ensure(strategy, 'rollingUpdate');
  }
  if (strategy.type === 'RollingUpdate' && isObject(strategy.rollingUpdate)) {
    fill(strategy.rollingUpdate, 'partition', 0);
  }
  ensure(object.spec, 'persistentVolumeClaimRetentionPolicy');
  const claims = objects(object.spec.volumeClaimTemplates);
  if (claims.length > 0) {
    object.spec.volumeClaimTemplates = claims.map((claim) => ({
      ...claim,
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
    }));
  }
};

const job: Default = (object) => {
  template(object);
  labelsOfTemplate(object);
  const { spec } = object;
  if (!isObject(spec)) return;
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  fill(spec, 'backoffLimit', spec.backoffLimitPerIndex === undefined ? 6 : 2147483647);
  fill(spec, 'podReplacementPolicy', spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed');
};

const cronJob: Default = ({ spec }) => {
  const podSpec = member(member(member(member(spec, 'jobTemplate'), 'spec'), 'template'), 'spec');
  if (podSpec !== undefined) defaultPodSpec(podSpec);
};

const replicationController: Default = (object) => {
  template(object);
  const labels = labelsOfTemplate(object);
  if (labels !== undefined && isObject(object.spec)) fill(object.spec, 'selector', { ...labels });
};

const secret: Default = (object) => {
  const { stringData } = object;
  if (!isObject(stringData)) return;
  delete object.stringData;
  const data = { ...(isObject(object.data) ? object.data : {}) };
  for (const [key, text] of Object.entries(stringData))
    setKey(data, key, toBase64(new TextEncoder().encode(String(text))));
  object.data = data;
};

const node: Default = ({ spec, status }) => {
  if (isObject(status) && isObject(status.capacity)) fill(status, 'allocatable', { ...status.capacity });
  if (!isObject(spec)) return;
  const [first] = Array.isArray(spec.podCIDRs) ? spec.podCIDRs : [];
  if (spec.podCIDR !== undefined && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  else if (first !== undefined) spec.podCIDR = first;
};

const service: Default = ({ spec, status }) => {
  if (!isObject(spec)) return;
  fill(spec, 'sessionAffinity', 'None');
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinity === 'ClientIP') {
    const clientIP = member(spec.sessionAffinityConfig, 'clientIP');
    if (clientIP?.timeoutSeconds === undefined) spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10800 } };
  }
  fill(spec, 'type', 'ClusterIP');
  for (const port of objects(spec.ports)) {
    if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '')
      port.targetPort = port.port ?? 0;
  }
  const { type } = spec;
  const external = Array.isArray(spec.externalIPs) && spec.externalIPs.length > 0;
  if (type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && external)) {
    fill(spec, 'externalTrafficPolicy', 'Cluster');
  }
  if (type === 'LoadBalancer' || type === 'NodePort' || type === 'ClusterIP')
    fill(spec, 'internalTrafficPolicy', 'Cluster');
  if (type !== 'LoadBalancer') return;
  fill(spec, 'allocateLoadBalancerNodePorts', true);
  for (const ingress of objects(member(status, 'loadBalancer')?.ingress)) {
    if (ingress.ip !== undefined) fill(ingress, 'ipMode', 'VIP');
  }
};

const limitRange: Default = ({ spec }) => {
  for (const item of objects(isObject(spec) ? spec.limits : undefined)) {
    if (item.type !== 'Container') continue;
    const limits = { ...(item.max as JsonObject | undefined), ...(item.default as JsonObject | undefined) };
    const requests = {
      ...(item.min as JsonObject | undefined),
      ...limits,
      ...(item.defaultRequest as JsonObject | undefined),
    };
    if (Object.keys(limits).length > 0) item.default = limits;
    if (Object.keys(requests).length > 0) item.defaultRequest = requests;
  }
};

const SCALE_UP = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const SCALE_DOWN = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };
const CPU_METRIC = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};

const autoscaler: Default = ({ spec }) => {
  if (!isObject(spec)) return;
  fillEmpty(spec, 'metrics', [deepCopy(CPU_METRIC)]);
  if (!isObject(spec.behavior)) return;
  spec.behavior.scaleUp = { ...deepCopy(SCALE_UP), ...member(spec.behavior, 'scaleUp') };
  spec.behavior.scaleDown = { ...deepCopy(SCALE_DOWN), ...member(spec.behavior, 'scaleDown') };
};

/** The old version writes its metrics into an annotation; only without them does it get a target. */
const oldAutoscaler: Default = ({ metadata, spec }) => {
  if (!isObject(spec) || metadata.annotations?.['autoscaling.alpha.kubernetes.io/metrics'] !== undefined) return;
  fill(spec, 'targetCPUUtilizationPercentage', 80);
};

const networkPolicy: Default = ({ spec }) => {
  if (!isObject(spec)) return;
  fillEmpty(spec, 'policyTypes', objects(spec.egress).length > 0 ? ['Ingress', 'Egress'] : ['Ingress']);
};

const subjects: Default = (object) => {
  for (const subject of objects(object.subjects)) {
    if (subject.kind === 'User' || subject.kind === 'Group') fill(subject, 'apiGroup', 'rbac.authorization.k8s.io');
  }
};

const deviceRequests = (spec: JsonObject | undefined) => {
  for (const request of objects(member(spec, 'devices')?.requests)) {
    for (const one of [member(request, 'exactly'), ...objects(request.firstAvailable)]) {
      if (one === undefined) continue;
      fillEmpty(one, 'allocationMode', 'ExactCount');
      if (one.allocationMode === 'ExactCount') fill(one, 'count', 1);
    }
  }
};

const customResourceDefinition: Default = ({ spec, status }) => {
  if (!isObject(spec)) return;
  const names = ensure(spec, 'names');
  if (typeof names.kind === 'string' && names.kind !== '') {
    fillEmpty(names, 'singular', names.kind.toLowerCase());
    fillEmpty(names, 'listKind', `${names.kind}List`);
  }
  fill(spec, 'conversion', { strategy: 'None' });
  const stored = objects(spec.versions).find((v) => v.storage === true);
  if (stored?.name !== undefined && isObject(status)) fillEmpty(status, 'storedVersions', [stored.name]);
};

const matching =
  (field: string): Default =>
  ({ spec }) => {
    const resources = member(spec, field);
    if (resources === undefined) return;
    fill(resources, 'namespaceSelector', {});
    fill(resources, 'objectSelector', {});
  };

const functions: ReadonlyMap<string, Default> = new Map<string, Default>([
  ['admissionregistration.k8s.io/v1 MutatingAdmissionPolicy', matching('matchConstraints')],
  ['admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding', matching('matchResources')],
  ['admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy', matching('matchConstraints')],
  ['admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding', matching('matchResources')],
  ['apiextensions.k8s.io/v1 CustomResourceDefinition', customResourceDefinition],
  ['apps/v1 DaemonSet', rollingUpdate('updateStrategy', { maxUnavailable: 1, maxSurge: 0 })],
  ['apps/v1 Deployment', rollingUpdate('strategy', { maxUnavailable: '25%', maxSurge: '25%' })],
  ['apps/v1 ReplicaSet', template],
  ['apps/v1 StatefulSet', statefulSet],
  ['autoscaling/v1 HorizontalPodAutoscaler', oldAutoscaler],
  ['autoscaling/v2 HorizontalPodAutoscaler', autoscaler],
  ['batch/v1 CronJob', cronJob],
  ['batch/v1 Job', job],
  ['networking.k8s.io/v1 NetworkPolicy', networkPolicy],
  ['rbac.authorization.k8s.io/v1 ClusterRoleBinding', subjects],
  ['rbac.authorization.k8s.io/v1 RoleBinding', subjects],
  ['resource.k8s.io/v1 ResourceClaim', ({ spec }) => deviceRequests(isObject(spec) ? spec : undefined)],
  ['resource.k8s.io/v1 ResourceClaimTemplate', ({ spec }) => deviceRequests(member(spec, 'spec'))],
  [
    'resource.k8s.io/v1 ResourceSlice',
    ({ spec }, now) => {
      for (const device of objects(isObject(spec) ? spec.devices : undefined)) {
        for (const taint of objects(device.taints)) fill(taint, 'timeAdded', formatTime(now));
      }
    },
  ],
  [
    'storage.k8s.io/v1 CSIDriver',
    ({ spec }) => {
      if (isObject(spec)) fillEmpty(spec, 'volumeLifecycleModes', ['Persistent']);
    },
  ],
  ['v1 LimitRange', limitRange],
  [
    'v1 Namespace',
    ({ metadata }) => {
      if (metadata.name !== undefined)
        metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
    },
  ],
  ['v1 Node', node],
  ['v1 Pod', pod],
  [
    'v1 PodTemplate',
    (object) => {
      const spec = member(object.template, 'spec');
      if (spec !== undefined) defaultPodSpec(spec);
    },
  ],
  ['v1 ReplicationController', replicationController],
  ['v1 Secret', secret],
  ['v1 Service', service],
]);

import { objectAt, objectsAt } from '../../api/fields.ts';
import { deepCopy, isObject, type JsonObject, type JsonValue } from '../../api/object.ts';
import { formatTime } from '../../api/time.ts';
import { assign, type StrategyHooks } from './hooks.ts';
import { ephemeralContainersHooks, podHooks, podStatusHooks, resizeHooks } from './pod.ts';

const NAMESPACE_LABEL = 'kubernetes.io/metadata.name';

const namespace: StrategyHooks = {
  ownsOnCreate: ['spec', 'status'],
  applyDefaults: (object) => {
    const { name } = object.metadata;
    if (name === undefined || name === '') return;
    object.metadata.labels = { ...object.metadata.labels, [NAMESPACE_LABEL]: name };
  },
  prepareForCreate: (object) => {
    object.status = { phase: 'Active' };
    const finalizers = objectAt(object, 'spec').finalizers;
    const list: JsonValue[] = Array.isArray(finalizers) ? finalizers : [];
    object.spec = {
      ...objectAt(object, 'spec'),
      finalizers: list.includes('kubernetes') ? list : [...list, 'kubernetes'],
    };
    const { name = '' } = object.metadata;
    object.metadata.labels = { ...object.metadata.labels, [NAMESPACE_LABEL]: name };
  },
};

/** A secret's type cannot be unset: leaving it out keeps it. */
const secret: StrategyHooks = {
  prepareForUpdate: (object, old) => {
    if (object.type === undefined || object.type === '') assign(object, 'type', old.type);
  },
};

const REFERENCE_PARTS = ['apiVersion', 'fieldPath', 'kind', 'namespace', 'resourceVersion', 'uid'];

/** Only the names of a service account's secrets are kept. */
const serviceAccount: StrategyHooks = {
  prepareForUpdate: (object) => {
    for (const reference of objectsAt(object, 'secrets')) for (const part of REFERENCE_PARTS) delete reference[part];
  },
};

const certificateRequest: StrategyHooks = {
  ownsOnCreate: ['spec'],
  prepareForCreate: (object, { user }) => {
    const spec = objectAt(object, 'spec');
    for (const part of ['username', 'uid', 'groups', 'extra']) delete spec[part];
    if (user.name !== '') spec.username = user.name;
    if (user.uid !== undefined && user.uid !== '') spec.uid = user.uid;
    if (user.groups.length > 0) spec.groups = [...user.groups];
    if (Object.keys(user.extra).length > 0) spec.extra = deepCopy(user.extra as unknown as JsonObject);
  },
};

const conditionTimes: StrategyHooks = {
  prepareForUpdate: (object, old, { now }) => {
    const before = objectsAt(objectAt(old, 'status'), 'conditions');
    for (const condition of objectsAt(objectAt(object, 'status'), 'conditions')) {
      const earlier = before.find((c) => c.type === condition.type);
      if (!condition.lastUpdateTime) condition.lastUpdateTime = formatTime(now);
      if (condition.lastTransitionTime) continue;
      const same = earlier !== undefined && earlier.status === condition.status && earlier.lastTransitionTime;
      condition.lastTransitionTime = same ? earlier.lastTransitionTime : formatTime(now);
    }
  },
};

const SNAPSHOTS = 'snapshot.storage.k8s.io';

/** Data sources of a claim: what is no claim or snapshot is dropped, and the two fields that say it are made to agree. */
function normalizeDataSources(spec: JsonObject, old: JsonObject): void {
  const inUse = isObject(old.dataSource) || isObject(old.dataSourceRef);
  if (isObject(spec.dataSource) && !isObject(spec.dataSourceRef) && !inUse) {
    const { apiGroup, kind } = spec.dataSource;
    const isClaim = kind === 'PersistentVolumeClaim' && (apiGroup ?? '') === '';
    if (!isClaim && !(kind === 'VolumeSnapshot' && apiGroup === SNAPSHOTS)) delete spec.dataSource;
  }
  const { dataSource: source, dataSourceRef: reference } = spec;
  const copy = ({ apiGroup, kind, name }: JsonObject): JsonObject => ({
    apiGroup: apiGroup ?? null,
    kind: kind ?? '',
    name: name ?? '',
  });
  if (isObject(source) && !isObject(reference)) spec.dataSourceRef = copy(source);
  else if (isObject(reference) && !isObject(source) && !reference.namespace) spec.dataSource = copy(reference);
}

const claim: StrategyHooks = {
  ownsOnCreate: ['spec'],
  prepareForCreate: (object) => {
    if (isObject(object.spec)) normalizeDataSources(object.spec, {});
    object.status = { phase: 'Pending' };
  },
  prepareForUpdate: (object, old) => {
    if (isObject(object.spec)) normalizeDataSources(object.spec, objectAt(old, 'spec'));
  },
};

const volume: StrategyHooks = {
  ownsOnCreate: ['status'],
  prepareForCreate: (object, { now }) => {
    object.status = { phase: 'Pending', lastPhaseTransitionTime: formatTime(now) };
  },
};

const volumeStatus: StrategyHooks = {
  prepareForUpdate: (object, old, { now }) => {
    const status = objectAt(object, 'status');
    const before = objectAt(old, 'status');
    if (status.phase !== before.phase && status.lastPhaseTransitionTime === before.lastPhaseTransitionTime) {
      status.lastPhaseTransitionTime = formatTime(now);
    } else if (!status.lastPhaseTransitionTime) {
      assign(status, 'lastPhaseTransitionTime', before.lastPhaseTransitionTime);
    }
  },
};

/** Services: the status belongs to its own endpoint; only those of type LoadBalancer keep their addresses. */
const service: StrategyHooks = {
  ownsOnCreate: ['status'],
  prepareForCreate: (object) => {
    object.status = { loadBalancer: {} };
  },
  prepareForUpdate: (object, old) => {
    object.status = isObject(old.status) ? deepCopy(old.status) : { loadBalancer: {} };
    if (objectAt(object, 'spec').type !== 'LoadBalancer') objectAt(object, 'status').loadBalancer = {};
  },
};

const JOB_LABELS = ['controller-uid', 'batch.kubernetes.io/controller-uid'] as const;
const JOB_NAMES = ['job-name', 'batch.kubernetes.io/job-name'] as const;

/** Jobs select their pods by the job's uid, unless they say that they choose the labels themselves. */
const job: StrategyHooks = {
  prepareForCreate: (object) => {
    const spec = objectAt(object, 'spec');
    const { uid = '', name = '' } = object.metadata;
    const template = objectAt(spec, 'template');
    const metadata = objectAt(template, 'metadata');
    if (spec.manualSelector === true) return;
    const labels = { ...objectAt(metadata, 'labels') };
    for (const key of JOB_LABELS) labels[key] ??= uid;
    for (const key of JOB_NAMES) labels[key] ??= name;
    spec.template = { ...template, metadata: { ...metadata, labels } };
    const selector = objectAt(spec, 'selector');
    const matchLabels = { ...objectAt(selector, 'matchLabels') };
    matchLabels[JOB_LABELS[1]] ??= uid;
    spec.selector = { ...selector, matchLabels };
    if (Object.keys(objectAt(object.metadata, 'labels')).length === 0) {
      object.metadata.labels = { ...labels } as Record<string, string>;
    }
  },
};

const storageVersionOf = (definition: JsonObject): JsonValue | undefined =>
  objectsAt(objectAt(definition, 'spec'), 'versions').find((version) => version.storage === true)?.name;

/** Definitions remember every version that objects may be stored in. */
const definition: StrategyHooks = {
  prepareForCreate: (object) => {
    const version = storageVersionOf(object);
    object.status = { ...objectAt(object, 'status'), storedVersions: version === undefined ? [] : [version] };
  },
  prepareForUpdate: (object) => {
    const status = objectAt(object, 'status');
    const stored = Array.isArray(status.storedVersions) ? status.storedVersions : [];
    const version = storageVersionOf(object);
    if (version !== undefined && !stored.includes(version))
      object.status = { ...status, storedVersions: [...stored, version] };
  },
};

/** Hooks by `group/resource` or `group/resource/subresource`. */
export const strategyHooks: ReadonlyMap<string, StrategyHooks> = new Map([
  ['/namespaces', namespace],
  ['/namespaces/status', { applyDefaults: namespace.applyDefaults! }],
  ['/namespaces/finalize', { applyDefaults: namespace.applyDefaults! }],
  ['/secrets', secret],
  ['/serviceaccounts', serviceAccount],
  ['/persistentvolumeclaims', claim],
  ['/persistentvolumes', volume],
  ['/persistentvolumes/status', volumeStatus],
  ['/services', service],
  ['/pods', podHooks],
  ['/pods/status', podStatusHooks],
  ['/pods/ephemeralcontainers', ephemeralContainersHooks],
  ['/pods/resize', resizeHooks],
  ['batch/jobs', job],
  ['apiextensions.k8s.io/customresourcedefinitions', definition],
  ['certificates.k8s.io/certificatesigningrequests', certificateRequest],
  ['certificates.k8s.io/certificatesigningrequests/approval', conditionTimes],
  ['certificates.k8s.io/certificatesigningrequests/status', conditionTimes],
]);

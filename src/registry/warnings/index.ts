import { at, int, objectAt, objectsAt, text, texts } from '../../api/fields.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../../api/object.ts';
import { dnsLabelErrors } from '../../api/validation/names.ts';
import { writeWarnings } from '../custom.ts';
import type { Resource } from '../resource.ts';
import { addressWarnings, eachAddress, eachRange, peerWarnings } from './addresses.ts';
import { keyPairFault } from './key-pair.ts';
import { expressionWarnings, labelAdvice, selectedLabelWarnings, termWarnings } from './node-labels.ts';
import { podWarnings } from './pods.ts';
import { claimWarnings, quotaWarnings } from './resources.ts';
import { ingressAddressWarnings, serviceWarnings } from './services.ts';
import { persistentDriverWarnings } from './volumes.ts';

/** Warnings about an object that is written; `old` is absent on create. */
type Warn = (object: KubeObject, old?: KubeObject) => string[];

const spec = (object: JsonObject) => objectAt(object, 'spec');
const annotated = (object: KubeObject | undefined, key: string) => object?.metadata.annotations?.[key] !== undefined;

/** Pods are named after the object, and hosts after pods. */
function nameWarnings(object: KubeObject, used: string): string[] {
  const faults = dnsLabelErrors(object.metadata.name ?? '');
  if (faults.length === 0) return [];
  const why = `this is used in ${used}, which can result in surprising behavior; a DNS label is recommended`;
  return [`metadata.name: ${why}: [${faults.join(' ')}]`];
}

/** Warnings about a pod template: on update only where the object has a new generation. */
function template(path: readonly string[], options: { named?: boolean; seen?: Warn } = {}): Warn {
  return (object, old) => {
    const pod = at(object, ...path) as JsonObject | undefined;
    if (pod === undefined || (old !== undefined && old.metadata.generation === object.metadata.generation)) return [];
    return [
      ...(options.named && old === undefined ? nameWarnings(object, 'Pod names and hostnames') : []),
      ...(options.seen?.(object, old) ?? []),
      ...podWarnings(pod, path.join('.')),
    ];
  };
}

const JOB_LIMIT =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';

function jobLimits(job: JsonObject, path: string): string[] {
  const large = int(job.completions) > 100_000 && int(job.parallelism) > 10_000;
  return job.completionMode === 'Indexed' && large ? [`${path}: ${JOB_LIMIT}`] : [];
}

const job = template(['spec', 'template'], { named: true, seen: (object) => jobLimits(spec(object), 'spec') });
const cronJobTemplate = template(['spec', 'jobTemplate', 'spec', 'template'], {
  named: true,
  seen: (object) => jobLimits(spec(objectAt(spec(object), 'jobTemplate')), 'spec.jobTemplate.spec'),
});
const ZONE_IN_SCHEDULE =
  'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details';
const cronJob: Warn = (object, old) => [
  ...cronJobTemplate(object, old),
  ...(old !== undefined && text(spec(object).schedule).includes('TZ') ? [ZONE_IN_SCHEDULE] : []),
];

const statefulSetTemplate = template(['spec', 'template']);
const statefulSet: Warn = (object, old) => [
  ...statefulSetTemplate(object, old),
  ...objectsAt(spec(object), 'volumeClaimTemplates').flatMap((claim, i) =>
    claimWarnings(spec(claim), `spec.volumeClaimTemplates[${i}]${old === undefined ? '' : '.Spec'}`),
  ),
  ...(int(spec(object).revisionHistoryLimit) < 0
    ? ['spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended']
    : []),
];

const daemonSetTemplate = template(['spec', 'template']);
/** Only what is new in the template counts. */
const daemonSet: Warn = (object, old) =>
  old !== undefined && deepEqual(spec(object).template!, spec(old).template!) ? [] : daemonSetTemplate(object, old);

const controllerTemplate = template(['spec', 'template'], { named: true });
/** Upstream looks at the old template on update. */
const replicationController: Warn = (object, old) => {
  if (old === undefined) return controllerTemplate(object);
  const swapped = { ...object, spec: { ...spec(object), template: spec(old).template! } };
  return controllerTemplate(swapped, old);
};

const pod: Warn = (object, old) =>
  old === undefined ? [...nameWarnings(object, "the Pod's hostname"), ...podWarnings(object, '')] : [];

const CLASS = 'volume.beta.kubernetes.io/storage-class';
const MOUNT_OPTIONS = 'volume.beta.kubernetes.io/mount-options';
const CLASS_SAID = 'deprecated since v1.8; use "storageClassName" attribute instead';
const annotationWarning = (object: KubeObject, key: string, said: string) =>
  annotated(object, key) ? [`metadata.annotations[${key}]: ${said}`] : [];

const persistentVolume: Warn = (object) => [
  ...annotationWarning(object, CLASS, CLASS_SAID),
  ...annotationWarning(object, MOUNT_OPTIONS, 'deprecated since v1.31; use "mountOptions" attribute instead'),
  ...(spec(object).persistentVolumeReclaimPolicy === 'Recycle'
    ? [
        'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
      ]
    : []),
  ...termWarnings(objectAt(objectAt(spec(object), 'nodeAffinity'), 'required'), 'spec.nodeAffinity.required'),
  ...persistentDriverWarnings(spec(object)),
];

const claim: Warn = (object) => [
  ...annotationWarning(object, CLASS, CLASS_SAID),
  ...claimWarnings(spec(object), 'spec'),
];

const node: Warn = (object) => [
  ...(spec(object).configSource === undefined ? [] : ['spec.configSource: the feature is removed']),
  ...(text(spec(object).externalID) === ''
    ? []
    : ['spec.externalID: this field is deprecated, and is unused by Kubernetes']),
  ...eachRange('spec.podCIDRs', texts(spec(object).podCIDRs)),
];

const MOUNTABLE = 'kubernetes.io/enforce-mountable-secrets';
const serviceAccount: Warn = (object, old) =>
  annotated(object, MOUNTABLE) && !annotated(old, MOUNTABLE)
    ? [
        `metadata.annotations[${MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
      ]
    : [];

const decoded = (value: unknown) => (typeof value === 'string' ? Buffer.from(value, 'base64').toString('latin1') : '');
const secret: Warn = (object) => {
  if (object.type !== 'kubernetes.io/tls') return [];
  const data = objectAt(object, 'data');
  const fault = keyPairFault(decoded(data['tls.crt']), decoded(data['tls.key']));
  return fault === undefined ? [] : [fault];
};

const endpoints: Warn = (object) =>
  object.metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller'
    ? []
    : objectsAt(object, 'subsets').flatMap((subset, i) =>
        ['addresses', 'notReadyAddresses'].flatMap((list) =>
          objectsAt(subset, list).flatMap(({ ip }, j) => addressWarnings(`subsets[${i}].${list}[${j}].ip`, text(ip))),
        ),
      );

const SLICE_CONTROLLERS = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];
const endpointSlice: Warn = (object, old) => [
  ...(old === undefined && object.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
  ...(SLICE_CONTROLLERS.includes(object.metadata.labels?.['endpointslice.kubernetes.io/managed-by'] ?? '')
    ? []
    : objectsAt(object, 'endpoints').flatMap((endpoint, i) =>
        eachAddress(`endpoints[${i}].addresses`, texts(endpoint.addresses)),
      )),
];

const INGRESS_CLASS = 'kubernetes.io/ingress.class';
const ingress: Warn = (object, old) =>
  old === undefined && annotated(object, INGRESS_CLASS) && spec(object).ingressClassName === undefined
    ? [`annotation "${INGRESS_CLASS}" is deprecated, please use 'spec.ingressClassName' instead`]
    : [];

const TOKENS_IN_SECRETS =
  'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';
const csiDriver: Warn = (object, old) => {
  const { tokenRequests, serviceAccountTokenInSecrets } = spec(object);
  if (objectsAt(spec(object), 'tokenRequests').length === 0 || serviceAccountTokenInSecrets !== undefined) return [];
  const same = old !== undefined && deepEqual(tokenRequests!, spec(old).tokenRequests ?? null);
  return same ? [] : [TOKENS_IN_SECRETS];
};

const runtimeClass: Warn = (object) =>
  selectedLabelWarnings(objectAt(object, 'scheduling').nodeSelector, () => 'scheduling.nodeSelector');

const storageClass: Warn = (object) =>
  objectsAt(object, 'allowedTopologies').flatMap((topology, i) =>
    objectsAt(topology, 'matchLabelExpressions').flatMap(({ key }, j) => {
      const advice = labelAdvice(text(key));
      return advice === undefined ? [] : [`allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${advice}`];
    }),
  );

const capacity: Warn = (object) => {
  const topology = objectAt(object, 'nodeTopology');
  return [
    ...expressionWarnings(topology, 'nodeTopology', false),
    ...selectedLabelWarnings(topology.matchLabels, (label) => `nodeTopology.matchLabels.${label}`),
  ];
};

const networkPolicy: Warn = (object) => [
  ...peerWarnings(objectsAt(spec(object), 'ingress'), 'spec.ingress', 'from'),
  ...peerWarnings(objectsAt(spec(object), 'egress'), 'spec.egress', 'to'),
];

const resourceSlice: Warn = (object) => {
  const driver = text(spec(object).driver);
  const why = `${JSON.stringify(driver)} contains uppercase characters`;
  return driver === driver.toLowerCase() ? [] : [`spec.driver: driver names should be lowercase; ${why}`];
};

const podStatus: Warn = (object) =>
  ['podIPs', 'hostIPs'].flatMap((list) =>
    objectsAt(objectAt(object, 'status'), list).flatMap(({ ip }, i) =>
      addressWarnings(`status.${list}[${i}].ip`, text(ip)),
    ),
  );

const STATIC_SUFFIX = '.static.k8s.io';
/** Names that are kept for what comes from files. */
const staticName: Warn = ({ metadata }) =>
  (metadata.name ?? '').endsWith(STATIC_SUFFIX)
    ? [
        `metadata.name: names ending with "${STATIC_SUFFIX}" are reserved for static manifest-based configurations and cannot be managed via the API`,
      ]
    : [];

/** By `group/resource`, with `/subresource` where it is warned of writes to one. */
const rows: ReadonlyMap<string, Warn> = new Map<string, Warn>([
  ['/pods', pod],
  ['/pods/status', podStatus],
  ['/podtemplates', template(['template'])],
  ['/replicationcontrollers', replicationController],
  ['apps/daemonsets', daemonSet],
  ['apps/deployments', template(['spec', 'template'], { named: true })],
  ['apps/replicasets', template(['spec', 'template'], { named: true })],
  ['apps/statefulsets', statefulSet],
  ['batch/jobs', job],
  ['batch/cronjobs', cronJob],
  ['/services', serviceWarnings],
  ['/services/status', ingressAddressWarnings],
  ['/endpoints', endpoints],
  ['/nodes', node],
  ['/secrets', secret],
  ['/serviceaccounts', serviceAccount],
  ['/resourcequotas', (object, old) => (old === undefined ? quotaWarnings(spec(object)) : [])],
  ['/persistentvolumes', persistentVolume],
  ['/persistentvolumeclaims', claim],
  ['discovery.k8s.io/endpointslices', endpointSlice],
  ['networking.k8s.io/ingresses', ingress],
  ['networking.k8s.io/ingresses/status', ingressAddressWarnings],
  ['networking.k8s.io/networkpolicies', networkPolicy],
  ['node.k8s.io/runtimeclasses', runtimeClass],
  ['storage.k8s.io/csidrivers', csiDriver],
  ['storage.k8s.io/csistoragecapacities', capacity],
  ['storage.k8s.io/storageclasses', storageClass],
  ['resource.k8s.io/resourceslices', resourceSlice],
  ...[
    'mutatingadmissionpolicies',
    'mutatingadmissionpolicybindings',
    'mutatingwebhookconfigurations',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'validatingwebhookconfigurations',
  ].map((resource): [string, Warn] => [`admissionregistration.k8s.io/${resource}`, staticName]),
]);

/**
 * Warnings about an object that may be written and is yet hardly meant, in the words and the order of upstream's
 * strategies. `old` is absent on create; `subresource` is empty for the object itself.
 */
export function warningsAbout(resource: Resource, subresource: string, object: KubeObject, old?: KubeObject): string[] {
  const key = `${resource.group}/${resource.resource}`;
  const found = rows.get(subresource === '' ? key : `${key}/${subresource}`)?.(object, old) ?? [];
  return [...writeWarnings(resource, object, old), ...found];
}

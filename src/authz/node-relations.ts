import { mapOf, objects, text } from '../api/fields.ts';
import { isObject, type JsonObject, type KubeObject } from '../api/object.ts';
import type { Keyspace } from '../keyspace/types.ts';

/** Kinds of objects that a node may be related to. */
export type RelatedKind =
  | 'secrets'
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'serviceaccounts'
  | 'pods'
  | 'resourceclaims'
  | 'resourceslices'
  | 'volumeattachments';

const decoder = new TextDecoder();
const MIRROR = 'kubernetes.io/config.mirror';

const read = (value: Uint8Array) => JSON.parse(decoder.decode(value)) as KubeObject;

async function readOne(keyspace: Keyspace, key: string): Promise<KubeObject | undefined> {
  const [record] = (await keyspace.get([key], { type: 'linearizable' })).records;
  return record === undefined ? undefined : read(record.value);
}

/** The pods of a namespace that are bound to the node, without mirror pods, which refer to nothing. */
async function podsOf(keyspace: Keyspace, node: string, namespace: string): Promise<KubeObject[]> {
  const { records } = await keyspace.list({
    prefix: `/registry/pods/${namespace}/`,
    term: `node:${node}`,
    limit: 0,
    consistency: { type: 'linearizable' },
  });
  return records.map((r) => read(r.value)).filter((pod) => pod.metadata.annotations?.[MIRROR] === undefined);
}

function containersOf(pod: KubeObject): JsonObject[] {
  const spec = mapOf(pod.spec);
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => objects(spec[list]));
}

const volumesOf = (pod: KubeObject): JsonObject[] => objects(mapOf(pod.spec).volumes);

/** Names in `env` and `envFrom`: `which` is `configMap` or `secret`. */
function* environmentNames(pod: KubeObject, which: string): Generator<string> {
  for (const container of containersOf(pod)) {
    for (const source of objects(container.envFrom)) yield text(mapOf(source[`${which}Ref`]).name);
    for (const { valueFrom } of objects(container.env)) yield text(mapOf(mapOf(valueFrom)[`${which}KeyRef`]).name);
  }
}

function* projectedNames(pod: KubeObject, which: string): Generator<string> {
  for (const volume of volumesOf(pod)) {
    for (const source of objects(mapOf(volume.projected).sources)) yield text(mapOf(source[which]).name);
  }
}

/** Volume types with a `secretRef` (or two) to a secret in the pod's namespace. */
const secretVolumes = ['cephfs', 'cinder', 'flexVolume', 'rbd', 'iscsi', 'scaleIO', 'storageos'];

/** Names of the secrets that a pod names, some of them empty. */
export function* secretNames(pod: KubeObject): Generator<string> {
  for (const { name } of objects(mapOf(pod.spec).imagePullSecrets)) yield text(name);
  yield* environmentNames(pod, 'secret');
  yield* projectedNames(pod, 'secret');
  for (const volume of volumesOf(pod)) {
    yield text(mapOf(volume.secret).secretName);
    yield text(mapOf(volume.azureFile).secretName);
    yield text(mapOf(mapOf(volume.csi).nodePublishSecretRef).name);
    for (const type of secretVolumes) yield text(mapOf(mapOf(volume[type]).secretRef).name);
  }
}

/** Names of the config maps that a pod names, some of them empty. */
export function* configMapNames(pod: KubeObject): Generator<string> {
  yield* environmentNames(pod, 'configMap');
  yield* projectedNames(pod, 'configMap');
  for (const volume of volumesOf(pod)) yield text(mapOf(volume.configMap).name);
}

function* claimNames(pod: KubeObject): Generator<string> {
  for (const volume of volumesOf(pod)) {
    yield text(mapOf(volume.persistentVolumeClaim).claimName);
    if (isObject(volume.ephemeral)) yield `${pod.metadata.name}-${text(volume.name)}`;
  }
}

function* resourceClaimNames(pod: KubeObject): Generator<string> {
  for (const { resourceClaimName } of objects(mapOf(pod.spec).resourceClaims)) yield text(resourceClaimName);
  for (const { resourceClaimName } of objects(mapOf(pod.status).resourceClaimStatuses)) yield text(resourceClaimName);
}

function* accountNames(pod: KubeObject): Generator<string> {
  yield text(mapOf(pod.spec).serviceAccountName);
}

type Related = (keyspace: Keyspace, node: string, namespace: string, name: string) => Promise<boolean>;

const includes = (names: Iterable<string>, name: string): boolean => {
  for (const n of names) if (n === name) return true;
  return false;
};

/** Objects of the pod's namespace that the pod names. */
const named =
  (names: (pod: KubeObject) => Iterable<string>): Related =>
  async (keyspace, node, namespace, name) =>
    (await podsOf(keyspace, node, namespace)).some((pod) => includes(names(pod), name));

/** Objects that say themselves which node they belong to. */
const ofNode =
  (key: (namespace: string, name: string) => string): Related =>
  async (keyspace, node, namespace, name) => {
    const found = await readOne(keyspace, key(namespace, name));
    return text(mapOf(found?.spec).nodeName) === node;
  };

/** Volumes whose claim a pod on the node uses. */
const volume: Related = async (keyspace, node, _namespace, name) => {
  const claim = mapOf(mapOf((await readOne(keyspace, `/registry/persistentvolumes/${name}`))?.spec).claimRef);
  const [namespace, claimName] = [text(claim.namespace), text(claim.name)];
  return namespace !== '' && named(claimNames)(keyspace, node, namespace, claimName);
};

/** Secrets that a volume of a claim on the node names in its CSI source. */
async function isVolumeSecret(keyspace: Keyspace, node: string, namespace: string, name: string): Promise<boolean> {
  const refers = (source: JsonObject) =>
    Object.values(source).some((ref) => isObject(ref) && ref.name === name && ref.namespace === namespace);
  const pods = await podsOf(keyspace, node, namespace);
  const claims = [...new Set(pods.flatMap((pod) => [...claimNames(pod)]).filter(Boolean))];
  for (const claimName of claims) {
    const claim = await readOne(keyspace, `/registry/persistentvolumeclaims/${namespace}/${claimName}`);
    const volumeName = text(mapOf(claim?.spec).volumeName);
    const bound = volumeName === '' ? undefined : await readOne(keyspace, `/registry/persistentvolumes/${volumeName}`);
    if (refers(mapOf(mapOf(bound?.spec).csi))) return true;
  }
  return false;
}

const relations: Record<RelatedKind, Related> = {
  secrets: async (...of) => (await named(secretNames)(...of)) || isVolumeSecret(...of),
  configmaps: named(configMapNames),
  persistentvolumeclaims: named(claimNames),
  serviceaccounts: named(accountNames),
  resourceclaims: named(resourceClaimNames),
  persistentvolumes: volume,
  pods: ofNode((namespace, name) => `/registry/pods/${namespace}/${name}`),
  resourceslices: ofNode((_namespace, name) => `/registry/resourceslices/${name}`),
  volumeattachments: ofNode((_namespace, name) => `/registry/volumeattachments/${name}`),
};

/**
 * Whether an object belongs to a node or is referred to by a pod bound to it, as a quorum confirms it. The pods are
 * found by the index term `node:NAME`.
 */
export async function isRelated(
  keyspace: Keyspace,
  node: string,
  kind: RelatedKind,
  namespace: string,
  name: string,
): Promise<boolean> {
  return name !== '' && relations[kind](keyspace, node, namespace, name);
}

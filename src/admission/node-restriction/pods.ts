import { mapOf, objects, text } from '../../api/fields.ts';
import { deepEqual, type JsonObject, type JsonValue, type KubeObject } from '../../api/object.ts';
import { configMapNames, secretNames } from '../../authz/node-relations.ts';
import { forbidden, notFound } from '../../status/status.ts';
import { type Attributes, subjectOf } from '../chain.ts';
import { builtinRow, lookUp } from '../lookup.ts';

const pods = builtinRow('v1', 'pods');
const nodes = builtinRow('v1', 'nodes');
const MIRROR = 'kubernetes.io/config.mirror';

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);
const nodeNameOf = ({ spec }: KubeObject): string => text(mapOf(spec).nodeName);

/** Volumes that lead to an object of the API, with what upstream calls that. */
const volumeReferences: readonly (readonly [type: string, what: string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
];
const sourceReferences: readonly (readonly [type: string, what: string])[] = [
  ['configMap', 'configmaps (via projected volumes)'],
  ['secret', 'secrets (via projected volumes)'],
  ['serviceAccountToken', 'serviceaccounts (via projected volumes)'],
  ['clusterTrustBundle', 'clustertrustbundles'],
  ['podCertificate', 'podcertificates'],
];

const firstOf = (part: JsonObject, references: typeof volumeReferences) =>
  references.find(([type]) => part[type] !== undefined)?.[1];

const hasAny = (names: Iterable<string>) => [...names].some((name) => name !== '');

/** What object of the API a pod refers to, if to any. */
function referenceOf(pod: KubeObject): string | undefined {
  const spec = mapOf(pod.spec);
  if (text(spec.serviceAccountName) !== '') return 'serviceaccounts';
  if (hasAny(secretNames(pod))) return 'secrets';
  if (hasAny(configMapNames(pod))) return 'configmaps';
  if (objects(spec.resourceClaims).length > 0) return 'resourceclaims';
  for (const volume of objects(spec.volumes)) {
    const found = firstOf(volume, volumeReferences);
    if (found !== undefined) return found;
    for (const source of objects(mapOf(volume.projected).sources)) {
      const inside = firstOf(source, sourceReferences);
      if (inside !== undefined) return inside;
    }
  }
  return undefined;
}

/** A mirror pod's owner is its node, and that is all that it depends on. */
async function restrictOwner(attributes: Attributes, node: string, pod: KubeObject): Promise<void> {
  const own = JSON.stringify(node);
  const [owner, ...more] = pod.metadata.ownerReferences ?? [];
  if (more.length > 0) {
    throw refuse(attributes, `node ${own} can only create pods with a single owner reference set to itself`);
  }
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node) {
    throw refuse(attributes, `node ${own} can only create pods with an owner reference set to itself`);
  }
  if (owner.controller !== true) {
    throw refuse(attributes, `node ${own} can only create pods with a controller owner reference set to itself`);
  }
  if (owner.blockOwnerDeletion === true) {
    throw refuse(attributes, `node ${own} must not set blockOwnerDeletion on an owner reference`);
  }
  const found = await lookUp(attributes.ctx, nodes, '', node);
  if (found === undefined) throw notFound({ group: '', name: 'nodes' }, node);
  if (owner.uid !== found.metadata.uid) {
    throw refuse(attributes, `node ${node} UID mismatch: expected ${owner.uid} got ${found.metadata.uid}`);
  }
}

async function restrictCreate(attributes: Attributes, node: string): Promise<void> {
  const pod = attributes.object!;
  const own = JSON.stringify(node);
  if (pod.metadata.annotations?.[MIRROR] === undefined) {
    const why = `pod does not have "${MIRROR}" annotation, node ${own} can only create mirror pods`;
    throw refuse(attributes, why);
  }
  if (nodeNameOf(pod) !== node) {
    throw refuse(attributes, `node ${own} can only create pods with spec.nodeName set to itself`);
  }
  await restrictOwner(attributes, node, pod);
  const reference = referenceOf(pod);
  if (reference !== undefined) throw refuse(attributes, `node ${own} can not create pods that reference ${reference}`);
}

const claimsOf = (status: JsonObject): JsonValue =>
  objects(status.resourceClaimStatuses).map(({ name, resourceClaimName }) => [text(name), resourceClaimName ?? null]);

function restrictStatus(attributes: Attributes, node: string): void {
  const { operation, object, old } = attributes;
  const own = JSON.stringify(node);
  if (operation !== 'UPDATE') throw refuse(attributes, `unexpected operation ${JSON.stringify(operation)}`);
  if (nodeNameOf(old!) !== node) {
    throw refuse(attributes, `node ${own} can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!deepEqual(object!.metadata.labels ?? {}, old!.metadata.labels ?? {})) {
    throw refuse(attributes, `node ${own} cannot update labels through pod status`);
  }
  const [now, before] = [mapOf(object!.status), mapOf(old!.status)];
  if (!deepEqual(claimsOf(now), claimsOf(before))) {
    throw refuse(attributes, `node ${own} cannot update resource claim statues`);
  }
  if (!deepEqual(now.extendedResourceClaimStatus ?? null, before.extendedResourceClaimStatus ?? null)) {
    throw refuse(attributes, `node ${own} cannot update extended resource claim status`);
  }
}

async function restrictEviction(attributes: Attributes, node: string): Promise<void> {
  const { ctx, namespace, object } = attributes;
  const name = attributes.name === '' ? (object?.metadata.name ?? '') : attributes.name;
  if (name === '') throw refuse(attributes, 'could not determine pod from request data');
  const pod = await lookUp(ctx, pods, namespace, name);
  if (pod === undefined) throw notFound({ group: '', name: 'pods' }, name);
  if (nodeNameOf(pod) === node) return;
  throw refuse(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

/** A node makes mirror pods of its own, tells the status of its pods, and lets them go. */
export async function restrictPod(attributes: Attributes, node: string): Promise<void> {
  const { subresource, operation, old } = attributes;
  const own = JSON.stringify(node);
  if (subresource === 'status') restrictStatus(attributes, node);
  else if (subresource === 'eviction') await restrictEviction(attributes, node);
  else if (subresource !== '') {
    const why = `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`;
    throw refuse(attributes, why);
  } else if (operation === 'CREATE') await restrictCreate(attributes, node);
  else if (operation !== 'DELETE') {
    const why = `unexpected operation ${JSON.stringify(operation)}, node ${own} can only create and delete mirror pods`;
    throw refuse(attributes, why);
  } else if (old === undefined || nodeNameOf(old) !== node) {
    throw refuse(attributes, `node ${own} can only delete pods with spec.nodeName set to itself`);
  }
}

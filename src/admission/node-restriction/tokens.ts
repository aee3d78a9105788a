import { mapOf, objects, text, texts } from '../../api/fields.ts';
import type { JsonObject, KubeObject } from '../../api/object.ts';
import { forbidden, notFound } from '../../status/status.ts';
import { type Attributes, subjectOf } from '../chain.ts';
import { builtinRow, lookUp } from '../lookup.ts';
import { requireAny } from '../permission.ts';

const pods = builtinRow('v1', 'pods');
const claims = builtinRow('v1', 'persistentvolumeclaims');
const volumes = builtinRow('v1', 'persistentvolumes');
const drivers = builtinRow('storage.k8s.io/v1', 'csidrivers');

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);

/** Volume types of old that drivers serve by now, with the driver of each. */
const migrated: Readonly<Record<string, string>> = {
  awsElasticBlockStore: 'ebs.csi.aws.com',
  gcePersistentDisk: 'pd.csi.storage.gke.io',
  cinder: 'cinder.csi.openstack.org',
  azureDisk: 'disk.csi.azure.com',
  azureFile: 'file.csi.azure.com',
  vsphereVolume: 'csi.vsphere.vmware.com',
  portworxVolume: 'pxd.portworx.com',
};

const driverOf = (source: JsonObject): string =>
  text(mapOf(source.csi).driver) || (Object.entries(migrated).find(([type]) => source[type] !== undefined)?.[1] ?? '');

async function driverOfClaim({ ctx, namespace }: Attributes, name: string): Promise<string> {
  const claim = await lookUp(ctx, claims, namespace, name);
  const volume = await lookUp(ctx, volumes, '', text(mapOf(claim?.spec).volumeName));
  return driverOf(mapOf(volume?.spec));
}

/** The driver that serves a volume of the pod, empty: none. */
async function driverOfVolume(attributes: Attributes, pod: KubeObject, volume: JsonObject): Promise<string> {
  if (mapOf(volume.ephemeral).volumeClaimTemplate !== undefined) {
    return driverOfClaim(attributes, `${pod.metadata.name}-${text(volume.name)}`);
  }
  const claim = text(mapOf(volume.persistentVolumeClaim).claimName);
  return claim === '' ? driverOf(volume) : driverOfClaim(attributes, claim);
}

/** Whether a pod has a volume that tokens for an audience are made for. */
async function refersTo(attributes: Attributes, pod: KubeObject, audience: string): Promise<boolean> {
  for (const volume of objects(mapOf(pod.spec).volumes)) {
    const sources = objects(mapOf(volume.projected).sources).map(({ serviceAccountToken }) => serviceAccountToken);
    if (sources.some((token) => token !== undefined && text(mapOf(token).audience) === audience)) return true;
    const driver = await lookUp(attributes.ctx, drivers, '', await driverOfVolume(attributes, pod, volume));
    const tokens = objects(mapOf(driver?.spec).tokenRequests);
    if (tokens.some((token) => text(token.audience) === audience)) return true;
  }
  return false;
}

async function restrictAudience(attributes: Attributes, pod: KubeObject, audiences: readonly string[]): Promise<void> {
  const { ctx, namespace, name } = attributes;
  if (audiences.length > 1) throw refuse(attributes, 'node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  if (await refersTo(attributes, pod, audience)) return;
  const verb = 'request-serviceaccounts-token-audience';
  await requireAny(ctx, [{ verb, version: 'v1', resource: audience, namespace, name }], () => {
    const missing = `audience ${JSON.stringify(audience)} not found in pod spec volume`;
    return refuse(attributes, `${missing}, ${ctx.user.name} is not authorized to request tokens for this audience`);
  });
}

/** A node asks for tokens of pods that are bound to it, and for what their volumes are made for. */
export async function restrictToken(attributes: Attributes, node: string): Promise<void> {
  const { ctx, operation, subresource, namespace, object } = attributes;
  if (operation !== 'CREATE' || subresource !== 'token') return;
  const spec = mapOf(object?.spec);
  const { apiVersion, kind, name, uid } = mapOf(spec.boundObjectRef);
  if (apiVersion !== 'v1' || kind !== 'Pod' || text(name) === '') {
    throw refuse(attributes, 'node requested token not bound to a pod');
  }
  if (text(uid) === '') throw refuse(attributes, 'node requested token with a pod binding without a uid');
  const pod = await lookUp(ctx, pods, namespace, text(name));
  if (pod === undefined) throw notFound({ group: '', name: 'pods' }, text(name));
  if (uid !== pod.metadata.uid) {
    const why = `the UID in the bound object reference (${text(uid)}) does not match the UID in record`;
    throw refuse(attributes, `${why}. The object might have been deleted and then recreated`);
  }
  if (text(mapOf(pod.spec).nodeName) !== node) {
    throw refuse(attributes, 'node requested token bound to a pod scheduled on a different node');
  }
  await restrictAudience(attributes, pod, texts(spec.audiences));
}

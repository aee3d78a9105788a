import { objectAt, objectsAt } from '../api/fields.ts';
import type { JsonObject, KubeObject } from '../api/object.ts';
import { generatedName } from '../registry/names.ts';
import { forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { builtinRow, lookUp } from './lookup.ts';

const DEFAULT = 'default';
const MIRROR = 'kubernetes.io/config.mirror';
const VOLUME_PREFIX = 'kube-api-access-';
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Seconds that a mounted token lives: an hour, and enough to tell it from one that was asked for. */
const TOKEN_SECONDS = 3607;
/** A new namespace's default account is made by a controller, for which a pod waits a little. */
const ATTEMPTS = 10;
const WAIT_MS = 150;

const accounts = builtinRow('v1', 'serviceaccounts');

const refuse = (attributes: Attributes, why: string) => forbidden(subjectOf(attributes), attributes.name, why);

async function accountOf(attributes: Attributes, name: string): Promise<KubeObject> {
  const { ctx, namespace } = attributes;
  for (let attempt = 1; attempt <= (name === DEFAULT ? ATTEMPTS : 1); attempt++) {
    if (attempt > 1) await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    const account = await lookUp(ctx, accounts, namespace, name);
    if (account !== undefined) return account;
  }
  const missing = `serviceaccount ${JSON.stringify(name)} not found`;
  throw refuse(attributes, `error looking up service account ${namespace}/${name}: ${missing}`);
}

const tokenVolume = (name: string): JsonObject => ({
  name,
  projected: {
    sources: [
      { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
    defaultMode: 0o644,
  },
});

function mountToken(spec: JsonObject): void {
  const volumes = objectsAt(spec, 'volumes');
  const existing = volumes.find(({ name }) => typeof name === 'string' && name.startsWith(VOLUME_PREFIX))?.name;
  const name = typeof existing === 'string' ? existing : generatedName(VOLUME_PREFIX);
  let mounted = false;
  for (const container of [...objectsAt(spec, 'initContainers'), ...objectsAt(spec, 'containers')]) {
    const mounts = objectsAt(container, 'volumeMounts');
    if (mounts.some(({ mountPath }) => mountPath === MOUNT_PATH)) continue;
    container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }];
    mounted = true;
  }
  if (mounted && existing === undefined) spec.volumes = [...volumes, tokenVolume(name)];
}

function refuseMirror(attributes: Attributes, spec: JsonObject): void {
  if (spec.serviceAccountName) throw refuse(attributes, 'a mirror pod may not reference service accounts');
  for (const volume of objectsAt(spec, 'volumes')) {
    if (volume.secret !== undefined) throw refuse(attributes, 'a mirror pod may not reference secrets');
    const sources = objectsAt(objectAt(volume, 'projected'), 'sources');
    if (sources.some((source) => source.serviceAccountToken !== undefined)) {
      throw refuse(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
    }
  }
}

/** Gives pods their service account: its name, its pull secrets, and a token that the kubelet mounts and renews. */
export const serviceAccount: Plugin = {
  name: 'ServiceAccount',
  resources: ['/pods'],
  operations: ['CREATE'],
  admit: async (attributes) => {
    const pod = attributes.object!;
    const spec = objectAt(pod, 'spec');
    if (pod.metadata.annotations?.[MIRROR] !== undefined) {
      refuseMirror(attributes, spec);
      return;
    }
    const name =
      typeof spec.serviceAccountName === 'string' && spec.serviceAccountName !== '' ? spec.serviceAccountName : DEFAULT;
    spec.serviceAccountName = name;
    spec.serviceAccount = name;
    const account = await accountOf(attributes, name);
    if ((spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) === true) mountToken(spec);
    const secrets = objectsAt(account, 'imagePullSecrets');
    if (objectsAt(spec, 'imagePullSecrets').length === 0 && secrets.length > 0) {
      spec.imagePullSecrets = secrets.map((secret) => ({ name: secret.name ?? '' }));
    }
  },
};

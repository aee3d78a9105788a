import { objectAt, objectsAt, size, text } from '../../api/fields.ts';
import type { JsonObject } from '../../api/object.ts';
import { claimWarnings } from './resources.ts';

/** Volumes of old drivers by the name that upstream gives them, which is not always the field's, and what it says. */
const oldDrivers: readonly [field: string, shown: string, said: string][] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

/** Drivers of persistent volumes that are warned of, in upstream's order. */
const oldPersistent = ['cephfs', 'photonPersistentDisk', 'scaleIO', 'storageos', 'glusterfs', 'rbd'];

const saidOf = (source: JsonObject, at: string, fields: readonly string[]): string[] =>
  fields
    .filter((field) => source[field] !== undefined)
    .map((field) => {
      const [, shown, said] = oldDrivers.find(([name]) => name === field)!;
      return `${at}.${shown}: ${said}`;
    });

/** Warnings about the driver of a persistent volume. */
export const persistentDriverWarnings = (spec: JsonObject): string[] => saidOf(spec, 'spec', oldPersistent);

/** Warnings about the volumes of a pod. */
export function volumeWarnings(spec: JsonObject, at: string): string[] {
  const volumes = objectsAt(spec, 'volumes');
  const beforeClaims = oldDrivers.map(([field]) => field).filter((field) => field !== 'cephfs' && field !== 'rbd');
  const drivers = volumes.flatMap((volume, i) => {
    const path = `${at}.volumes[${i}]`;
    const template = objectAt(objectAt(volume, 'ephemeral'), 'volumeClaimTemplate');
    return [
      ...saidOf(volume, path, beforeClaims),
      ...claimWarnings(objectAt(template, 'spec'), `${path}.ephemeral.volumeClaimTemplate.spec`),
      ...saidOf(volume, path, ['cephfs', 'rbd']),
    ];
  });
  return [...drivers, ...volumes.flatMap(overlapWarnings)];
}

/** A path in a volume, and the source that puts a file there where there may be several. */
interface Placed {
  path: string;
  source: string;
}
const show = ({ path, source }: Placed) => JSON.stringify(path) + (source === '' ? '' : ` (${source})`);

const itemsOf = (source: JsonObject, label: string): Placed[] =>
  objectsAt(source, 'items').map((item) => ({ path: text(item.path), source: label }));

/** Descriptions of the places that collide with earlier ones: the same path, or a folder above or below. */
function collisions(places: readonly Placed[]): string[] {
  const trimmed = places.map(({ path, source }) => ({ path: path.replace(/\/+$/, ''), source }));
  const below = (a: string, b: string) => `${a}/`.startsWith(`${b}/`);
  return trimmed.flatMap((place, i) =>
    trimmed
      .slice(0, i)
      .filter((o) => place.path !== '' && o.path !== '' && (below(o.path, place.path) || below(place.path, o.path)))
      .map((other) => `${show(place)} with ${show(other)}`),
  );
}

function overlapWarnings(volume: JsonObject): string[] {
  const name = JSON.stringify(text(volume.name));
  const found = (kind: string, places: Placed[]) =>
    collisions(places).map((what) => `volume ${name} (${kind}): overlapping paths: ${what}`);
  const [map, secret] = [objectAt(volume, 'configMap'), objectAt(volume, 'secret')];
  const sources = objectsAt(objectAt(volume, 'projected'), 'sources');
  return [
    ...found(`ConfigMap ${JSON.stringify(text(map.name))}`, itemsOf(map, '')),
    ...found(`Secret ${JSON.stringify(text(secret.secretName))}`, itemsOf(secret, '')),
    ...found('DownwardAPI', itemsOf(objectAt(volume, 'downwardAPI'), '')),
    ...sources.filter((s) => size(s) === 0).map(() => `volume ${name} (Projected) has no sources provided`),
    ...found('Projected', sources.flatMap(projected)),
  ];
}

function projected(source: JsonObject): Placed[] {
  const [map, secret] = [objectAt(source, 'configMap'), objectAt(source, 'secret')];
  if (map.items !== undefined) return itemsOf(map, `ConfigMap ${JSON.stringify(text(map.name))}`);
  if (secret.items !== undefined) return itemsOf(secret, `Secret ${JSON.stringify(text(secret.name))}`);
  const downward = itemsOf(objectAt(source, 'downwardAPI'), 'DownwardAPI');
  if (downward.length > 0) return downward;
  if (source.serviceAccountToken !== undefined) {
    return [{ path: text(objectAt(source, 'serviceAccountToken').path), source: 'ServiceAccountToken' }];
  }
  const bundle = objectAt(source, 'clusterTrustBundle');
  if (source.clusterTrustBundle !== undefined) {
    const name = JSON.stringify(text(bundle.name ?? bundle.signerName));
    return [{ path: text(bundle.path), source: `ClusterTrustBundle ${name}` }];
  }
  const certificate = objectAt(source, 'podCertificate');
  const parts: [string, string][] = [
    ['certificateChainPath', 'PodCertificate chain'],
    ['keyPath', 'PodCertificate key'],
    ['credentialBundlePath', 'PodCertificate credential bundle'],
  ];
  return parts
    .filter(([field]) => text(certificate[field]) !== '')
    .map(([field, label]) => ({ path: text(certificate[field]), source: label }));
}

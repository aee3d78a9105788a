import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { compareQuantities } from '../quantity.ts';
import { each, has, integer, oneOf, part, parts, text, texts } from './checks.ts';
import { fieldReferenceFaults, resourceReferenceFaults, VOLUME_FIELDS } from './field-references.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';
import {
  azureDiskFaults,
  cinderFaults,
  fibreChannelFaults,
  flexFaults,
  flockerFaults,
  iscsiFaults,
  partitionFaults,
  quobyteFaults,
  storageOsFaults,
} from './network-volumes.ts';
import { backstepFaults, fileModeFaults, filePathFaults } from './paths.ts';
import { driverNameFaults } from './volumes.ts';

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const HOST_PATH_TYPES = [
  ...['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'],
];
const SHORTEST_TOKEN = 600;
const LONGEST_TOKEN = 2 ** 32;

type Check = (source: JsonObject, at: string, volume: VolumeContext) => StatusCause[];

interface VolumeContext {
  name: string;
  /** Name of the pod; empty in a template. */
  pod: string;
}

const missing = (source: JsonObject, at: string, keys: readonly string[]) =>
  keys.filter((key) => text(source[key]) === '').map((key) => causes.required(`${at}.${key}`));
const withKeys =
  (...keys: string[]): Check =>
  (source, at) =>
    missing(source, at, keys);

function itemFaults(source: JsonObject, at: string): StatusCause[] {
  return parts(source, 'items').flatMap((item, i) => [
    ...missing(item, `${at}.items[${i}]`, ['key', 'path']),
    ...filePathFaults(text(item.path), `${at}.items[${i}].path`),
    ...fileModeFaults(item.mode, `${at}.items[${i}].mode`),
  ]);
}

const monitors = (source: JsonObject, at: string) =>
  texts(source, 'monitors').length === 0 ? [causes.required(`${at}.monitors`)] : [];

const files =
  (name: string): Check =>
  (source, at) => [
    ...missing(source, at, [name]),
    ...fileModeFaults(source.defaultMode, `${at}.defaultMode`),
    ...itemFaults(source, at),
  ];

function downwardFaults(source: JsonObject, at: string): StatusCause[] {
  return parts(source, 'items').flatMap((item) => {
    const out = [...missing(item, at, ['path']), ...filePathFaults(text(item.path), `${at}.path`)];
    const [field, resource] = [has(item, 'fieldRef'), has(item, 'resourceFieldRef')];
    if (field) out.push(...fieldReferenceFaults(part(item, 'fieldRef'), VOLUME_FIELDS, `${at}.fieldRef`));
    if (field && resource) {
      const why = 'fieldRef and resourceFieldRef can not be specified simultaneously';
      out.push(causes.invalid(at, 'resource', why));
    } else if (resource) {
      out.push(...resourceReferenceFaults(part(item, 'resourceFieldRef'), `${at}.resourceFieldRef`, true));
    } else if (!field) out.push(causes.required(at, 'one of fieldRef and resourceFieldRef is required'));
    return [...out, ...fileModeFaults(item.mode, `${at}.mode`)];
  });
}

function tokenFaults(token: JsonObject, at: string, here: string): StatusCause[] {
  const seconds = integer(token.expirationSeconds);
  const field = `${here}.expirationSeconds`;
  const out: StatusCause[] = [];
  if (seconds < SHORTEST_TOKEN) {
    out.push(causes.invalid(field, seconds, 'may not specify a duration less than 10 minutes'));
  }
  if (seconds > LONGEST_TOKEN) {
    out.push(causes.invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  const path = text(token.path);
  return [...out, ...(path === '' ? [causes.required(`${at}.path`)] : filePathFaults(path, `${at}.path`))];
}

const PROJECTED = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle', 'podCertificate'];

/** Causes in what a volume brings together: its parts, and paths that several of them fill. */
function projectedFaults(volume: JsonObject, at: string): StatusCause[] {
  const paths = new Set<string>();
  const out = fileModeFaults(volume.defaultMode, `${at}.defaultMode`);
  const collide = (path: string, shown: string) => {
    if (path !== '' && paths.has(path)) out.push(causes.invalid(at, shown, 'conflicting duplicate paths'));
    paths.add(path);
  };
  for (const [i, source] of parts(volume, 'sources').entries()) {
    const here = `${at}.sources[${i}]`;
    for (const key of ['secret', 'configMap']) {
      if (!has(source, key)) continue;
      const own = part(source, key);
      out.push(...missing(own, `${here}.${key}`, ['name']), ...itemFaults(own, `${here}.${key}`));
      for (const { path } of parts(own, 'items')) collide(text(path), text(own.name));
    }
    const downward = part(source, 'downwardAPI');
    out.push(...downwardFaults(downward, `${here}.downwardAPI`));
    for (const { path } of parts(downward, 'items')) collide(text(path), text(path));
    if (has(source, 'serviceAccountToken')) {
      out.push(...tokenFaults(part(source, 'serviceAccountToken'), at, `${here}.serviceAccountToken`));
    }
    if (PROJECTED.filter((key) => has(source, key)).length > 1) {
      out.push(causes.forbidden(here, 'may not specify more than 1 volume type per source'));
    }
  }
  return out;
}

function hostPathFaults(source: JsonObject, at: string): StatusCause[] {
  const path = text(source.path);
  if (path === '') return [causes.required(`${at}.path`)];
  const out = backstepFaults(path, `${at}.path`);
  return has(source, 'type') ? [...out, ...oneOf(source.type, `${at}.type`, HOST_PATH_TYPES)] : out;
}

function nfsFaults(source: JsonObject, at: string): StatusCause[] {
  const out = missing(source, at, ['server', 'path']);
  const path = text(source.path);
  return path.startsWith('/') ? out : [...out, causes.invalid(`${at}.path`, path, 'must be an absolute path')];
}

function csiFaults(source: JsonObject, at: string): StatusCause[] {
  const out = driverNameFaults(text(source.driver), `${at}.driver`);
  if (!has(source, 'nodePublishSecretRef')) return out;
  const name = text(part(source, 'nodePublishSecretRef').name);
  if (name === '') return [...out, causes.required(`${at}.nodePublishSecretRef.name`)];
  return [...out, ...each(`${at}.name`, name, dnsSubdomainErrors(name))];
}

function ephemeralFaults(source: JsonObject, at: string, { name, pod }: VolumeContext): StatusCause[] {
  const here = `${at}.volumeClaimTemplate`;
  const out: StatusCause[] = [];
  if (!has(source, 'volumeClaimTemplate')) out.push(causes.required(here));
  else {
    const claim = part(part(source, 'volumeClaimTemplate'), 'spec');
    if (texts(claim, 'accessModes').length === 0) {
      out.push(causes.required(`${here}.spec.accessModes`, 'at least 1 access mode is required'));
    }
    if (!has(part(part(claim, 'resources'), 'requests'), 'storage')) {
      out.push(causes.required(`${here}.spec.resources[storage]`));
    }
  }
  if (pod === '' || name === '') return out;
  const shown = JSON.stringify(`${pod}-${name}`);
  const faults = dnsSubdomainErrors(`${pod}-${name}`).map((why) => `PVC name ${shown}: ${why}`);
  return [...out, ...each(`${at.slice(0, at.lastIndexOf('.'))}.name`, name, faults)];
}

function imageFaults(source: JsonObject, at: string, { pod }: VolumeContext): StatusCause[] {
  const out = pod === '' ? [] : missing(source, at, ['reference']);
  return [...out, ...oneOf(source.pullPolicy, `${at}.pullPolicy`, PULL_POLICIES)];
}

/** Kinds of volumes in the order in which upstream looks for them. */
const sources: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    'emptyDir',
    ({ sizeLimit }, at) =>
      typeof sizeLimit === 'string' && compareQuantities(sizeLimit, '0') < 0
        ? [causes.forbidden(`${at}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
        : [],
  ],
  ['hostPath', hostPathFaults],
  [
    'gitRepo',
    (source, at) => [
      ...missing(source, at, ['repository']),
      ...filePathFaults(text(source.directory), `${at}.directory`),
    ],
  ],
  [
    'gcePersistentDisk',
    (source, at) => partitionFaults('pdName')(source, at.replace(/gcePersistentDisk$/, 'persistentDisk')),
  ],
  ['awsElasticBlockStore', partitionFaults('volumeID')],
  ['secret', files('secretName')],
  ['nfs', nfsFaults],
  ['iscsi', iscsiFaults],
  ['glusterfs', withKeys('endpoints', 'path')],
  ['flocker', flockerFaults],
  ['persistentVolumeClaim', withKeys('claimName')],
  ['rbd', (source, at) => [...monitors(source, at), ...missing(source, at, ['image'])]],
  ['cinder', cinderFaults],
  ['cephfs', monitors],
  ['quobyte', quobyteFaults],
  [
    'downwardAPI',
    (source, at) => [...fileModeFaults(source.defaultMode, `${at}.defaultMode`), ...downwardFaults(source, at)],
  ],
  ['fc', fibreChannelFaults],
  ['flexVolume', flexFaults],
  ['configMap', files('name')],
  ['azureFile', withKeys('secretName', 'shareName')],
  ['vsphereVolume', withKeys('volumePath')],
  ['photonPersistentDisk', withKeys('pdID')],
  ['portworxVolume', withKeys('volumeID')],
  ['azureDisk', azureDiskFaults],
  ['storageos', storageOsFaults],
  ['projected', projectedFaults],
  ['scaleIO', withKeys('gateway', 'system', 'volumeName')],
  ['csi', csiFaults],
  ['ephemeral', ephemeralFaults],
  ['image', imageFaults],
]);

/** Upstream misspells two of the fields that are one too many. */
const SHOWN: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' };

function sourceFaults(volume: JsonObject, at: string, context: VolumeContext): StatusCause[] {
  const [first, ...others] = [...sources.keys()].filter((key) => has(volume, key));
  if (first === undefined) return [causes.required(at, 'must specify a volume type')];
  return [
    ...sources.get(first)!(part(volume, first), `${at}.${first}`, context),
    ...others.map((key) => causes.forbidden(`${at}.${SHOWN[key] ?? key}`, 'may not specify more than 1 volume type')),
  ];
}

/** Causes in the volumes of a pod, and those volumes that have none, by name. `pod` is its name; empty in a template. */
export function podVolumes(
  spec: JsonObject,
  path: string,
  pod: string,
): [ReadonlyMap<string, JsonObject>, StatusCause[]] {
  const good = new Map<string, JsonObject>();
  const out: StatusCause[] = [];
  const volumes = parts(spec, 'volumes');
  const created = volumes.filter((volume) => has(volume, 'ephemeral')).map(({ name }) => `${pod}-${text(name)}`);
  for (const [i, volume] of volumes.entries()) {
    const at = `${path}.volumes[${i}]`;
    const name = text(volume.name);
    const faults = sourceFaults(volume, at, { name, pod });
    if (name === '') faults.push(causes.required(`${at}.name`));
    else faults.push(...each(`${at}.name`, name, dnsLabelErrors(name)));
    if (good.has(name)) faults.push(causes.duplicate(`${at}.name`, name));
    if (faults.length === 0) good.set(name, volume);
    out.push(...faults);
    const claim = text(part(volume, 'persistentVolumeClaim').claimName);
    if (pod === '' || !created.includes(claim)) continue;
    const why = 'must not reference a PVC that gets created for an ephemeral volume';
    out.push(causes.invalid(`${at}.persistentVolumeClaim.claimName`, claim, why));
  }
  return [good, out];
}

import { causes, type StatusCause } from '../../status/status.ts';
import { deepCopy, deepEqual, isObject, type JsonObject, type KubeObject } from '../object.ts';
import { compareQuantities } from '../quantity.ts';
import { each, has, oneOf, part, text, texts, unchanged } from './checks.ts';
import type { Validator } from './index.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';
import { nodeSelectorFaults } from './node-selector.ts';
import { backstepFaults } from './paths.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const VOLUME_MODES = ['Block', 'Filesystem'];
const MAX_DRIVER = 63;
const HOST_PATH_TYPES = [
  ...['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'],
];

/** Causes in the name of a CSI driver. */
export function driverNameFaults(name: string, at: string): StatusCause[] {
  if (name === '') return [causes.required(at)];
  const out = name.length > MAX_DRIVER ? [causes.tooLong(at, MAX_DRIVER)] : [];
  return [...out, ...each(at, name, dnsSubdomainErrors(name.toLowerCase()))];
}

const missing = (source: JsonObject, at: string, keys: readonly string[]) =>
  keys.filter((key) => text(source[key]) === '').map((key) => causes.required(`${at}.${key}`));

function pathFaults(source: JsonObject, at: string): StatusCause[] {
  const path = text(source.path);
  if (path === '') return [causes.required(`${at}.path`)];
  return backstepFaults(path, `${at}.path`);
}

function hostPathFaults(source: JsonObject, at: string): StatusCause[] {
  const out = pathFaults(source, at);
  if (text(source.path) === '' || !has(source, 'type')) return out;
  return [...out, ...oneOf(source.type, `${at}.type`, HOST_PATH_TYPES)];
}

function nfsFaults(source: JsonObject, at: string): StatusCause[] {
  const out = missing(source, at, ['server', 'path']);
  const path = text(source.path);
  return path.startsWith('/') ? out : [...out, causes.invalid(`${at}.path`, path, 'must be an absolute path')];
}

const CSI_SECRETS: readonly string[] = ['controllerPublish', 'controllerExpand', 'nodePublish', 'nodeExpand'];

function csiFaults(source: JsonObject, at: string): StatusCause[] {
  const secrets = CSI_SECRETS.map((use) => `${use}SecretRef`).filter((key) => has(source, key));
  return [
    ...driverNameFaults(text(source.driver), `${at}.driver`),
    ...missing(source, at, ['volumeHandle']),
    ...secrets.flatMap((key) => missing(part(source, key), `${at}.${key}`, ['name', 'namespace'])),
  ];
}

type SourceCheck = (source: JsonObject, at: string) => StatusCause[];
const withKeys =
  (...keys: string[]): SourceCheck =>
  (source, at) =>
    missing(source, at, keys);

/** Kinds of volumes in the order in which upstream looks for them: key in the API, and what is checked. */
const sources: ReadonlyMap<string, SourceCheck> = new Map<string, SourceCheck>([
  ['hostPath', hostPathFaults],
  ['gcePersistentDisk', (source) => missing(source, 'spec.persistentDisk', ['pdName'])],
  ['awsElasticBlockStore', withKeys('volumeID')],
  ['glusterfs', withKeys('endpoints', 'path')],
  ['flocker', () => []],
  ['nfs', nfsFaults],
  ['rbd', withKeys('image')],
  ['quobyte', withKeys('registry', 'volume')],
  ['cephfs', () => []],
  ['iscsi', withKeys('targetPortal', 'iqn')],
  ['cinder', withKeys('volumeID')],
  ['fc', () => []],
  ['flexVolume', withKeys('driver')],
  ['azureFile', withKeys('secretName', 'shareName')],
  ['vsphereVolume', withKeys('volumePath')],
  ['photonPersistentDisk', withKeys('pdID')],
  ['portworxVolume', withKeys('volumeID')],
  ['azureDisk', withKeys('diskName', 'diskURI')],
  ['scaleIO', withKeys('gateway', 'system', 'volumeName')],
  ['local', pathFaults],
  ['storageos', () => []],
  ['csi', csiFaults],
]);

function sourceFaults(spec: JsonObject, at: string): StatusCause[] {
  const present = [...sources.keys()].filter((key) => has(spec, key));
  const [first, ...others] = present;
  if (first === undefined) return [causes.required(at, 'must specify a volume type')];
  const out = sources.get(first)!(part(spec, first), `${at}.${first}`);
  if (first === 'local' && !has(spec, 'nodeAffinity')) {
    out.push(causes.required(`${at}.nodeAffinity`, 'Local volume requires node affinity'));
  }
  const shown = (key: string) => (key === 'cephfs' ? 'cephFS' : key);
  return [
    ...out,
    ...others.map((key) => causes.forbidden(`${at}.${shown(key)}`, 'may not specify more than 1 volume type')),
  ];
}

function accessModeFaults(spec: JsonObject, at: string): StatusCause[] {
  const modes = texts(spec, 'accessModes');
  const here = `${at}.accessModes`;
  const out = modes.flatMap((mode) => oneOf(mode, here, ACCESS_MODES));
  const others = modes.some((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode));
  if (!modes.includes('ReadWriteOncePod') || !others) return out;
  return [...out, causes.forbidden(here, 'may not use ReadWriteOncePod with other access modes')];
}

function capacityFaults(spec: JsonObject, at: string): StatusCause[] {
  const capacity = part(spec, 'capacity');
  const here = `${at}.capacity`;
  const keys = Object.keys(capacity);
  const out = keys.length === 0 ? [causes.required(here)] : [];
  if (keys.length !== 1 || keys[0] !== 'storage') {
    out.push(causes.notSupported(here, spec.capacity ?? null, ['storage']));
  }
  return [...out, ...keys.flatMap((key) => positiveFaults(text(capacity[key]), `${here}[${key}]`))];
}

const positiveFaults = (amount: string, at: string) =>
  compareQuantities(amount, '0') > 0 ? [] : [causes.invalid(at, amount, 'must be greater than zero')];

function affinityFaults(spec: JsonObject, at: string): StatusCause[] {
  if (!has(spec, 'nodeAffinity')) return [];
  const { required } = part(spec, 'nodeAffinity');
  const here = `${at}.nodeAffinity.required`;
  if (!isObject(required)) return [causes.required(here, 'must specify required node constraints')];
  return nodeSelectorFaults(required, here);
}

function classFaults(spec: JsonObject, key: string, at: string): StatusCause[] {
  const name = text(spec[key]);
  return name === '' ? [] : each(`${at}.${key}`, name, dnsSubdomainErrors(name));
}

const rootPath = (spec: JsonObject) => /^\/[/.]*$/.test(text(part(spec, 'hostPath').path));

function attributesClassFaults(spec: JsonObject, at: string): StatusCause[] {
  const key = 'volumeAttributesClassName';
  if (!has(spec, key)) return [];
  const out = classFaults(spec, key, at);
  if (text(spec[key]) === '') out.push(causes.required(`${at}.${key}`, 'an empty string is disallowed'));
  if (has(spec, 'csi')) return out;
  return [...out, causes.required(`${at}.csi`, `has to be specified when using ${key}`)];
}

function validateVolume(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const at = 'spec';
  const policy = text(spec.persistentVolumeReclaimPolicy);
  const out = texts(spec, 'accessModes').length === 0 ? [causes.required('spec.accessModes')] : [];
  out.push(...accessModeFaults(spec, at), ...capacityFaults(spec, at));
  if (policy !== '') out.push(...oneOf(policy, 'spec.persistentVolumeReclaimPolicy', ['Delete', 'Recycle', 'Retain']));
  out.push(...affinityFaults(spec, at), ...sourceFaults(spec, at));
  if (policy === 'Recycle' && rootPath(spec)) {
    const why = "may not be 'recycle' for a hostPath mount of '/'";
    out.push(causes.forbidden('spec.persistentVolumeReclaimPolicy', why));
  }
  out.push(...classFaults(spec, 'storageClassName', at));
  if (has(spec, 'volumeMode')) out.push(...oneOf(spec.volumeMode, 'spec.volumeMode', VOLUME_MODES));
  return [...out, ...attributesClassFaults(spec, at)];
}

/** Causes in the spec of a volume that an attachment describes itself: it is one of CSI and nothing else. */
export function inlineVolumeFaults(spec: JsonObject, at: string): StatusCause[] {
  const context = 'in the context of inline volumes';
  const never = (key: string) => causes.forbidden(`${at}.${key}`, `may not be specified ${context}`);
  const out = has(spec, 'claimRef') ? [never('claimRef')] : [];
  if (Object.keys(part(spec, 'capacity')).length > 0) out.push(never('capacity'));
  if (!has(spec, 'csi')) out.push(causes.required(`${at}.csi`, `has to be specified ${context}`));
  if (texts(spec, 'accessModes').length === 0) out.push(causes.required(`${at}.accessModes`));
  out.push(...accessModeFaults(spec, at));
  const policy = text(spec.persistentVolumeReclaimPolicy);
  if (policy !== '' && policy !== 'Retain') {
    out.push(causes.forbidden(`${at}.persistentVolumeReclaimPolicy`, `may only be Retain ${context}`));
  }
  if (has(spec, 'nodeAffinity')) out.push(never('nodeAffinity'));
  out.push(...sourceFaults(spec, at));
  if (text(spec.storageClassName) !== '') out.push(never('storageClassName'));
  if (has(spec, 'volumeMode') && spec.volumeMode !== 'Filesystem') {
    out.push(causes.forbidden(`${at}.volumeMode`, `may not specify volumeMode other than Filesystem ${context}`));
  }
  return out;
}

/** The sources of a volume; a secret for expansion may be added to one of CSI. */
function sourceOf(spec: JsonObject, old: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const key of sources.keys()) if (has(spec, key)) out[key] = spec[key]!;
  if (!has(spec, 'csi') || !has(old, 'csi') || has(part(old, 'csi'), 'controllerExpandSecretRef')) return out;
  const { controllerExpandSecretRef: _, ...csi } = part(spec, 'csi');
  return { ...out, csi };
}

function validateVolumeChange(object: KubeObject, previous: KubeObject): StatusCause[] {
  const [spec, old] = [part(object, 'spec'), part(previous, 'spec')];
  const faults = validateVolume(object);
  const out = [...faults, ...faults];
  if (!deepEqual(sourceOf(spec, old), sourceOf(old, old))) {
    const why = 'spec.persistentvolumesource is immutable after creation';
    out.push(causes.forbidden('spec.persistentvolumesource', why));
  }
  out.push(...unchanged(spec.volumeMode, old.volumeMode, 'volumeMode'));
  if (!has(old, 'volumeAttributesClassName') || has(spec, 'volumeAttributesClassName')) return out;
  return [...out, causes.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden')];
}

function dataSourceFaults(spec: JsonObject, key: string): StatusCause[] {
  if (!has(spec, key)) return [];
  const source = part(spec, key);
  const at = `spec.${key}`;
  const [group, kind, namespace] = [text(source.apiGroup), text(source.kind), text(source.namespace)];
  const out = missing(source, at, ['name', 'kind']);
  if (group !== '') out.push(...each(`${at}.apiGroup`, group, dnsSubdomainErrors(group)));
  else if (kind !== 'PersistentVolumeClaim') {
    out.push(causes.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
  return namespace === '' ? out : [...out, ...each(`${at}.namespace`, namespace, dnsLabelErrors(namespace))];
}

function dataSourcesFaults(spec: JsonObject): StatusCause[] {
  const out = [...dataSourceFaults(spec, 'dataSource'), ...dataSourceFaults(spec, 'dataSourceRef')];
  if (!has(spec, 'dataSource') || !has(spec, 'dataSourceRef')) return out;
  const [source, ref] = [part(spec, 'dataSource'), part(spec, 'dataSourceRef')];
  if (text(ref.namespace) !== '') {
    return [...out, causes.invalid('spec', {}, 'may not be specified when dataSourceRef.namespace is specified')];
  }
  const same = ['apiGroup', 'kind', 'name'].every((key) => deepEqual(source[key] ?? null, ref[key] ?? null));
  return same ? out : [...out, causes.invalid('spec', {}, 'must match dataSourceRef')];
}

/** Causes in the spec of a claim. */
function validateClaim(object: KubeObject): StatusCause[] {
  const spec = part(object, 'spec');
  const out: StatusCause[] = [];
  if (texts(spec, 'accessModes').length === 0) {
    out.push(causes.required('spec.accessModes', 'at least 1 access mode is required'));
  }
  out.push(...labelSelectorFaults(spec.selector, 'spec.selector'), ...accessModeFaults(spec, 'spec'));
  const { storage } = part(part(spec, 'resources'), 'requests');
  const at = 'spec.resources[storage]';
  if (storage === undefined) out.push(causes.required(at));
  else out.push(...positiveFaults(text(storage), at));
  out.push(...classFaults(spec, 'storageClassName', 'spec'));
  if (has(spec, 'volumeMode')) out.push(...oneOf(spec.volumeMode, 'spec.volumeMode', VOLUME_MODES));
  return [...out, ...dataSourcesFaults(spec), ...classFaults(spec, 'volumeAttributesClassName', 'spec')];
}

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class';

/** The spec with all that an update may change taken from the old one. */
function leveledClaim(object: KubeObject, previous: KubeObject): JsonObject {
  const [spec, old] = [deepCopy(part(object, 'spec')), part(previous, 'spec')];
  const take = (key: string) => {
    if (old[key] === undefined) delete spec[key];
    else spec[key] = old[key];
  };
  if (text(old.volumeName) === '') take('volumeName');
  const before = previous.metadata.annotations?.[BETA_CLASS];
  if (!has(old, 'storageClassName') && has(spec, 'storageClassName')) {
    if (before === undefined || before === spec.storageClassName) take('storageClassName');
  }
  if (part(object, 'status').phase !== 'Bound') return spec;
  take('volumeAttributesClassName');
  const requests = part(part(spec, 'resources'), 'requests');
  const { storage } = part(part(old, 'resources'), 'requests');
  if (storage !== undefined && requests.storage !== undefined) requests.storage = storage;
  return spec;
}

function shrinkFaults(spec: JsonObject, previous: KubeObject): StatusCause[] {
  const storageOf = (from: JsonObject) => text(part(part(from, 'resources'), 'requests').storage) || '0';
  const [now, before] = [storageOf(spec), storageOf(part(previous, 'spec'))];
  const real = text(part(part(previous, 'status'), 'capacity').storage) || '0';
  if (compareQuantities(now, before) >= 0 || compareQuantities(now, real) > 0) return [];
  return [causes.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity')];
}

const CLAIM_RULE =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

function attributesChangeFaults(spec: JsonObject, previous: KubeObject): StatusCause[] {
  const key = 'volumeAttributesClassName';
  const current = 'currentVolumeAttributesClassName';
  if (!has(part(previous, 'status'), current) || text(spec[key]) !== '') return [];
  if (deepEqual(spec[key] ?? null, part(previous, 'spec')[key] ?? null)) return [];
  const to = has(spec, key) ? 'empty string' : 'nil';
  return [causes.forbidden(`spec.${key}`, `update to ${to} is forbidden when status.${current} is not nil`)];
}

function validateClaimChange(object: KubeObject, previous: KubeObject): StatusCause[] {
  const [spec, old] = [part(object, 'spec'), part(previous, 'spec')];
  const faults = validateClaim(object);
  const out = [...faults, ...faults];
  const [now, before] = [object, previous].map(({ metadata }) => metadata.annotations?.[BETA_CLASS] ?? '');
  const upgrades = before !== '' && now === '' && !has(old, 'storageClassName') && spec.storageClassName === before;
  if (!upgrades) out.push(...unchanged(now, before, `metadata.annotations[${BETA_CLASS}]`));
  if (!deepEqual(leveledClaim(object, previous), old)) out.push(causes.forbidden('spec', CLAIM_RULE));
  return [
    ...out,
    ...shrinkFaults(spec, previous),
    ...unchanged(spec.volumeMode, old.volumeMode, 'volumeMode'),
    ...attributesChangeFaults(spec, previous),
  ];
}

/** Persistent volumes and the claims to them. */
export const volumeValidators: readonly [string, Validator][] = [
  ['/persistentvolumes', { create: validateVolume, update: validateVolumeChange }],
  ['/persistentvolumeclaims', { create: validateClaim, update: validateClaimChange }],
];

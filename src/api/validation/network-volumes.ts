import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, JsonValue } from '../object.ts';
import { each, has, integer, oneOf, part, text, texts } from './checks.ts';
import { dnsLabelErrors } from './names.ts';

/** Causes in what a volume of one kind is made from, at a path. */
type Check = (source: JsonObject, at: string) => StatusCause[];

const required = (source: JsonObject, at: string, keys: readonly string[]): StatusCause[] =>
  keys.filter((key) => text(source[key]) === '').map((key) => causes.required(`${at}.${key}`));

const secretFaults = (source: JsonObject, at: string): StatusCause[] =>
  has(source, 'secretRef') ? required(part(source, 'secretRef'), `${at}.secretRef`, ['name']) : [];

const byteFaults = (value: JsonValue | undefined, at: string, least: number): StatusCause[] => {
  const number = integer(value);
  if (number >= 0 && number <= 255) return [];
  return [causes.invalid(at, number, `must be between ${least} and 255, inclusive`)];
};

/** Forms of the names of iSCSI initiators and targets. */
const ISCSI_NAMES: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
};

function iscsiNameFaults(name: string, at: string): StatusCause[] {
  const form = ISCSI_NAMES[name.slice(0, 3)];
  if (form === undefined) return [causes.invalid(at, name, 'must be valid format starting with iqn, eui, or naa')];
  return form.test(name) ? [] : [causes.invalid(at, name, 'must be valid format')];
}

/** Causes in an iSCSI volume. */
export const iscsiFaults: Check = (source, at) => {
  const iqn = text(source.iqn);
  const authenticated = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  return [
    ...required(source, at, ['targetPortal', 'iqn']),
    ...(iqn === '' ? [] : iscsiNameFaults(iqn, `${at}.iqn`)),
    ...byteFaults(source.lun, `${at}.lun`, 0),
    ...(authenticated && !has(source, 'secretRef') ? [causes.required(`${at}.secretRef`)] : []),
    ...(has(source, 'initiatorName') ? iscsiNameFaults(text(source.initiatorName), `${at}.initiatorname`) : []),
  ];
};

/** Causes in a Fibre Channel volume. */
export const fibreChannelFaults: Check = (source, at) => {
  const [targets, ids] = [texts(source, 'targetWWNs'), texts(source, 'wwids')];
  const here = `${at}.targetWWNs`;
  const out: StatusCause[] = [];
  if (targets.length === 0 && ids.length === 0) {
    out.push(causes.required(here, 'must specify either targetWWNs or wwids, but not both'));
  }
  if (targets.length === 0) return out;
  if (ids.length > 0) {
    out.push(causes.invalid(here, targets, 'targetWWNs and wwids can not be specified simultaneously'));
  }
  if (has(source, 'lun')) return [...out, ...byteFaults(source.lun, `${at}.lun`, 0)];
  return [...out, causes.required(`${at}.lun`, 'lun is required if targetWWNs is specified')];
};

const HOST_PORTS = 'must be a host:port pair or multiple pairs separated by commas';

/** Causes in a Quobyte volume. */
export const quobyteFaults: Check = (source, at) => {
  const registry = text(source.registry);
  const out: StatusCause[] = [];
  if (registry === '') out.push(causes.required(`${at}.registry`, HOST_PORTS));
  else if (text(source.tenant).length > 64) {
    out.push(causes.required(`${at}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'));
  } else {
    const bad = registry.split(',').filter((pair) => !/^(\[[^\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair));
    out.push(...bad.map(() => causes.invalid(`${at}.registry`, registry, HOST_PORTS)));
  }
  return [...out, ...required(source, at, ['volume'])];
};

const MANAGED = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const BLOB = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

/** Causes in an Azure disk. */
export const azureDiskFaults: Check = (source, at) => {
  const uri = text(source.diskURI);
  const out = required(source, at, ['diskName', 'diskURI']);
  if (has(source, 'cachingMode')) {
    out.push(...oneOf(source.cachingMode, `${at}.cachingMode`, ['None', 'ReadOnly', 'ReadWrite']));
  }
  if (!has(source, 'kind')) return out;
  out.push(...oneOf(source.kind, `${at}.kind`, ['Dedicated', 'Managed', 'Shared']));
  const [start, form] = source.kind === 'Managed' ? ['/subscriptions/', MANAGED] : ['https://', BLOB];
  return uri.startsWith(start) ? out : [...out, causes.notSupported(`${at}.diskURI`, uri, [form])];
};

/** Causes in a StorageOS volume. */
export const storageOsFaults: Check = (source, at) => {
  const [name, namespace] = [text(source.volumeName), text(source.volumeNamespace)];
  return [
    ...required(source, at, ['volumeName']),
    ...(name === '' ? [] : each(`${at}.volumeName`, name, dnsLabelErrors(name))),
    ...(namespace === '' ? [] : each(`${at}.volumeNamespace`, namespace, dnsLabelErrors(namespace))),
    ...secretFaults(source, at),
  ];
};

/** Causes in a Flocker volume. */
export const flockerFaults: Check = (source, at) => {
  const [name, uuid] = [text(source.datasetName), text(source.datasetUUID)];
  const out: StatusCause[] = [];
  if (name === '' && uuid === '') out.push(causes.required(at, 'one of datasetName and datasetUUID is required'));
  if (name !== '' && uuid !== '') {
    out.push(causes.invalid(at, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  }
  return name.includes('/') ? [...out, causes.invalid(`${at}.datasetName`, name, "must not contain '/'")] : out;
};

/** Causes in a Cinder volume. */
export const cinderFaults: Check = (source, at) => [...required(source, at, ['volumeID']), ...secretFaults(source, at)];

/** Causes in a flex volume. */
export const flexFaults: Check = (source, at) => {
  const reserved = Object.keys(part(source, 'options')).filter((key) =>
    /\.(kubernetes|k8s)\.io$/.test(`.${key.split('/')[0]!.toLowerCase()}`),
  );
  return [
    ...required(source, at, ['driver']),
    ...reserved.map((key) =>
      causes.invalid(`${at}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved'),
    ),
  ];
};

/** Causes in a disk of AWS or GCE, whose name stands in a field. */
export const partitionFaults =
  (name: string): Check =>
  (source, at) => [...required(source, at, [name]), ...byteFaults(source.partition, `${at}.partition`, 1)];

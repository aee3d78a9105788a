import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { has, oneOf, part, parts, text, texts } from './checks.ts';
import { addressText, parseCidr } from './cidr.ts';
import { conditionFaults } from './conditions.ts';
import {
  bindingConditionFaults,
  dnsLabelFaults,
  listFaults,
  poolNameFaults,
  rawObjectFaults,
  uuidFaults,
} from './device-checks.ts';
import {
  deviceConfigurationFaults,
  type Requests,
  requestListFaults,
  requestNames,
  requestReferenceFaults,
} from './device-claims.ts';
import type { Validator } from './index.ts';
import { nodeSelectorFaults } from './node-selector.ts';
import { driverNameFaults } from './volumes.ts';

/** Status of ResourceClaims: what was allocated, and for whom (pkg/apis/resource/validation). */

const MAX_CONSUMERS = 256;
const MAX_RESULTS = 32;
const MAX_CONFIG = 64;
const MAX_CONDITIONS = 8;
const MAX_DATA = 10 * 1024;
const MAX_ADDRESSES = 16;
const MAX_INTERFACE = 256;
const MAX_HARDWARE = 128;

function deviceNameFaults(device: JsonObject, at: string): StatusCause[] {
  return [
    ...driverNameFaults(text(device.driver), `${at}.driver`),
    ...poolNameFaults(text(device.pool), `${at}.pool`),
    ...dnsLabelFaults(text(device.device), `${at}.device`),
  ];
}

const shareFaults = (device: JsonObject, at: string) =>
  has(device, 'shareID') ? uuidFaults(text(device.shareID), `${at}.shareID`) : [];

function consumerFaults(consumer: JsonObject, at: string): StatusCause[] {
  return ['resource', 'name', 'uid']
    .filter((key) => text(consumer[key]) === '')
    .map((key) => causes.required(`${at}.${key}`));
}

/** A device of a pool, and which share of it. */
const deviceId = ({ driver, pool, device, shareID }: JsonObject): string =>
  [driver, pool, device, ...(text(shareID) === '' ? [] : [shareID])].map(text).join('/');

function addressFaults(address: string, at: string): StatusCause[] {
  const cidr = parseCidr(address);
  if (cidr === undefined) {
    const why = 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)';
    return [causes.invalid(at, address, why)];
  }
  const mapped = cidr.mapped && cidr.length > 32;
  const canonical = `${addressText(cidr.mapped ? 4 : cidr.family, cidr.address)}/${mapped ? cidr.length - 96 : cidr.length}`;
  if (address === canonical) return [];
  return [causes.invalid(at, address, `must be in canonical form (${JSON.stringify(canonical)})`)];
}

function networkFaults(data: JsonObject, at: string): StatusCause[] {
  const limits = [
    ['interfaceName', MAX_INTERFACE],
    ['hardwareAddress', MAX_HARDWARE],
  ] as const;
  return [
    ...limits.flatMap(([key, max]) => (text(data[key]).length > max ? [causes.tooLong(`${at}.${key}`, max)] : [])),
    ...listFaults(texts(data, 'ips'), `${at}.ips`, addressFaults, { max: MAX_ADDRESSES, key: (ip) => ip }),
  ];
}

function deviceFaults(device: JsonObject, at: string, allocated: ReadonlySet<string>): StatusCause[] {
  const out = [...deviceNameFaults(device, at), ...shareFaults(device, at)];
  if (!allocated.has(deviceId(device))) {
    out.push(causes.invalid(at, deviceId(device), 'must be an allocated device in the claim'));
  }
  const count = parts(device, 'conditions').length;
  if (count > MAX_CONDITIONS) out.push(causes.tooMany(`${at}.conditions`, count, MAX_CONDITIONS));
  out.push(...conditionFaults(device, at));
  if (has(device, 'data')) out.push(...rawObjectFaults(device.data, `${at}.data`, MAX_DATA, false));
  return [...out, ...networkFaults(part(device, 'networkData'), `${at}.networkData`)];
}

function resultFaults(result: JsonObject, at: string, requests: Requests): StatusCause[] {
  return [
    ...requestReferenceFaults(text(result.request), `${at}.request`, requests),
    ...deviceNameFaults(result, at),
    ...bindingConditionFaults(result, at),
    ...shareFaults(result, at),
  ];
}

function configFaults(config: JsonObject, at: string, requests: Requests): StatusCause[] {
  const source = text(config.source);
  return [
    ...(source === '' ? [causes.required(`${at}.source`)] : oneOf(source, `${at}.source`, ['FromClaim', 'FromClass'])),
    ...requestListFaults(config, at, requests),
    ...deviceConfigurationFaults(config, at, false),
  ];
}

function allocationFaults(allocation: JsonObject, requests: Requests): StatusCause[] {
  const at = 'status.allocation';
  const devices = part(allocation, 'devices');
  return [
    ...listFaults(
      parts(devices, 'results'),
      `${at}.devices.results`,
      (one, here) => resultFaults(one, here, requests),
      {
        max: MAX_RESULTS,
      },
    ),
    ...listFaults(parts(devices, 'config'), `${at}.devices.config`, (one, here) => configFaults(one, here, requests), {
      max: MAX_CONFIG,
    }),
    ...(has(allocation, 'nodeSelector')
      ? nodeSelectorFaults(part(allocation, 'nodeSelector'), `${at}.nodeSelector`)
      : []),
  ];
}

function reservationFaults(status: JsonObject, before: JsonObject, deleted: boolean): StatusCause[] {
  const at = 'status.reservedFor';
  const [consumers, consumersBefore] = [parts(status, 'reservedFor'), parts(before, 'reservedFor')];
  if (consumers.length === 0) return [];
  if (!has(status, 'allocation')) return [causes.forbidden(at, 'may not be specified when `allocated` is not set')];
  if (!deleted || consumers.every((one) => consumersBefore.some((old) => deepEqual(one, old)))) return [];
  const why = 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set';
  return [causes.forbidden(at, why)];
}

function statusFaults(claim: KubeObject, old: KubeObject): StatusCause[] {
  const [status, before] = [part(claim, 'status'), part(old, 'status')];
  const [allocation, allocationBefore] = [part(status, 'allocation'), part(before, 'allocation')];
  const allocated = new Set(parts(part(allocation, 'devices'), 'results').map(deviceId));
  const out = [
    ...listFaults(parts(status, 'reservedFor'), 'status.reservedFor', consumerFaults, {
      max: MAX_CONSUMERS,
      key: ({ uid }) => text(uid),
    }),
    ...listFaults(parts(status, 'devices'), 'status.devices', (one, at) => deviceFaults(one, at, allocated), {
      key: deviceId,
    }),
    ...reservationFaults(status, before, typeof claim.metadata.deletionTimestamp === 'string'),
  ];
  if (!has(status, 'allocation')) return out;
  if (!has(before, 'allocation')) return [...out, ...allocationFaults(allocation, requestNames(part(claim, 'spec')))];
  if (deepEqual(allocation, allocationBefore)) return out;
  return [...out, causes.invalid('status.allocation', allocation, 'field is immutable')];
}

/** The status of ResourceClaims. */
export const deviceStatusValidators: readonly [string, Validator][] = [
  ['resource.k8s.io/resourceclaims/status', { update: statusFaults }],
];

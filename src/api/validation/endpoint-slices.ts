import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { duplicates, each, has, oneOf, part, parts, text, texts, unchanged } from './checks.ts';
import { addressErrors, canonicalAddressErrors } from './cidr.ts';
import { endpointAddressFaults } from './endpoints.ts';
import type { Validator } from './index.ts';
import { isIPv4 } from './ip.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';

const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20_000;
const MAX_ADDRESSES = 100;
const MAX_HINTS = 8;

function fqdnFaults(name: string, at: string): StatusCause[] {
  if (name === '') return [causes.required(at)];
  const bare = name.replace(/\.$/, '');
  const faults = dnsSubdomainErrors(bare);
  if (faults.length > 0) return [causes.invalid(at, bare, faults.join(','))];
  const labels = bare.split('.');
  if (labels.length < 2) {
    return [causes.invalid(at, bare, 'should be a domain with at least two segments separated by dots')];
  }
  const bad = labels.find((label) => dnsLabelErrors(label).length > 0);
  return bad === undefined ? [] : [causes.invalid(at, bad, dnsLabelErrors(bad).join(','))];
}

/** Causes in one address of an endpoint, by the type that the slice is of; `list` is the path of all of them. */
function addressFaults(type: string, address: string, list: string, i: number): StatusCause[] {
  const at = `${list}[${i}]`;
  if (type === 'FQDN') return fqdnFaults(address, at);
  if (type !== 'IPv4' && type !== 'IPv6') return [];
  const faults = type === 'IPv4' ? addressErrors(address) : canonicalAddressErrors(address);
  if (faults.length > 0) return each(at, address, faults);
  const fits = isIPv4(address) === (type === 'IPv4');
  const wrong = fits ? [] : [causes.invalid(list, address, `must be an ${type} address`)];
  return [...wrong, ...endpointAddressFaults(address, at)];
}

function hintFaults(hints: JsonObject, at: string): StatusCause[] {
  const named = (key: string, rule: (name: string) => string[]) => {
    const names = parts(hints, key).map(({ name }) => text(name));
    const path = (i: number) => `${at}.${key}[${i}].name`;
    if (names.length > MAX_HINTS) return [causes.tooMany(`${at}.${key}`, names.length, MAX_HINTS)];
    return [...duplicates(names, path), ...names.flatMap((name, i) => each(path(i), name, rule(name)))];
  };
  return [...named('forZones', labelValueErrors), ...named('forNodes', dnsSubdomainErrors)];
}

function endpointFaults(endpoint: JsonObject, type: string, at: string): StatusCause[] {
  const addresses = texts(endpoint, 'addresses');
  const list = `${at}.addresses`;
  const out: StatusCause[] = [];
  if (addresses.length === 0) out.push(causes.required(list, 'must contain at least 1 address'));
  else if (addresses.length > MAX_ADDRESSES) out.push(causes.tooMany(list, addresses.length, MAX_ADDRESSES));
  out.push(...addresses.flatMap((address, i) => addressFaults(type, address, list, i)));
  if (has(endpoint, 'nodeName')) {
    const node = text(endpoint.nodeName);
    out.push(...each(`${at}.nodeName`, node, dnsSubdomainErrors(node)));
  }
  if (has(endpoint, 'hostname')) {
    const host = text(endpoint.hostname);
    out.push(...each(`${at}.hostname`, host, dnsLabelErrors(host)));
  }
  return has(endpoint, 'hints') ? [...out, ...hintFaults(part(endpoint, 'hints'), `${at}.hints`)] : out;
}

function endpointsFaults(slice: KubeObject): StatusCause[] {
  const endpoints = parts(slice, 'endpoints');
  if (endpoints.length > MAX_ENDPOINTS) return [causes.tooMany('endpoints', endpoints.length, MAX_ENDPOINTS)];
  return endpoints.flatMap((endpoint, i) => endpointFaults(endpoint, text(slice.addressType), `endpoints[${i}]`));
}

function portsFaults(slice: KubeObject): StatusCause[] {
  const ports = parts(slice, 'ports');
  if (ports.length > MAX_PORTS) return [causes.tooMany('ports', ports.length, MAX_PORTS)];
  const names = ports.map(({ name }) => text(name));
  return ports.flatMap((port, i) => {
    const at = `ports[${i}]`;
    const name = names[i]!;
    const protocol = text(port.appProtocol);
    return [
      ...(name === '' ? [] : each(`${at}.name`, name, dnsLabelErrors(name))),
      ...(names.indexOf(name) < i ? [causes.duplicate(`${at}.name`, name)] : []),
      ...oneOf(port.protocol, `${at}.protocol`, ['SCTP', 'TCP', 'UDP']),
      ...(has(port, 'appProtocol') ? each(`${at}.appProtocol`, protocol, qualifiedNameErrors(protocol)) : []),
    ];
  });
}

const headFaults = (slice: KubeObject): StatusCause[] => [
  ...(text(slice.addressType) === ''
    ? [causes.required('addressType')]
    : oneOf(slice.addressType, 'addressType', ['FQDN', 'IPv4', 'IPv6'])),
  ...portsFaults(slice),
];

/** Endpoints that did not change are not checked again: older servers took others. */
function validateUpdate(slice: KubeObject, old: KubeObject): StatusCause[] {
  const same = deepEqual(slice.endpoints ?? null, old.endpoints ?? null);
  return [
    ...headFaults(slice),
    ...(same ? [] : endpointsFaults(slice)),
    ...unchanged(slice.addressType, old.addressType, 'addressType'),
  ];
}

/** Slices of the endpoints of services. */
export const endpointSliceValidators: readonly [string, Validator][] = [
  [
    'discovery.k8s.io/endpointslices',
    { create: (slice) => [...headFaults(slice), ...endpointsFaults(slice)], update: validateUpdate },
  ],
];

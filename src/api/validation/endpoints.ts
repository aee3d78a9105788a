import { causes, type StatusCause } from '../../status/status.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../object.ts';
import { each, has, integer, oneOf, part, parts, text } from './checks.ts';
import { addressErrors, parseLeniently } from './cidr.ts';
import type { Validator } from './index.ts';
import { isIP } from './ip.ts';
import { qualifiedNameErrors } from './labels.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';
import { portFaults } from './ports.ts';

interface Special {
  /** First bits of IPv4 addresses, and their number. */
  v4: [bits: bigint, length: number];
  v6: [bits: bigint, length: number];
  why: (address: string) => string;
}

/** Addresses that no endpoint can have. */
const SPECIAL: readonly Special[] = [
  { v4: [0n, 32], v6: [0n, 128], why: (address) => `may not be unspecified (${address})` },
  { v4: [127n, 8], v6: [1n, 128], why: () => 'may not be in the loopback range (127.0.0.0/8, ::1/128)' },
  { v4: [0xa9fen, 16], v6: [0x3fan, 10], why: () => 'may not be in the link-local range (169.254.0.0/16, fe80::/10)' },
  {
    v4: [0xe00000n, 24],
    v6: [0xff02n, 16],
    why: () => 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  },
];

/** Causes where an address is none that an endpoint can have; `at` is its field. */
export function endpointAddressFaults(address: string, at: string): StatusCause[] {
  const read = parseLeniently(address);
  if (read === undefined) return [causes.invalid(at, address, 'must be a valid IP address')];
  const four = read.family === 4 || read.mapped;
  const value = read.mapped ? read.address & 0xffffffffn : read.address;
  const width = four ? 32 : 128;
  return SPECIAL.flatMap(({ v4, v6, why }) => {
    const [bits, length] = four ? v4 : v6;
    return value >> BigInt(width - length) === bits ? [causes.invalid(at, address, why(address))] : [];
  });
}

function validateAddress(address: JsonObject, at: string): StatusCause[] {
  const [ip, host] = [text(address.ip), text(address.hostname)];
  const out = each(`${at}.ip`, ip, addressErrors(ip));
  if (host !== '') out.push(...each(`${at}.hostname`, host, dnsLabelErrors(host)));
  if (has(address, 'nodeName')) {
    const node = text(address.nodeName);
    out.push(...each(`${at}.nodeName`, node, dnsSubdomainErrors(node)));
  }
  return [...out, ...endpointAddressFaults(ip, `${at}.ip`)];
}

function validatePort(port: JsonObject, named: boolean, at: string): StatusCause[] {
  const name = text(port.name);
  const out = named && name === '' ? [causes.required(`${at}.name`)] : [];
  if (name !== '') out.push(...each(`${at}.name`, name, dnsLabelErrors(name)));
  out.push(...portFaults(integer(port.port), `${at}.port`));
  if (text(port.protocol) === '') out.push(causes.required(`${at}.protocol`));
  else out.push(...oneOf(port.protocol, `${at}.protocol`, ['SCTP', 'TCP', 'UDP']));
  if (!has(port, 'appProtocol')) return out;
  return [...out, ...each(`${at}.appProtocol`, text(port.appProtocol), qualifiedNameErrors(text(port.appProtocol)))];
}

function validateSubset(subset: JsonObject, at: string): StatusCause[] {
  const lists = ['addresses', 'notReadyAddresses'];
  const ports = parts(subset, 'ports');
  const empty = lists.every((key) => parts(subset, key).length === 0);
  return [
    ...(empty ? [causes.required(at, 'must specify `addresses` or `notReadyAddresses`')] : []),
    ...lists.flatMap((key) => parts(subset, key).flatMap((a, i) => validateAddress(a, `${at}.${key}[${i}]`))),
    ...ports.flatMap((port, i) => validatePort(port, ports.length > 1, `${at}.ports[${i}]`)),
  ];
}

const validateEndpoints = (object: KubeObject) =>
  parts(object, 'subsets').flatMap((subset, i) => validateSubset(subset, `subsets[${i}]`));

function validateLoadBalancer(service: KubeObject): StatusCause[] {
  const ingress = parts(part(part(service, 'status'), 'loadBalancer'), 'ingress');
  const at = 'status.loadBalancer.ingress';
  if (part(service, 'spec').type !== 'LoadBalancer') {
    if (ingress.length === 0) return [];
    return [causes.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap((point, i) => {
    const [ip, host] = [text(point.ip), text(point.hostname)];
    const mode = `${at}[${i}].ipMode`;
    const out = ip === '' ? [] : each(`${at}[${i}].ip`, ip, addressErrors(ip));
    if (!has(point, 'ipMode')) {
      if (ip !== '') out.push(causes.required(mode, 'must be specified when `ip` is set'));
    } else if (ip === '') out.push(causes.forbidden(mode, 'may not be specified when `ip` is not set'));
    else out.push(...oneOf(point.ipMode, mode, ['Proxy', 'VIP']));
    if (host === '') return out;
    out.push(...each(`${at}[${i}].hostname`, host, dnsSubdomainErrors(host)));
    if (!isIP(host)) return out;
    return [...out, causes.invalid(`${at}[${i}].hostname`, host, 'must be a DNS name, not an IP address')];
  });
}

/** Endpoints, and the addresses in the status of a Service. */
export const endpointValidators: readonly [string, Validator][] = [
  [
    '/endpoints',
    {
      create: validateEndpoints,
      update: (object, old) =>
        deepEqual(object.subsets ?? null, old.subsets ?? null) ? [] : validateEndpoints(object),
    },
  ],
  ['/services/status', { update: validateLoadBalancer }],
];

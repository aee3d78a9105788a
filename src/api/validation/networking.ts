import { causes, type StatusCause } from '../../status/status.ts';
import { isObject, type JsonObject, type JsonValue, type KubeObject } from '../object.ts';
import { each, has, oneOf, part, parts, requiredText, text, texts, unchanged } from './checks.ts';
import { canonicalCidrErrors, cidrErrors, isStrictSubset, parseCidr } from './cidr.ts';
import type { Validator } from './index.ts';
import { ingressValidators } from './ingress.ts';
import { labelSelectorFaults } from './label-selector.ts';
import { dnsSubdomainErrors, pathSegment } from './names.ts';
import { portFaults, portNameErrors } from './ports.ts';

const segment = (name: string) => pathSegment(name, false);

function validatePort(port: JsonObject, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const { port: number, endPort } = port;
  if (has(port, 'protocol')) out.push(...oneOf(port.protocol, `${at}.protocol`, ['TCP', 'UDP', 'SCTP'], false));
  const end = `${at}.endPort`;
  if (typeof number === 'number') {
    out.push(...portFaults(number, `${at}.port`));
    if (typeof endPort !== 'number') return out;
    if (endPort < number) out.push(causes.invalid(end, number, 'must be greater than or equal to `port`'));
    return [...out, ...portFaults(endPort, end)];
  }
  const named = typeof number === 'string';
  if (typeof endPort === 'number') {
    const why = `may not be specified when \`port\` is ${named ? 'non-numeric' : 'not specified'}`;
    out.push(causes.invalid(end, endPort, why));
  }
  return named ? [...out, ...each(`${at}.port`, number, portNameErrors(number))] : out;
}

function validateBlock(block: JsonObject, at: string, known: ReadonlySet<string>): StatusCause[] {
  const cidr = text(block.cidr);
  if (cidr === '') return [causes.required(`${at}.cidr`)];
  const errors = (range: string) => (known.has(range) ? [] : cidrErrors(range));
  const out = each(`${at}.cidr`, cidr, errors(cidr));
  const outer = parseCidr(cidr);
  if (outer === undefined) return out;
  for (const [i, range] of texts(block, 'except').entries()) {
    const here = `${at}.except[${i}]`;
    out.push(...each(here, range, errors(range)));
    const inner = parseCidr(range);
    if (inner !== undefined && !isStrictSubset(inner, outer)) {
      out.push(causes.invalid(here, range, 'must be a strict subset of `cidr`'));
    }
  }
  return out;
}

function validatePeer(peer: JsonObject, at: string, known: ReadonlySet<string>): StatusCause[] {
  const selectors = ['podSelector', 'namespaceSelector'].filter((key) => has(peer, key));
  const out = selectors.flatMap((key) => labelSelectorFaults(peer[key], `${at}.${key}`));
  const block = has(peer, 'ipBlock');
  if (block) out.push(...validateBlock(part(peer, 'ipBlock'), `${at}.ipBlock`, known));
  if (!block && selectors.length === 0) out.push(causes.required(at, 'must specify a peer'));
  if (block && selectors.length > 0) out.push(causes.forbidden(at, 'may not specify both ipBlock and another peer'));
  return out;
}

/** Directions of traffic, with the field that names the peers of a rule. */
const directions = [
  ['ingress', 'from'],
  ['egress', 'to'],
] as const;

/** Ranges that a policy has already, which stay allowed whatever they look like. */
function rangesOf(policy: KubeObject): Set<string> {
  const peers = directions.flatMap(([key, side]) =>
    parts(part(policy, 'spec'), key).flatMap((rule) => parts(rule, side)),
  );
  const blocks = peers.map((peer) => part(peer, 'ipBlock'));
  return new Set(blocks.flatMap((block) => [text(block.cidr), ...texts(block, 'except')]));
}

function validatePolicy(object: KubeObject, known: ReadonlySet<string>): StatusCause[] {
  const spec = part(object, 'spec');
  const out = labelSelectorFaults(spec.podSelector, 'spec.podSelector');
  for (const [key, side] of directions) {
    for (const [i, rule] of parts(spec, key).entries()) {
      const at = `spec.${key}[${i}]`;
      out.push(...parts(rule, 'ports').flatMap((port, j) => validatePort(port, `${at}.ports[${j}]`)));
      out.push(...parts(rule, side).flatMap((peer, j) => validatePeer(peer, `${at}.${side}[${j}]`, known)));
    }
  }
  const types = texts(spec, 'policyTypes');
  if (types.length > 2) {
    return [...out, causes.invalid('spec.policyTypes', types, 'may not specify more than two policyTypes')];
  }
  return [...out, ...types.flatMap((type, i) => oneOf(type, `spec.policyTypes[${i}]`, ['Ingress', 'Egress'], false))];
}

function validateParent(object: KubeObject): StatusCause[] {
  const { parentRef: parent } = part(object, 'spec');
  const at = 'spec.parentRef';
  if (!isObject(parent)) return [causes.required(at)];
  const [group, namespace] = [text(parent.group), text(parent.namespace)];
  return [
    ...(group === '' ? [] : each(`${at}.group`, group, dnsSubdomainErrors(group))),
    ...requiredText(parent.resource, `${at}.resource`, segment),
    ...requiredText(parent.name, `${at}.name`, segment),
    ...each(`${at}.namespace`, namespace, segment(namespace)),
  ];
}

const CIDRS = 'spec.cidrs';

/** IPv4 addresses in the form of IPv6 are of the older family. */
const familyOf = (text: string) => {
  const cidr = parseCidr(text);
  return cidr?.mapped ? 4 : cidr?.family;
};

function validateCidrs(object: KubeObject): StatusCause[] {
  const cidrs = texts(part(object, 'spec'), 'cidrs');
  if (cidrs.length === 0) return [causes.required(CIDRS, 'at least one CIDR required')];
  if (cidrs.length > 2) return [causes.invalid(CIDRS, { CIDRs: cidrs }, 'may only hold up to 2 values')];
  const out = cidrs.flatMap((cidr, i) => each(`${CIDRS}[${i}]`, cidr, canonicalCidrErrors(cidr)));
  const [first, second] = cidrs.map(familyOf);
  if (second === undefined || first !== second) return out;
  const why = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
  return [...out, causes.invalid(CIDRS, cidrs, why)];
}

/** Ranges of Services stay what they are, but for a second family that may be added once. */
function validateCidrsChange(object: KubeObject, old: KubeObject): StatusCause[] {
  const [now, before] = [object, old].map((one) => texts(part(one, 'spec'), 'cidrs')) as [string[], string[]];
  const fixed = (i: number) => unchanged(now[i], before[i], `${CIDRS}[${i}]`);
  if (now.length === before.length) return now.flatMap((_, i) => fixed(i));
  if (before.length === 1 && now.length === 2) return [...fixed(0), ...validateCidrs(object)];
  return unchanged(now, before, CIDRS);
}

const parentOf = (object: KubeObject): JsonValue | undefined => part(object, 'spec').parentRef;

/** Network policies, ingresses and their classes, addresses and ranges of Services. */
export const networkingValidators: readonly [string, Validator][] = [
  [
    'networking.k8s.io/networkpolicies',
    {
      create: (object) => validatePolicy(object, new Set()),
      update: (object, old) => validatePolicy(object, rangesOf(old)),
    },
  ],
  [
    'networking.k8s.io/ipaddresses',
    {
      create: validateParent,
      update: (object, old) => unchanged(parentOf(object), parentOf(old), 'spec.parentRef'),
    },
  ],
  ['networking.k8s.io/servicecidrs', { create: validateCidrs, update: validateCidrsChange }],
  ...ingressValidators,
];

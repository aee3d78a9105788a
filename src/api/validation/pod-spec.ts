import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, has, integer, oneOf, part, parts, text, texts } from './checks.ts';
import { addressErrors } from './cidr.ts';
import { containerFaults, resourceFaults } from './containers.ts';
import { validateLabels } from './metadata.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';
import { resourceClaimFaults } from './pod-claims.ts';
import { affinityFaults, gateFaults, spreadFaults, tolerationFaults } from './pod-scheduling.ts';
import { podVolumes } from './pod-volumes.ts';
import { podSecurityFaults } from './security.ts';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_LENGTH = 2048;
const MAX_HOSTNAME = 64;
const MAX_INT32 = 2147483647;
/** Names that a pod refers to by, and the rule that each follows. */
const NAMES: readonly [string, (name: string) => string[]][] = [
  ['serviceAccountName', dnsSubdomainErrors],
  ['nodeName', dnsSubdomainErrors],
];
const HOST_NAMES: readonly [string, (name: string) => string[]][] = [
  ['hostname', dnsLabelErrors],
  ['subdomain', dnsLabelErrors],
];

const nameFaults = (spec: JsonObject, names: typeof NAMES, at: string) =>
  names.flatMap(([key, rule]) =>
    text(spec[key]) === '' ? [] : each(`${at}.${key}`, text(spec[key]), rule(text(spec[key]))),
  );

const SEARCH = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SEARCHES = `${SEARCH}(\\.${SEARCH})*`;
const searchPattern = new RegExp(`^${SEARCHES}$`);
const SEARCH_RULE = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SEARCHES}')`;

const searchErrors = (name: string) => (searchPattern.test(name) ? [] : [SEARCH_RULE]);

function dnsFaults(spec: JsonObject, path: string): StatusCause[] {
  const at = `${path}.dnsConfig`;
  const config = part(spec, 'dnsConfig');
  const [servers, searches] = [texts(config, 'nameservers'), texts(config, 'searches')];
  if (spec.dnsPolicy === 'None') {
    if (!has(spec, 'dnsConfig')) return [causes.required(at, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    if (servers.length === 0) {
      const why = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
      return [causes.required(`${at}.nameservers`, why)];
    }
  }
  const out: StatusCause[] = [];
  if (servers.length > MAX_SERVERS) {
    out.push(causes.invalid(`${at}.nameservers`, servers, `must not have more than ${MAX_SERVERS} nameservers`));
  }
  out.push(...servers.flatMap((ip, i) => each(`${at}.nameservers[${i}]`, ip, addressErrors(ip))));
  if (searches.length > MAX_SEARCHES) {
    out.push(causes.invalid(`${at}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`));
  }
  if (searches.join(' ').length > MAX_SEARCH_LENGTH) {
    const why = `must not have more than ${MAX_SEARCH_LENGTH} characters (including spaces) in the search list`;
    out.push(causes.invalid(`${at}.searches`, searches, why));
  }
  for (const [i, search] of searches.entries()) {
    const name = search.replace(/\.$/, '');
    if (search !== '.') out.push(...each(`${at}.searches[${i}]`, name, searchErrors(name)));
  }
  for (const [i, { name }] of parts(config, 'options').entries()) {
    if (text(name) === '') out.push(causes.required(`${at}.options[${i}]`, 'must not be empty'));
  }
  return out;
}

/** What all containers have together is bounded as that of each one is; claims are theirs alone. */
function podResourceFaults(spec: JsonObject, path: string): StatusCause[] {
  const at = `${path}.resources`;
  const resources = part(spec, 'resources');
  const why = 'claims may not be set for Resources at pod-level';
  const claims = has(resources, 'claims') ? [causes.forbidden(`${at}.claims`, why)] : [];
  return [...claims, ...resourceFaults(resources, at)];
}

/** A pod on the node's network has the node's ports; in a template a port may be left open. */
function hostNetworkFaults(spec: JsonObject, at: string, isPod: boolean): StatusCause[] {
  if (spec.hostNetwork !== true) return [];
  return parts(spec, 'containers').flatMap((container, i) =>
    parts(container, 'ports').flatMap((port, j) => {
      const [host, own] = [integer(port.hostPort), integer(port.containerPort)];
      if (host === own || (!isPod && host === 0)) return [];
      const why = 'must match `containerPort` when `hostNetwork` is true';
      return [causes.invalid(`${at}.containers[${i}].ports[${j}].hostPort`, host, why)];
    }),
  );
}

const HOST_SPACES: readonly [string, string][] = [
  ['hostNetwork', 'hostNetwork'],
  ['hostPID', 'HostPID'],
  ['hostIPC', 'HostIPC'],
];

function userFaults(spec: JsonObject, at: string): StatusCause[] {
  if (spec.hostUsers !== false) return [];
  return HOST_SPACES.filter(([key]) => spec[key] === true).map(([, shown]) =>
    causes.forbidden(`${at}.${shown}`, 'when `hostUsers` is false'),
  );
}

function hostnameFaults(spec: JsonObject, path: string): StatusCause[] {
  if (!has(spec, 'hostnameOverride')) return [];
  const at = `${path}.hostnameOverride`;
  const name = text(spec.hostnameOverride);
  const out: StatusCause[] = [];
  if (spec.setHostnameAsFQDN === true) {
    out.push(causes.forbidden(at, 'may not be specified when setHostnameAsFQDN is true'));
  }
  if (spec.hostNetwork === true) out.push(causes.forbidden(at, 'may not be specified when hostNetwork is true'));
  if (name.length > MAX_HOSTNAME) out.push(causes.tooLong(at, MAX_HOSTNAME));
  return [...out, ...each(at, name, dnsSubdomainErrors(name))];
}

function aliasFaults(spec: JsonObject, at: string): StatusCause[] {
  return parts(spec, 'hostAliases').flatMap((alias, i) => {
    const here = `${at}.hostAliases[${i}]`;
    const ip = text(alias.ip);
    return [
      ...each(`${here}.ip`, ip, addressErrors(ip)),
      ...texts(alias, 'hostnames').flatMap((name, j) =>
        each(`${here}.hostnames[${j}]`, name, dnsSubdomainErrors(name)),
      ),
    ];
  });
}

function deadlineFaults({ activeDeadlineSeconds: seconds }: JsonObject, at: string): StatusCause[] {
  if (typeof seconds !== 'number' || (seconds >= 1 && seconds <= MAX_INT32)) return [];
  return [causes.invalid(`${at}.activeDeadlineSeconds`, seconds, `must be between 1 and ${MAX_INT32}, inclusive`)];
}

function classFaults(spec: JsonObject, at: string): StatusCause[] {
  const out = nameFaults(spec, [['priorityClassName', dnsSubdomainErrors]], at);
  if (has(spec, 'runtimeClassName')) {
    const name = text(spec.runtimeClassName);
    out.push(...each(`${at}.runtimeClassName`, name, dnsSubdomainErrors(name)));
  }
  if (has(spec, 'preemptionPolicy')) {
    const policies = ['PreemptLowerPriority', 'Never'];
    out.push(...oneOf(spec.preemptionPolicy, `${at}.preemptionPolicy`, policies, false));
  }
  if (has(spec, 'overhead')) {
    const faults = resourceFaults({ limits: part(spec, 'overhead') }, `${at}.overhead`);
    out.push(...faults);
  }
  if (!has(spec, 'os')) return out;
  const name = text(part(spec, 'os').name);
  if (name === '') return [...out, causes.required(`${at}.os.name`)];
  return [...out, ...oneOf(name, `${at}.os`, ['linux', 'windows'])];
}

/** Causes in a pod spec at a path. `pod` is the name of the pod; a template has none. */
export function validatePodSpec(spec: JsonObject, at: string, pod = ''): StatusCause[] {
  const [volumes, volumeFaults] = podVolumes(spec, at, pod);
  return [
    ...(has(spec, 'terminationGracePeriodSeconds') ? [] : [causes.required(`${at}.terminationGracePeriodSeconds`)]),
    ...volumeFaults,
    ...resourceClaimFaults(spec, at),
    ...containerFaults(spec, volumes, at),
    ...podResourceFaults(spec, at),
    ...hostNetworkFaults(spec, at, pod !== ''),
    ...oneOf(spec.restartPolicy, `${at}.restartPolicy`, RESTART_POLICIES, false),
    ...oneOf(spec.dnsPolicy, `${at}.dnsPolicy`, DNS_POLICIES, false),
    ...validateLabels(spec.nodeSelector, `${at}.nodeSelector`),
    ...podSecurityFaults(spec, at),
    ...affinityFaults(spec, at),
    ...dnsFaults(spec, at),
    ...gateFaults(spec, at),
    ...spreadFaults(spec, at),
    ...userFaults(spec, at),
    ...hostnameFaults(spec, at),
    ...nameFaults(spec, NAMES, at),
    ...deadlineFaults(spec, at),
    ...nameFaults(spec, HOST_NAMES, at),
    ...tolerationFaults(spec, at),
    ...aliasFaults(spec, at),
    ...classFaults(spec, at),
  ];
}

import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { compareQuantities } from '../quantity.ts';
import { each, has, oneOf, part, parts, text } from './checks.ts';
import { environmentFaults } from './environment.ts';
import { handlersFaults, LASTING_FIELDS } from './handlers.ts';
import { deviceFaults, mountFaults, type Volumes } from './mounts.ts';
import { dnsLabelErrors } from './names.ts';
import { containerPortFaults, hostPortFaults } from './ports.ts';
import { allowsOvercommit, amountFaults, containerResourceNameFaults } from './resource-names.ts';
import { containerSecurityFaults } from './security.ts';

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const RESTART_POLICIES = ['Always', 'Never', 'OnFailure'];
const RESTART_ACTIONS = ['Restart', 'RestartAllContainers'];
const MAX_RULES = 20;
const MAX_EXIT_CODES = 255;

function amountsFaults(amounts: JsonObject, at: string): StatusCause[] {
  return Object.entries(amounts).flatMap(([name, amount]) => [
    ...containerResourceNameFaults(name, `${at}[${name}]`),
    ...amountFaults(name, text(amount), `${at}[${name}]`),
  ]);
}

/** What is asked for is within its limit; what nothing can be lent of is asked for as it is limited. */
function requestFaults(requests: JsonObject, limits: JsonObject, at: string): StatusCause[] {
  return Object.entries(requests).flatMap(([name, value]) => {
    const [amount, limit] = [text(value), text(limits[name])];
    const lends = allowsOvercommit(name);
    if (limit === '') {
      if (lends) return [];
      return [causes.required(`${at}.limits`, 'Limit must be set for non overcommitable resources')];
    }
    const order = compareQuantities(amount, limit);
    if (!lends && order !== 0) {
      return [causes.invalid(`${at}.requests`, amount, `must be equal to ${name} limit of ${limit}`)];
    }
    if (order <= 0) return [];
    return [causes.invalid(`${at}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`)];
  });
}

/** Causes in the resources of a container, or in the overhead of a pod, at a path. */
export function resourceFaults(resources: JsonObject, at: string): StatusCause[] {
  const [limits, requests] = [part(resources, 'limits'), part(resources, 'requests')];
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  const out = [
    ...amountsFaults(limits, `${at}.limits`),
    ...amountsFaults(requests, `${at}.requests`),
    ...requestFaults(requests, limits, at),
  ];
  const huge = names.some((name) => name.startsWith('hugepages-'));
  if (!huge || names.includes('cpu') || names.includes('memory')) return out;
  return [...out, causes.forbidden(at, 'HugePages require cpu or memory')];
}

function claimFaults(container: JsonObject, pod: JsonObject, path: string): StatusCause[] {
  const at = `${path}.resources.claims`;
  const known = parts(pod, 'resourceClaims').map(({ name }) => text(name));
  const claims = parts(part(container, 'resources'), 'claims').map(({ name }) => text(name));
  return [
    ...claims.flatMap((name, i) => {
      if (name === '') return [causes.required(`${at}[${i}]`)];
      if (claims.indexOf(name) < i) return [causes.duplicate(`${at}[${i}]`, name)];
      if (known.includes(name)) return [];
      const names = known.length === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`;
      const { reason, message, field } = causes.notFound(`${at}[${i}]`, name);
      return [{ reason, message: `${message}: must be one of the names in pod.spec.resourceClaims${names}`, field }];
    }),
  ] as StatusCause[];
}

function resizeFaults(container: JsonObject, pod: JsonObject, path: string): StatusCause[] {
  const at = `${path}.resizePolicy`;
  const seen = new Set<string>();
  return parts(container, 'resizePolicy').flatMap((policy, i) => {
    const [resource, restart] = [text(policy.resourceName), text(policy.restartPolicy)];
    const out = seen.has(resource) ? [causes.duplicate(`${at}[${i}]`, resource)] : [];
    seen.add(resource);
    if (resource === '') out.push(causes.required(at));
    else out.push(...oneOf(resource, at, ['cpu', 'memory']));
    if (restart === '') out.push(causes.required(at));
    else out.push(...oneOf(restart, at, ['NotRequired', 'RestartContainer']));
    if (pod.restartPolicy === 'Never' && restart !== 'NotRequired') {
      out.push(causes.invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
    }
    return out;
  });
}

/** Causes in when a container is started again; rules need a policy. */
function restartFaults(container: JsonObject, at: string): StatusCause[] {
  const rules = parts(container, 'restartPolicyRules');
  const out: StatusCause[] = [];
  if (has(container, 'restartPolicy')) {
    out.push(...oneOf(container.restartPolicy, `${at}.restartPolicy`, RESTART_POLICIES));
  } else if (rules.length > 0) {
    out.push(causes.required(`${at}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
  }
  if (rules.length > MAX_RULES) out.push(causes.tooMany(`${at}.restartPolicyRules`, rules.length, MAX_RULES));
  for (const [i, rule] of rules.entries()) {
    const here = `${at}.restartPolicyRules[${i}]`;
    out.push(...oneOf(rule.action, `${here}.action`, RESTART_ACTIONS));
    const codes = part(rule, 'exitCodes');
    if (!has(rule, 'exitCodes')) out.push(causes.required(`${here}.exitCodes`, 'must be specified'));
    else out.push(...oneOf(codes.operator, `${here}.exitCodes.operator`, ['In', 'NotIn']));
    const count = Array.isArray(codes.values) ? codes.values.length : 0;
    if (count > MAX_EXIT_CODES) out.push(causes.tooMany(`${here}.exitCodes.values`, count, MAX_EXIT_CODES));
  }
  return out;
}

function commonFaults(container: JsonObject, pod: JsonObject, volumes: Volumes, at: string): StatusCause[] {
  const [name, image] = [text(container.name), text(container.image)];
  const out = name === '' ? [causes.required(`${at}.name`)] : each(`${at}.name`, name, dnsLabelErrors(name));
  if (image === '') out.push(causes.required(`${at}.image`));
  const policies = ['File', 'FallbackToLogsOnError'];
  return [
    ...out,
    ...oneOf(container.terminationMessagePolicy, `${at}.terminationMessagePolicy`, policies, false),
    ...containerPortFaults(container, at),
    ...environmentFaults(container, at),
    ...mountFaults(container, volumes, at),
    ...deviceFaults(container, volumes, at),
    ...oneOf(container.imagePullPolicy, `${at}.imagePullPolicy`, PULL_POLICIES),
    ...resourceFaults(part(container, 'resources'), `${at}.resources`),
    ...claimFaults(container, pod, at),
    ...resizeFaults(container, pod, at),
    ...containerSecurityFaults(container, pod, at),
  ];
}

function mainFaults(pod: JsonObject, volumes: Volumes, path: string): StatusCause[] {
  const containers = parts(pod, 'containers');
  if (containers.length === 0) return [causes.required(path)];
  const at = (i: number) => `${path}[${i}]`;
  const names = new Set<string>();
  const own = containers.flatMap((container, i) => {
    const name = text(container.name);
    const out = commonFaults(container, pod, volumes, at(i));
    if (names.has(name)) out.push(causes.duplicate(`${at(i)}.name`, name));
    names.add(name);
    return [...out, ...handlersFaults(container, pod, at(i)), ...restartFaults(container, at(i))];
  });
  return [...own, ...hostPortFaults(containers, at)];
}

function initFaults(pod: JsonObject, volumes: Volumes, path: string): StatusCause[] {
  const names = new Set(parts(pod, 'containers').map(({ name }) => text(name)));
  return parts(pod, 'initContainers').flatMap((container, i) => {
    const at = `${path}[${i}]`;
    const name = text(container.name);
    const out = [...commonFaults(container, pod, volumes, at), ...restartFaults(container, at)];
    if (names.has(name)) out.push(causes.duplicate(`${at}.name`, name));
    else if (name !== '') names.add(name);
    out.push(...hostPortFaults([container], () => `${path}[0]`));
    if (container.restartPolicy === 'Always') return [...out, ...handlersFaults(container, pod, at)];
    const why = 'may not be set for init containers without restartPolicy=Always';
    return [
      ...out,
      ...LASTING_FIELDS.filter((key) => has(container, key)).map((key) => causes.forbidden(`${at}.${key}`, why)),
    ];
  });
}

const EPHEMERAL_FORBIDDEN = [
  ...['ports', 'resources', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle', 'resizePolicy'],
];

function ephemeralFaults(pod: JsonObject, volumes: Volumes, path: string): StatusCause[] {
  const others = [...parts(pod, 'containers'), ...parts(pod, 'initContainers')].map(({ name }) => text(name));
  const names = new Set(others);
  return parts(pod, 'ephemeralContainers').flatMap((container, i) => {
    const at = `${path}[${i}]`;
    const [name, target] = [text(container.name), text(container.targetContainerName)];
    const out = [...commonFaults(container, pod, volumes, at), ...imageSpaceFaults(container, at)];
    if (names.has(name)) out.push(causes.duplicate(`${at}.name`, name));
    names.add(name);
    if (target !== '' && !others.includes(target)) out.push(causes.notFound(`${at}.targetContainerName`, target));
    const why = 'cannot be set for an Ephemeral Container';
    for (const key of EPHEMERAL_FORBIDDEN) {
      const value = container[key];
      const empty = key === 'resources' ? Object.keys(part(container, key)).length === 0 : value === undefined;
      if (!empty) out.push(causes.forbidden(`${at}.${key}`, why));
    }
    for (const [j, mount] of parts(container, 'volumeMounts').entries()) {
      for (const key of ['subPath', 'subPathExpr']) {
        if (text(mount[key]) !== '') out.push(causes.forbidden(`${at}.volumeMounts[${j}].${key}`, why));
      }
    }
    return out;
  });
}

/** A cause where the image of a container has spaces around it, which only templates may have. */
export function imageSpaceFaults(container: JsonObject, at: string): StatusCause[] {
  const image = text(container.image);
  if (image.trim() === image) return [];
  return [causes.invalid(`${at}.image`, image, 'must not have leading or trailing whitespace')];
}

/** Causes in all containers of a pod, whose spec is at a path; `volumes` are those that can be mounted. */
export function containerFaults(pod: JsonObject, volumes: Volumes, at: string): StatusCause[] {
  return [
    ...mainFaults(pod, volumes, `${at}.containers`),
    ...initFaults(pod, volumes, `${at}.initContainers`),
    ...ephemeralFaults(pod, volumes, `${at}.ephemeralContainers`),
  ];
}

import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, JsonValue, KubeObject } from '../object.ts';
import { each, has, integer, part, parts, text } from './checks.ts';
import { addressErrors } from './cidr.ts';
import { isIPv4 } from './ip.ts';
import { qualifiedNameErrors } from './labels.ts';
import { dnsSubdomainErrors } from './names.ts';

const SYSTEM_CONDITIONS = ['PodScheduled', 'Ready', 'Initialized'];
const NOT_NEGATIVE = 'must be a non-negative integer';

function validateConditions(status: JsonObject): StatusCause[] {
  return parts(status, 'conditions').flatMap((condition, i) => {
    const at = `status.conditions[${i}]`;
    const observed = integer(condition.observedGeneration);
    const type = text(condition.type);
    const out = observed < 0 ? [causes.invalid(`${at}.observedGeneration`, observed, NOT_NEGATIVE)] : [];
    return SYSTEM_CONDITIONS.includes(type) ? out : [...out, ...each(`${at}.Type`, type, qualifiedNameErrors(type))];
  });
}

function validateNomination(pod: KubeObject, old: KubeObject): StatusCause[] {
  const name = text(part(pod, 'status').nominatedNodeName);
  const at = 'status.nominatedNodeName';
  if (name === '' || name === text(part(old, 'status').nominatedNodeName)) return [];
  const out = each(at, name, dnsSubdomainErrors(name));
  if (text(part(old, 'spec').nodeName) === '') return out;
  return [...out, causes.forbidden(at, 'may not be set on pods that are already bound to a node')];
}

const exitCodeOf = (status: JsonObject): number | undefined => {
  const state = part(status, 'state');
  return has(state, 'terminated') ? integer(part(state, 'terminated').exitCode) : undefined;
};

function restarts(policy: JsonValue | undefined, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** Whether a container is started again after it ended with this code. */
function mayRestart(container: JsonObject, spec: JsonObject, exitCode: number): boolean {
  const rule = parts(container, 'restartPolicyRules').find((one) => {
    const { operator, values } = part(one, 'exitCodes');
    const listed = Array.isArray(values) && values.includes(exitCode);
    return operator === 'In' ? listed : operator === 'NotIn' && !listed;
  });
  return rule !== undefined || restarts(container.restartPolicy ?? spec.restartPolicy, exitCode);
}

const restartsAll = (spec: JsonObject) =>
  [...parts(spec, 'containers'), ...parts(spec, 'initContainers')].some((container) =>
    parts(container, 'restartPolicyRules').some(({ action }) => action === 'RestartAllContainers'),
  );

/** Containers that have ended for good stay so. */
function validateStates(status: JsonObject, old: KubeObject): StatusCause[] {
  const spec = part(old, 'spec');
  if (restartsAll(spec)) return [];
  const now = parts(status, 'containerStatuses');
  return parts(part(old, 'status'), 'containerStatuses').flatMap((before, i) => {
    const exitCode = exitCodeOf(before);
    const after = now.find(({ name }) => name === before.name);
    if (exitCode === undefined || after === undefined || exitCodeOf(after) !== undefined) return [];
    const container = parts(spec, 'containers').find(({ name }) => name === before.name);
    if (container !== undefined && mayRestart(container, spec, exitCode)) return [];
    const at = `status.containerStatuses[${i}].state`;
    return [causes.forbidden(at, 'may not be transitioned to non-terminated state')];
  });
}

/** Addresses that a pod had before are not checked again. */
function validateIPs(status: JsonObject, old: JsonObject, key: string): StatusCause[] {
  const at = `status.${key}`;
  const ips = parts(status, key).map(({ ip }) => text(ip));
  const before = parts(old, key).map(({ ip }) => text(ip));
  const out = ips.flatMap((ip, i) => (before.includes(ip) ? [] : each(`${at}[${i}]`, ip, addressErrors(ip))));
  if (ips.length < 2) return out;
  const dual = ips.some(isIPv4) && !ips.every(isIPv4);
  if (dual && ips.length === 2) return out;
  return [...out, causes.invalid(at, status[key], 'may specify no more than one IP for each IP family')];
}

function validateHostIP(status: JsonObject): StatusCause[] {
  const [first] = parts(status, 'hostIPs');
  if (first === undefined || text(first.ip) === text(status.hostIP)) return [];
  return [causes.invalid('status.hostIPs[0].ip', text(first.ip), 'must be equal to `hostIP`')];
}

/** Causes in the changed status of a pod. */
export function validatePodStatus(pod: KubeObject, old: KubeObject): StatusCause[] {
  const [status, before] = [part(pod, 'status'), part(old, 'status')];
  const out = [...validateConditions(status), ...validateNomination(pod, old)];
  const observed = integer(status.observedGeneration);
  if (observed < 0) out.push(causes.invalid('status.observedGeneration', observed, NOT_NEGATIVE));
  if (has(status, 'qosClass') && has(before, 'qosClass') && status.qosClass !== before.qosClass) {
    out.push(causes.invalid('status.qosClass', status.qosClass, 'field is immutable'));
  }
  return [
    ...out,
    ...validateStates(status, old),
    ...validateIPs(status, before, 'podIPs'),
    ...validateHostIP(status),
    ...validateIPs(status, before, 'hostIPs'),
  ];
}

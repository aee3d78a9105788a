import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { has, oneOf, part, parts, text } from './checks.ts';
import { descendingPathFaults } from './paths.ts';

const MAX_ID = 2147483647;
const MAX_PROFILE = 4095;
const MAX_SYSCTL = 253;
const SYSCTL = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const sysctlPattern = new RegExp(SYSCTL);
const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];

/** Choices of a pod's security context, sorted. */
const POD_CHOICES: readonly [string, readonly string[]][] = [['fsGroupChangePolicy', ['Always', 'OnRootMismatch']]];
const LATER_CHOICES: readonly [string, readonly string[]][] = [
  ['supplementalGroupsPolicy', ['Merge', 'Strict']],
  ['seLinuxChangePolicy', ['Recursive']],
];

function idFaults(context: JsonObject, keys: readonly string[], at: string): StatusCause[] {
  return keys.flatMap((key) => {
    const id = context[key];
    if (typeof id !== 'number' || (id >= 0 && id <= MAX_ID)) return [];
    return [causes.invalid(`${at}.${key}`, id, `must be between 0 and ${MAX_ID}, inclusive`)];
  });
}

function seccompFaults(context: JsonObject, path: string): StatusCause[] {
  if (!has(context, 'seccompProfile')) return [];
  const at = `${path}.seccompProfile`;
  const profile = part(context, 'seccompProfile');
  const { type, localhostProfile: file } = profile;
  const here = `${at}.localhostProfile`;
  const out: StatusCause[] = [];
  if (text(type) === '') out.push(causes.required(`${at}.type`, 'type is required when seccompProfile is set'));
  else out.push(...oneOf(type, `${at}.type`, PROFILES, false));
  if (type !== 'Localhost') {
    if (file === undefined) return out;
    return [...out, causes.invalid(here, profile, 'can only be set when seccomp type is Localhost')];
  }
  if (file === undefined) return [...out, causes.required(here, 'must be set when seccomp type is Localhost')];
  return [...out, ...descendingPathFaults(text(file), here)];
}

function appArmorFaults(context: JsonObject, path: string): StatusCause[] {
  if (!has(context, 'appArmorProfile')) return [];
  const at = `${path}.appArmorProfile`;
  const { type, localhostProfile: file } = part(context, 'appArmorProfile');
  const here = `${at}.localhostProfile`;
  if (text(type) === '') return [causes.required(`${at}.type`, 'type is required when appArmorProfile is set')];
  if (!PROFILES.includes(text(type))) return [causes.notSupported(`${at}.type`, type, PROFILES)];
  if (type !== 'Localhost') {
    if (file === undefined) return [];
    return [causes.invalid(here, file, 'can only be set when AppArmor type is Localhost')];
  }
  const name = text(file);
  if (name !== name.trim()) return [causes.invalid(here, name, 'must not be padded with whitespace')];
  if (name === '') return [causes.required(here, 'must be set when AppArmor type is Localhost')];
  return name.length > MAX_PROFILE ? [causes.tooLong(here, MAX_PROFILE)] : [];
}

function escalationFaults(context: JsonObject, at: string): StatusCause[] {
  if (context.allowPrivilegeEscalation !== false) return [];
  const out: StatusCause[] = [];
  const clash = (other: string) => `cannot set \`allowPrivilegeEscalation\` to false and ${other}`;
  if (context.privileged === true) out.push(causes.invalid(at, context, clash('`privileged` to true')));
  const added = part(context, 'capabilities').add;
  if (Array.isArray(added) && added.includes('CAP_SYS_ADMIN')) {
    out.push(causes.invalid(at, context, clash('`capabilities.Add` CAP_SYS_ADMIN')));
  }
  return out;
}

/** Causes in the security context of a container at a path, in a pod with this spec. */
export function containerSecurityFaults(container: JsonObject, pod: JsonObject, path: string): StatusCause[] {
  if (!has(container, 'securityContext')) return [];
  const context = part(container, 'securityContext');
  const at = `${path}.securityContext`;
  const out = idFaults(context, ['runAsUser', 'runAsGroup'], at);
  if (has(context, 'procMount')) {
    out.push(...oneOf(context.procMount, `${at}.procMount`, ['Default', 'Unmasked'], false));
    if (context.procMount === 'Unmasked' && pod.hostUsers !== false) {
      out.push(causes.invalid(`${at}.procMount`, 'Unmasked', '`hostUsers` must be false to use `Unmasked`'));
    }
  }
  return [...out, ...seccompFaults(context, at), ...escalationFaults(context, at), ...appArmorFaults(context, at)];
}

function sysctlFaults(context: JsonObject, pod: JsonObject, path: string): StatusCause[] {
  const seen = new Set<string>();
  return parts(context, 'sysctls').flatMap((sysctl, i) => {
    const name = text(sysctl.name);
    const at = `${path}.sysctls[${i}].name`;
    const out: StatusCause[] = [];
    if (name === '') out.push(causes.required(at));
    else if (name.length > MAX_SYSCTL || !sysctlPattern.test(name)) {
      out.push(causes.invalid(at, name, `must have at most ${MAX_SYSCTL} characters and match regex ${SYSCTL}`));
    } else if (seen.has(name)) out.push(causes.duplicate(at, name));
    seen.add(name);
    const dotted = name.replaceAll('/', '.');
    if (pod.hostNetwork === true && dotted.startsWith('net.')) {
      out.push(causes.invalid(at, name, "may not be specified when 'hostNetwork' is true"));
    }
    if (
      pod.hostIPC === true &&
      /^(kernel\.(shmall|shmmax|shmmni|shm_rmid_forced|msgmax|msgmnb|msgmni|sem)$|fs\.mqueue\.)/.test(dotted)
    ) {
      out.push(causes.invalid(at, name, "may not be specified when 'hostIPC' is true"));
    }
    return out;
  });
}

const choiceFaults = (context: JsonObject, choices: typeof POD_CHOICES, at: string) =>
  choices.flatMap(([key, known]) => (has(context, key) ? oneOf(context[key], `${at}.${key}`, known) : []));

/** Causes in the security context of a pod, whose spec is at a path. */
export function podSecurityFaults(pod: JsonObject, path: string): StatusCause[] {
  const context = part(pod, 'securityContext');
  const at = `${path}.securityContext`;
  const groups = Array.isArray(context.supplementalGroups) ? context.supplementalGroups : [];
  const out = [
    ...idFaults(context, ['fsGroup', 'runAsUser', 'runAsGroup'], at),
    ...groups.flatMap((id, i) => {
      const key = `supplementalGroups[${i}]`;
      return idFaults({ [key]: id }, [key], at);
    }),
  ];
  if (pod.hostPID === true && pod.shareProcessNamespace === true) {
    const why = 'ShareProcessNamespace and HostPID cannot both be enabled';
    out.push(causes.invalid(`${at}.shareProcessNamespace`, true, why));
  }
  return [
    ...out,
    ...sysctlFaults(context, pod, at),
    ...choiceFaults(context, POD_CHOICES, at),
    ...seccompFaults(context, at),
    ...appArmorFaults(context, at),
    ...choiceFaults(context, LATER_CHOICES, at),
  ];
}

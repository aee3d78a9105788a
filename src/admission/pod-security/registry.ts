import {
  allowPrivilegeEscalation,
  type Check,
  capabilitiesBaseline,
  capabilitiesRestricted,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  sysctls,
  unlessUserNamespace,
  unlessWindows,
  windowsHostProcess,
} from './checks.ts';
import type { Fault, Pod } from './faults.ts';
import type { Demand, Version } from './policy.ts';
import {
  appArmorProfile,
  seccompAnnotations,
  seccompBaseline,
  seccompRestricted,
  seLinuxOptions,
} from './profile-checks.ts';

/** One check of the Pod Security Standards through the versions: what it is from a minor version on. */
interface Row {
  id: string;
  versions: readonly (readonly [from: number, check: Check])[];
  /** The check of the baseline that this one is stricter than. */
  overrides?: string;
}

const SYSCTLS_1_0 = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];
const SYSCTLS_1_27 = [...SYSCTLS_1_0, 'net.ipv4.ip_local_reserved_ports'];
const SYSCTLS_1_29 = [
  ...SYSCTLS_1_27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
];
const SYSCTLS_1_32 = [...SYSCTLS_1_29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];
const SELINUX_1_0 = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
const SELINUX_1_31 = [...SELINUX_1_0, 'container_engine_t'];

/** Both tables are in the order of the ids, which is the order of messages. */
const baseline: readonly Row[] = [
  { id: 'appArmorProfile', versions: [[0, appArmorProfile]] },
  { id: 'capabilities_baseline', versions: [[0, capabilitiesBaseline]] },
  { id: 'hostNamespaces', versions: [[0, hostNamespaces]] },
  { id: 'hostPathVolumes', versions: [[0, hostPathVolumes]] },
  { id: 'hostPorts', versions: [[0, hostPorts]] },
  { id: 'hostProbesAndHostLifecycle', versions: [[34, hostProbes]] },
  { id: 'privileged', versions: [[0, privileged]] },
  {
    id: 'procMount',
    versions: [
      [0, procMount],
      [35, unlessUserNamespace(procMount)],
    ],
  },
  {
    id: 'seLinuxOptions',
    versions: [
      [0, seLinuxOptions(new Set(SELINUX_1_0))],
      [31, seLinuxOptions(new Set(SELINUX_1_31))],
    ],
  },
  {
    id: 'seccompProfile_baseline',
    versions: [
      [0, seccompAnnotations],
      [19, seccompBaseline],
    ],
  },
  {
    id: 'sysctls',
    versions: [
      [0, sysctls(new Set(SYSCTLS_1_0))],
      [27, sysctls(new Set(SYSCTLS_1_27))],
      [29, sysctls(new Set(SYSCTLS_1_29))],
      [32, sysctls(new Set(SYSCTLS_1_32))],
    ],
  },
  { id: 'windowsHostProcess', versions: [[0, windowsHostProcess]] },
];

const restricted: readonly Row[] = [
  {
    id: 'allowPrivilegeEscalation',
    versions: [
      [8, allowPrivilegeEscalation],
      [25, unlessWindows(allowPrivilegeEscalation)],
    ],
  },
  {
    id: 'capabilities_restricted',
    overrides: 'capabilities_baseline',
    versions: [
      [22, capabilitiesRestricted],
      [25, unlessWindows(capabilitiesRestricted)],
    ],
  },
  { id: 'procMount_restricted', overrides: 'procMount', versions: [[35, procMount]] },
  { id: 'restrictedVolumes', overrides: 'hostPathVolumes', versions: [[0, restrictedVolumes]] },
  {
    id: 'runAsNonRoot',
    versions: [
      [0, runAsNonRoot],
      [35, unlessUserNamespace(runAsNonRoot)],
    ],
  },
  {
    id: 'runAsUser',
    versions: [
      [23, runAsUser],
      [35, unlessUserNamespace(runAsUser)],
    ],
  },
  {
    id: 'seccompProfile_restricted',
    overrides: 'seccompProfile_baseline',
    versions: [
      [19, seccompRestricted],
      [25, unlessWindows(seccompRestricted)],
    ],
  },
];

const asOf = ({ versions }: Row, version: Version): Check | undefined =>
  versions.findLast(([from]) => version === 'latest' || from <= version)?.[1];

function checksOf({ level, version }: Demand): Check[] {
  if (level === 'privileged') return [];
  const strict = level === 'restricted' ? restricted.filter((row) => asOf(row, version) !== undefined) : [];
  const overridden = new Set(strict.map(({ overrides }) => overrides));
  const rows = [...baseline.filter(({ id }) => !overridden.has(id)), ...strict];
  return rows.flatMap((row) => asOf(row, version) ?? []);
}

/** Everything that a pod does beyond what is asked of it. */
export const violations = (demand: Demand, pod: Pod): Fault[] => checksOf(demand).flatMap((check) => check(pod) ?? []);

/** Violations as the refusal of one pod tells them. */
export const details = (faults: readonly Fault[]): string =>
  faults.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');

/** Violations as they are told of many pods. */
export const reasons = (faults: readonly Fault[]): string => faults.map(({ reason }) => reason).join(', ');

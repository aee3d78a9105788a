import { resolve } from 'node:path';
import { choiceFault, type PluginChoice } from '../admission/order.ts';
import { type AuditWebhookFlags, auditWebhookFlags } from './audit-flags.ts';
import { type AuthenticationFlags, authenticationFlags } from './authentication-flags.ts';
import { type AuthorizationFlags, authorizationFlags } from './authorization-flags.ts';
import { type IdentityFlags, identityFlags } from './identity-flags.ts';
import { type Flag, names, UsageError } from './usage.ts';

export { UsageError } from './usage.ts';

/** What `npm start` was asked for; absent values fall back to the data folder's record, then to the defaults. */
export interface Options {
  port: number;
  bindAddress: string;
  data: string;
  replicas: number | undefined;
  processes: number | undefined;
  shards: number | undefined;
  controlLoops: 'all' | 'none' | string[];
  admissionPlugins: PluginChoice;
  staticTokenFile: string | undefined;
  clientCAFile: string | undefined;
  authentication: AuthenticationFlags;
  authorization: AuthorizationFlags;
  identity: IdentityFlags;
  advertiseAddress: string;
  serviceClusterIPRange: string;
  auditPolicyFile: string | undefined;
  auditWebhook: AuditWebhookFlags;
  /** `-`: standard output. */
  auditLogPath: string | undefined;
  /** Megabytes after which the log is rotated. */
  auditLogMaxSize: number;
  /** Rotated logs that are kept. */
  auditLogMaxBackup: number;
  maxRequestsInflight: number;
  maxMutatingRequestsInflight: number;
  eventTTLSeconds: number;
  compactionIntervalSeconds: number;
}

const flags: Flag<Options>[] = [
  {
    name: 'port',
    value: 'N',
    help: 'port to serve on (6443); 0: any free one',
    set: (o, text) => {
      o.port = integer('port', text, 0, 65535);
    },
  },
  {
    name: 'bind-address',
    value: 'ADDRESS',
    help: 'address to serve on (127.0.0.1)',
    set: (o, text) => {
      o.bindAddress = text;
    },
  },
  {
    name: 'data',
    value: 'DIR',
    help: 'data folder (.gunwale)',
    set: (o, text) => {
      o.data = resolve(text);
    },
  },
  {
    name: 'replicas',
    value: '1|3|5',
    help: 'Raft replicas of a new data folder (3)',
    set: (o, text) => {
      o.replicas = oneOf('replicas', text, [1, 3, 5]);
    },
  },
  {
    name: 'processes',
    value: 'N',
    help: '1: everything in one workerd; 2: API and replicas apart; the number of replicas: each replica apart',
    set: (o, text) => {
      o.processes = integer('processes', text, 1, 5);
    },
  },
  {
    name: 'shards',
    value: '1|2',
    help: 'shards of a new data folder (1); 2: events and leases have one of their own',
    set: (o, text) => {
      o.shards = oneOf('shards', text, [1, 2]);
    },
  },
  {
    name: 'control-loops',
    value: 'all|none|NAME,…',
    help: 'which control loops of a controller-manager run (all)',
    set: (o, text) => {
      o.controlLoops = text === 'all' || text === 'none' ? text : names(text);
    },
  },
  {
    name: 'enable-admission-plugins',
    value: 'NAME,…',
    help: 'admission plugins to run beside the usual ones',
    set: (o, text) => {
      o.admissionPlugins = { ...o.admissionPlugins, enable: [...o.admissionPlugins.enable, ...names(text)] };
    },
  },
  {
    name: 'disable-admission-plugins',
    value: 'NAME,…',
    help: 'admission plugins not to run',
    set: (o, text) => {
      o.admissionPlugins = { ...o.admissionPlugins, disable: [...o.admissionPlugins.disable, ...names(text)] };
    },
  },
  {
    name: 'token-auth-file',
    value: 'FILE',
    help: 'CSV lines: token,user,uid,"group1,group2"',
    set: (o, text) => {
      o.staticTokenFile = resolve(text);
    },
  },
  {
    name: 'client-ca-file',
    value: 'FILE',
    help: "PEM certificates that clients' may chain to, besides the cluster's own authority",
    set: (o, text) => {
      o.clientCAFile = resolve(text);
    },
  },
  {
    name: 'advertise-address',
    value: 'ADDRESS',
    help: 'address that the kubernetes Service leads to (127.0.0.1)',
    set: (o, text) => {
      o.advertiseAddress = text;
    },
  },
  {
    name: 'service-cluster-ip-range',
    value: 'CIDR',
    help: 'addresses of Services (10.0.0.0/24)',
    set: (o, text) => {
      o.serviceClusterIPRange = text;
    },
  },
  {
    name: 'audit-policy-file',
    value: 'FILE',
    help: 'audit.k8s.io/v1 Policy: what is audited (nothing)',
    set: (o, text) => {
      o.auditPolicyFile = resolve(text);
    },
  },
  {
    name: 'audit-log-path',
    value: 'FILE',
    help: 'where audit events go, a JSON line each; -: standard output (DIR/audit.log, or nowhere with a webhook)',
    set: (o, text) => {
      o.auditLogPath = text === '-' ? text : resolve(text);
    },
  },
  {
    name: 'audit-log-maxsize',
    value: 'MB',
    help: 'size at which the audit log is rotated (100)',
    set: (o, text) => {
      o.auditLogMaxSize = integer('audit-log-maxsize', text, 1, 100_000);
    },
  },
  {
    name: 'audit-log-maxbackup',
    value: 'N',
    help: 'rotated audit logs that are kept (10)',
    set: (o, text) => {
      o.auditLogMaxBackup = integer('audit-log-maxbackup', text, 0, 1_000);
    },
  },
  {
    name: 'max-requests-inflight',
    value: 'N',
    help: 'reading requests side by side (400); with the next, the seats of priority and fairness',
    set: (o, text) => {
      o.maxRequestsInflight = integer('max-requests-inflight', text, 1, 100_000);
    },
  },
  {
    name: 'max-mutating-requests-inflight',
    value: 'N',
    help: 'writing requests side by side (200)',
    set: (o, text) => {
      o.maxMutatingRequestsInflight = integer('max-mutating-requests-inflight', text, 1, 100_000);
    },
  },
  {
    name: 'event-ttl',
    value: 'DURATION',
    help: 'how long events are kept (1h0m0s)',
    set: (o, text) => {
      o.eventTTLSeconds = duration('event-ttl', text);
    },
  },
  {
    name: 'etcd-compaction-interval',
    value: 'DURATION',
    help: 'how long history is kept for watches and pages (5m0s)',
    set: (o, text) => {
      o.compactionIntervalSeconds = duration('etcd-compaction-interval', text);
    },
  },
  ...authenticationFlags,
  ...authorizationFlags,
  ...auditWebhookFlags,
  ...identityFlags,
];

/** Reads `--name value` and `--name=value`. Throws UsageError naming the first flag that is wrong. */
export function parseOptions(args: string[]): Options {
  const options: Options = {
    port: 6443,
    bindAddress: '127.0.0.1',
    data: resolve('.gunwale'),
    replicas: undefined,
    processes: undefined,
    shards: undefined,
    controlLoops: 'all',
    admissionPlugins: { enable: [], disable: [] },
    staticTokenFile: undefined,
    clientCAFile: undefined,
    authentication: {},
    authorization: {},
    identity: {},
    advertiseAddress: '127.0.0.1',
    serviceClusterIPRange: '10.0.0.0/24',
    auditPolicyFile: undefined,
    auditWebhook: {},
    auditLogPath: undefined,
    auditLogMaxSize: 100,
    auditLogMaxBackup: 10,
    maxRequestsInflight: 400,
    maxMutatingRequestsInflight: 200,
    eventTTLSeconds: 3600,
    compactionIntervalSeconds: 300,
  };
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const flag = flags.find((f) => f.name === name);
    if (!flag)
      throw new UsageError(`Unknown argument ${arg}; known are ${flags.map((f) => `--${f.name}`).join(', ')}.`);
    const text = inline ?? rest.shift();
    if (text === undefined) throw new UsageError(`--${flag.name} needs a value.`);
    flag.set(options, text);
  }
  const fault = choiceFault(options.admissionPlugins);
  if (fault !== undefined) throw new UsageError(fault);
  return options;
}

/** The text of `--help`. */
export function usage(): string {
  const lines = flags.map(({ name, value, help }) => `  ${`--${name} ${value}`.padEnd(34)}${help}`);
  return ['usage: npm start -- [flags]', ...lines].join('\n');
}

function integer(name: string, text: string, min: number, max: number): number {
  const n = Number(text);
  if (!/^\d+$/.test(text) || n < min || n > max)
    throw new UsageError(`--${name} must be a number from ${min} to ${max}.`);
  return n;
}

/** Seconds of a duration such as `90s` or `1h30m`, as kube-apiserver's flags take it. */
function duration(name: string, text: string): number {
  const parts = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text)?.slice(1).map(Number) ?? [];
  const [hours = 0, minutes = 0, seconds = 0] = parts.map((part) => part || 0);
  const total = (hours * 60 + minutes) * 60 + seconds;
  if (total <= 0) throw new UsageError(`--${name} must be a duration above 0 such as 1h30m.`);
  return total;
}

function oneOf(name: string, text: string, allowed: number[]): number {
  const n = Number(text);
  if (!allowed.includes(n)) throw new UsageError(`--${name} must be one of ${allowed.join(', ')}.`);
  return n;
}

import { KEY_HEADER } from '../outbound/egress-protocol.ts';
import type { ProcessPlan } from './layout.ts';

/** Compatibility date of the Worker here and in wrangler.toml: `request.signal` exists from this one on. */
export const COMPATIBILITY_DATE = '2026-11-17';
/** Small nurseries (MB) and a heap that grows in small steps: what a burst of large answers leaves behind is given back early. */
const V8_FLAGS = ['--max-semi-space-size=4', '--heap-growing-percent=20'];
/**
 * A process of replicas alone: a small heap whose garbage holds much native memory (sockets, requests), which the engine
 * does not see. Collected early, it stays small: with 333 watches and 100 MB written it grows by 75 MiB instead of 120.
 */
const REPLICA_V8_FLAGS = [
  '--max-semi-space-size=1',
  '--initial-old-space-size=2',
  '--heap-growing-percent=10',
  '--optimize-for-size',
];
const REPLICA_NAMESPACE_KEY = 'gunwale-replica';
const LOOPS_NAMESPACE_KEY = 'gunwale-control-loops';

/** What the configurations of all processes of a cluster have in common. */
export interface ClusterWiring {
  plans: ProcessPlan[];
  /** JSON text of the `GUNWALE_CONFIG` binding. */
  config: string;
  /** Header, random per start, in which the front hands `request.cf` to the API process. */
  cfBlobHeader: string;
  /** Key that the runtime puts on calls to the egress service, random per start. */
  egressKey: string;
  /** Whether audit events go to the socket `audit`. */
  audits: boolean;
  /** Path of a unix socket: `api`, `loops`, or the role of a replica process. */
  socket(name: string): string;
}

/**
 * Text of the workerd configuration of one process; `bundle` is the file name of its script, relative to the
 * configuration file.
 */
export function workerdConfig(plan: ProcessPlan, wiring: ClusterWiring, bundle: string): string {
  const separate = wiring.plans.length > 1;
  const peers = wiring.plans.filter((other) => other !== plan && other.owns.length > 0);
  const slots = wiring.plans.reduce((sum, { owns }) => sum + owns.length, 0);
  const bindings = [
    binding('GUNWALE_CONFIG', 'text', quote(wiring.config)),
    ...(separate ? [binding('GUNWALE_OWN_REPLICAS', 'text', quote(JSON.stringify(plan.owns)))] : []),
    ...(separate ? [binding('GUNWALE_REPLICA_SLOTS', 'text', quote(String(slots)))] : []),
    ...(plan.owns.length > 0 ? [binding('REPLICA', 'durableObjectNamespace', quote('Replica'))] : []),
    ...(plan.api ? [binding('LOOPS', 'durableObjectNamespace', quote('ControlLoops'))] : []),
    ...(plan.api && wiring.audits ? [binding('AUDIT_LOG', 'service', quote('audit'))] : []),
    ...(plan.api ? [binding('EGRESS', 'service', quote('egress'))] : []),
    ...(plan.api ? [] : [binding('LOOPS_GATEWAY', 'service', quote('loops'))]),
    ...peers.flatMap((peer) => peer.owns.map((id) => binding(`REPLICA_PROCESS_${id}`, 'service', quote(peer.role)))),
  ];
  const namespaces = [
    ...(plan.owns.length > 0 ? [namespace('Replica', REPLICA_NAMESPACE_KEY)] : []),
    ...(plan.api ? [namespace('ControlLoops', LOOPS_NAMESPACE_KEY)] : []),
  ];
  const services = [
    `( name = "main", worker = .main )`,
    `( name = "disk", disk = ( path = ${quote(plan.disk)}, writable = true ) )`,
    ...peers.map((peer) => external(peer.role, wiring.socket(peer.role))),
    ...(plan.api && wiring.audits ? [external('audit', wiring.socket('audit'))] : []),
    ...(plan.api ? [external('egress', wiring.socket('egress'), egressHeaders(wiring.egressKey))] : []),
    ...(plan.api ? [] : [external('loops', wiring.socket('loops'))]),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    ${services.join(',\n    ')}
  ],
  sockets = [
    ${sockets(plan, wiring, separate).join(',\n    ')}
  ],
  v8Flags = [ ${(plan.api ? V8_FLAGS : REPLICA_V8_FLAGS).map(quote).join(', ')} ]
);

const main :Workerd.Worker = (
  modules = [ ( name = ${quote(bundle)}, esModule = embed ${quote(bundle)} ) ],
  compatibilityDate = ${quote(COMPATIBILITY_DATE)},
  bindings = [
    ${bindings.join(',\n    ')}
  ],
  durableObjectNamespaces = [
    ${namespaces.join(',\n    ')}
  ],
  durableObjectStorage = ( localDisk = "disk" )
);
`;
}

function sockets(plan: ProcessPlan, wiring: ClusterWiring, separate: boolean): string[] {
  if (!plan.api)
    return [socket('replicas', wiring.socket(plan.role), '( name = "main", entrypoint = "ReplicaGateway" )', '')];
  const client = socket('clients', wiring.socket('api'), '"main"', `cfBlobHeader = ${quote(wiring.cfBlobHeader)}`);
  const loops = socket('loops', wiring.socket('loops'), '( name = "main", entrypoint = "LoopsGateway" )', '');
  return separate ? [client, loops] : [client];
}

function socket(name: string, path: string, service: string, http: string): string {
  return `( name = ${quote(name)}, address = ${quote(`unix:${path}`)}, http = ( ${http} ), service = ${service} )`;
}

const egressHeaders = (key: string) =>
  `injectRequestHeaders = [ ( name = ${quote(KEY_HEADER)}, value = ${quote(key)} ) ]`;

function external(name: string, path: string, http = ''): string {
  return `( name = ${quote(name)}, external = ( address = ${quote(`unix:${path}`)}, http = (${http}) ) )`;
}

function binding(name: string, kind: string, value: string): string {
  return `( name = ${quote(name)}, ${kind} = ${value} )`;
}

function namespace(className: string, uniqueKey: string): string {
  return `( className = ${quote(className)}, uniqueKey = ${quote(uniqueKey)}, enableSql = true )`;
}

/** A string literal of Cap'n Proto's text format; control characters become hexadecimal escapes. */
function quote(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&').replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be escaped
    /[\u0000-\u001f\u007f]/g,
    (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `"${escaped}"`;
}

import { waitUntil } from 'cloudflare:workers';
import { controlLoopsClass } from '../durable-objects/control-loops/index.ts';
import { documentCache } from './aggregation/documents.ts';
import { createApp } from './app.ts';
import { Auditor } from './audit/index.ts';
import { parseAuditPolicy } from './audit/policy.ts';
import { type AuditBackend, AuditSink, LOG_BATCHING } from './audit/sink.ts';
import { webhookBackend } from './audit/webhook.ts';
import { bootstrap } from './bootstrap/index.ts';
import { type Bindings, type Config, parseConfig } from './config.ts';
import { Metrics } from './discovery/metrics.ts';
import { FlowControl } from './flowcontrol/index.ts';
import { keyspaceClient, membersClient } from './keyspace/client.ts';
import type { Keyspace } from './keyspace/types.ts';
import { type Outbound, outboundOf } from './outbound/index.ts';
import { policyAsOf } from './policy/bundle.ts';
import type { TenantUid, UserInfo } from './request/context.ts';

export { LoopsGateway } from '../durable-objects/control-loops/index.ts';
export { ReplicaGateway } from '../durable-objects/gateway.ts';
export { Replica } from '../durable-objects/replica.ts';

/** Who the server is to itself. */
const SERVER: UserInfo = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'], extra: {} };

type Fetch = (request: Request) => Promise<Response>;

/** What an isolate makes once of its configuration. */
interface Server {
  config: Config;
  tenant: TenantUid;
  keyspace: () => Keyspace;
  /** Serves clients. */
  fetch: Fetch;
  /** Serves calls of the process itself, past authentication. */
  loopback: Fetch;
  /** Whether the bootstrap objects are known to exist. */
  bootstrapped: boolean;
}

/** The isolate's server, by its bindings, which never change while it lives: nothing of a request is kept here. */
const servers = new WeakMap<Bindings, Server>();

function serverOf(env: Bindings): Server {
  const known = servers.get(env);
  if (known !== undefined) return known;
  const config = parseConfig(env.GUNWALE_CONFIG);
  const keyspace = () => keyspaceClient(env, config.tenant, waitUntil);
  const metrics = new Metrics(new Date());
  const seats = config.maxRequestsInflight + config.maxMutatingRequestsInflight;
  const flowControl = new FlowControl(seats, () => Date.now());
  const members = (_: TenantUid, shard: string) => membersClient(env, config.tenant, shard);
  const outbound = outboundOf(env);
  const auditor = auditorOf(env, config, metrics, outbound);
  const now = () => new Date();
  const documents = documentCache();
  const deps = {
    config,
    keyspace,
    members,
    metrics,
    flowControl,
    now,
    outbound,
    documents,
    ...(auditor && { auditor }),
  };
  const clients = createApp(deps);
  const own = createApp({ ...deps, loopback: SERVER });
  const made: Server = {
    config,
    tenant: config.tenant.uid as TenantUid,
    keyspace,
    fetch: async (request) => clients.fetch(request),
    loopback: async (request) => own.fetch(request),
    bootstrapped: false,
  };
  servers.set(env, made);
  return made;
}

/** Auditing as the configuration says. Throws where its policy is wrong. */
function auditorOf(env: Bindings, config: Config, metrics: Metrics, outbound: Outbound): Auditor | undefined {
  const { auditPolicy, auditLog, auditWebhook } = config;
  if (auditPolicy === '') return undefined;
  const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const runtime = { now: () => Date.now(), sleep, keep: waitUntil };
  const sinks = [
    ...(auditLog ? [new AuditSink(logBackend(env), LOG_BATCHING, runtime, metrics)] : []),
    ...(auditWebhook ? [new AuditSink(webhookBackend(auditWebhook, outbound), auditWebhook, runtime, metrics)] : []),
  ];
  return new Auditor(parseAuditPolicy(auditPolicy), sinks, metrics);
}

/** The log of audit events: the one beside this server, or else the Worker's. */
function logBackend({ AUDIT_LOG }: Bindings): AuditBackend {
  const send = async (events: readonly string[]) => {
    const body = `${events.join('\n')}\n`;
    if (AUDIT_LOG === undefined) console.log(body);
    else if (!(await AUDIT_LOG.fetch('http://audit/', { method: 'POST', body })).ok) throw new Error('not taken');
  };
  return { name: 'log', send };
}

/** Makes sure that the bootstrap objects exist. A request that finds no quorum goes on: it will be told so itself. */
async function ensureBootstrapped(server: Server): Promise<void> {
  if (server.bootstrapped) return;
  try {
    await bootstrap(server.config, server.tenant, server.keyspace(), new Date());
    server.bootstrapped = true;
  } catch (error) {
    console.error('bootstrap failed', error instanceof Error ? error.message : String(error));
  }
}

/** The controllers of this process, which call its API past the network. */
export const ControlLoops = controlLoopsClass((env) => {
  const server = serverOf(env);
  return {
    config: server.config,
    keyspace: server.keyspace(),
    api: server.loopback,
    customResources: async () => {
      const keyspace = server.keyspace();
      const { resources } = await policyAsOf(server.tenant, keyspace, await keyspace.policyRevision());
      return [...resources.values()].flatMap((rows) => [...rows.values()]);
    },
    now: () => new Date(),
    outbound: outboundOf(env),
  };
});

export default {
  async fetch(request, env) {
    const server = serverOf(env);
    await ensureBootstrapped(server);
    return server.fetch(request);
  },
} satisfies ExportedHandler<Bindings>;

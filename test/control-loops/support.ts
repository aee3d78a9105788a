import type { LoopConnection } from '../../durable-objects/control-loops/connection.ts';
import { ApiClient } from '../../durable-objects/control-loops/connection.ts';
import { ControlLoopsObject } from '../../durable-objects/control-loops/index.ts';
import { createApp } from '../../src/app.ts';
import { bootstrap } from '../../src/bootstrap/index.ts';
import { type Config, parseConfig } from '../../src/config.ts';
import { Metrics } from '../../src/discovery/metrics.ts';
import { FlowControl } from '../../src/flowcontrol/index.ts';
import { type Outbound, unreachable } from '../../src/outbound/index.ts';
import { policyAsOf } from '../../src/policy/bundle.ts';
import type { TenantUid, UserInfo } from '../../src/request/context.ts';
import { type MemoryKeyspace, memoryKeyspace } from '../support/memory-keyspace.ts';

const server: UserInfo = { name: 'system:apiserver', groups: ['system:masters', 'system:authenticated'], extra: {} };

/** The loops' way into a server over a keyspace in memory. */
function connectTo(config: Config, memory: MemoryKeyspace, now: () => Date, outbound: Outbound): LoopConnection {
  const keyspace = () => memory;
  const app = createApp({
    config,
    keyspace,
    metrics: new Metrics(now()),
    flowControl: new FlowControl(600, Date.now),
    now,
    loopback: server,
  });
  return {
    config,
    keyspace: memory,
    now,
    outbound,
    api: async (request) => app.fetch(request),
    customResources: async () => {
      const { resources } = await policyAsOf(config.tenant.uid as TenantUid, memory, await memory.policyRevision());
      return [...resources.values()].flatMap((rows) => [...rows.values()]);
    },
  };
}

/** A cluster in memory with its control loops, whose time only moves when told. */
export class Cluster {
  readonly keyspace: MemoryKeyspace = memoryKeyspace();
  readonly api: ApiClient;
  readonly connection: LoopConnection;
  readonly loops: ControlLoopsObject;
  /** When the alarm goes off, if it is set. */
  alarm: number | undefined;
  #now = Date.UTC(2026, 10, 29, 12);
  #pending: Promise<unknown>[] = [];

  private constructor(config: Config, outbound: Outbound) {
    this.connection = connectTo(config, this.keyspace, () => new Date(this.#now), outbound);
    this.api = new ApiClient(this.connection);
    this.loops = new ControlLoopsObject(this.#state(), this.connection);
  }

  /** `outbound` plays the world, `settings` are more of the configuration. */
  static async make(
    controlLoops: Config['controlLoops'] = 'all',
    outbound = unreachable,
    settings: object = {},
  ): Promise<Cluster> {
    const uid = crypto.randomUUID();
    const tenant = { uid, name: 'default', replicas: [1] };
    const config = parseConfig(JSON.stringify({ tenant, controlLoops, serverCA: 'CA', clientCA: 'CA', ...settings }));
    const cluster = new Cluster(config, outbound);
    await bootstrap(config, uid as TenantUid, cluster.keyspace, new Date(cluster.#now));
    await cluster.settle();
    return cluster;
  }

  #state(): DurableObjectState {
    const storage = {
      setAlarm: async (at: number) => {
        this.alarm = at;
      },
      deleteAlarm: async () => {
        this.alarm = undefined;
      },
    };
    const waitUntil = (work: Promise<unknown>) => {
      this.#pending.push(work);
    };
    return { storage, waitUntil } as unknown as DurableObjectState;
  }

  /** Pokes the loops, as the leader does after a commit that made work, and waits for what follows at once. */
  async settle(): Promise<void> {
    await this.loops.fetch(new Request('http://loops/t/poke', { method: 'POST' }));
    await Promise.all(this.#pending.splice(0));
  }

  /** Moves time to the next alarm, and lets it go off. */
  async ring(): Promise<void> {
    if (this.alarm === undefined) throw new Error('no alarm is set');
    this.#now = Math.max(this.#now, this.alarm);
    this.alarm = undefined;
    await this.loops.alarm();
  }

  /** Lets alarms go off, early ones too, until `milliseconds` from now have passed. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    while (this.alarm !== undefined && this.alarm <= end) await this.ring();
    this.#now = end;
  }

  /** The names below an API path. */
  async names(path: string): Promise<string[]> {
    const list = await this.api.get(path);
    return (list.items as { metadata: { name: string } }[]).map((i) => i.metadata.name);
  }

  async work(): Promise<string[]> {
    return (await this.keyspace.work(1000)).map(({ loop, item }) => `${loop} ${item}`);
  }
}

import type { Bindings, Config } from '../../src/config.ts';
import type { Operation, WorkItem } from '../../src/keyspace/types.ts';
import { ApiServices } from './api-services.ts';
import { cleanBootstrapToken } from './bootstrap-tokens.ts';
import { CertificateRequests } from './certificates.ts';
import { ClusterRoleAggregation } from './cluster-role-aggregation.ts';
import type { LoopConnection } from './connection.ts';
import { settleDefinition } from './custom-resource-definition.ts';
import { GarbageCollector } from './garbage-collector.ts';
import { NamespaceTermination } from './namespace.ts';
import { fillNamespace } from './namespace-content.ts';
import type { Outcome } from './outcome.ts';
import { checkPolicyTypes } from './policy-types.ts';
import { QuotaRecount } from './resource-quota.ts';

type Row = { id: number; loop: WorkItem['loop']; item: string };
type Step = (item: string, connection: LoopConnection) => Promise<Outcome>;

/**
 * What each kind of work is for: the loops that take it, in order, by the names that `--control-loops` knows. The loops
 * of the API server itself are never off.
 */
const steps: Record<WorkItem['loop'], readonly { loop: string; own?: boolean; run: Step }[]> = {
  namespace: [
    { loop: 'namespace', run: (item, connection) => new NamespaceTermination(connection).handle(item) },
    { loop: 'serviceaccount', run: (item, connection) => fillNamespace('serviceaccount', item, connection) },
    {
      loop: 'root-ca-cert-publisher',
      run: (item, connection) => fillNamespace('root-ca-cert-publisher', item, connection),
    },
  ],
  'garbage-collector': [
    {
      loop: 'garbage-collector',
      run: async (item, connection) => (await GarbageCollector.open(connection)).handle(item),
    },
  ],
  'clusterrole-aggregation': [
    { loop: 'clusterrole-aggregation', run: (_item, connection) => new ClusterRoleAggregation(connection).handle() },
  ],
  resourcequota: [{ loop: 'resourcequota', run: (item, connection) => new QuotaRecount(connection).handle(item) }],
  customresourcedefinition: [{ loop: 'customresourcedefinition', own: true, run: settleDefinition }],
  'validatingadmissionpolicy-status': [{ loop: 'validatingadmissionpolicy-status', run: checkPolicyTypes }],
  certificatesigningrequest: [
    { loop: 'csr', run: (item, connection) => new CertificateRequests(connection).handle(item) },
  ],
  bootstraptoken: [{ loop: 'tokencleaner', run: cleanBootstrapToken }],
  apiservice: [{ loop: 'apiservice', own: true, run: (item, connection) => new ApiServices(connection).handle(item) }],
};

/** Names that `--control-loops` takes. */
export const loopNames: readonly string[] = Object.values(steps).flatMap((s) =>
  s.filter(({ own }) => own !== true).map(({ loop }) => loop),
);

const isOn = (config: Config, loop: string): boolean =>
  config.controlLoops === 'all' || (config.controlLoops !== 'none' && config.controlLoops.includes(loop));

/** Outbox rows looked at in one turn. */
const BATCH = 200;
/** Items handled side by side. */
const PARALLEL = 8;
const FIRST_DELAY = 500;
const MAX_DELAY = 5_000;
/** After this many tries an item is looked at rarely. */
const MANY_TRIES = 100;
const RARE_DELAY = 60_000;
/** A poke makes waiting items due when they last ran this long ago. */
const IMPATIENCE = 1_000;
/** The alarm that takes up work left by a turn that never ended. */
const BACKSTOP = 30_000;

const delayOf = (tries: number) =>
  tries > MANY_TRIES ? RARE_DELAY : Math.min(FIRST_DELAY * 2 ** Math.min(tries - 1, 10), MAX_DELAY);

interface Waiting {
  tries: number;
  lastRun: number;
  due: number;
  /** Whether pokes leave it alone. */
  isWell?: boolean;
}

/**
 * The controllers of one tenant that a cluster is broken without, as a Durable Object that is awake only while there
 * is work. The leader writes work into the outbox in the same apply as its cause and pokes this object; an alarm takes
 * up what has to wait, and is the backstop for a poke or a process that was lost. Nothing is stored but the alarm.
 */
export class ControlLoopsObject {
  readonly #ctx: DurableObjectState;
  readonly #connection: LoopConnection;
  readonly #waiting = new Map<number, Waiting>();
  /** When the alarm is known to go off. */
  #alarm: number | undefined;
  #running = false;
  #poked = false;

  constructor(ctx: DurableObjectState, connection: LoopConnection) {
    this.#ctx = ctx;
    this.#connection = connection;
  }

  /** A poke: answered at once, the work follows. */
  async fetch(_request: Request): Promise<Response> {
    const now = this.#now();
    for (const waiting of this.#waiting.values())
      if (!waiting.isWell && now - waiting.lastRun >= IMPATIENCE) waiting.due = now;
    this.#ctx.waitUntil(this.#run());
    return new Response(null, { status: 202 });
  }

  async alarm(): Promise<void> {
    this.#alarm = undefined;
    await this.#run();
  }

  #now(): number {
    return this.#connection.now().getTime();
  }

  /** Runs until nothing is due. Never throws: an alarm that fails six times is dropped by the platform. */
  async #run(): Promise<void> {
    this.#poked = true;
    if (this.#running) return;
    this.#running = true;
    let failed = false;
    try {
      while (this.#poked) {
        this.#poked = false;
        while (await this.#turn());
      }
    } catch (error) {
      failed = true;
      console.error('control loops:', error instanceof Error ? error.message : error);
    } finally {
      this.#running = false;
      await this.#rearm(failed);
    }
  }

  /** Sets the alarm to the next time that something is due. Where nothing is, it must not wake a shard that sleeps. */
  async #rearm(failed: boolean): Promise<void> {
    const dues = [...this.#waiting.values()].map((w) => w.due);
    if (failed) dues.push(this.#now() + MAX_DELAY);
    if (dues.length > 0) await this.#arm(Math.min(...dues));
    else if (this.#alarm !== undefined) {
      this.#alarm = undefined;
      await this.#ctx.storage.deleteAlarm();
    }
  }

  /** Makes sure that the alarm goes off by then. One that is early finds nothing due, which is cheaper than moving it. */
  async #arm(at: number): Promise<void> {
    const now = this.#now();
    if (this.#alarm !== undefined && this.#alarm > now && this.#alarm <= at) return;
    this.#alarm = Math.max(at, now + 1);
    await this.#ctx.storage.setAlarm(this.#alarm);
  }

  /** Takes the rows that are due; whether there were any. */
  async #turn(): Promise<boolean> {
    const rows = await this.#connection.keyspace.work(BATCH + this.#waiting.size);
    const present = new Set(rows.map((r) => r.id));
    for (const id of this.#waiting.keys()) if (!present.has(id)) this.#waiting.delete(id);
    const now = this.#now();
    const due = rows.filter(({ id }) => (this.#waiting.get(id)?.due ?? 0) <= now);
    if (due.length === 0) return false;
    await this.#arm(now + BACKSTOP);
    const groups = [...Map.groupBy(due, ({ loop, item }) => `${loop} ${item}`).values()];
    for (let at = 0; at < groups.length; at += PARALLEL) {
      const slice = groups.slice(at, at + PARALLEL);
      const outcomes = await Promise.all(slice.map(([first]) => this.#handle(first!)));
      const finished = slice.flatMap((group, i) => this.#settle(group, outcomes[i]!, rows));
      await this.#finish(finished);
    }
    return true;
  }

  async #handle({ loop, item }: Row): Promise<Outcome> {
    let outcome: Outcome = 'done';
    for (const step of steps[loop]) {
      if (step.own !== true && !isOn(this.#connection.config, step.loop)) continue;
      try {
        const made = await step.run(item, this.#connection);
        if (made !== 'done' && outcome !== 'later') outcome = made;
      } catch (error) {
        console.error(`control loop ${step.loop}: ${item}:`, error instanceof Error ? error.message : error);
        outcome = 'later';
      }
    }
    return outcome;
  }

  /**
   * Notes what became of the rows of one item, and gives those that are finished: where it is to be looked at again, one
   * row of all that there are stands for it.
   */
  #settle(group: readonly Row[], outcome: Outcome, rows: readonly Row[]): readonly Row[] {
    if (outcome === 'done') return group;
    if (outcome === 'later') {
      for (const row of group) this.#postpone(row);
      return [];
    }
    const [first] = group;
    const now = this.#now();
    this.#waiting.set(first!.id, { tries: 0, lastRun: now, due: now + outcome.again, isWell: true });
    return rows.filter(({ id, loop, item }) => id !== first!.id && loop === first!.loop && item === first!.item);
  }

  /** Takes finished rows out of the outbox. */
  async #finish(rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const operations: Operation[] = rows.map(({ id }) => ({ type: 'done', id }));
    await this.#connection.keyspace.propose({ conditions: [], operations });
    for (const { id } of rows) this.#waiting.delete(id);
  }

  #postpone({ id }: Row): void {
    const tries = (this.#waiting.get(id)?.tries ?? 0) + 1;
    const now = this.#now();
    this.#waiting.set(id, { tries, lastRun: now, due: now + delayOf(tries) });
  }
}

/** The Durable Object class for a process, given how it reaches its API and keyspace. */
export function controlLoopsClass(connect: (env: Bindings) => LoopConnection) {
  return class ControlLoops extends ControlLoopsObject {
    constructor(ctx: DurableObjectState, env: Bindings) {
      super(ctx, connect(env));
    }
  };
}

/**
 * Entrypoint that a leader pokes: `http://loops/TENANTUID/poke` goes to that tenant's control loops. 404 for any other
 * path, 503 in a process that has no loops.
 */
export const LoopsGateway = {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    const [, tenant, action] = new URL(request.url).pathname.split('/');
    if (tenant === undefined || tenant === '' || action !== 'poke') return new Response(null, { status: 404 });
    if (env.LOOPS === undefined) return new Response(null, { status: 503 });
    return env.LOOPS.get(env.LOOPS.idFromName(tenant)).fetch(request.url, { method: 'POST' });
  },
};

import type { RequestInfo, TenantUid, UserInfo } from '../request/context.ts';
import type { Classification, FlowIndex } from './flow-schemas.ts';
import { type Admitted, Levels } from './levels.ts';

export type { Classification } from './flow-schemas.ts';

/** How long a request waits for seats (upstream: a quarter of the request's 60 s). */
const MAX_WAIT_MS = 15_000;
/** Objects listed for one seat, and the widest a request gets (upstream's numbers). */
const OBJECTS_PER_SEAT = 100;
const WIDEST = 10;
/** Collections whose size is remembered for estimates, for each tenant. */
const REMEMBERED = 1_000;

/** A request that may run; call `done` when its answer is made. */
export interface Pass {
  done(): void;
}

/** What the seats of a request are estimated from: listing costs by the objects listed before, everything else takes one. */
export interface Estimate {
  user: UserInfo;
  info: RequestInfo;
  /** `limit` of the query; 0: none. */
  limit: number;
}

interface Tenant {
  levels: Levels;
  /** Objects of a collection when it was listed last. */
  sizes: Map<string, number>;
}

/** API priority and fairness of one isolate. */
export class FlowControl {
  readonly #total: number;
  readonly #now: () => number;
  readonly #tenants = new Map<TenantUid, Tenant>();

  /** `total`: requests that an isolate serves side by side for a tenant, in seats; `now` in ms. */
  constructor(total: number, now: () => number) {
    this.#total = total;
    this.#now = now;
  }

  /** The levels of a tenant, configured. */
  levels(tenant: TenantUid, index: FlowIndex): Levels {
    const { levels } = this.#tenant(tenant);
    levels.configure(index);
    return levels;
  }

  /** Waits for seats; undefined where there are none to be had: 429. Ends early when the client goes. */
  async enter(
    tenant: TenantUid,
    index: FlowIndex,
    classification: Classification,
    estimate: Estimate,
    signal: AbortSignal,
  ): Promise<Pass | undefined> {
    const levels = this.levels(tenant, index);
    const seats = this.#seats(tenant, classification, estimate);
    let run!: () => void;
    const turn = new Promise<boolean>((resolve) => {
      run = () => resolve(true);
    });
    const ticket: Admitted = {
      flow: classification.flow,
      seats,
      arrived: this.#now(),
      started: undefined,
      queue: -1,
      classification,
      user: estimate.user,
      info: estimate.info,
      run,
    };
    if (!levels.add(ticket, () => hashOf(classification), this.#now())) return undefined;
    if (ticket.started === undefined && !(await this.#wait(levels, ticket, turn, signal))) return undefined;
    return { done: () => levels.finish(ticket, this.#now()) };
  }

  /** Remembers how large a collection was. */
  listed(tenant: TenantUid, info: RequestInfo, objects: number): void {
    const { sizes } = this.#tenant(tenant);
    const key = collectionOf(info);
    sizes.delete(key);
    sizes.set(key, objects);
    if (sizes.size > REMEMBERED) sizes.delete(sizes.keys().next().value!);
  }

  async #wait(levels: Levels, ticket: Admitted, turn: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    let stop!: (why: 'timedOut' | 'cancelled') => void;
    const over = new Promise<boolean>((resolve) => {
      stop = (why) => {
        if (levels.abandon(ticket, why)) resolve(false);
      };
    });
    const timer = setTimeout(() => stop('timedOut'), MAX_WAIT_MS);
    const gone = () => stop('cancelled');
    signal.addEventListener('abort', gone, { once: true });
    try {
      return await Promise.race([turn, over]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', gone);
    }
  }

  #seats(tenant: TenantUid, { level }: Classification, { info, limit }: Estimate): number {
    if (level.exempt || info.name !== '' || (info.verb !== 'list' && info.verb !== 'watch')) return 1;
    const known = this.#tenant(tenant).sizes.get(collectionOf(info)) ?? 0;
    const objects = limit > 0 ? Math.min(known, 2 * limit) : known;
    const widest = Math.min(WIDEST, this.#tenant(tenant).levels.widest(level.name));
    return Math.max(1, Math.min(widest, Math.ceil(objects / OBJECTS_PER_SEAT)));
  }

  #tenant(uid: TenantUid): Tenant {
    const known = this.#tenants.get(uid);
    if (known !== undefined) return known;
    const made: Tenant = { levels: new Levels(this.#total), sizes: new Map() };
    this.#tenants.set(uid, made);
    return made;
  }
}

const collectionOf = ({ group, resource, namespace }: RequestInfo) => `${group}/${resource}/${namespace}`;

/** 64 bits of a flow's schema and distinguisher (FNV-1a): the queues are dealt by them. */
function hashOf({ schema, flow }: Classification): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(`${schema.name}\0${flow}`)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash;
}

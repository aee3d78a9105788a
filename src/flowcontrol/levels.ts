import type { RequestInfo, UserInfo } from '../request/context.ts';
import type { Classification, FlowIndex, PriorityLevel } from './flow-schemas.ts';
import { QueueSet, type Ticket } from './queue-set.ts';

/** A request as a level sees it. */
export interface Admitted extends Ticket {
  readonly classification: Classification;
  readonly user: UserInfo;
  readonly info: RequestInfo;
  /** Lets it run. */
  readonly run: () => void;
}

/** Counts since the isolate started. */
export interface LevelCounts {
  dispatched: number;
  rejected: number;
  timedOut: number;
  cancelled: number;
}

/** One priority level at work. */
export class Level {
  config: PriorityLevel;
  nominal = 0;
  lendable = 0;
  /** The most seats that it may take, borrowed ones included. */
  ceiling = 0;
  seatsInUse = 0;
  queues: QueueSet<Admitted> | undefined;
  readonly executing = new Set<Admitted>();
  readonly counts: LevelCounts = { dispatched: 0, rejected: 0, timedOut: 0, cancelled: 0 };

  constructor(config: PriorityLevel) {
    this.config = config;
    if (config.queuing !== undefined) this.queues = new QueueSet(config.queuing);
  }

  get waiting(): number {
    return this.queues?.waiting ?? 0;
  }
}

/** Widest share of a level's seats that one request may take (upstream's). */
const WIDEST_SHARE = 0.15;

/**
 * The levels of a tenant in this isolate: who may run, who waits, who is refused. A level always gets its nominal seats;
 * beyond them it borrows what others may lend and do not use.
 */
export class Levels {
  readonly #total: number;
  readonly #levels = new Map<string, Level>();
  #index: FlowIndex | undefined;

  /** `total`: seats of the whole tenant in this isolate. */
  constructor(total: number) {
    this.#total = total;
  }

  /** Takes over another configuration; what waits and runs stays where its level does. */
  configure(index: FlowIndex): void {
    if (this.#index === index) return;
    this.#index = index;
    let shares = 0;
    for (const { shares: own } of index.levels.values()) shares += own;
    for (const [name, level] of this.#levels) {
      if (!index.levels.has(name) && level.executing.size === 0 && level.waiting === 0) this.#levels.delete(name);
    }
    for (const [name, config] of index.levels) {
      const level = this.#levels.get(name) ?? new Level(config);
      this.#levels.set(name, level);
      if (!sameQueuing(level.config, config) && level.waiting === 0 && level.executing.size === 0)
        level.queues = config.queuing && new QueueSet(config.queuing);
      level.config = config;
      level.nominal = shares === 0 ? 0 : Math.ceil((this.#total * config.shares) / shares);
      level.lendable = Math.round((level.nominal * config.lendablePercent) / 100);
      const { borrowingLimitPercent: limit } = config;
      level.ceiling = limit === undefined ? this.#total : level.nominal + Math.round((level.nominal * limit) / 100);
    }
  }

  get all(): ReadonlyMap<string, Level> {
    return this.#levels;
  }

  level(name: string): Level | undefined {
    return this.#levels.get(name);
  }

  /** The most seats that one request of a level may take. */
  widest(name: string): number {
    const level = this.#levels.get(name);
    return level === undefined ? 1 : Math.max(1, Math.ceil(level.nominal * WIDEST_SHARE));
  }

  /** Takes a request in: it runs now, or waits, or is refused (false). `hash` is that of its flow. */
  add(ticket: Admitted, hash: () => bigint, now: number): boolean {
    const level = this.#levels.get(ticket.classification.level.name);
    if (level === undefined || level.config.exempt) {
      if (level !== undefined) this.#start(level, ticket, now);
      else ticket.run();
      return true;
    }
    if (level.queues === undefined) {
      if (this.#fits(level, ticket.seats)) this.#start(level, ticket, now);
      else level.counts.rejected++;
      return ticket.started !== undefined;
    }
    if (!level.queues.enqueue(ticket, hash(), now, level.nominal)) {
      level.counts.rejected++;
      return false;
    }
    this.#dispatch(level, now);
    return true;
  }

  /** A request that ran is over. */
  finish(ticket: Admitted, now: number): void {
    const level = this.#levels.get(ticket.classification.level.name);
    if (level === undefined || !level.executing.delete(ticket)) return;
    level.seatsInUse -= ticket.seats;
    level.queues?.finish(ticket, now, level.nominal);
    this.#dispatch(level, now);
    for (const other of this.#levels.values()) if (other !== level && other.waiting > 0) this.#dispatch(other, now);
  }

  /** A request has waited too long, or its client has gone; false where it runs already. */
  abandon(ticket: Admitted, why: 'timedOut' | 'cancelled'): boolean {
    const level = this.#levels.get(ticket.classification.level.name);
    if (level?.queues?.remove(ticket) !== true) return false;
    level.counts[why]++;
    return true;
  }

  #dispatch(level: Level, now: number): void {
    for (;;) {
      const ticket = level.queues?.dispatch(now, level.nominal, (seats) => this.#fits(level, seats));
      if (ticket === undefined) return;
      this.#start(level, ticket, now);
    }
  }

  #start(level: Level, ticket: Admitted, now: number): void {
    ticket.started = now;
    level.executing.add(ticket);
    level.seatsInUse += ticket.seats;
    level.counts.dispatched++;
    ticket.run();
  }

  #fits(level: Level, seats: number): boolean {
    const wanted = level.seatsInUse + seats;
    if (wanted <= level.nominal || level.seatsInUse === 0) return true;
    if (wanted > level.ceiling) return false;
    let lent = 0;
    let borrowed = 0;
    for (const other of this.#levels.values()) {
      if (other.config.exempt) continue;
      if (other !== level) borrowed += Math.max(0, other.seatsInUse - other.nominal);
      if (other !== level) lent += Math.min(other.lendable, Math.max(0, other.nominal - other.seatsInUse));
    }
    return wanted - level.nominal <= lent - borrowed;
  }
}

function sameQueuing(a: PriorityLevel, b: PriorityLevel): boolean {
  return JSON.stringify(a.queuing) === JSON.stringify(b.queuing);
}

/**
 * Fair queuing of one priority level: flows are dealt hands of queues (shuffle sharding), and the queue whose head would
 * finish first in virtual time goes first (KEP-1040). Takes time as input; does no I/O.
 */

/** How the level queues, and how many seats its requests may take. */
export interface QueueSettings {
  queues: number;
  handSize: number;
  queueLengthLimit: number;
}

/** A request that waits or runs. */
export interface Ticket {
  readonly flow: string;
  readonly seats: number;
  readonly arrived: number;
  /** ms when it began to run; undefined while it waits. */
  started: number | undefined;
  /** Index of its queue; -1 where the level has none. */
  queue: number;
}

interface Queue<T extends Ticket> {
  waiting: T[];
  executing: number;
  seatsInUse: number;
  /** Virtual time at which its next request would be dispatched, in seat-seconds. */
  nextDispatchR: number;
}

/** Guess of a request's duration in seconds until it is over (upstream's). */
const ESTIMATED_SECONDS = 60;

export class QueueSet<T extends Ticket> {
  readonly #queues: Queue<T>[];
  readonly #settings: QueueSettings;
  #virtual = 0;
  #virtualAt = 0;
  #robin = 0;

  constructor(settings: QueueSettings) {
    this.#settings = settings;
    this.#queues = Array.from({ length: settings.queues }, () => emptyQueue());
  }

  get queues(): readonly Readonly<Queue<T>>[] {
    return this.#queues;
  }

  /** Whether requests wait. */
  get waiting(): number {
    return this.#queues.reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /**
   * Puts a request into the emptiest queue of its flow's hand. False where that is full. `hash` is that of the flow:
   * an integer of 64 bits.
   */
  enqueue(ticket: T, hash: bigint, now: number, seats: number): boolean {
    this.#advance(now, seats);
    const hand = deal(hash, this.#queues.length, this.#settings.handSize);
    const load = (i: number) => this.#queues[i]!.waiting.reduce((sum, t) => sum + t.seats, this.#queues[i]!.seatsInUse);
    const index = hand.reduce((best, i) => (load(i) < load(best) ? i : best));
    const queue = this.#queues[index]!;
    if (queue.waiting.length >= this.#settings.queueLengthLimit) return false;
    if (queue.waiting.length === 0 && queue.executing === 0) queue.nextDispatchR = this.#virtual;
    ticket.queue = index;
    queue.waiting.push(ticket);
    return true;
  }

  /** The next request to run, taken out of its queue, if `fits` has room for its seats. `seats`: the level's seats. */
  dispatch(now: number, seats: number, fits: (seats: number) => boolean): T | undefined {
    this.#advance(now, seats);
    const index = this.#next();
    const queue = this.#queues[index];
    const head = queue?.waiting[0];
    if (queue === undefined || head === undefined || !fits(head.seats)) return undefined;
    queue.waiting.shift();
    this.#robin = index;
    queue.executing++;
    queue.seatsInUse += head.seats;
    queue.nextDispatchR += ESTIMATED_SECONDS * head.seats;
    return head;
  }

  /** A request is over: its guessed duration gives way to the real one. */
  finish(ticket: T, now: number, seats: number): void {
    this.#advance(now, seats);
    const queue = this.#queues[ticket.queue];
    if (queue === undefined) return;
    queue.executing--;
    queue.seatsInUse -= ticket.seats;
    const took = (now - (ticket.started ?? now)) / 1000;
    queue.nextDispatchR -= (ESTIMATED_SECONDS - took) * ticket.seats;
  }

  /** Takes a waiting request out. */
  remove(ticket: T): boolean {
    const waiting = this.#queues[ticket.queue]?.waiting ?? [];
    const at = waiting.indexOf(ticket);
    if (at >= 0) waiting.splice(at, 1);
    return at >= 0;
  }

  #next(): number {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 1; i <= this.#queues.length; i++) {
      const index = (this.#robin + i) % this.#queues.length;
      const { waiting, nextDispatchR } = this.#queues[index]!;
      if (waiting.length === 0) continue;
      const finish = nextDispatchR + ESTIMATED_SECONDS * waiting[0]!.seats;
      if (finish >= least) continue;
      best = index;
      least = finish;
    }
    return best;
  }

  /** Virtual time passes as fast as each busy queue is served: the seats in demand, shared by the busy queues. */
  #advance(now: number, seats: number): void {
    let demand = 0;
    let busy = 0;
    for (const { waiting, seatsInUse } of this.#queues) {
      const own = waiting.reduce((sum, t) => sum + t.seats, seatsInUse);
      if (own > 0) busy++;
      demand += own;
    }
    if (busy > 0) this.#virtual += (((now - this.#virtualAt) / 1000) * Math.min(demand, seats)) / busy;
    this.#virtualAt = now;
  }
}

function emptyQueue<T extends Ticket>(): Queue<T> {
  return { waiting: [], executing: 0, seatsInUse: 0, nextDispatchR: 0 };
}

/** Deals a hand of different queues, as a card dealer would with the digits of the hash. */
export function deal(hash: bigint, deck: number, handSize: number): number[] {
  const hand: number[] = [];
  let rest = hash;
  for (let i = 0; i < Math.min(handSize, deck); i++) {
    const left = BigInt(deck - i);
    let card = Number(rest % left);
    rest /= left;
    for (const earlier of [...hand].sort((a, b) => a - b)) if (card >= earlier) card++;
    hand.push(card);
  }
  return hand;
}

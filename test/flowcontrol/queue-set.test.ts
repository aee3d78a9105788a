import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deal, QueueSet, type Ticket } from '../../src/flowcontrol/queue-set.ts';

const ticket = (flow: string, seats = 1): Ticket => ({ flow, seats, arrived: 0, started: undefined, queue: -1 });

describe('shuffle sharding', () => {
  it('deals hands of different queues', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.integer({ min: 1, max: 128 }), (hash, deck) => {
        const hand = deal(hash, deck, 6);
        expect(new Set(hand).size).toBe(Math.min(6, deck));
        for (const card of hand) expect(card).toSatisfy((c: number) => c >= 0 && c < deck);
      }),
    );
  });

  it('deals every hand to some hash', () => {
    const hands = new Set(Array.from({ length: 60 }, (_, i) => deal(BigInt(i), 5, 3).join()));
    expect(hands.size).toBe(60);
  });
});

interface Arrival {
  flow: number;
  seats: number;
  /** ms until it arrives after the one before. */
  after: number;
  /** ms that it runs. */
  runs: number;
}

const arrival: fc.Arbitrary<Arrival> = fc.record({
  flow: fc.integer({ min: 0, max: 4 }),
  seats: fc.integer({ min: 1, max: 4 }),
  after: fc.integer({ min: 0, max: 30 }),
  runs: fc.integer({ min: 1, max: 200 }),
});

type Job = Ticket & { runs: number };

/** Serves arrivals with so many seats; gives how many were taken and how many are done at the end. */
class Server {
  readonly set = new QueueSet<Job>({ queues: 8, handSize: 2, queueLengthLimit: 10 });
  readonly #running: { job: Job; until: number }[] = [];
  readonly #total: number;
  inUse = 0;
  done = 0;

  constructor(total: number) {
    this.#total = total;
  }

  dispatch(now: number): void {
    for (;;) {
      const next = this.set.dispatch(
        now,
        this.#total,
        (seats) => this.inUse === 0 || this.inUse + seats <= this.#total,
      );
      if (next === undefined) return;
      next.started = now;
      this.inUse += next.seats;
      if (this.inUse > this.#total) expect(this.inUse).toBe(next.seats);
      this.#running.push({ job: next, until: now + next.runs });
      this.#running.sort((a, b) => a.until - b.until);
    }
  }

  passTo(time: number): void {
    for (let first = this.#running[0]; first !== undefined && first.until <= time; first = this.#running[0]) {
      this.#running.shift();
      this.inUse -= first.job.seats;
      this.done++;
      this.set.finish(first.job, first.until, this.#total);
      this.dispatch(first.until);
    }
  }
}

describe('fair queuing', () => {
  it('runs every request that it has taken once, and never in more seats than there are', () => {
    const run = (arrivals: Arrival[], total: number) => {
      const server = new Server(total);
      let taken = 0;
      let now = 0;
      for (const { flow, seats, after, runs } of arrivals) {
        now += after;
        server.passTo(now);
        if (server.set.enqueue({ ...ticket(String(flow), seats), runs }, BigInt(flow * 977), now, total)) taken++;
        server.dispatch(now);
      }
      server.passTo(Number.POSITIVE_INFINITY);
      expect(server.done).toBe(taken);
      expect(server.set.waiting).toBe(0);
    };
    fc.assert(fc.property(fc.array(arrival, { maxLength: 80 }), fc.integer({ min: 1, max: 6 }), run));
  });

  it('does not let a flood of one flow stand before the requests of another', () => {
    const set = new QueueSet<Ticket>({ queues: 16, handSize: 1, queueLengthLimit: 100 });
    for (let i = 0; i < 100; i++) set.enqueue(ticket('flood'), 0n, 0, 1);
    const order: string[] = [];
    let now = 0;
    for (let i = 0; i < 30; i++) {
      if (i % 10 === 5) set.enqueue(ticket('calm'), 1n, now, 1);
      const next = set.dispatch(now, 1, () => true)!;
      next.started = now;
      now += 50;
      set.finish(next, now, 1);
      order.push(next.flow);
    }
    for (const i of [5, 15, 25]) expect(order.slice(i, i + 2)).toContain('calm');
  });

  it('refuses what finds a full queue', () => {
    const set = new QueueSet<Ticket>({ queues: 1, handSize: 1, queueLengthLimit: 2 });
    const taken = Array.from({ length: 4 }, () => set.enqueue(ticket('a'), 0n, 0, 1));
    expect(taken).toEqual([true, true, false, false]);
  });
});
